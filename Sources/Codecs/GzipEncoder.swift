internal import CZlib

/// Packs bytes as gzip, piece by piece.
@safe package final class GzipEncoder {
    /// zlib keeps the stream's address.
    private let stream: UnsafeMutablePointer<z_stream>

    /// `nil` where there is no memory for it.
    package init?() {
        unsafe stream = .allocate(capacity: 1)
        unsafe stream.initialize(to: z_stream())
        let size = unsafe Int32(MemoryLayout<z_stream>.size)
        let code = unsafe deflateInit2_(
            stream, Z_DEFAULT_COMPRESSION, Z_DEFLATED, MAX_WBITS + 16, 8, Z_DEFAULT_STRATEGY, ZLIB_VERSION, size)
        guard code == Z_OK else { return nil }
    }

    deinit {
        unsafe deflateEnd(stream)
        unsafe stream.deallocate()
    }

    /// What is ready after these bytes; with `isLast` all that is left, after which nothing may come.
    package func encode(_ bytes: [UInt8], isLast: Bool = false) -> [UInt8] {
        var packed: [UInt8] = []
        var bytes = bytes
        unsafe bytes.withUnsafeMutableBufferPointer { input in
            unsafe stream.pointee.next_in = input.baseAddress
            unsafe stream.pointee.avail_in = UInt32(input.count)
            repeat {
                packed += unsafe [UInt8](unsafeUninitializedCapacity: Self.piece) { output, filled in
                    unsafe stream.pointee.next_out = output.baseAddress
                    unsafe stream.pointee.avail_out = UInt32(output.count)
                    unsafe deflate(stream, isLast ? Z_FINISH : Z_NO_FLUSH)
                    filled = unsafe output.count - Int(stream.pointee.avail_out)
                }
            } while unsafe stream.pointee.avail_out == 0
        }
        return packed
    }

    private static let piece = 64 << 10
}
