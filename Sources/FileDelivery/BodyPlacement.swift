package import TransferModel

/// Where a body is staged, and what is computed and kept free while it is written: what the pieces of a body have to
/// know of its `Destination`.
package struct BodyPlacement: Sendable {
    /// The folder of the file, and in it of the staging.
    package let folder: String
    /// The group with which the file is published, in whose new tree it is staged.
    package let group: GroupPlace?
    /// Bytes that must stay free on the folder's filesystem.
    package let reserve: Int64
    /// The digests to compute of the body.
    let algorithms: BodyDigests.Algorithms

    /// `written` is the algorithm of the digest of the written bytes, `sent` that of the bytes as the server sends
    /// them.
    package init(
        _ folder: String, written: DigestAlgorithm? = nil, sent: DigestAlgorithm? = nil, group: GroupPlace? = nil,
        reserve: Int64 = 0
    ) {
        self.folder = folder
        self.group = group
        self.reserve = reserve
        algorithms = BodyDigests.Algorithms(written: written, sent: sent)
    }

    /// The placement of a body that becomes the file at `destination`.
    package init(_ destination: Destination) {
        self.init(
            destination.folder, written: destination.checksum?.algorithm, sent: destination.sent?.checksum.algorithm,
            group: destination.group, reserve: destination.reserve)
    }
}
