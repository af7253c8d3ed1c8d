import TextFormats
import TransferModel
import YAMLTree

/// Reads values that sessions have and nothing else.
struct SessionKeyReader {
    let reader: Reader

    func identifier(_ node: NodeID) -> String? {
        guard let text = reader.text(node) else { return nil }
        guard TaskName.isWellFormed(text), text.utf8.count <= 200 else {
            return reader.error(
                "invalid-value", "`\(Reader.short(text))` is no identifier",
                hint: "letters, digits, `.`, `_` and `-`, at most 200 of them", node)
        }
        return text
    }

    func pins(_ node: NodeID) -> [String]? {
        reader.elements(node, .list(Sections.pinShape)) { element in
            guard let text = reader.text(element, Sections.pinShape) else { return nil }
            guard text.hasPrefix("sha256//"), Base64.decode(String(text.dropFirst(8)))?.count == 32 else {
                return reader.invalid(
                    element, Sections.pinShape, text, hint: "`sha256//` and the SHA-256 of the public key in base64")
            }
            return text
        }
    }

    func scheme(_ node: NodeID) -> String? {
        guard let text = reader.text(node) else { return nil }
        let isScheme =
            text.utf8.first.map { (0x61...0x7A).contains($0 | 0x20) } == true
            && text.utf8.allSatisfy { byte in
                (0x61...0x7A).contains(byte | 0x20) || (0x30...0x39).contains(byte) || "+-.".utf8.contains(byte)
            }
        guard isScheme else {
            return reader.error(
                "invalid-value", "`\(Reader.short(text))` is no scheme",
                hint: "letters, digits, `+`, `-` and `.`; leave `://` out", node)
        }
        let lower = text.lowercased()
        if Self.builtInSchemes.contains(lower) {
            return reader.error(
                "invalid-value", "`\(lower)` is the session's own and cannot be answered by a command",
                hint: "give it a scheme of your own, and write that in the URLs", node)
        }
        return lower
    }

    static let builtInSchemes = ["http", "https", "ftp", "file", "data"]
}
