import Diagnostics
import TransferModel
import YAMLTree

/// Values that say where a session's connections lead.
extension Reader {
    /// Reads `connectTo` over the entries that stand there: an entry written here replaces the one for the same host
    /// and port, and `null` removes it.
    func connectTo(_ node: NodeID, into routing: inout ConnectionRouting) {
        var names: [HostAndPort: String] = [:]
        for (name, key, value) in named(node, .map(Sections.hostAndPortShape)) {
            guard let from = hostAndPort(name, key) else { continue }
            if let first = names.updateValue(name, forKey: ConnectionRouting.Detour(from: from, to: from).from) {
                error(
                    "duplicate-key", "`\(Self.short(name))` is `\(Self.short(first))` once more",
                    hint: "letter case and a dot at a name's end make no other host; write one of them", key)
            }
            if tree.isNull(value) {
                routing.remove(from)
                continue
            }
            guard let text = text(value, Sections.hostAndPortShape), !isMissing(text),
                let to = hostAndPort(text, value)
            else { continue }
            routing.add(ConnectionRouting.Detour(from: from, to: to))
            note(.host, "\(to), in place of \(from)", value)
        }
    }

    private func hostAndPort(_ text: String, _ node: NodeID) -> HostAndPort? {
        do throws(HostAndPort.Problem) { return try HostAndPort.parse(text) } catch {
            self.error("invalid-value", "`\(Self.short(text))` \(error.message)", hint: error.hint, node)
            return nil
        }
    }

    /// The absolute path of a Unix socket.
    func socketPath(_ node: NodeID) -> String? {
        guard let written = text(node, .path, place: .path), !isMissing(written),
            checked(SecretText(written), node, .path), let path = absolutePath(written, node)
        else { return nil }
        note(.socket, path, node)
        let most = ConnectionRouting.longestSocketPath
        guard path.utf8.count > most else { return path }
        let isRelative = !written.hasPrefix("/")
        error(
            "invalid-value",
            isRelative
                ? "`\(Self.short(written))` is too long for a socket: as `\(path)` it has \(path.utf8.count) bytes"
                : "this path is too long for a socket: it has \(path.utf8.count) bytes",
            hint: "the system takes at most \(most); a symbolic link can make it shorter", node)
        return nil
    }

    private func isMissing(_ text: String) -> Bool { missingValues == .tolerated && MissingValue.stands(in: text) }
}
