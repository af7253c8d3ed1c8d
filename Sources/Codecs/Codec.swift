import TransferModel

/// One library's decoder of one coding.
protocol Codec: AnyObject {
    /// Takes what it can from the front of `input`, puts what comes of it into `output`, and says how many bytes that
    /// are. As long as it fills `output`, there may be more to come of what it took: it is asked again, with no input if
    /// none is left. It takes all of `input` before it leaves `output` unfilled, but for what comes after an end.
    func step(
        _ input: inout UnsafeRawBufferPointer, into output: UnsafeMutableRawBufferPointer
    ) throws(TransferError) -> Int

    /// Whether the stream may end with what was taken so far.
    var isWhole: Bool { get }

    /// Bytes that were taken and go out only when the stream ends here.
    var held: [UInt8] { get }
}

extension Codec {
    var held: [UInt8] { [] }
}

extension ContentCoding {
    func makeCodec() throws(TransferError) -> any Codec {
        switch self {
        case .gzip: try Inflater(.gzip)
        case .deflate: try DeflateSniffer()
        case .br: try BrotliCodec()
        case .zstd: try ZstdCodec()
        case .xz: try XZCodec()
        case .file: FileCodec()
        }
    }

    func damage(_ reason: String) -> TransferError {
        TransferError(.cannotDecodeRawData, "the \(rawValue) body is damaged: \(reason)")
    }

    var cut: TransferError {
        TransferError(.cannotDecodeRawData, "the \(rawValue) body ends in the middle")
    }

    var garbageAfterEnd: TransferError { damage("something follows its end") }

    var noMemory: TransferError { TransferError(.unknown, "no memory to unpack a \(rawValue) body") }
}
