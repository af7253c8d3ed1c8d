import TestSupport
import Testing
import TransferModel

@testable import CurlCore
@testable import TransferEngine

/// Which requests of a session may share connections. Where `connectTo` and `unixSocket` lead is for `RoutingTests`.
@Suite struct SessionPoolsTests {
    private func pools(_ change: (inout SessionConfiguration) -> Void = { _ in }) -> SessionPools {
        var session = SessionConfiguration(name: "s")
        change(&session)
        return SessionPools(session, proxies: ProxyEnvironment(), networks: NetworkState())
    }

    private func pool(
        _ pools: SessionPools, _ url: String, _ own: [ChallengeRule] = [], _ terms: NetworkTerms = NetworkTerms(),
        isApart: Bool = false
    ) throws -> ConnectionPool {
        try pools.pool(for: ResourceURL.parse(url), own, terms, isApart: isApart)
    }

    /// Whether a request is refused before it is sent, and with what.
    private func refusal(_ pools: SessionPools, _ url: String, _ own: [ChallengeRule] = []) throws -> TransferError? {
        let url = try ResourceURL.parse(url)
        do throws(TransferError) {
            _ = try pools.pool(for: url, own, NetworkTerms(), isApart: false)
            return nil
        } catch { return error }
    }

    private func rule(
        _ method: ChallengeRule.Method, _ disposition: ChallengeRule.Disposition, host: String? = nil
    ) -> ChallengeRule {
        var rule = ChallengeRule(disposition: disposition)
        (rule.method, rule.host) = (method, host.flatMap { HostPattern($0) })
        return rule
    }

    private func proxy(_ kind: ProxyServer.Kind, user: SecretText? = nil, password: SecretText? = nil) -> ProxyServer {
        ProxyServer(kind: kind, host: "proxy.test", port: 3128, user: user, password: password)
    }

    // MARK: One pool, and those apart from it

    @Test func requestsOfAPlainSession_shareOnePool() throws {
        let pools = pools()
        let first = try pool(pools, "http://a.test/1")
        #expect(try pool(pools, "https://b.test/2") === first && pools.all.count == 1)
        #expect(first.proxy == nil && first.identity == nil && !first.isPassing)
    }

    /// libcurl does not keep requests in HTTP/1.1 from a connection in HTTP/2.
    @Test(arguments: [ProxyServer.Kind?.none, .http])
    func requestApartFromHTTP2_hasAPoolOfItsOwn(_ kind: ProxyServer.Kind?) throws {
        let pools = pools { if let kind { $0.proxy = .url(proxy(kind)) } }
        let apart = try pool(pools, "https://a.test/", isApart: true)
        #expect(try apart !== pool(pools, "https://a.test/"))
        #expect(try apart === pool(pools, "https://b.test/", isApart: true))
    }

    @Test func requestOfASessionInHTTP1_isNotApart() throws {
        let pools = pools { $0.http.version = .http1 }
        #expect(try pool(pools, "https://a.test/", isApart: true) === pool(pools, "https://a.test/"))
    }

    @Test func taskThatMayUseOtherNetworks_hasAPoolWithAGateOfItsOwn() throws {
        let pools = pools()
        let narrow = NetworkTerms(allowsExpensive: false)
        let usual = try pool(pools, "https://a.test/")
        let other = try pool(pools, "https://a.test/", [], narrow)
        #expect(other !== usual && other.gate !== usual.gate)
        #expect(try pool(pools, "http://b.test/", [], narrow) === other)
    }

    /// What all tasks of the session may use is no difference.
    @Test func taskOnTheNetworksOfItsSession_hasTheSessionsPool() throws {
        let pools = pools { $0.taskDefaults.allowsExpensiveNetworkAccess = false }
        let narrow = NetworkTerms(allowsExpensive: false)
        let usual = try pool(pools, "https://a.test/", [], narrow)
        #expect(pools.all.count == 1)
        #expect(try pool(pools, "https://a.test/") !== usual)
        #expect(try pool(pools, "https://b.test/", [], narrow) === usual)
    }

    // MARK: Proxies

    /// On one connection an HTTP proxy is asked for any host's plain http: only origins keep their limits apart.
    @Test func plainHTTPThroughAProxy_isApartByOrigin() throws {
        let pools = pools { $0.proxy = .url(proxy(.http)) }
        let first = try pool(pools, "http://a.test/1")
        #expect(first.isPassing && first.proxy?.server.host == "proxy.test")
        #expect(try pool(pools, "http://a.test/2") === first)
        #expect(try pool(pools, "http://a.test:81/") !== first && pool(pools, "http://b.test/") !== first)
        let secure = try pool(pools, "https://a.test/")
        #expect(secure !== first && !secure.isPassing && secure.proxy != nil)
        #expect(try pool(pools, "https://b.test/") === secure)
    }

    @Test func requestsThroughSOCKS_shareOnePool() throws {
        let pools = pools { $0.proxy = .url(proxy(.socks5h)) }
        let first = try pool(pools, "http://a.test/")
        #expect(first.proxy?.server.kind == .socks5h && !first.isPassing)
        #expect(try pool(pools, "http://b.test/") === first && pool(pools, "https://a.test/") === first)
    }

    @Test func hostsPastTheProxy_areReachedDirectly() throws {
        let http = proxy(.http)
        let pools = pools { $0.proxy = .byScheme(http: http, https: nil, ftp: nil, all: nil, bypass: ["b.test"]) }
        #expect(try pool(pools, "http://a.test/").proxy != nil)
        let direct = try pool(pools, "http://b.test/")
        #expect(direct.proxy == nil)
        #expect(try pool(pools, "https://a.test/") === direct)
        #expect(pools.proxyServers == [http])
    }

    /// The 64 that were used last are kept.
    @Test func poolOfAnOriginThroughAProxy_goesWhenItWasLongestUnused() throws {
        let pools = pools { $0.proxy = .url(proxy(.http)) }
        let first = try pool(pools, "http://h0.test/")
        let second = try pool(pools, "http://h1.test/")
        for number in 2..<64 { _ = try pool(pools, "http://h\(number).test/") }
        #expect(try pool(pools, "http://h0.test/") === first)
        _ = try pool(pools, "http://h64.test/")
        #expect(try pool(pools, "http://h0.test/") === first)
        #expect(pools.all.count == 65)
        #expect(try pool(pools, "http://h1.test/") !== second)
    }

    @Test func passwordInTheProxysURL_isShownAtOnce() throws {
        let pools = pools { $0.proxy = .url(proxy(.http, user: "u", password: "p")) }
        #expect(try pool(pools, "https://a.test/").proxy?.authorization == "Basic dTpw")
        let nameless = self.pools { $0.proxy = .url(proxy(.http)) }
        #expect(try pool(nameless, "https://a.test/").proxy?.authorization == nil)
    }

    /// An HTTP proxy asks; SOCKS knows no question. What is bound to other hosts is not for it.
    @Test func credentialForASOCKSProxy_isTheFirstThatMayGoThere() throws {
        let elsewhere = try #require(HostPattern("h.test"))
        let bound = SecretText(pieces: [.secret(name: "key", value: "no", hosts: [elsewhere])])
        let (far, here) = (HostPattern("far.test"), HostPattern("proxy.test:3128"))
        func credential(_ user: String, _ password: SecretText, _ host: HostPattern?, _ isForProxy: Bool = true)
            -> Credential
        {
            var made = Credential(source: .password(user: SecretText(user), password: password))
            (made.host, made.isForProxy) = (host, isForProxy)
            return made
        }
        var digest = credential("digest", "no", nil)
        digest.method = .digest
        let credentials = [
            credential("server", "no", nil, false), credential("bound", bound, nil), credential("far", "no", far),
            digest, credential("mine", "yes", here), credential("late", "no", nil),
        ]
        let socks = pools {
            $0.proxy = .url(proxy(.socks5))
            $0.taskDefaults.credentials = credentials
        }
        let server = try pool(socks, "https://a.test/").proxy?.server
        #expect(server?.user?.revealed == "mine" && server?.password?.revealed == "yes")
        let http = pools {
            $0.proxy = .url(proxy(.http))
            $0.taskDefaults.credentials = credentials
        }
        #expect(try pool(http, "https://a.test/").proxy?.server.user == nil)
        let own = pools {
            $0.proxy = .url(proxy(.socks5, user: "own", password: "typed"))
            $0.taskDefaults.credentials = credentials
        }
        #expect(try pool(own, "https://a.test/").proxy?.server.user?.revealed == "own")
    }

    @Test func proxyThatMayAsk_isAnHTTPOneOnTheWay() throws {
        let (a, b) = (try ResourceURL.parse("https://a.test/"), try ResourceURL.parse("http://b.test/"))
        let http = pools { $0.proxy = .byScheme(http: nil, https: proxy(.http), ftp: nil, all: nil, bypass: []) }
        #expect(http.askingProxy(for: a) == proxy(.http).origin && http.askingProxy(for: b) == nil)
        #expect(http.firstHop(of: a) == "proxy.test" && http.firstHop(of: b) == "b.test")
        #expect(pools { $0.proxy = .url(proxy(.socks5)) }.askingProxy(for: a) == nil)
        #expect(pools().askingProxy(for: a) == nil)
    }

    /// No proxy can be asked to connect to a socket of this machine.
    @Test func sessionOverAUnixSocket_hasNoProxy() throws {
        let pools = pools {
            $0.routing.unixSocket = "/run/a.sock"
            $0.proxy = .url(proxy(.http))
        }
        let pool = try pool(pools, "http://a.test/")
        #expect(pool.proxy == nil && pool.path.unixSocket == "/run/a.sock" && pools.proxyServers.isEmpty)
        #expect(try pools.firstHop(of: ResourceURL.parse("http://a.test/")) == nil)
    }

    // MARK: Client certificates

    private func certificate(_ host: String, _ issued: CertificateAuthority.Issued) throws
        -> TLSConfiguration.ClientCertificate
    {
        TLSConfiguration.ClientCertificate(
            host: try #require(HostPattern(host)), certificate: issued.certificateFile, key: issued.keyFile,
            password: nil)
    }

    @Test func certificate_isShownOverHTTPSToItsHostAlone() throws {
        try CurlLibrary.prepare(for: .handshake)
        let authority = try CertificateAuthority()
        defer { withExtendedLifetime(authority) {} }
        let certificates = [
            try certificate("a.test:8443", authority.issue("one")), try certificate("a.test", authority.issue("two")),
        ]
        let pools = pools { $0.tls.clientCertificates = certificates }
        let (one, two) = (try pool(pools, "https://a.test:8443/"), try pool(pools, "https://a.test/"))
        #expect(one.identity != nil && two.identity != nil && one !== two && one.identity !== two.identity)
        #expect(try pool(pools, "https://a.test/other") === two)
        let plain = try pool(pools, "http://a.test/")
        #expect(try plain.identity == nil && pool(pools, "https://b.test/") === plain)
        #expect(try pools.hasCertificate(for: ResourceURL.parse("https://a.test/")))
        #expect(try !pools.hasCertificate(for: ResourceURL.parse("https://b.test/")))
    }

    /// It is read when it is first to be shown, and then never again: all requests of a run show the same.
    @Test func certificateThatCannotBeRead_failsItsHostsRequests_alsoOnceItIsThere() throws {
        try CurlLibrary.prepare(for: .handshake)
        let tree = try TemporaryTree("pools")
        let (authority, host) = (try CertificateAuthority(), try #require(HostPattern("a.test")))
        defer { withExtendedLifetime(authority) {} }
        let issued = try authority.issue("late")
        let certificate = TLSConfiguration.ClientCertificate(
            host: host, certificate: tree.path("late.pem"), key: issued.keyFile, password: nil)
        let pools = pools { $0.tls.clientCertificates = [certificate] }
        #expect(try refusal(pools, "https://a.test/")?.name == .clientCertificateUnusable)
        #expect(try refusal(pools, "https://b.test/") == nil)
        try tree.write("late.pem", TemporaryTree.bytes(at: issued.certificateFile))
        #expect(try refusal(pools, "https://a.test/")?.name == .clientCertificateUnusable)
    }

    // MARK: Rules of `challenges`

    @Test func rulesForClientCertificates_sayWhatIsShown() throws {
        try CurlLibrary.prepare(for: .handshake)
        let authority = try CertificateAuthority()
        // Its files go with it.
        defer { withExtendedLifetime(authority) {} }
        let own = try certificate("a.test", authority.issue("one"))
        let pools = pools { $0.tls.clientCertificates = [own] }
        let url = "https://a.test/"
        let shown = try pool(pools, url)
        let plain = try pool(pools, "https://b.test/")
        #expect(try pool(pools, url, [rule(.clientCertificate, .use)]) === shown)
        for disposition in [ChallengeRule.Disposition.default, .reject] {
            #expect(try pool(pools, url, [rule(.clientCertificate, disposition)]) === plain)
        }
        let refusing = try pool(pools, url, [rule(.clientCertificate, .cancel)])
        #expect(refusing.refusesToShow && refusing.identity == nil && !shown.refusesToShow)
        #expect(try pool(pools, "http://a.test/", [rule(.clientCertificate, .cancel)]) === plain)
        #expect(try pool(pools, url, [rule(.clientCertificate, .cancel, host: "b.test")]) === shown)
    }

    @Test func rulesForTheServersTrust_refuseRequestsOverHTTPS() throws {
        let pools = pools()
        let (cancels, rejects) = ([rule(.serverTrust, .cancel)], [rule(.serverTrust, .reject)])
        #expect(try refusal(pools, "https://a.test/", cancels)?.name == .cancelled)
        #expect(try refusal(pools, "https://a.test/", rejects)?.name == .serverCertificateUntrusted)
        #expect(try refusal(pools, "http://a.test/", cancels) == nil)
        #expect(try refusal(pools, "https://a.test/", [rule(.serverTrust, .use)]) == nil)
        #expect(try refusal(pools, "https://a.test/", [rule(.basic, .cancel)]) == nil)
    }

    @Test func sessionsRules_goBeforeTheTasks() throws {
        let pools = pools { $0.taskDefaults.challenges = [rule(.serverTrust, .reject, host: "a.test")] }
        let task = [rule(.serverTrust, .cancel)]
        #expect(try refusal(pools, "https://a.test/", task)?.name == .serverCertificateUntrusted)
        #expect(try refusal(pools, "https://a.test/")?.name == .serverCertificateUntrusted)
        #expect(try refusal(pools, "https://b.test/", task)?.name == .cancelled)
        #expect(try refusal(pools, "https://b.test/") == nil)
    }

    // MARK: What a cache must tell apart

    @Test func shownIdentity_namesTheCertificate_andWhereConnectionsLead() throws {
        let tree = try TemporaryTree("pools")
        try tree.write("me.pem", "12345")
        let certificate = TLSConfiguration.ClientCertificate(
            host: try #require(HostPattern("a.test")), certificate: tree.path("me.pem"), key: nil, password: nil)
        let url = try ResourceURL.parse("https://a.test/")
        let pools = pools {
            $0.tls.clientCertificates = [certificate]
            let (from, to) = (HostAndPort(host: "c.test", port: nil), HostAndPort(host: "d.test", port: 9))
            $0.routing.add(.init(from: from, to: to))
        }
        let shown = try #require(pools.shownIdentity(for: url, []))
        #expect(shown.hasPrefix("certificate \(tree.path("me.pem")) 5 "))
        #expect(try pools.shownIdentity(for: ResourceURL.parse("http://a.test/"), []) == nil)
        #expect(try pools.shownIdentity(for: ResourceURL.parse("https://b.test/"), []) == nil)
        #expect(try pools.shownIdentity(for: ResourceURL.parse("https://c.test/"), []) == "d.test:9")
        #expect(pools.shownIdentity(for: url, [rule(.clientCertificate, .default)]) == nil)
        #expect(pools.shownIdentity(for: url, [rule(.serverTrust, .cancel)]) == nil)
        // The one that was read stays for the run.
        try tree.write("me.pem", "123456")
        #expect(pools.shownIdentity(for: url, []) == shown)
        #expect(self.pools().shownIdentity(for: url, []) == nil)
    }
}
