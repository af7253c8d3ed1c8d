import Codecs
package import TransferModel

/// How a body is decoded on its way to the disk, and which sizes the result may have.
package struct BodyDecoding: Sendable {
    /// The content codings in the order in which the server applied them.
    package var codings: [ContentCoding]
    /// The bounds for the decoded size.
    package var sizes: SizeBounds
    package init(_ codings: [ContentCoding], sizes: SizeBounds = SizeBounds()) {
        self.codings = codings
        self.sizes = sizes
    }
}

/// The decoders of the bodies that arrive encoded.
struct BodyDecoders {
    private var decoders: [StagingID: Decoder] = [:]

    mutating func begin(_ id: StagingID, _ decoding: BodyDecoding) throws(TransferError) {
        decoders[id] = try Decoder(decoding.codings, bounds: decoding.sizes)
    }

    func unpacks(_ id: StagingID) -> Bool { decoders[id] != nil }

    /// Passes `bytes` to `write`, decoded if the body is encoded.
    func unpack(
        _ id: StagingID, _ bytes: UnsafeRawBufferPointer,
        _ write: (UnsafeRawBufferPointer) throws(TransferError) -> Void
    ) throws(TransferError) {
        guard !decoders.isEmpty, let decoder = decoders[id] else { return try write(bytes) }
        try decoder.decode(bytes, write)
        // A digest begins with the first piece, even if no decoded bytes came of it.
        if decoder.written == 0 { try write(UnsafeRawBufferPointer(start: nil, count: 0)) }
    }

    /// Ends a body: throws when it is incomplete or its decoded size is not allowed. `write` gets the bytes that were
    /// held back until now.
    func finish(
        _ id: StagingID, endIsProven: Bool, _ write: (UnsafeRawBufferPointer) throws(TransferError) -> Void
    ) throws(TransferError) {
        guard !decoders.isEmpty, let decoder = decoders[id] else { return }
        try decoder.finish(endIsProven: endIsProven, write)
    }

    mutating func end(_ id: StagingID) {
        if !decoders.isEmpty { decoders[id] = nil }
    }
}
