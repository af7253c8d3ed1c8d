/// A proxy: its address, its protocol, and the user and password for it. Printed, it shows neither user nor password.
package struct ProxyServer: Hashable, Sendable, CustomStringConvertible {
    /// The protocol that the proxy speaks: the scheme of its URL.
    package enum Kind: String, CaseIterable, Sendable {
        case http, https, socks4, socks4a, socks5, socks5h

        /// Whether it is one of the SOCKS protocols.
        package var isSOCKS: Bool { self != .http && self != .https }

        fileprivate var defaultPort: UInt16 {
            switch self {
            case .http: 80
            case .https: 443
            case .socks4, .socks4a, .socks5, .socks5h: 1080
            }
        }
    }

    /// The protocol that the proxy speaks.
    package let kind: Kind
    /// The proxy's host in lower case and ASCII; an IPv6 address keeps its brackets.
    package let host: String
    /// The proxy's port, written or by default.
    package let port: UInt16
    /// The user in the proxy's URL, percent-decoded; `nil` for none.
    package let user: SecretText?
    /// The password in the proxy's URL, percent-decoded; `nil` for none.
    package let password: SecretText?

    package init(kind: Kind, host: String, port: UInt16, user: SecretText? = nil, password: SecretText? = nil) {
        self.kind = kind
        self.host = host
        self.port = port
        self.user = user
        self.password = password
    }

    /// `socks5h://gate.example.org:1080`
    package var description: String { "\(kind.rawValue)://\(host):\(port)" }
    /// The proxy's scheme, host and port, for matching host patterns.
    package var origin: Origin { Origin(scheme: kind.rawValue, host: host, port: port) }

    /// Returns the proxy that a URL names. In the environment a URL often lacks the scheme, and desktops write
    /// `socks://`, which other programs take for SOCKS4.
    package static func parse(_ text: String, fromEnvironment: Bool = false) throws(URLProblem) -> ProxyServer {
        let url = try ResourceURL.parse(fromEnvironment && !text.contains("://") ? "http://\(text)" : text)
        let isPlainSOCKS = fromEnvironment && url.scheme == "socks"
        guard let kind = isPlainSOCKS ? .socks4 : Kind(rawValue: url.scheme) else {
            throw URLProblem(message: "`\(url.scheme)` is no kind of proxy", offset: 0)
        }
        guard url.path == "/", url.query == nil else {
            throw URLProblem(message: "nothing can follow a proxy's host and port", offset: 0)
        }
        let (user, password) = try credentials(url.userInformation)
        return ProxyServer(
            kind: kind, host: url.host, port: url.port == 0 ? kind.defaultPort : url.port, user: user,
            password: password)
    }

    private static func credentials(
        _ information: String?
    ) throws(URLProblem) -> (user: SecretText?, password: SecretText?) {
        guard let information, !information.isEmpty else { return (nil, nil) }
        let parts = information.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
        var decoded: [SecretText] = []
        for part in parts {
            // SOCKS counts the bytes of each in one byte; a control character is allowed in neither protocol.
            guard let text = PercentEncoding.decode(String(part)), text.utf8.count <= 255,
                !text.utf8.contains(where: { $0 < 0x20 || $0 == 0x7F })
            else { throw URLProblem(message: "its user or password cannot be sent", offset: 0) }
            decoded.append(SecretText(pieces: [.secret(name: "proxy", value: text, hosts: nil)]))
        }
        if decoded[0].revealed.utf8.contains(UInt8(ascii: ":")) {
            throw URLProblem(message: "a proxy's user cannot hold a colon", offset: 0)
        }
        return (decoded[0], decoded.count > 1 ? decoded[1] : nil)
    }

    /// The values to redact: the password, and user and password as HTTP sends them, where they are long enough to look
    /// for.
    package var secrets: [KnownSecret] {
        guard let password = password?.revealed, !password.isEmpty else { return [] }
        let both = "\(user?.revealed ?? ""):\(password)"
        return [password, both].filter { $0.utf8.count >= Self.shortestSecret }
            .map { KnownSecret(name: "proxy", value: $0) }
    }

    /// Least bytes of a value to redact; a shorter one would be masked where it stands by chance.
    private static let shortestSecret = 6
}

/// The proxies that the environment names, read once.
package struct ProxyEnvironment: Sendable {
    /// The proxy for http requests; `nil`: `all` applies.
    package var http: ProxyServer?
    /// The proxy for https requests; `nil`: `all` applies.
    package var https: ProxyServer?
    /// The proxy for ftp requests; `nil`: `all` applies.
    package var ftp: ProxyServer?
    /// The proxy for requests without one of their own; `nil` for none.
    package var all: ProxyServer?
    /// Hosts that are reached directly, as `no_proxy` lists them.
    package var bypass = ""

    package init() {}

    /// Variables for `http`; here and below the first that is set and not empty counts. `HTTP_PROXY` is left out: a web
    /// server sets it for its programs to whatever a client sent as the header `Proxy`.
    package static let httpNames = ["http_proxy"]
    /// Variables for `https`.
    package static let httpsNames = ["https_proxy", "HTTPS_PROXY"]
    /// Variables for `ftp`.
    package static let ftpNames = ["ftp_proxy", "FTP_PROXY"]
    /// Variables for `all`.
    package static let allNames = ["all_proxy", "ALL_PROXY"]
    /// Variables for `bypass`.
    package static let bypassNames = ["no_proxy", "NO_PROXY"]
}
