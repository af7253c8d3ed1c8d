import Codecs
package import TransferModel

/// How a body is unpacked on its way to disk, and what must hold of what comes out.
package struct BodyDecoding: Sendable {
    /// In the order in which they were applied.
    package var codings: [ContentCoding]
    package var sizes: SizeBounds
    package init(_ codings: [ContentCoding], sizes: SizeBounds = SizeBounds()) {
        self.codings = codings
        self.sizes = sizes
    }
}

/// The bodies that are unpacked, while they come.
struct BodyDecoders {
    private var decoders: [StagingID: Decoder] = [:]

    mutating func begin(_ id: StagingID, _ decoding: BodyDecoding) throws(TransferError) {
        decoders[id] = try Decoder(decoding.codings, bounds: decoding.sizes)
    }

    func unpacks(_ id: StagingID) -> Bool { decoders[id] != nil }

    /// Hands `bytes` to `write` as they shall be written.
    func unpack(
        _ id: StagingID, _ bytes: UnsafeRawBufferPointer,
        _ write: (UnsafeRawBufferPointer) throws(TransferError) -> Void
    ) throws(TransferError) {
        guard !decoders.isEmpty, let decoder = decoders[id] else { return try write(bytes) }
        try decoder.decode(bytes, write)
        // A digest begins with the first piece, also when nothing came of it.
        if decoder.written == 0 { try write(UnsafeRawBufferPointer(start: nil, count: 0)) }
    }

    /// An error when what came is not all of it, or unpacks to another size than is wanted. `write` gets what was held back
    /// until now.
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
