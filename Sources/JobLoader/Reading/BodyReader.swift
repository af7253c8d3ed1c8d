import TextFormats
import TransferModel
import YAMLTree

/// Reads the kinds of `body` that have a form of their own.
struct BodyReader {
    let reader: Reader

    func formFields(_ node: NodeID) -> [RequestBody.FormField]? {
        guard reader.tree.kind(node) == .mapping else { return reader.wrongType(node, .map(.scalar)) }
        return reader.named(node).flatMap { name, _, value in
            reader.tree.isNull(value)
                ? []
                : reader.oneOrMore(value).compactMap { element in
                    reader.secretText(element, .scalar, place: .body, captures: true).map {
                        RequestBody.FormField(name: name, value: $0)
                    }
                }
        }
    }

    func stream(_ node: NodeID) -> RequestBody? {
        var draft = Sections.StreamDraft()
        Sections.stream.decode(node, into: &draft, reader)
        if draft.length == 0 {
            reader.error("invalid-value", "nobody need run a command for no bytes", hint: "write `data: \"\"`", node)
        }
        return draft.command.map { .stream(command: $0, length: draft.length) }
    }

    func parts(_ node: NodeID) -> [RequestBody.Part]? {
        reader.maps(node, Sections.part, .blank)?.compactMap { draft in
            guard let name = draft.name, let content = draft.content else { return nil }
            var part = RequestBody.Part(name: name, content: content)
            part.filename = draft.filename
            part.contentType = draft.contentType
            return part
        }
    }

    func base64(_ node: NodeID) -> [UInt8]? {
        guard let text = reader.text(node, .text) else { return nil }
        let compact = text.filter { !$0.isWhitespace }
        return Base64.decode(compact)
            ?? reader.error(
                "invalid-value", "`\(reader.key)` must be base64", hint: "RFC 4648, with `=` at its end", node)
    }
}
