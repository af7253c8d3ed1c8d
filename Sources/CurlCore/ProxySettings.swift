internal import CLibcurl
package import TransferModel

/// A proxy in the form that libcurl is configured with. User and password go only to this proxy: an HTTP one gets them
/// in a header made here, because libcurl has sent one proxy's to another (CVE-2026-6253).
package final class ProxySettings: Sendable {
    /// The proxy's address, kind and user.
    package let server: ProxyServer
    /// Value of `Proxy-Authorization` that is sent without a challenge; `nil` without one.
    package let authorization: String?

    package init(_ server: ProxyServer, authorization: String?) {
        self.server = server
        self.authorization = authorization
    }

    /// Whether the proxy speaks HTTP: CONNECT for https and ftp, whole URLs for plain http.
    package var speaksHTTP: Bool { !server.kind.isSOCKS }
    var isSecure: Bool { server.kind == .https }
    /// The proxy's host as certificates name it.
    var bareHost: String { server.host.strippedForCertificates }

    fileprivate var kind: Int {
        switch server.kind {
        case .http: tr_proxy_http
        case .https: tr_proxy_https
        case .socks4: tr_proxy_socks4
        case .socks4a: tr_proxy_socks4a
        case .socks5: tr_proxy_socks5
        case .socks5h: tr_proxy_socks5h
        }
    }
}

extension String {
    /// The host without an IPv6 address's brackets or the dot at a name's end.
    var strippedForCertificates: String {
        if hasPrefix("["), hasSuffix("]") { return String(dropFirst().dropLast()) }
        return hasSuffix(".") ? String(dropLast()) : self
    }
}

extension TransferSlot {
    /// Sets the proxy for every URL; environment variables were considered when the request was made.
    func setProxy(_ proxy: ProxySettings, _ request: CurlRequest) {
        if state.tunnel.isNeeded { easy.set(CURLOPT_HTTPPROXYTUNNEL, true) }
        easy.set(CURLOPT_PROXY, proxy.server.description)
        easy.set(CURLOPT_PROXYTYPE, proxy.kind)
        easy.set(CURLOPT_NOPROXY, "")
        if proxy.speaksHTTP {
            easy.set(CURLOPT_HEADEROPT, Int(CURLHEADER_SEPARATE))
            if let login = request.proxyLogin {
                easy.set(CURLOPT_PROXYAUTH, login.method.bits)
                easy.set(CURLOPT_PROXYUSERNAME, login.user)
                easy.set(CURLOPT_PROXYPASSWORD, login.password)
            } else if let value = request.proxyAuthorization ?? proxy.authorization {
                easy.set(proxyHeaders: ["Proxy-Authorization: \(value)"])
            }
        } else {
            easy.set(CURLOPT_SOCKS5_AUTH, Int(tr_auth_basic))
            if let user = proxy.server.user {
                easy.set(CURLOPT_PROXYUSERNAME, user.revealed)
                easy.set(CURLOPT_PROXYPASSWORD, proxy.server.password?.revealed ?? "")
            }
        }
    }

    /// Whether the request goes to an https URL; read between the handshakes.
    var isSecure: Bool { easy.string(CURLINFO_EFFECTIVE_URL)?.hasPrefix("https:") == true }

    /// The server's name as certificates have it.
    var host: String? {
        guard let url = easy.string(CURLINFO_EFFECTIVE_URL), let start = url.firstRange(of: "://")?.upperBound
        else { return nil }
        let authority = url[start...].prefix { $0 != "/" && $0 != "?" }
        if authority.hasPrefix("[") { return String(authority.dropFirst().prefix { $0 != "]" }) }
        return String(authority.prefix { $0 != ":" }).strippedForCertificates
    }
}
