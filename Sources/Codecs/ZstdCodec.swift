internal import CZstd
import TransferModel

/// zstd: any number of frames. A frame with a larger window is refused, so that a few bytes cannot make us reserve gigabytes.
/// RFC 9659 says how large servers may make it.
@safe final class ZstdCodec: Codec {
    private let stream: OpaquePointer
    private(set) var isWhole = false
    /// 8 MiB.
    static let largestWindowLogOfAnswers: Int32 = 23
    /// 128 MiB, what `zstd` unpacks too without being asked twice.
    static let largestWindowLogOfFiles: Int32 = 27

    init(largestWindowLog: Int32 = ZstdCodec.largestWindowLogOfAnswers) throws(TransferError) {
        if let lack = unsafe tr_zstd_lack() {
            throw TransferError(.unknown, "a library cannot be loaded: \(unsafe String(cString: lack))")
        }
        guard let stream = unsafe ZSTD_createDStream() else { throw ContentCoding.zstd.noMemory }
        unsafe self.stream = stream
        let code = unsafe ZSTD_DCtx_setParameter(stream, ZSTD_d_windowLogMax, largestWindowLog)
        precondition(ZSTD_isError(code) == 0, "libzstd does not know its own parameter")
    }

    deinit { unsafe ZSTD_freeDStream(stream) }

    func step(
        _ input: inout UnsafeRawBufferPointer, into output: UnsafeMutableRawBufferPointer
    ) throws(TransferError) -> Int {
        // Asked with nothing after a frame's end, it would begin to wait for another.
        if isWhole, unsafe input.isEmpty { return 0 }
        var source = unsafe ZSTD_inBuffer(src: input.baseAddress, size: input.count, pos: 0)
        var target = unsafe ZSTD_outBuffer(dst: output.baseAddress, size: output.count, pos: 0)
        let code = unsafe ZSTD_decompressStream(stream, &target, &source)
        if ZSTD_isError(code) != 0 {
            throw ContentCoding.zstd.damage(unsafe String(cString: ZSTD_getErrorName(code)))
        }
        isWhole = code == 0
        unsafe input = UnsafeRawBufferPointer(rebasing: input[source.pos...])
        return unsafe target.pos
    }
}
