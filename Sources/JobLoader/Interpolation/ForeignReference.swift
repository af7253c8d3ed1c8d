import Diagnostics
import YAMLTree

/// A variable's name written as other tools write references: `$name`, `{{name}}`. Here it is plain text.
struct ForeignReference {
    /// The reference as the file writes it, such as `{{name}}`.
    let written: String
    /// The name that it means.
    let name: String

    /// The reference as this job language writes it.
    var meant: String { "${\(name)}" }

    /// Returns the first one in a text that means a known name; `nil` if there is none.
    static func first(in text: String, isKnown: (String) -> Bool) -> ForeignReference? {
        let bytes = Array(text.utf8)
        var position = 0
        while position < bytes.count {
            let rest = bytes[position...]
            if rest.starts(with: "$$".utf8) || rest.starts(with: "${".utf8) {
                position += 2
                continue
            }
            let found = rest.first == UInt8(ascii: "$") ? afterDollar(rest) : inBraces(rest)
            if let found, isKnown(found.name) { return found }
            position += 1
        }
        return nil
    }

    /// Whether a text has two characters with which a reference may begin: hardly any has, and all are looked at.
    static func mayStand(in text: UnsafeBufferPointer<UInt8>) -> Bool {
        var last: UInt8 = 0
        for byte in unsafe text {
            if last == UInt8(ascii: "{"), byte == last { return true }
            if last == UInt8(ascii: "$"), isPartOfWord(byte) { return true }
            last = byte
        }
        return false
    }

    private static func afterDollar(_ text: ArraySlice<UInt8>) -> ForeignReference? {
        let name = String(decoding: text.dropFirst().prefix { isPartOfWord($0) }, as: UTF8.self)
        return name.isEmpty ? nil : ForeignReference(written: "$\(name)", name: name)
    }

    private static func inBraces(_ text: ArraySlice<UInt8>) -> ForeignReference? {
        guard text.starts(with: "{{".utf8) else { return nil }
        let blank = UInt8(ascii: " ")
        let inner = text.dropFirst(2).drop { $0 == blank || $0 == UInt8(ascii: ".") }
        let word = inner.prefix { isPartOfWord($0) || $0 == UInt8(ascii: "-") }
        let end = inner.dropFirst(word.count).drop { $0 == blank }
        guard !word.isEmpty, end.starts(with: "}}".utf8) else { return nil }
        let written = text[..<end.index(end.startIndex, offsetBy: 2)]
        return ForeignReference(
            written: String(decoding: written, as: UTF8.self), name: String(decoding: word, as: UTF8.self))
    }

    private static func isPartOfWord(_ byte: UInt8) -> Bool {
        (0x61...0x7A).contains(byte | 0x20) && byte < 0x80 || (0x30...0x39).contains(byte) || byte == UInt8(ascii: "_")
    }
}

extension Reader {
    /// Returns the first reference of another tool's form in a scalar that means a name of this job.
    func foreignReference(_ node: NodeID) -> ForeignReference? {
        guard tree.withUTF8(node, { ForeignReference.mayStand(in: $0) }) else { return nil }
        return ForeignReference.first(in: tree.text(node)) { name in
            names.defines(name) || scope.binding(name) != nil
        }
    }

    /// Warns of a reference that is written as for another tool, and is plain text here.
    func warnOfForeignReference(_ node: NodeID) {
        guard let found = foreignReference(node) else { return }
        warning(
            "foreign-reference", "`\(found.written)` is plain text here, though the job has a `\(found.name)`",
            hint: "write `\(found.meant)`", at: tree.span(node))
    }
}
