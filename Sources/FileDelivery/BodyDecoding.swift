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
