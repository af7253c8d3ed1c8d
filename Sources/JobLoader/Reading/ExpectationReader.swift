import TransferModel
import YAMLTree

/// Reads what `expect` and `onResponse` say about answers.
struct ExpectationReader {
    let reader: Reader

    func magic(_ node: NodeID) -> Expectations.Magic? {
        let known: KeyValuePairs<String, Expectations.Magic> = [
            "gzip": .gzip, "zip": .zip, "xz": .xz, "zstd": .zstd, "pdf": .pdf, "elf": .elf,
        ]
        guard let text = reader.text(node) else { return nil }
        if let named = known.first(where: { $0.key == text }) { return named.value }
        if let bytes = ValueText.hex(text), !bytes.isEmpty, bytes.count <= 64 { return .bytes(bytes) }
        let (names, hint) = (known.map(\.key), reader.closest(text, known.map(\.key)))
        return reader.error(
            "invalid-value",
            "`\(reader.key)` must be \(Shape.oneOf(names)), or hex digits, not `\(Reader.short(text))`",
            hint: hint.map { "did you mean `\($0)`?" }, node)
    }

    func headerMatches(_ node: NodeID, into matches: inout [Expectations.HeaderMatch]) {
        for (name, key, value) in reader.named(node, .map(.regex)) {
            matches.removeAll { HeaderReader.sameHeader($0.name, name) }
            guard HeaderReader(reader: reader).isHeaderName(name, key), !reader.tree.isNull(value),
                let pattern = reader.regex(value)
            else { continue }
            matches.append(Expectations.HeaderMatch(name: name, pattern: pattern))
        }
    }

    func jsonMatches(_ node: NodeID, into matches: inout [Expectations.JSONMatch]) {
        for (path, key, value) in reader.named(node, .map(.json)) {
            guard reader.checkJSONPath(path, key), let wanted = JSONReader(reader: reader).jsonTemplate(value) else {
                continue
            }
            matches.removeAll { $0.path == path }
            matches.append(Expectations.JSONMatch(path: path, value: wanted))
        }
    }

    func responseRules(_ node: NodeID) -> [ResponseRule]? {
        guard reader.expectList(node, .list(.object("onResponse"))) else { return nil }
        return reader.tree.children(node).map { element in
            var draft = Sections.ResponseDraft()
            Sections.onResponse.decode(element, into: &draft, reader)
            if draft.action == .download, draft.to == nil {
                reader.error("missing-key", "`do: download` needs `to`", at: reader.beginning(element))
            } else if draft.action != .download, draft.to != nil {
                reader.error("conflicting-keys", "`to` is only for `do: download`", at: reader.beginning(element))
            }
            for (key, value) in reader.tree.entries(element)
            where reader.tree.text(key, is: "to") && reader.tree.kind(value) == .scalar {
                let isObject = ObjectPlace.isMeant(by: reader.tree.text(value))
                guard isObject || reader.tree.text(value) == "-" else { continue }
                reader.error(
                    "invalid-value", "a rule's `to` must be a file, or a folder ending in `/`",
                    hint: isObject
                        ? "a download whose own `to` is `s3://bucket/key` makes an object"
                        : "a task's own `to: \"-\"` writes to standard output; a file of that name is `./-`", value)
            }
            var rule = ResponseRule(action: draft.action)
            (rule.mimeType, rule.status, rule.largerThan, rule.to) = (
                draft.mimeType, draft.status, draft.largerThan, draft.to
            )
            return rule
        }
    }
}
