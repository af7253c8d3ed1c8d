/// A digest that a server sent along with the bytes it is of.
package struct SentDigest: Hashable, Sendable {
    /// The header that it came in, as its standard spells it.
    package let header: String
    /// The digest and its algorithm.
    package let checksum: Checksum
    package init(header: String, checksum: Checksum) {
        self.header = header
        self.checksum = checksum
    }
}
