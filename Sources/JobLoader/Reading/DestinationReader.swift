import TransferModel
import YAMLTree

/// Reads a task's `to`.
struct DestinationReader {
    let reader: Reader

    func destination(_ node: NodeID, into head: inout TaskHead) {
        (head.to, head.awaitedTo) = (nil, nil)
        guard reader.tree.kind(node) == .scalar, reader.tree.hasDollar(node) else {
            let text = reader.tree.kind(node) == .scalar ? reader.tree.text(node) : ""
            guard !reader.tree.isBoolean(node, text) else { return reader.wrongType(node, .path) }
            return head.to = destination(node, text)
        }
        guard case .text(let text) = reader.scalar(node, .path, place: .path), text.awaitsCapture, !text.isSecret else {
            return head.to = reader.text(node, .path, place: .path).flatMap { destination(node, $0) }
        }
        if case .literal(let start)? = text.pieces.first, isElsewhere(start, node) { return }
        // Interpolation has already refused a destination that begins with a captured value.
        guard case .capture? = text.pieces.first, !text.begins(withPage: true) else { return head.awaitedTo = text }
    }

    private func destination(_ node: NodeID, _ text: String) -> String? {
        if text.isEmpty || reader.tree.kind(node) != .scalar {
            return reader.error("invalid-value", "`to` must be a file, or a folder ending in `/`", node)
        }
        guard reader.checked(SecretText(text), node, .path), !isElsewhere(text, node) else { return nil }
        if text == "." || text == ".." || text.hasSuffix("/.") || text.hasSuffix("/..") {
            return reader.error(
                "invalid-value", "`to` names a folder: end it in `/`", hint: "write `\(Reader.short(text))/`", node)
        }
        reader.warnOfShellPath(node)
        return text
    }

    /// Whether a destination is a URL that names no object, which is reported: a path would be made of it.
    private func isElsewhere(_ text: String, _ node: NodeID) -> Bool {
        // Hardly a path has a colon: those that have none are not searched.
        guard text.utf8.contains(UInt8(ascii: ":")), !ObjectPlace.isMeant(by: text) else { return false }
        if text.prefix(3).lowercased() == "s3:" {
            reader.error(
                "invalid-value", "`\(Reader.short(text))` names no object",
                hint: "an object is `s3://bucket/key`, a file of that name `./\(Reader.short(text))`", node)
            return true
        }
        guard let mark = text.firstRange(of: "://"), mark.lowerBound > text.startIndex,
            text[..<mark.lowerBound].utf8.allSatisfy({ (0x61...0x7A).contains($0 | 0x20) || (0x30...0x39).contains($0) }
            )
        else { return false }
        reader.error(
            "invalid-value", "`to` is a file or an object `s3://bucket/key`, not another URL: `\(Reader.short(text))`",
            hint: "a task that needs this one can send the file on: `method: PUT, body: { file: FILE }`", node)
        return true
    }
}
