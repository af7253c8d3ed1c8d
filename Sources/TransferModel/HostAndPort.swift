internal import Glibc

/// A host and perhaps a port: one side of an entry of `connectTo`.
package struct HostAndPort: Hashable, Sendable, CustomStringConvertible {
    /// The host in lower case and ASCII; an IPv6 address keeps its brackets.
    package let host: String
    /// The port; `nil` where none is written.
    package let port: UInt16?

    package init(host: String, port: UInt16?) {
        self.host = host
        self.port = port
    }

    /// `example.org:8443`, or the host alone.
    package var description: String { port.map { "\(host):\($0)" } ?? host }

    /// Why a text is no host with an optional port.
    package struct Problem: Error, Hashable {
        /// What is wrong, as the end of a sentence that begins with the text.
        package let message: String
        /// What would be right.
        package let hint: String
    }

    /// Reads `example.org`, `example.org:8443`, `127.0.0.1`, `[::1]` and `[::1]:8443`.
    package static func parse(_ text: String) throws(Problem) -> HostAndPort {
        if text.isEmpty { throw Problem(message: "is empty", hint: usualHint) }
        if text.utf8.contains(UInt8(ascii: "/")) {
            throw Problem(
                message: "is no host with a port", hint: "leave the scheme and the path out: \(examples)")
        }
        if text.utf8.contains(UInt8(ascii: "*")) {
            throw Problem(message: "is a pattern", hint: "each host has an entry of its own: \(examples)")
        }
        let (name, port) = text.hasPrefix("[") ? try bracketed(text) : try named(text)
        return HostAndPort(host: name, port: try port.map { (text) throws(Problem) in try number(text) })
    }

    private static let examples = "`example.org:443`, `127.0.0.1:8443` or `[::1]:8443`"
    private static let usualHint = "write \(examples); the port may be left out"

    private static func bracketed(_ text: String) throws(Problem) -> (String, Substring?) {
        guard let end = text.lastIndex(of: "]") else {
            throw Problem(message: "lacks the `]` after its IPv6 address", hint: "write `[::1]` or `[::1]:8443`")
        }
        let literal = text[...end]
        let rest = text[text.index(after: end)...]
        guard let host = HostName.ipv6(literal) else {
            let hint =
                literal.contains("%")
                ? "an address with the name of an interface is not taken" : "write `[::1]` or `[2001:db8::7]:8443`"
            throw Problem(message: "holds no IPv6 address between its brackets", hint: hint)
        }
        guard rest.isEmpty || rest.hasPrefix(":") else {
            throw Problem(message: "goes on after its IPv6 address", hint: "a port follows a colon: `[::1]:8443`")
        }
        return (host, rest.isEmpty ? nil : rest.dropFirst())
    }

    private static func named(_ text: String) throws(Problem) -> (String, Substring?) {
        let parts = text.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
        if parts.count == 2, parts[1].contains(":") {
            if HostName.ipv6("[\(text)]") != nil {
                throw Problem(
                    message: "is an IPv6 address without brackets", hint: "write `[\(text)]` or `[\(text)]:8443`")
            }
            throw Problem(message: "has more than one colon", hint: usualHint)
        }
        if parts[0].isEmpty { throw Problem(message: "lacks the host before its colon", hint: usualHint) }
        guard let host = HostName.ascii(String(parts[0])) else {
            throw Problem(message: "is no host with a port", hint: usualHint)
        }
        return (host, parts.count == 2 ? parts[1] : nil)
    }

    private static func number(_ digits: Substring) throws(Problem) -> UInt16 {
        if digits.isEmpty {
            throw Problem(message: "lacks the port after its colon", hint: "leave the colon out too, or write `:443`")
        }
        guard digits.utf8.allSatisfy({ (0x30...0x39).contains($0) }), let port = UInt16(digits), port > 0 else {
            throw Problem(
                message: "has `\(digits.prefix(20))` where its port must be",
                hint: "a port is a number from 1 to 65535")
        }
        return port
    }
}
