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

    /// `https://mirror.example.org:443`: the form of `hosts[].host` in the report, the port always there.
    package var description: String { "\(scheme)://\(host):\(port)" }
    /// `mirror.example.org:443`: the form of a challenge's `host`.
    package var hostAndPort: String { "\(host):\(port)" }
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

    package init() {}

    package mutating func id(of origin: Origin) -> OriginID {
        if let known = numbers[origin] { return known }
        let id = OriginID(raw: UInt32(origins.count))
        numbers[origin] = id
        origins.append(origin)
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

    /// `nil` when the text is no host pattern: empty, a `*` inside a name, a port that is none.
    package init?(_ text: String) {
        description = text
        var host = text.lowercased()
        port =
            if !host.hasSuffix("]"), let colon = host.lastIndex(of: ":"), !host[..<colon].isEmpty {
                UInt16(host[host.index(after: colon)...])
            } else { nil }
        if !host.hasSuffix("]"), let colon = host.lastIndex(of: ":") {
            guard port != nil else { return nil }
            host = String(host[..<colon])
        }
        while host.hasSuffix(".") { host.removeLast() }
        let isAddress = host.hasPrefix("[")
        guard !host.isEmpty, host.utf8.allSatisfy({ HostPattern.isAllowed($0, inAddress: isAddress) }) else { return nil }
        if host == "*" {
            shape = .any
        } else if host.hasPrefix("*.") {
            let suffix = String(host.dropFirst(2))
            guard !suffix.isEmpty, !suffix.contains("*"), let ascii = HostName.ascii(suffix) else { return nil }
            shape = .below("." + ascii)
        } else {
            guard !host.contains("*"), let ascii = isAddress ? host : HostName.ascii(host) else { return nil }
            shape = .exactly(ascii)
        }
    }

    private static func isAllowed(_ byte: UInt8, inAddress: Bool) -> Bool {
        switch byte {
        case UInt8(ascii: "/"), UInt8(ascii: "@"), UInt8(ascii: "?"), UInt8(ascii: "#"), 0...32: false
        case UInt8(ascii: ":"), UInt8(ascii: "["), UInt8(ascii: "]"): inAddress
        default: true
        }
    }

    /// Whether `host` (lower case, ASCII, as a `ResourceURL` has it) at `port` is meant.
    package func matches(host: String, port other: UInt16) -> Bool {
        if let port, port != other { return false }
        switch shape {
        case .any: return true
        case .exactly(let name): return name == host
        case .below(let suffix): return host.hasSuffix(suffix) && host.utf8.count > suffix.utf8.count
        }
    }

    package func matches(_ origin: Origin) -> Bool { matches(host: origin.host, port: origin.port) }
}
