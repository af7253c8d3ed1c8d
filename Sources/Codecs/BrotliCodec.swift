internal import CBrotli
import TransferModel

/// br: one stream, its window at most 16 MiB. There is no sum inside: a changed byte that still is brotli passes.
@safe final class BrotliCodec: Codec {
    private let state: OpaquePointer
    private(set) var isWhole = false

    init() throws(TransferError) {
        if let lack = unsafe tr_brotli_lack() {
            throw TransferError(.unknown, "a library cannot be loaded: \(unsafe String(cString: lack))")
        }
        guard let state = unsafe BrotliDecoderCreateInstance(nil, nil, nil) else { throw ContentCoding.br.noMemory }
        unsafe self.state = state
    }

    deinit { unsafe BrotliDecoderDestroyInstance(state) }

    func step(
        _ input: inout UnsafeRawBufferPointer, into output: UnsafeMutableRawBufferPointer
    ) throws(TransferError) -> Int {
        if isWhole {
            guard unsafe input.isEmpty else { throw ContentCoding.br.garbageAfterEnd }
            return 0
        }
        var left = input.count
        var room = output.count
        var next = unsafe input.assumingMemoryBound(to: UInt8.self).baseAddress
        var place = unsafe output.assumingMemoryBound(to: UInt8.self).baseAddress
        switch unsafe BrotliDecoderDecompressStream(state, &left, &next, &room, &place, nil) {
        case BROTLI_DECODER_RESULT_SUCCESS: isWhole = true
        case BROTLI_DECODER_RESULT_ERROR:
            let code = unsafe BrotliDecoderGetErrorCode(state)
            throw ContentCoding.br.damage(unsafe String(cString: BrotliDecoderErrorString(code)))
        default: break
        }
        unsafe input = UnsafeRawBufferPointer(rebasing: input[(input.count - left)...])
        return output.count - room
    }
}
