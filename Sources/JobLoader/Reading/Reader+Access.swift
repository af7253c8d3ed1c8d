import Diagnostics
import HTTPRules
import TransferModel
import YAMLTree

/// Records what the job may do while its values are read, so that no key of a kind with access can be forgotten.
extension Reader {
    func record(_ kind: JobAccess.Kind, _ what: @autoclosure () -> String, _ node: NodeID) {
        record(kind, what(), at: tree.span(node))
    }

    func record(
        _ kind: JobAccess.Kind, _ what: @autoclosure () -> String, at span: SourceSpan, host: HostAndPort? = nil
    ) {
        guard notesAccess else { return }
        let what = what()
        let refusals = [room?.refusal(of: kind, what), policy?.refusal(of: kind, what, host)].compactMap(\.self)
        for refusal in refusals { refuse(refusal, at: span) }
        access?.add(kind, what, line: span.line, owner: owner, refusal: refusals.first)
    }

    /// Whether anybody wants to know, or to decide, what the job may do.
    private var notesAccess: Bool { access != nil || room != nil || policy != nil }

    /// Reports what a job may not do that is confined, or under a policy.
    func refuse(_ refusal: AccessRefusal, at span: SourceSpan) {
        error(refusal.code, refusal.message, hint: refusal.hint, at: span)
    }

    /// Records a file; `path` is absolute. Files in the job's own folder are no access, unless the job is confined to another
    /// one.
    func recordFile(_ kind: JobAccess.Kind, _ path: @autoclosure () -> String, _ node: NodeID) {
        guard notesAccess || kind == .read else { return }
        let path = Paths.resolvingDots(path())
        if kind == .read { usedFiles.add(path, readAs: key) }
        guard notesAccess else { return }
        let folder = baseDirectory == "/" ? "/" : baseDirectory + "/"
        let isOwn = path.utf8.starts(with: folder.utf8) || (path + "/").isExactly(folder)
        if isOwn, room?.holds(path) ?? true { return }
        record(kind, path, node)
    }

    func recordCommand(_ words: [SecretText], _ node: NodeID) {
        for word in words { usedFiles.add(word: word.plain ?? "", in: baseDirectory) }
        record(.command, words.map { Self.quoted($0.redacted) }.joined(separator: " "), node)
    }

    /// Returns a word in the quotes that a shell needs.
    private static func quoted(_ word: String) -> String {
        let isPlain =
            !word.isEmpty
            && word.utf8.allSatisfy { byte in
                (0x61...0x7A).contains(byte | 0x20) || (0x30...0x39).contains(byte)
                    || "-_./:=,@%+*$".utf8.contains(byte)
            }
        let parts = word.split(separator: "'", omittingEmptySubsequences: false)
        return isPlain ? word : "'" + parts.joined(separator: "'\\''") + "'"
    }

    func recordHost(_ url: ResourceURL, _ node: NodeID) {
        if url.schemeIs("file") { return recordFile(.read, url.path, node) }
        guard notesAccess, key.description != "mainDocument", url.needsConnection else { return }
        recordHost(url.origin, node)
    }

    /// Records a host, without the default port of its scheme.
    func recordHost(_ origin: Origin, _ node: NodeID) {
        access?.connects(to: origin.port, byFTP: origin.scheme.hasPrefix("ftp"))
        let isUsual = [("http", 80), ("https", 443), ("ftp", 21)].contains { $0 == (origin.scheme, Int(origin.port)) }
        record(
            .host, isUsual ? "\(origin.scheme)://\(origin.host)" : origin.description, at: tree.span(node),
            host: HostAndPort(host: origin.host, port: origin.port))
    }

    /// Records a URL whose host comes from another task's response, or from a value that is missing on this machine.
    func recordUnknownHost(_ text: SecretText, _ node: NodeID) {
        guard notesAccess, key.description != "mainDocument" else { return }
        var known = ""
        for piece in text.pieces {
            guard case .literal(let literal) = piece else { break }
            known += literal
        }
        let isHostKnown = known.split(separator: "/", omittingEmptySubsequences: false).count > 3
        if isHostKnown, let url = try? ResourceURL.parse(known) {
            guard let rewrites = held?.rewrites, !rewrites.isEmpty else { return recordHost(url, node) }
            // Where the operator's rules lead the whole URL is known in the run.
            return record(.host, url.origin.description, node)
        }
        record(.host, "whatever `\(Self.short(tree.text(node)))` names", node)
    }
}
