import Diagnostics
import HTTPRules
import TransferModel
import YAMLTree

/// Reads the cookie files that sessions name.
extension SessionReader {
    /// Largest number of malformed lines reported one by one for a file; the others are counted.
    private static let mostBadLines = 20

    func readCookies(_ draft: inout SessionDraft, _ entry: Entry) {
        // A session that extends another has its cookies already.
        guard let cookies = place("cookies", entry) else { return }
        let span = reader.beginning(cookies.value)
        guard let path = draft.configuration.cookies.file else {
            if draft.configuration.cookies.save {
                reader.error(
                    "missing-key", "`save` needs a `file` to write cookies to", hint: "write `file: cookies.txt`",
                    at: span)
            }
            return
        }
        let saves = draft.configuration.cookies.save
        if saves { reader.recordFile(.write, path, cookies.value) }
        switch reader.resources.readOwnFile(path, CookieFile.longest) {
        case .success(let bytes):
            draft.configuration.cookies.fileBytes = bytes
            warn(of: CookieFile.read(bytes, at: WallTime(nanoseconds: 0)).badLines, in: path)
        case .failure(.notFound) where saves: draft.configuration.cookies.fileBytes = nil
        case .failure(.notFound) where reader.missingValues == .tolerated:
            reader.warning(
                "missing-value", "the cookie file `\(Reader.short(path))` is not here, and a run needs it",
                hint: "with `save: true` it may be missing", at: span)
        case .failure(let problem):
            reader.error(
                "unreadable-file", "the cookie file `\(Reader.short(path))`: \(problem.words)",
                hint: problem == .notFound ? "with `save: true` it may be missing" : nil, at: span)
        }
    }

    /// Warns of malformed lines by number alone: such a line may contain a session's secret.
    private func warn(of lines: [CookieFile.BadLine], in path: String) {
        let source = SourceText(withheld: path)
        for line in lines.prefix(Self.mostBadLines) {
            reader.problems.warning(
                "bad-cookie", "this line is left out: \(line.why)", at: SourceSpan(line: line.number, column: 1),
                in: source)
        }
        guard lines.count > Self.mostBadLines else { return }
        reader.problems.warning(
            "bad-cookie", "\(lines.count - Self.mostBadLines) more lines are left out",
            at: SourceSpan(line: lines[Self.mostBadLines].number, column: 1), in: source)
    }

    /// Reports sessions that save cookies to the same file: the last one's cookies would replace the others.
    func checkCookieFiles(_ entries: [Entry]) {
        var owners: [String: String] = [:]
        for entry in entries {
            guard let cookies = entry.draft?.configuration.cookies, cookies.save, let path = cookies.file else {
                continue
            }
            let place = Paths.resolvingDots(path)
            if let owner = owners.updateValue(entry.name, forKey: place) {
                reader.error(
                    "conflicting-keys", "the session `\(owner)` saves its cookies to `\(Reader.short(path))` too",
                    hint: "give each session a `file` of its own", at: reader.tree.span(entry.key))
            }
        }
    }
}
