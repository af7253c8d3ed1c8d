/// Scheme, host and port: connection limits, credentials in headers and redirects compare these.
package struct Origin: Hashable, Sendable, CustomStringConvertible {
    /// The scheme, in lower case.
    package let scheme: String
    /// The host in lower case and ASCII, as `ResourceURL` serialises it; an IPv6 address keeps its brackets.
    package let host: String
    /// The port; 0 for schemes without one.
    package let port: UInt16

    package init(scheme: String, host: String, port: UInt16) {
        self.scheme = scheme
        self.host = host
        self.port = port
    }

    /// `https://mirror.example.org:443`: the form of `hosts[].host` in the report, with the port wherever the scheme
    /// has one.
    package var description: String { port == 0 ? "\(scheme)://\(host)" : "\(scheme)://\(host):\(port)" }

    /// Returns its name in messages that it is none of `hosts`: with the port where a pattern names one.
    package func place(outside hosts: [HostPattern]) -> String {
        hosts.contains(where: \.namesPort) ? "\(host):\(port)" : host
    }
}

/// A number for an origin, given by the run's `OriginTable`: the scheduler counts by it.
package struct OriginID: Hashable, Sendable {
    /// The place in `OriginTable.origins`.
    package let raw: UInt32
    package init(raw: UInt32) { self.raw = raw }
}

/// Numbers origins in the order they are met, so that hot paths compare integers and not strings.
package struct OriginTable: Sendable {
    private var numbers: [Origin: OriginID] = [:]
    /// The origins, by their numbers.
    package private(set) var origins: [Origin] = []

    /// The last URL that was looked up, since most URLs of a run have the origin of the one before; `nil` at first.
    private var last: (url: ResourceURL, id: OriginID)?

    package init() {}

    /// Returns the origin's number, giving it one if it is new.
    package mutating func id(of origin: Origin) -> OriginID {
        if let known = numbers[origin] { return known }
        let id = OriginID(raw: UInt32(origins.count))
        numbers[origin] = id
        origins.append(origin)
        return id
    }

    /// Returns the number of the URL's origin, giving it one if it is new.
    package mutating func id(of url: ResourceURL) -> OriginID {
        if let last, last.url.hasSameOrigin(as: url) { return last.id }
        let id = id(of: url.origin)
        last = (url, id)
        return id
    }

    /// The origin with that number.
    package subscript(id: OriginID) -> Origin { origins[Int(id.raw)] }
}

/// A pattern for hosts: `example.org` (that host), `*.example.org` (any below it), `*` (any), with `:8080` for one
/// port.
package struct HostPattern: Hashable, Sendable, CustomStringConvertible {
    private enum Shape: Hashable, Sendable {
        case any
        case exactly(String)
        case below(String)
    }
    private let shape: Shape
    private let port: UInt16?
    /// The pattern as it was written.
    package let description: String
    /// Whether only one port of the host is meant.
    package var namesPort: Bool { port != nil }

    /// `nil` when the text is no host pattern: empty, a `*` inside a name, or a port that is none.
    package init?(_ text: String) {
        description = text
        var host = text.lowercased()
        if !host.hasSuffix("]"), let colon = host.lastIndex(of: ":") {
            let digits = host[host.index(after: colon)...]
            guard digits.utf8.allSatisfy({ (0x30...0x39).contains($0) }), let number = UInt16(digits), number > 0
            else { return nil }
            port = number
            host = String(host[..<colon])
        } else {
            port = nil
        }
        if host.hasSuffix("."), host != "*." { host.removeLast() }
        guard let shape = Self.shape(host) else { return nil }
        self.shape = shape
    }

    private static func shape(_ host: String) -> Shape? {
        if host == "*" { return .any }
        if host.hasPrefix("[") { return HostName.ipv6(host).map { .exactly($0) } }
        if host.hasPrefix("*.") { return HostName.ascii(String(host.dropFirst(2))).map { .below("." + $0) } }
        return HostName.ascii(host).map { .exactly($0) }
    }

    /// Decides whether `host` (lower case, ASCII, as in a `ResourceURL`) at `port` is meant; a dot at its end makes no
    /// difference.
    package func matches(host: String, port other: UInt16) -> Bool {
        if let port, port != other { return false }
        let name = host.utf8.last == UInt8(ascii: ".") ? host.dropLast() : host[...]
        switch shape {
        case .any: return true
        case .exactly(let own): return own == name
        case .below(let suffix): return name.hasSuffix(suffix) && name.utf8.count > suffix.utf8.count
        }
    }

    /// The host, with the port if one is named, where only one host is meant.
    package var server: String? {
        guard case .exactly(let host) = shape else { return nil }
        return port.map { "\(host):\($0)" } ?? host
    }

    /// Decides whether the origin's host and port are meant.
    package func matches(_ origin: Origin) -> Bool { matches(host: origin.host, port: origin.port) }
}
