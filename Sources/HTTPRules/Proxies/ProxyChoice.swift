package import TransferModel

/// The proxies that a session's configuration or the environment gives for URLs. Each request asks anew, a redirect's
/// too.
package struct ProxyChoice: Sendable {
    private var http: ProxyServer?
    private var https: ProxyServer?
    private var ftp: ProxyServer?
    private var bypass = ProxyBypass.nothing

    package init(_ configuration: ProxyConfiguration, environment: ProxyEnvironment) {
        switch configuration {
        case .none: break
        case .url(let proxy): (http, https, ftp) = (proxy, proxy, proxy)
        case .byScheme(let http, let https, let ftp, let all, let patterns):
            (self.http, self.https, self.ftp) = (http ?? all, https ?? all, ftp ?? all)
            bypass = ProxyBypass(patterns: patterns)
        case .environment:
            let all = environment.all
            (http, https, ftp) = (environment.http ?? all, environment.https ?? all, environment.ftp ?? all)
            bypass = ProxyBypass(environment: environment.bypass)
        }
    }

    /// All proxies that a URL may go through, each once.
    package var servers: [ProxyServer] {
        [http, https, ftp].compactMap { $0 }.reduce(into: []) { if !$0.contains($1) { $0.append($1) } }
    }

    /// Whether no URL goes through a proxy.
    package var isDirect: Bool { http == nil && https == nil && ftp == nil }

    /// Returns the proxy for `url`, or `nil` for a direct connection. Loopback addresses are no exception unless the
    /// configuration says so.
    package func proxy(for url: ResourceURL) -> ProxyServer? {
        let proxy = url.schemeIs("https") ? https : url.schemeIs("http") ? http : url.schemeIs("ftp") ? ftp : nil
        guard let proxy, !bypass.covers(url) else { return nil }
        return proxy
    }
}
