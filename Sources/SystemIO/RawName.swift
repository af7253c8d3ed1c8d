package import TransferModel

/// A file's name or a path as the kernel has it: bytes. Not every name is UTF-8, and two names that Swift holds for the
/// same text may be two files.
package struct RawName: Hashable, Comparable, Sendable, CustomStringConvertible {
    /// With the zero at its end that system calls want.
    let characters: [CChar]

    /// What follows a zero is not taken.
    package init(_ text: String) { self.init(bytes: text.utf8) }

    package init(bytes: some Sequence<UInt8>) {
        characters = bytes.prefix { $0 != 0 }.map { CChar(bitPattern: $0) } + [0]
    }

    package var bytes: some RandomAccessCollection<UInt8> { characters.dropLast().lazy.map { UInt8(bitPattern: $0) } }

    /// `nil` for what is no UTF-8: a text in its place would name another file.
    package var text: String? { String(validating: bytes, as: UTF8.self) }

    package func asText() throws(NotText) -> String {
        guard let text else { throw NotText(bytes) }
        return text
    }

    /// For people: what is no UTF-8 becomes a replacement character.
    package var description: String { String(decoding: bytes, as: UTF8.self) }

    /// What has that name, or that path, in this folder.
    package func appending(_ name: RawName) -> RawName {
        let folder = self == RawName("/") ? [] : Array(bytes)
        return RawName(bytes: folder + [UInt8(ascii: "/")] + name.bytes)
    }

    package static func < (left: RawName, right: RawName) -> Bool {
        left.bytes.lexicographicallyPrecedes(right.bytes)
    }
}
