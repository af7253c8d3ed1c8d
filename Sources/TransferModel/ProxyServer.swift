/// A proxy: where it is, how it is spoken to, and who to be there. Printed, it tells neither user nor password.
package struct ProxyServer: Hashable, Sendable, CustomStringConvertible {
    package enum Kind: String, CaseIterable, Sendable {
        case http, https, socks4, socks4a, socks5, socks5h

        package var isSOCKS: Bool { self != .http && self != .https }

        fileprivate var defaultPort: UInt16 {
            switch self {
            case .http: 80
            case .https: 443
            case .socks4, .socks4a, .socks5, .socks5h: 1080
            }
        }
    }

    package let kind: Kind
    /// In lower case and ASCII; an IPv6 address keeps its brackets.
    package let host: String
    package let port: UInt16
    /// Who to be there, as the URL said before the `@`, decoded.
    package let user: SecretText?
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
    package var origin: Origin { Origin(scheme: kind.rawValue, host: host, port: port) }

    /// Reads a proxy's URL. In the environment it often has no scheme, and desktops write `socks://`, which other
    /// programs take for the oldest kind.
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
            // SOCKS counts each in a byte; a control character belongs into neither protocol.
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

    /// What must not be told of it, long enough to be looked for: the password, and both as HTTP sends them.
    package var secrets: [KnownSecret] {
        guard let password = password?.revealed, !password.isEmpty else { return [] }
        let both = "\(user?.revealed ?? ""):\(password)"
        return [password, both].filter { $0.utf8.count >= Self.shortestSecret }
            .map { KnownSecret(name: "proxy", value: $0) }
    }

    /// Whatever is shorter would be masked where it only happens to stand.
    private static let shortestSecret = 6
}

/// The proxies that the environment names, read once.
package struct ProxyEnvironment: Sendable {
    package var http: ProxyServer?
    package var https: ProxyServer?
    package var ftp: ProxyServer?
    package var all: ProxyServer?
    /// As `no_proxy` says it.
    package var bypass = ""

    package init() {}

    /// The variables of each, the first that is set and not empty counts. `HTTP_PROXY` is none of them: a web server
    /// gives it to its programs with whatever a client sent as the header `Proxy`.
    package static let httpNames = ["http_proxy"]
    package static let httpsNames = ["https_proxy", "HTTPS_PROXY"]
    package static let ftpNames = ["ftp_proxy", "FTP_PROXY"]
    package static let allNames = ["all_proxy", "ALL_PROXY"]
    package static let bypassNames = ["no_proxy", "NO_PROXY"]
}
