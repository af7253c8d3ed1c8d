/// A digest of its own bytes that a server sent along with them.
package struct SentDigest: Hashable, Sendable {
    /// The header it came in, as its standard spells it.
    package let header: String
    package let checksum: Checksum
    package init(header: String, checksum: Checksum) {
        self.header = header
        self.checksum = checksum
    }
}
