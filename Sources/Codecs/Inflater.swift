internal import CZlib
import TransferModel

/// gzip, of one member or several, and both kinds of deflate. zlib checks the sums inside.
@safe final class Inflater: Codec {
    enum Format { case gzip, zlib, raw }

    private let format: Format
    /// zlib keeps the stream's address.
    private let stream: UnsafeMutablePointer<z_stream>
    private(set) var isWhole = false

    init(_ format: Format) throws(TransferError) {
        self.format = format
        unsafe stream = .allocate(capacity: 1)
        unsafe stream.initialize(to: z_stream())
        let size = unsafe Int32(MemoryLayout<z_stream>.size)
        guard unsafe inflateInit2_(stream, Self.windowBits(format), ZLIB_VERSION, size) == Z_OK else {
            unsafe stream.deallocate()
            throw Self.coding(format).noMemory
        }
    }

    deinit {
        unsafe inflateEnd(stream)
        unsafe stream.deallocate()
    }

    private static func windowBits(_ format: Format) -> Int32 {
        switch format {
        case .gzip: MAX_WBITS + 16
        case .zlib: MAX_WBITS
        case .raw: -MAX_WBITS
        }
    }

    private static func coding(_ format: Format) -> ContentCoding { format == .gzip ? .gzip : .deflate }
    private var coding: ContentCoding { Self.coding(format) }

    func step(
        _ input: inout UnsafeRawBufferPointer, into output: UnsafeMutableRawBufferPointer
    ) throws(TransferError) -> Int {
        if isWhole {
            guard let first = unsafe input.first else { return 0 }
            try beginMember(first)
        }
        let offered = min(input.count, Int(UInt32.max))
        // zlib's interface is older than `const`: it only reads.
        let bytes = unsafe input.assumingMemoryBound(to: UInt8.self).baseAddress
        unsafe stream.pointee.next_in = UnsafeMutablePointer(mutating: bytes)
        unsafe stream.pointee.avail_in = UInt32(offered)
        unsafe stream.pointee.next_out = output.assumingMemoryBound(to: UInt8.self).baseAddress
        unsafe stream.pointee.avail_out = UInt32(output.count)
        let code = unsafe inflate(stream, Z_NO_FLUSH)
        switch code {
        // The second says that there was nothing to do.
        case Z_OK, Z_BUF_ERROR: break
        case Z_STREAM_END: isWhole = true
        case Z_MEM_ERROR: throw coding.noMemory
        case Z_NEED_DICT: throw coding.damage("it needs a dictionary")
        default: throw coding.damage(unsafe stream.pointee.msg.map { unsafe String(cString: $0) } ?? "code \(code)")
        }
        let taken = unsafe offered - Int(stream.pointee.avail_in)
        unsafe input = UnsafeRawBufferPointer(rebasing: input[taken...])
        return unsafe output.count - Int(stream.pointee.avail_out)
    }

    /// After one member another may follow, and nothing else.
    private func beginMember(_ first: UInt8) throws(TransferError) {
        guard format == .gzip, first == 0x1F else { throw coding.garbageAfterEnd }
        unsafe inflateReset(stream)
        isWhole = false
    }
}

/// `deflate` is a zlib stream by the standard and a bare one from some servers: the first two bytes tell.
final class DeflateSniffer: Codec {
    private var inflater: Inflater?
    private var start: [UInt8] = []

    init() throws(TransferError) {}

    var isWhole: Bool { inflater?.isWhole ?? false }

    func step(
        _ input: inout UnsafeRawBufferPointer, into output: UnsafeMutableRawBufferPointer
    ) throws(TransferError) -> Int {
        if let inflater { return unsafe try inflater.step(&input, into: output) }
        while start.count < 2, let byte = unsafe input.first {
            start.append(byte)
            unsafe input = UnsafeRawBufferPointer(rebasing: input.dropFirst())
        }
        guard start.count == 2 else { return 0 }
        let made = try Inflater(Self.isZlibHeader(start[0], start[1]) ? .zlib : .raw)
        inflater = made
        return unsafe try start.withUnsafeBufferPointer { bytes throws(TransferError) in
            var two = UnsafeRawBufferPointer(bytes)
            return unsafe try made.step(&two, into: output)
        }
    }

    /// RFC 1950: deflate with a window of at most 32 KiB, and a check of the two bytes.
    private static func isZlibHeader(_ first: UInt8, _ second: UInt8) -> Bool {
        first & 0x0F == 8 && first >> 4 <= 7 && (Int(first) << 8 | Int(second)) % 31 == 0
    }
}
