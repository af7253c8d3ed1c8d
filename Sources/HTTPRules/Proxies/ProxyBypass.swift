package import TransferModel

/// The hosts that are reached without the proxy.
package struct ProxyBypass: Sendable {
    private enum Entry: Sendable {
        case everything
        /// A host pattern of the job.
        case pattern(HostPattern)
        /// A name and all below it, at one port or any.
        case name(String, port: UInt16?)
        case network(AddressRange, port: UInt16?)
    }
    private var entries: [Entry] = []

    /// No host is reached without the proxy.
    package static let nothing = ProxyBypass(patterns: [])

    /// Takes a job's host patterns and CIDR ranges.
    package init(patterns: [String]) {
        entries = patterns.compactMap { text in
            AddressRange(text).map { .network($0, port: nil) } ?? HostPattern(text).map { .pattern($0) }
        }
    }

    /// Reads the value of `no_proxy`: names, which cover all names below them, with or without a dot in front,
    /// addresses and CIDR ranges, each with a port or none, separated by commas or blanks; `*` for all hosts. Anything
    /// else is skipped, as other programs do.
    package init(environment text: String) {
        entries = text.split(whereSeparator: { $0 == "," || $0 == " " || $0 == "\t" }).compactMap { Self.entry($0) }
    }

    private static func entry(_ token: Substring) -> Entry? {
        if token == "*" { return .everything }
        if let range = AddressRange(String(token)) { return .network(range, port: nil) }
        let (host, port) = split(token)
        if port == 0 { return nil }
        if let range = AddressRange(host) { return .network(range, port: port) }
        var name = host[...]
        if name.hasPrefix("*.") { name = name.dropFirst() }
        if name.hasPrefix(".") { name = name.dropFirst() }
        if name.hasSuffix(".") { name = name.dropLast() }
        return HostName.ascii(String(name)).map { .name($0, port: port) }
    }

    /// Splits `host:port`; an invalid port is 0.
    private static func split(_ token: Substring) -> (host: String, port: UInt16?) {
        guard let colon = token.lastIndex(of: ":"), !token.hasSuffix("]") else { return (String(token), nil) }
        return (String(token[..<colon]), UInt16(token[token.index(after: colon)...]) ?? 0)
    }

    /// Whether `url` is reached without the proxy.
    package func covers(_ url: ResourceURL) -> Bool {
        guard !entries.isEmpty else { return false }
        let host = url.host.utf8.last == UInt8(ascii: ".") ? String(url.host.dropLast()) : url.host
        let address = AddressRange.bytes(of: host)
        return entries.contains { covers($0, host, address, url.port) }
    }

    private func covers(_ entry: Entry, _ host: String, _ address: [UInt8]?, _ port: UInt16) -> Bool {
        switch entry {
        case .everything: return true
        case .pattern(let pattern): return pattern.matches(host: host, port: port)
        case .name(let name, let only):
            guard only == nil || only == port, address == nil else { return false }
            return host == name || (host.hasSuffix(name) && host.utf8.dropLast(name.utf8.count).last == 0x2E)
        case .network(let range, let only):
            guard only == nil || only == port, let address else { return false }
            return range.contains(address)
        }
    }
}
