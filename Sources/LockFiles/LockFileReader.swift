package import Diagnostics
import TextFormats
package import TransferModel
import YAMLTree

/// Reads locks and saved plans, which people edit and merge: each mistake is told at its line and column.
package enum LockFileReader {
    private static let members = ["path", "url", "size", "etag", "lastModified", "sha256", "type", "certificate"]

    /// Reads a file. It is `nil` if there are errors. `kind` is the kind that is wanted, `nil` for either.
    package static func read(
        _ source: SourceText, wanting kind: HeldAnswers.Kind? = nil
    ) -> (file: LockFile?, diagnostics: DiagnosticList) {
        var parsed = DiagnosticList()
        guard let tree = YAMLTree.parse(source, into: &parsed) else { return (nil, parsed) }
        let reader = FieldReader(tree, problems: parsed)
        guard let root = tree.root, tree.kind(root) == .mapping else {
            var problems = reader.problems
            problems.error(
                "empty-file", "this is no lock: a map with `format`, `version` and `files` is wanted",
                hint: "`transfer-run lock JOB` writes one", at: SourceSpan(line: 1, column: 1), in: source)
            return (nil, problems)
        }
        let file = read(root, kind, reader)
        return (reader.problems.hasErrors ? nil : file, reader.problems)
    }

    private static func read(_ root: YAMLTree.NodeID, _ wanted: HeldAnswers.Kind?, _ reader: FieldReader) -> LockFile? {
        var kind: HeldAnswers.Kind?
        var (job, entries) = ("", [LockFile.Entry]())
        var found: Set<String> = []
        reader.fields(root, "a lock", known: ["format", "version", "job", "files"]) { name, node in
            found.insert(name)
            switch name {
            case "format": kind = read(format: node, wanted, reader)
            case "version":
                if let version = reader.integer(node, name, 0 ... .max), version != 1 {
                    reader.error("unknown-version", "version \(version) is not known, only 1 is", node)
                }
            case "job": job = reader.text(node, name) ?? ""
            default:
                reader.map(node, "`files`") { id, key, value in
                    if let answer = entry(value, id, reader) { entries.append(answer) }
                }
            }
        }
        for name in ["format", "version", "files"] where !found.contains(name) {
            reader.error("missing-key", "`\(name)` is missing", root)
        }
        return kind.map { LockFile($0, job: job, entries: entries) }
    }

    private static func read(
        format node: YAMLTree.NodeID, _ wanted: HeldAnswers.Kind?, _ reader: FieldReader
    ) -> HeldAnswers.Kind? {
        guard let text = reader.text(node, "format") else { return nil }
        let kinds: [HeldAnswers.Kind] = [.lock, .plan]
        guard let kind = kinds.first(where: { $0.format == text }) else {
            let known = kinds.map { "`\($0.format)`" }.joined(separator: " or ")
            reader.error("invalid-value", "`format` must be \(known), not `\(text)`", node)
            return nil
        }
        guard let wanted, wanted != kind else { return kind }
        reader.error(
            "invalid-value", "`format` is `\(text)`, and `\(wanted.format)` is wanted",
            hint: wanted == .lock
                ? "`--locked` takes what `transfer-run lock JOB` writes"
                : "`--plan` takes what `transfer-run plan JOB --online --save FILE` writes", node)
        return nil
    }

    private static func entry(_ node: YAMLTree.NodeID, _ id: String, _ reader: FieldReader) -> LockFile.Entry? {
        var entry = LockFile.Entry(id: id, answer: HeldAnswer(url: ""))
        reader.fields(node, "`\(id)`", known: members) { name, value in
            switch name {
            case "path": entry.path = reader.text(value, name)
            case "url": entry.answer.url = reader.text(value, name) ?? ""
            case "size": entry.answer.size = reader.integer(value, name, 0 ... .max)
            case "etag": entry.answer.etag = reader.text(value, name)
            case "lastModified": entry.answer.lastModified = reader.text(value, name)
            case "sha256": entry.answer.sha256 = digest(value, reader)
            case "type": entry.answer.mimeType = reader.text(value, name)
            default: entry.answer.certificate = reader.text(value, name)
            }
        }
        guard reader.tree.kind(node) == .mapping else { return nil }
        if entry.answer.url.isEmpty { reader.error("missing-key", "`\(id)` has no `url`", node) }
        return entry
    }

    private static func digest(_ node: YAMLTree.NodeID, _ reader: FieldReader) -> Checksum? {
        guard let text = reader.text(node, "sha256") else { return nil }
        let digits = Array(text.utf8)
        var bytes: [UInt8] = []
        for place in stride(from: 0, to: digits.count - 1, by: 2) {
            guard let high = PercentEncoding.hexValue(digits[place]),
                let low = PercentEncoding.hexValue(digits[place + 1])
            else { break }
            bytes.append(high << 4 | low)
        }
        guard digits.count == 64, bytes.count == 32 else {
            reader.error("invalid-value", "`sha256` must be 64 hexadecimal digits, not `\(text.prefix(70))`", node)
            return nil
        }
        return Checksum(algorithm: .sha256, bytes: bytes)
    }
}
