/// One line of a secrets file: `NAME=value`.
///
/// The value is all that follows the first `=`, as it is written. Programs that read such files differ in what quotes,
/// blanks and a `#` mean. What all of them agree on is taken so: `export` before the name, and quotes around the whole
/// value. A line that they read differently is an error: a wrong secret would go unnoticed.
struct SecretLine {
    let name: String
    let value: String

    /// Why a line cannot be read. No part of the value is quoted.
    struct Problem: Error, Hashable {
        let message: String
        let hint: String?
    }

    /// Reads a line without its end; `nil` for an empty one and a comment.
    init?(_ line: String) throws(Problem) {
        let text = line.trimmingBlanks()
        if text.isEmpty || text.utf8.first == UInt8(ascii: "#") { return nil }
        guard let equals = line.utf8.firstIndex(of: UInt8(ascii: "=")) else { throw Self.malformed }
        var name = String(line[..<equals]).trimmingBlanks()
        if name.hasPrefix("export "), Names.isWellFormed(name.dropFirst(7).trimmingBlanks()) {
            name = name.dropFirst(7).trimmingBlanks()
        }
        guard Names.isWellFormed(name) else { throw Self.malformed }
        self.name = name
        value = try Self.value(String(line[line.utf8.index(after: equals)...]), name)
    }

    private static let malformed = Problem(message: "a secrets file has lines of `NAME=value`", hint: nil)
    private static let whole = "write all of the value between single quotes: what they hold is taken as it is"

    private static func value(_ text: String, _ name: String) throws(Problem) -> String {
        let bytes = Array(text.utf8)
        guard let first = bytes.first, let last = bytes.last else { return "" }
        let isBlank = { (byte: UInt8) in byte == 0x20 || byte == 0x09 }
        if isBlank(first) || isBlank(last) {
            throw Problem(
                message: "the value of `\(name)` has blanks around it",
                hint: "leave them out, or write all of the value between quotes if they belong to it")
        }
        if first == UInt8(ascii: "'") || first == UInt8(ascii: "\"") { return try quoted(text, bytes, name) }
        if zip(bytes, bytes.dropFirst()).contains(where: { isBlank($0) && $1 == UInt8(ascii: "#") }) {
            throw Problem(
                message: "the value of `\(name)` holds a blank and a `#`: some programs take that for a comment",
                hint: "write the comment into a line of its own; if it belongs to the value, \(whole)")
        }
        return text
    }

    /// Returns what stands between the quotes around the value.
    private static func quoted(_ text: String, _ bytes: [UInt8], _ name: String) throws(Problem) -> String {
        let inner = bytes.dropFirst().dropLast()
        guard bytes.count > 1, bytes.last == bytes[0] else {
            throw Problem(
                message: "the value of `\(name)` begins with a quote and does not end in it",
                hint: "\(whole); a value of several lines comes from a `file` under `secrets`")
        }
        let isUnclear =
            bytes[0] == UInt8(ascii: "'")
            ? inner.contains(bytes[0])
            : inner.contains { $0 == bytes[0] || $0 == UInt8(ascii: "\\") || $0 == UInt8(ascii: "$") || $0 == 0x60 }
        if isUnclear {
            throw Problem(
                message: bytes[0] == UInt8(ascii: "'")
                    ? "the value of `\(name)` stands in single quotes and holds another"
                    : "the value of `\(name)` stands in double quotes and holds a `\\`, `$`, `\"` or backtick: programs "
                        + "differ in what these mean there",
                hint: bytes[0] == UInt8(ascii: "'")
                    ? "leave the quotes around it out: without them every character stands for itself" : whole)
        }
        return String(text.utf8.dropFirst().dropLast()) ?? ""
    }
}
