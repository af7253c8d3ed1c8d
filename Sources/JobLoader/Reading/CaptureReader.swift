import TransferModel
import YAMLTree

/// Reads `capture`.
struct CaptureReader {
    let reader: Reader

    func captures(_ node: NodeID, into captures: inout [Capture]) {
        for (name, key, value) in reader.named(node, .map(.object("capture"))) {
            captures.removeAll { $0.name == name }
            guard Names.isWellFormed(name) else {
                reader.badName(name, key, "a captured value")
                continue
            }
            if reader.tree.isNull(value) { continue }
            var draft = Sections.CaptureDraft()
            let known = reader.problems.count
            Sections.capture.decode(value, into: &draft, reader)
            guard let source = draft.source else {
                reader.unreadCaptures.insert(name)
                if reader.problems.count == known, reader.tree.kind(value) == .mapping {
                    reader.error(
                        "missing-key", "a capture needs one of `header`, `link`, `json`, `url` and `regex`",
                        at: reader.beginning(value))
                }
                continue
            }
            if draft.all, draft.json == nil {
                reader.error(
                    "conflicting-keys", "`all` takes every value of a `json` path, and `\(name)` has none",
                    hint: "leave `all` out, or write `json`", key)
            }
            // Only a secret is bound to hosts.
            if draft.hosts != nil, !draft.secret {
                reader.error(
                    "missing-key", "`hosts` says where a secret may go, and `\(name)` is none",
                    hint: "add `secret: true`, or leave `hosts` out", key)
            }
            var capture = Capture(name: name, source: source)
            capture.isSecret = draft.secret
            capture.hosts = draft.hosts
            captures.append(capture)
        }
    }

    func pathOrRegex(_ node: NodeID) -> String? {
        guard let text = reader.text(node) else { return nil }
        return text.hasPrefix("$") ? reader.jsonPath(node) : reader.regex(node)
    }
}
