import Diagnostics
import TransferModel
import YAMLTree

/// What of a session's routing does not go together.
extension SessionReader {
    func checkRouting(_ configuration: SessionConfiguration, _ entry: Entry) {
        let routing = configuration.routing
        checkAddresses(configuration, entry)
        if routing.unixSocket != nil {
            checkAlone(configuration, entry)
        } else if let detour = routing.detours.first(where: { !routing.mayConnect(to: $0.to.host) }) {
            let family = routing.addressFamily.rawValue
            reader.error(
                "conflicting-keys",
                "`connectTo` leads to `\(detour.to)`, and `addressFamily: \(family)` forbids that",
                hint: "name an address of that family, or leave `addressFamily` out", at: span("connectTo", entry))
        }
    }

    /// A session that could connect to nothing, and rules that do nothing.
    private func checkAddresses(_ configuration: SessionConfiguration, _ entry: Entry) {
        let rules = configuration.addresses
        if let path = configuration.routing.unixSocket, rules.objection(toSocket: path) != nil {
            reader.error(
                "conflicting-keys",
                "a `unixSocket` is a place of this machine, and `addresses.deny` refuses `loopback`",
                hint: "write `allow: [loopback]` in `addresses`, or leave `loopback` or the socket out",
                at: span("addresses", entry))
        }
        guard rules.deny.isEmpty, !rules.allow.isEmpty, place("addresses", entry) != nil else { return }
        reader.warning(
            "no-effect", "`addresses.allow` does nothing where `deny` refuses nothing",
            hint: "all addresses are connected to that `deny` does not name", at: span("addresses", entry))
    }

    /// A Unix socket takes all requests of the session: nothing is left for keys about the network.
    private func checkAlone(_ configuration: SessionConfiguration, _ entry: Entry) {
        var idle: [(name: StaticString, reason: String)] = []
        if !configuration.routing.detours.isEmpty {
            idle.append(("connectTo", "all requests of the session go over its `unixSocket`"))
        }
        if configuration.routing.addressFamily != .any {
            idle.append(("addressFamily", "a `unixSocket` is no IP address"))
        }
        switch configuration.proxy {
        case .environment, .none: break
        case .url, .byScheme:
            idle.append(("proxy", "no proxy can be asked to connect to a `unixSocket` of this machine"))
        }
        if configuration.http.version == .http2, let place = place("http", entry) {
            reader.warning(
                "no-effect", "over a `unixSocket` HTTP/1.1 is spoken", hint: "leave `version` out",
                at: reader.tree.span(place.key))
        }
        for (name, reason) in idle {
            guard let place = place(name, entry) else { continue }
            reader.error(
                "conflicting-keys", "`\(name)` and `unixSocket` exclude each other: \(reason)",
                hint: "leave `\(name)` or `unixSocket` out", at: reader.tree.span(place.key))
        }
        let copied = idle.map(\.name).filter { place($0, entry) == nil }
        guard !copied.isEmpty else { return }
        let names = copied.map { "`\($0)`" }.joined(separator: ", ")
        reader.error(
            "conflicting-keys",
            "the session that this one extends has \(names), and `unixSocket` excludes "
                + "\(copied.count == 1 ? "that" : "those")",
            hint: "write \(copied.map { "`\($0): null`" }.joined(separator: ", ")) here",
            at: span("unixSocket", entry))
    }

    private func span(_ name: StaticString, _ entry: Entry) -> SourceSpan {
        place(name, entry).map { reader.tree.span($0.key) } ?? reader.tree.span(entry.key)
    }
}
