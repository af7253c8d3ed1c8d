import Diagnostics
import TransferModel
import YAMLTree

/// Reads values that say where a session's connections lead, and how many there are.
struct RoutingReader {
    let reader: Reader

    /// Reads `connectTo` over the entries that stand there: an entry written here replaces the one for the same host
    /// and port, and `null` removes it.
    func connectTo(_ node: NodeID, into routing: inout ConnectionRouting) {
        var names: [HostAndPort: String] = [:]
        for (name, key, value) in reader.named(node, .map(Sections.hostAndPortShape)) {
            guard let from = hostAndPort(name, key) else { continue }
            if let first = names.updateValue(name, forKey: ConnectionRouting.Detour(from: from, to: from).from) {
                reader.error(
                    "duplicate-key", "`\(Reader.short(name))` is `\(Reader.short(first))` once more",
                    hint: "letter case and a dot at a name's end make no other host; write one of them", key)
            }
            if reader.tree.isNull(value) {
                routing.remove(from)
                continue
            }
            guard let text = reader.text(value, Sections.hostAndPortShape), !isMissing(text),
                let to = hostAndPort(text, value)
            else { continue }
            routing.add(ConnectionRouting.Detour(from: from, to: to))
            // Without a port it is known in the run.
            let place = (to.port ?? from.port).map { HostAndPort(host: to.host, port: $0) }
            reader.record(.host, "\(to), in place of \(from)", at: reader.tree.span(value), host: place)
            if let port = to.port { reader.access?.connects(to: port) }
        }
    }

    private func hostAndPort(_ text: String, _ node: NodeID) -> HostAndPort? {
        do throws(HostAndPort.Problem) { return try HostAndPort.parse(text) } catch {
            return reader.error("invalid-value", "`\(Reader.short(text))` \(error.message)", hint: error.hint, node)
        }
    }

    /// Reads `addresses.deny`.
    func denials(_ node: NodeID) -> [AddressRules.Denial]? {
        addresses(node)?.map { entry, element in
            AddressRules.Denial(entry, place: "\(reader.source.name):\(reader.tree.span(element).line)")
        }
    }

    /// Reads a list of classes and ranges of addresses.
    func addresses(_ node: NodeID) -> [(entry: AddressRules.Entry, node: NodeID)]? {
        reader.elements(node, .list(Sections.addressesShape)) { element in
            addressEntry(element).map { ($0, element) }
        }
    }

    private func addressEntry(_ node: NodeID) -> AddressRules.Entry? {
        guard let text = reader.text(node, Sections.addressesShape), !isMissing(text) else { return nil }
        if let kind = AddressClass(rawValue: text) { return .all(kind) }
        do throws(AddressRange.Problem) { return .range(try AddressRange.parse(text)) } catch {
            let classes = AddressClass.allCases.map(\.rawValue)
            let isWord = !text.isEmpty && text.utf8.allSatisfy { (0x61...0x7A).contains($0 | 0x20) }
            let known = classes.map { "`\($0)`" }.joined(separator: ", ")
            let hint = Spelling.closest(to: text, among: classes).map { "did you mean `\($0)`?" }
            return reader.error(
                "invalid-value",
                "`\(Reader.short(text))` \(isWord ? "is no class of addresses and no range" : error.message)",
                hint: isWord ? hint ?? "the classes are \(known)" : error.hint, node)
        }
    }

    /// The absolute path of a Unix socket.
    func socketPath(_ node: NodeID) -> String? {
        guard let written = reader.text(node, .path, place: .path), !isMissing(written),
            reader.checked(SecretText(written), node, .path), let path = reader.absolutePath(written, node)
        else { return nil }
        reader.record(.socket, path, node)
        let most = ConnectionRouting.longestSocketPath
        guard path.utf8.count > most else { return path }
        let isRelative = !written.hasPrefix("/")
        return reader.error(
            "invalid-value",
            isRelative
                ? "`\(Reader.short(written))` is too long for a socket: as `\(path)` it has \(path.utf8.count) bytes"
                : "this path is too long for a socket: it has \(path.utf8.count) bytes",
            hint: "the system takes at most \(most); a symbolic link can make it shorter", node)
    }

    private func isMissing(_ text: String) -> Bool {
        reader.missingValues == .tolerated && MissingValue.stands(in: text)
    }

    /// Reads `maximumConnectionsPerHost`: a number, `auto`, or bounds between which the number is found.
    func connections(_ node: NodeID, into session: inout SessionConfiguration) {
        if reader.tree.kind(node) == .mapping { return connectionBounds(node, into: &session) }
        let shape = Shape.either([.integer(Sections.connectionCounts), .choice(["auto"])])
        switch reader.scalar(node, shape) {
        case .text(let text) where text.plain == "auto":
            (session.connectionRange, session.maximumConnectionsPerHost) = (.standard, ConnectionRange.standard.maximum)
        case .text(let text) where !reader.tree.hasDollar(node) && text.plain.flatMap { ValueText.integer($0) } == nil:
            reader.wrongType(node, shape)
        case .number, .text:
            guard let count = reader.integer(node, Sections.connectionCounts) else { return }
            (session.connectionRange, session.maximumConnectionsPerHost) = (nil, Int(count))
        case .boolean, .null: reader.wrongType(node, shape)
        case .unknown, nil: break
        }
    }

    private func connectionBounds(_ node: NodeID, into session: inout SessionConfiguration) {
        var range = session.connectionRange ?? .blank
        Sections.connectionRange.decode(node, into: &range, reader)
        guard range.minimum <= range.maximum else {
            return reader.error(
                "out-of-range", "`minimum` is \(range.minimum), and `maximum` is \(range.maximum)",
                hint: "`minimum` must not be above `maximum`; left out they are 2 and 16", at: reader.beginning(node))
        }
        (session.connectionRange, session.maximumConnectionsPerHost) = (range, range.maximum)
    }
}
