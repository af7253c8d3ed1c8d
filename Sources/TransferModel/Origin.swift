/// Scheme, host and port: what a connection limit, a typed header and a redirect compare.
package struct Origin: Hashable, Sendable, CustomStringConvertible {
    package let scheme: String
    /// In lower case and ASCII, as `ResourceURL` serialises it; an IPv6 address keeps its brackets.
    package let host: String
    package let port: UInt16

    package init(scheme: String, host: String, port: UInt16) {
        self.scheme = scheme
        self.host = host
        self.port = port
    }

    /// `https://mirror.example.org:443`: the form of `hosts[].host` in the report, the port there wherever the scheme has one.
    package var description: String { port == 0 ? "\(scheme)://\(host)" : "\(scheme)://\(host):\(port)" }

    /// How it is named where it is none of `hosts`: with its port where a port made the difference.
    package func place(outside hosts: [HostPattern]) -> String {
        hosts.contains(where: \.namesPort) ? "\(host):\(port)" : host
    }
}

/// A number for an origin, given out by the run's `OriginTable`: what the scheduler counts by.
package struct OriginID: Hashable, Sendable {
    package let raw: UInt32
    package init(raw: UInt32) { self.raw = raw }
}

/// Numbers origins in the order they are met, so that hot paths compare integers and not strings.
package struct OriginTable: Sendable {
    private var numbers: [Origin: OriginID] = [:]
    package private(set) var origins: [Origin] = []

    private var last: (url: ResourceURL, id: OriginID)?

    package init() {}

    package mutating func id(of origin: Origin) -> OriginID {
        if let known = numbers[origin] { return known }
        let id = OriginID(raw: UInt32(origins.count))
        numbers[origin] = id
        origins.append(origin)
        return id
    }

    /// The same. Of a run's URLs most have the origin of the one before.
    package mutating func id(of url: ResourceURL) -> OriginID {
        if let last, last.url.hasSameOrigin(as: url) { return last.id }
        let id = id(of: url.origin)
        last = (url, id)
        return id
    }

    package subscript(id: OriginID) -> Origin { origins[Int(id.raw)] }
}

/// `example.org` (that host), `*.example.org` (any below it), `*` (any), with `:8080` for one port.
package struct HostPattern: Hashable, Sendable, CustomStringConvertible {
    private enum Shape: Hashable, Sendable {
        case any
        case exactly(String)
        case below(String)
    }
    private let shape: Shape
    private let port: UInt16?
    package let description: String
    /// Only one port of the host is meant.
    package var namesPort: Bool { port != nil }

    /// `nil` when the text is no host pattern: empty, a `*` inside a name, a port that is none.
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

    /// Whether `host` (lower case, ASCII, as a `ResourceURL` has it) at `port` is meant. A dot at its end makes it
    /// no other host.
    package func matches(host: String, port other: UInt16) -> Bool {
        if let port, port != other { return false }
        let name = host.utf8.last == UInt8(ascii: ".") ? host.dropLast() : host[...]
        switch shape {
        case .any: return true
        case .exactly(let own): return own == name
        case .below(let suffix): return name.hasSuffix(suffix) && name.utf8.count > suffix.utf8.count
        }
    }

    package func matches(_ origin: Origin) -> Bool { matches(host: origin.host, port: origin.port) }
}
