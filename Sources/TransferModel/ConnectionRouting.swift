/// Where a session's connections lead in place of the hosts of URLs: its `connectTo`, `addressFamily` and `unixSocket`.
/// What a request says and what a certificate must be for stays the URL's.
package struct ConnectionRouting: Hashable, Sendable {
    /// `addressFamily`: the kind of address that connections are made to.
    package enum AddressFamily: String, CaseIterable, Sendable { case any, ipv4, ipv6 }

    /// An entry of `connectTo`.
    package struct Detour: Hashable, Sendable {
        /// The host of URLs that the entry is for, without a dot at its end; without a port it is for all ports.
        package let from: HostAndPort
        /// The address to connect to; without a port the URL's stays.
        package let to: HostAndPort

        package init(from: HostAndPort, to: HostAndPort) {
            self.from = HostAndPort(host: Self.withoutLastDot(from.host), port: from.port)
            self.to = to
        }

        /// The host without the dot that may end a name: with it and without it, it is the same host.
        fileprivate static func withoutLastDot(_ host: String) -> String {
            host.utf8.last == UInt8(ascii: ".") ? String(host.dropLast()) : host
        }
    }

    /// The entries of `connectTo`, each host and port once.
    package var detours: [Detour] = []
    /// The kind of address that connections are made to, a proxy's too.
    package var addressFamily = AddressFamily.any
    /// Absolute path of the Unix socket that all requests go over; `nil` for the network.
    package var unixSocket: String?

    package init() {}

    /// Most bytes of a Unix socket's path: the kernel's 108 less the NUL at the end.
    package static let longestSocketPath = 107

    /// Returns the host and port to connect to in place of a URL's, or `nil` for the URL's own. An entry with the port
    /// wins over one for all ports.
    package func target(host: String, port: UInt16) -> (host: String, port: UInt16)? {
        guard !detours.isEmpty else { return nil }
        let name = Detour.withoutLastDot(host)
        let matching = detours.filter { $0.from.host == name && ($0.from.port ?? port) == port }
        guard let detour = matching.first(where: { $0.from.port != nil }) ?? matching.first else { return nil }
        return (detour.to.host, detour.to.port ?? port)
    }

    /// Returns the host and port to connect to in place of the URL's, or `nil` for the URL's own.
    package func target(of url: ResourceURL) -> (host: String, port: UInt16)? {
        detours.isEmpty ? nil : target(host: url.host, port: url.port)
    }

    /// Adds an entry in place of one for the same host and port.
    package mutating func add(_ detour: Detour) {
        remove(detour.from)
        detours.append(detour)
    }

    /// Removes the entry for a host and port.
    package mutating func remove(_ from: HostAndPort) {
        let from = HostAndPort(host: Detour.withoutLastDot(from.host), port: from.port)
        detours.removeAll { $0.from == from }
    }

    /// Whether connections to an address written as `host` are allowed; a name may have addresses of both families.
    package func mayConnect(to host: String) -> Bool {
        switch addressFamily {
        case .any: true
        case .ipv4: !host.hasPrefix("[")
        case .ipv6: host.hasPrefix("[") || !Self.isIPv4(host)
        }
    }

    /// Whether a host in `HostName`'s form is an IPv4 address: its last label begins with a digit only then.
    private static func isIPv4(_ host: String) -> Bool {
        host.utf8.allSatisfy { $0 == UInt8(ascii: ".") || (0x30...0x39).contains($0) }
    }

    /// The place that requests to `url` are answered from, where it is another than the URL's; `nil` otherwise. Answers
    /// of one place are not reused for another.
    package func place(of url: ResourceURL) -> String? {
        if let unixSocket { return "unix:\(unixSocket)" }
        return target(of: url).map { "\($0.host):\($0.port)" }
    }
}
