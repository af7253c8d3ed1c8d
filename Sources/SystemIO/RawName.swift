package import TransferModel

/// A file name or path as the kernel has it: bytes. Not every name is UTF-8, and two names that Swift takes for the
/// same text may be two files.
package struct RawName: Hashable, Comparable, Sendable, CustomStringConvertible {
    /// The bytes, with the final zero that system calls need.
    let characters: [CChar]

    /// A zero byte ends the name.
    package init(_ text: String) { self.init(bytes: text.utf8) }

    package init(bytes: some Sequence<UInt8>) {
        characters = bytes.prefix { $0 != 0 }.map { CChar(bitPattern: $0) } + [0]
    }

    /// The bytes without the final zero.
    package var bytes: some RandomAccessCollection<UInt8> { characters.dropLast().lazy.map { UInt8(bitPattern: $0) } }

    /// The name as text; `nil` if it is not UTF-8, since a replacement text would name another file.
    package var text: String? { String(validating: bytes, as: UTF8.self) }

    /// Returns the name as text; throws if it is not UTF-8.
    package func asText() throws(NotText) -> String {
        guard let text else { throw NotText(bytes) }
        return text
    }

    /// The name for messages, with replacement characters for what is not UTF-8.
    package var description: String { String(decoding: bytes, as: UTF8.self) }

    /// Returns the path of `name` in this folder.
    package func appending(_ name: RawName) -> RawName {
        let folder = self == RawName("/") ? [] : Array(bytes)
        return RawName(bytes: folder + [UInt8(ascii: "/")] + name.bytes)
    }

    package static func < (left: RawName, right: RawName) -> Bool {
        left.bytes.lexicographicallyPrecedes(right.bytes)
    }
}
