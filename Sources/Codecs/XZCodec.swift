internal import CLZMA
import TransferModel

/// Decodes xz: one stream or several, with padding between and after them. liblzma checks the sums inside.
@safe final class XZCodec: Codec {
    /// liblzma keeps the stream's address.
    private let stream: UnsafeMutablePointer<lzma_stream>
    /// Whether all bytes so far are whole streams. What may follow is padding or another stream.
    private var isAtEnd = false
    /// Length of the padding behind the last stream; a multiple of four in a file that is whole.
    private var padding = 0

    /// In bytes. The highest preset of `xz` takes 65 MiB; a dictionary can be of up to 4 GiB, so that a few bytes could
    /// reserve that.
    private static let mostMemory: UInt64 = 128 << 20
    /// LZMA_TELL_UNSUPPORTED_CHECK: a body whose sum is of a kind that liblzma cannot compute would pass unchecked.
    private static let flags: UInt32 = 2

    init() throws(TransferError) {
        if let lack = unsafe tr_lzma_lack() {
            throw TransferError(.unknown, "a library cannot be loaded: \(unsafe String(cString: lack))")
        }
        unsafe stream = .allocate(capacity: 1)
        // LZMA_STREAM_INIT is all zeros.
        unsafe stream.initialize(to: lzma_stream())
        try beginStream()
    }

    deinit {
        unsafe lzma_end(stream)
        unsafe stream.deallocate()
    }

    var isWhole: Bool { isAtEnd && padding % 4 == 0 }

    private func beginStream() throws(TransferError) {
        guard unsafe lzma_stream_decoder(stream, Self.mostMemory, Self.flags) == LZMA_OK else {
            throw ContentCoding.xz.noMemory
        }
        (isAtEnd, padding) = (false, 0)
    }

    func step(
        _ input: inout UnsafeRawBufferPointer, into output: UnsafeMutableRawBufferPointer
    ) throws(TransferError) -> Int {
        if isAtEnd {
            let zeros = unsafe input.prefix { $0 == 0 }.count
            padding += zeros
            unsafe input = UnsafeRawBufferPointer(rebasing: input[zeros...])
            guard unsafe !input.isEmpty else { return 0 }
            guard padding % 4 == 0 else { throw ContentCoding.xz.garbageAfterEnd }
            try beginStream()
        }
        unsafe stream.pointee.next_in = input.assumingMemoryBound(to: UInt8.self).baseAddress
        unsafe stream.pointee.avail_in = input.count
        unsafe stream.pointee.next_out = output.assumingMemoryBound(to: UInt8.self).baseAddress
        unsafe stream.pointee.avail_out = output.count
        switch unsafe lzma_code(stream, LZMA_RUN) {
        // The second says that there was nothing to do.
        case LZMA_OK, LZMA_BUF_ERROR: break
        case LZMA_STREAM_END: isAtEnd = true
        case LZMA_MEM_ERROR: throw ContentCoding.xz.noMemory
        case LZMA_MEMLIMIT_ERROR:
            throw ContentCoding.xz.damage("it takes more than \(Self.mostMemory >> 20) MiB of memory to unpack")
        case LZMA_FORMAT_ERROR: throw ContentCoding.xz.damage("it does not begin as xz does")
        case LZMA_OPTIONS_ERROR: throw ContentCoding.xz.damage("it has options that liblzma does not know")
        case LZMA_UNSUPPORTED_CHECK: throw ContentCoding.xz.damage("its sum is of a kind that liblzma does not know")
        case LZMA_DATA_ERROR: throw ContentCoding.xz.damage("incorrect data or sum")
        case let code: throw ContentCoding.xz.damage("code \(code.rawValue)")
        }
        let taken = unsafe input.count - stream.pointee.avail_in
        unsafe input = UnsafeRawBufferPointer(rebasing: input[taken...])
        return unsafe output.count - stream.pointee.avail_out
    }
}
