import TransferModel
import YAMLTree

/// The job's sessions by name and number.
struct SessionTable {
    var configurations: [SessionConfiguration]
    private var numbers: [String: Int]

    init(_ configurations: [SessionConfiguration]) {
        self.configurations = configurations
        numbers = Dictionary(
            configurations.enumerated().map { ($0.element.name, $0.offset) }, uniquingKeysWith: { first, _ in first })
    }

    var names: [String] { configurations.map(\.name) }

    var known: String {
        "the sessions are \(names.prefix(12).map { "`\($0)`" }.joined(separator: ", "))\(names.count > 12 ? ", ..." : "")"
    }

    func index(of name: String) -> SessionIndex? {
        // Most jobs have few sessions: comparing is then faster than hashing.
        if configurations.count <= 4 {
            return configurations.firstIndex { $0.name == name }.map { SessionIndex(raw: UInt16($0)) }
        }
        return numbers[name].map { SessionIndex(raw: UInt16($0)) }
    }

    /// The session of a task that names none: the only session, or the one called `default`; else `nil`.
    var standard: SessionIndex? {
        if configurations.count == 1 { return SessionIndex(raw: 0) }
        return index(of: "default")
    }
}

/// Reads `sessions`, each after the one it extends.
struct SessionReader {
    let reader: Reader
    private static let maximumSessions = 10_000

    struct Entry {
        let name: String
        let key: NodeID
        let node: NodeID
        var base: (name: String, node: NodeID)?
        var draft: SessionDraft?
    }

    init(reader: Reader) { self.reader = reader }

    func read(_ node: NodeID?) -> SessionTable {
        guard let node else { return SessionTable([SessionConfiguration(name: "default")]) }
        reader.key = "sessions"
        var entries = entries(node)
        if entries.count > Self.maximumSessions {
            reader.error(
                "too-many-sessions", "a job has at most \(Self.maximumSessions) sessions", at: reader.beginning(node))
            entries = Array(entries.prefix(Self.maximumSessions))
        }
        let numbers = Dictionary(
            entries.enumerated().map { ($0.element.name, $0.offset) }, uniquingKeysWith: { first, _ in first })
        for number in entries.indices { resolve(number, &entries, numbers) }
        checkIdentifiers(entries)
        checkCookieFiles(entries)
        let configurations = entries.compactMap { $0.draft.map { Self.finished($0) } }
        if configurations.isEmpty, reader.tree.kind(node) == .mapping, reader.tree.count(node) == 0 {
            reader.error(
                "empty-map", "`sessions` defines no session", hint: "leave it out for the implicit `default`",
                at: reader.beginning(node))
        }
        return SessionTable(configurations.isEmpty ? [SessionConfiguration(name: "default")] : configurations)
    }

    private func entries(_ node: NodeID) -> [Entry] {
        reader.named(node, .map(.object("session"))).compactMap { name, key, value in
            guard !name.isEmpty, name.utf8.count <= 200,
                !name.utf8.contains(where: { $0 < 0x20 || $0 == 0x2F || $0 == 0x7F })
            else {
                return reader.error(
                    "invalid-name", "`\(Reader.short(name))` is no name for a session",
                    hint: "its stores lie under it: no `/`", key)
            }
            if reader.tree.isNull(value) { return Entry(name: name, key: key, node: value) }
            guard reader.expectMap(value, "a session") else { return nil }
            return Entry(name: name, key: key, node: value, base: base(value))
        }
    }

    private func base(_ node: NodeID) -> (name: String, node: NodeID)? {
        for (key, value) in reader.tree.entries(node)
        where reader.tree.text(key, is: "extends") && !reader.tree.isNull(value) {
            reader.key = "extends"
            return reader.text(value).map { ($0, value) }
        }
        return nil
    }

    /// Reads a session after those that it extends. Keeps a list instead of recursing: chains may be as long as a file.
    private func resolve(_ number: Int, _ entries: inout [Entry], _ numbers: [String: Int]) {
        var chain: [Int] = []
        var next: Int? = number
        while let current = next, entries[current].draft == nil {
            if let start = chain.firstIndex(of: current) {
                let names = (chain[start...] + [current]).map { entries[$0].name }
                reader.error(
                    "extends-cycle", "sessions extend each other: \(names.prefix(12).joined(separator: " -> "))",
                    at: reader.tree.span(entries[chain[chain.count - 1]].base?.node ?? entries[current].node))
                break
            }
            chain.append(current)
            next = entries[current].base.flatMap { base in
                if numbers[base.name] == nil { unknown(base, entries.map(\.name)) }
                return numbers[base.name]
            }
        }
        for current in chain.reversed() where entries[current].draft == nil {
            let base = entries[current].base.flatMap { numbers[$0.name] }.flatMap { entries[$0].draft }
            entries[current].draft = read(entries[current], over: base)
        }
    }

    private func unknown(_ base: (name: String, node: NodeID), _ known: [String]) {
        let hint = reader.closest(base.name, known).map { "did you mean `\($0)`?" }
        reader.error(
            "unknown-session", "there is no session `\(Reader.short(base.name))` to extend", hint: hint, base.node)
    }

    private func read(_ entry: Entry, over base: SessionDraft?) -> SessionDraft {
        var draft = base ?? .blank
        draft.configuration.name = entry.name
        draft.configuration.identifier = nil
        reader.owner = "session `\(Reader.short(entry.name))`"
        defer { reader.owner = "the job" }
        if !reader.tree.isNull(entry.node) { Sections.session.decode(entry.node, into: &draft, reader) }
        if draft.configuration.kind == .background {
            reader.record(
                .background, entry.name, at: reader.tree.span(place("configuration", entry)?.key ?? entry.key))
        }
        check(draft, entry)
        readCookies(&draft, entry)
        return draft
    }

    /// Returns the configuration with the defaults of a background session and of one at a Unix socket, which sessions
    /// that extend it do not inherit.
    private static func finished(_ draft: SessionDraft) -> SessionConfiguration {
        var configuration = draft.configuration
        // Each request there has a connection of its own: nothing to share by HTTP/2.
        if configuration.routing.unixSocket != nil { configuration.http.version = .http1 }
        guard configuration.kind == .background else { return configuration }
        if !draft.writesDurability { configuration.durability = .flush }
        configuration.taskDefaults.waitsForConnectivity = true
        return configuration
    }

    // MARK: Checks

    func place(_ name: StaticString, _ entry: Entry) -> (key: NodeID, value: NodeID)? {
        for (key, value) in reader.tree.entries(entry.node)
        where reader.tree.text(key, is: name) && !reader.tree.isNull(value) {
            return (key, value)
        }
        return nil
    }

    private func check(_ draft: SessionDraft, _ entry: Entry) {
        let configuration = draft.configuration
        if let maximum = configuration.tls.maximum, maximum < configuration.tls.minimum {
            let span = place("tls", entry).map { reader.tree.span($0.key) } ?? reader.tree.span(entry.key)
            reader.error(
                "conflicting-keys",
                "`tls.maximum` \(maximum.rawValue) is below `minimum` \(configuration.tls.minimum.rawValue)",
                at: span)
        }
        if configuration.tls.policy == .only, configuration.tls.ca == nil, configuration.tls.pins.isEmpty {
            let span = place("tls", entry).map { reader.tree.span($0.key) } ?? reader.tree.span(entry.key)
            reader.error("missing-key", "`policy: only` needs `ca` or `pin`: else nothing is trusted", at: span)
        }
        reader.refuseOldTLS(
            configuration.tls, at: place("tls", entry).map { reader.tree.span($0.key) } ?? reader.tree.span(entry.key))
        checkRouting(configuration, entry)
        configuration.kind == .background ? checkBackground(draft, entry) : checkForeground(draft, entry)
    }

    private func checkForeground(_ draft: SessionDraft, _ entry: Entry) {
        let word = draft.configuration.kind.rawValue
        for name: StaticString in ["identifier", "onFinish"] {
            guard let place = place(name, entry) else { continue }
            reader.error(
                "not-for-configuration", "`\(name)` is for background sessions, this one is \(word)",
                hint: "write `configuration: background`, or leave it out", at: reader.tree.span(place.key))
        }
    }

    private func checkBackground(_ draft: SessionDraft, _ entry: Entry) {
        if draft.configuration.identifier == nil, place("identifier", entry) == nil {
            let isCopy = entry.base != nil && place("configuration", entry) == nil
            reader.error(
                "missing-key",
                isCopy
                    ? "a copy of a background session needs an `identifier` of its own"
                    : "a background session needs an `identifier`",
                hint: "unique on the machine, such as `org.example.nightly`", entry.key)
        }
        if let waits = place("waitsForConnectivity", entry), !draft.configuration.taskDefaults.waitsForConnectivity {
            reader.warning(
                "no-effect", "`waitsForConnectivity: false` has no effect in a background session",
                hint: "it always waits",
                at: reader.tree.span(waits.value))
        }
        if draft.configuration.taskDefaults.redirects.follow != .always {
            let span = place("redirects", entry).map { reader.tree.span($0.key) } ?? reader.tree.span(entry.key)
            reader.error(
                "background-restriction", "a background session always follows redirects", hint: "leave `follow` out",
                at: span)
        }
        if !draft.configuration.protocols.isEmpty {
            let span = place("protocols", entry).map { reader.tree.span($0.key) } ?? reader.tree.span(entry.key)
            reader.error("background-restriction", "own protocols do not work in a background session", at: span)
        }
    }

    private func checkIdentifiers(_ entries: [Entry]) {
        var seen: [String: String] = [:]
        for entry in entries {
            guard let identifier = entry.draft?.configuration.identifier else { continue }
            if let other = seen[identifier] {
                let place = place("identifier", entry)
                reader.error(
                    "duplicate-identifier", "the identifier `\(identifier)` is the session `\(other)`'s already",
                    at: reader.tree.span(place?.value ?? entry.key))
            }
            seen[identifier] = entry.name
        }
    }
}
