import Diagnostics
import HTTPRules
import TransferModel
import YAMLTree

/// Reads a task's location and destination.
extension TaskLoader {
    func location(_ draft: TaskDraft) -> TaskSpecification.Location? {
        let head = draft.head
        if written.has(table.url), written.has(table.urls) {
            reader.error(
                "conflicting-keys", "`url` and `urls` exclude each other", hint: "keep one of them",
                at: reader.tree.span(written.key(table.urls)))
        }
        guard let first = head.location ?? head.mirrors.first else {
            let places = bit(table.url) | bit(table.urls)
            let misspelled = written.misspelled | defaults.written.misspelled
            if (written.present | misspelled | defaults.written.present & ~written.nulls) & places == 0 {
                reader.error("missing-key", "a task needs `url` or `urls`", at: reader.beginning(draft.node))
            }
            return nil
        }
        let row = written.has(table.urls) || written.has(table.url) ? written : defaults.written
        let key = row.has(table.urls) ? table.urls : table.url
        for place in head.location.map({ [$0] }) ?? head.mirrors { checkScheme(place, draft, row.value(key)) }
        return withQuery(first, head)
    }

    func withQuery(_ location: TaskSpecification.Location, _ head: TaskHead) -> TaskSpecification.Location {
        guard !head.query.isEmpty else { return location }
        guard case .url(let url) = location, !head.query.contains(where: \.value.awaitsCapture) else {
            return awaiting(location, head)
        }
        for field in head.query where field.value.plain == nil {
            guard let name = field.value.secretBarred(from: url.origin) else { continue }
            let place = written.has(table.query) ? written.value(table.query) : defaults.written.value(table.query)
            reader.error(
                "secret-elsewhere", "the secret `\(name)` may not be sent to `\(field.value.barredPlace(url.origin))`",
                hint: "its `hosts` say where it may go", at: reader.beginning(place))
        }
        let encoded = head.query.map {
            "\(PercentEncoding.encode($0.name))=\(PercentEncoding.encode($0.value.plain ?? $0.value.revealed))"
        }
        return .url(url.adding(encodedQuery: encoded.joined(separator: "&")))
    }

    /// Returns the location with the query's fields set aside: a captured value is known only in mid-run, and the
    /// fields are added then.
    private func awaiting(_ location: TaskSpecification.Location, _ head: TaskHead) -> TaskSpecification.Location {
        switch location {
        case .awaitingCapture(let text, _): return .awaitingCapture(text, query: head.query)
        case .url(let url):
            if url.userInformation != nil {
                reader.error(
                    "conflicting-keys", "a URL with a user and captured values in `query` exclude each other",
                    hint: "say under `credentials` who it is", at: reader.tree.span(written.key(table.query)))
            }
            return .awaitingCapture(SecretText(url.text), query: head.query)
        }
    }

    /// Drops uses of captured values in defaults that the task does not use, because it replaces them or is of another
    /// type.
    func settleCaptures(_ draft: TaskDraft, _ task: inout TaskSpecification) {
        var whole = task
        whole.options = awaiting(draft, task.options)
        // A stand-in for unknown tasks keeps all uses: any of them may occur.
        if !reader.scope.isDeferred, reader.scope.captureUses.contains(where: \.isDefault) {
            var left: Set<[String]> = []
            whole.forEachPlace { text in
                for case .capture(let task, let name, _) in text.pieces {
                    // Of a list's value the list is used: `names[3].url`.
                    left.insert([task, String(name.prefix { $0 != "[" })])
                }
            }
            reader.scope.captureUses.removeAll { $0.isDefault && !left.contains([$0.task, $0.name]) }
        }
        if !reader.scope.captureUses.isEmpty { task = whole }
    }

    /// Returns the options of a task that uses captured values.
    private func awaiting(_ draft: TaskDraft, _ options: TaskOptions) -> TaskOptions {
        var values = options.values
        values.awaitsCaptures = true
        // A default that does not fit the task's type waits for nothing.
        if draft.type != .download { values.checksum = nil }
        if bringsFile(draft), let to = draft.head.awaitedTo, !namesObject(draft) {
            let folder = folder(draft.head.group)
            let isAbsolute = to.pieces.first.map {
                if case .literal(let text) = $0 { text.hasPrefix("/") } else { false }
            }
            let whole =
                isAbsolute == true ? to : SecretText(pieces: [.literal(folder == "/" ? "/" : folder + "/")] + to.pieces)
            values.awaitedDestination = whole
            let row = written.has(table.to) ? written : defaults.written
            reader.recordFile(.write, whole.redacted, row.value(table.to))
        }
        return TaskOptions(values)
    }

    func checkScheme(_ location: TaskSpecification.Location, _ draft: TaskDraft, _ node: NodeID) {
        guard let url = location.url else { return }
        if let text = url.userInformation {
            if !url.needsConnection {
                reader.error(
                    "invalid-url", "a `\(url.scheme):` URL takes no user or password", hint: "leave them out", node)
            } else if !text.isEmpty, ShownSecret(userInformation: text) == nil {
                reader.error("invalid-url", "the user and password in the URL are no text", node)
            }
        }
        checkRouting(to: url, draft, node)
        if url.isHTTP { return }
        if isBackground(draft.session) {
            return reader.error(
                "background-restriction", "a background session knows http and https only, not `\(url.scheme)`", node)
        }
        let scheme = url.scheme
        let session = sessions.configurations[Int(draft.session.raw)]
        if SessionKeyReader.builtInSchemes.contains(scheme) || !session.commands(for: url).isEmpty { return }
        let others = sessions.configurations.filter { !$0.commands(for: url).isEmpty }
        let known = SessionKeyReader.builtInSchemes + session.protocols.map(\.scheme)
        reader.warning(
            "unknown-scheme",
            "\(others.isEmpty ? "no session knows" : "the task's session does not know") `\(scheme):`, "
                + "the task will fail with `unsupportedURL`",
            hint: others.first.map { "the session `\($0.name)` has a command for it" }
                ?? plainURL(ofObject: url, draft).map { "write `\(Reader.short($0))`" } ?? Self.otherSchemes[scheme]
                ?? reader.closest(scheme, known).map { "did you mean `\($0)`?" }
                ?? "a session's `protocols` can name a command that fetches it",
            at: reader.tree.span(node))
    }

    /// What is known of schemes that others speak: each is near to one of ours by its letters alone.
    private static let otherSchemes: [String: String] = {
        let command = "a session's `protocols` can name a command that fetches it"
        return [
            "sftp": command, "scp": command, "ftps": command, "tftp": command, "ws": command, "wss": command,
            "s3": "write the object's `https:` URL, and `method: awsSigV4` among the `credentials`",
        ]
    }()

    /// A URL that no connection of its session can lead to.
    private func checkRouting(to url: ResourceURL, _ draft: TaskDraft, _ node: NodeID) {
        let routing = sessions.configurations[Int(draft.session.raw)].routing
        guard routing.unixSocket != nil || routing.addressFamily != .any else { return }
        if routing.unixSocket != nil {
            guard url.schemeIs("ftp") else { return }
            reader.error(
                "conflicting-keys", "ftp does not go over a `unixSocket`, which all requests of the session use",
                hint: "a session without it", node)
        } else if url.needsConnection, routing.target(of: url) == nil, !routing.mayConnect(to: url.host) {
            reader.error(
                "conflicting-keys",
                "the session `\(sessions.configurations[Int(draft.session.raw)].name)` connects to \(routing.addressFamily.rawValue) addresses alone, and "
                    + "`\(url.host)` is none",
                hint: "name a host that has one, or leave `addressFamily` out", node)
        }
    }

    func destination(_ draft: TaskDraft) -> String? {
        guard bringsFile(draft) else {
            // The group has no effect here, but its name must exist.
            _ = folder(draft.head.group)
            return nil
        }
        guard let to = draft.head.to else {
            if draft.head.awaitedTo == nil, !written.has(table.to),
                !defaults.written.has(table.to) || written.nulls & bit(table.to) != 0
            {
                reader.error(
                    "missing-key", "a download needs `to`", hint: "a file, or a folder ending in `/`",
                    at: reader.beginning(draft.node))
            }
            return nil
        }
        let folder = folder(draft.head.group)
        if writesStandardOutput(draft) || namesObject(draft) { return nil }
        let path = Paths.absolute(to, in: folder)
        let row = written.has(table.to) ? written : defaults.written
        reader.recordFile(.write, path, row.value(table.to))
        // A group's tree is created new and without symlinks: `..` in it means what its text says.
        return draft.head.group == nil ? path : Paths.resolvingDots(path, below: folder)
    }

    func folder(_ group: String?) -> String {
        guard let group else { return reader.baseDirectory }
        guard let folder = groups[group] else {
            let place = written.has(table.group) ? written.value(table.group) : defaults.written.value(table.group)
            let known = groups.keys.sorted()
            let hint = reader.closest(group, known).map { "did you mean `\($0)`?" }
            reader.error("unknown-group", "there is no group `\(Reader.short(group))`", hint: hint, place)
            return reader.baseDirectory
        }
        return folder.to.plain.map { $0.hasSuffix("/") && $0 != "/" ? String($0.dropLast()) : $0 }
            ?? reader.baseDirectory
    }
}
