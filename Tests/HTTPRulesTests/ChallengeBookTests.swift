import HTTPRules
import Testing
import TransferModel

/// What a session knows after somebody was let in: what goes out unasked, and to whom.
struct ChallengeBookTests {
    private typealias Client = ChallengeClient
    private static let proxy = Origin(scheme: "http", host: "proxy.example", port: 3128)

    /// RFC 7617, section 2.2: what lies at or below the last folder of the path.
    @Test func foldersOfBasic() {
        var client = Client([Client.password("u", "p")], "https://example.org/a/b/file?q=/x/")
        #expect(client.challenged("Basic realm=r") != nil)
        client.passed()
        for (path, isIn) in [("a/b/", true), ("a/b/c/d", true), ("a/b/other", true), ("a/", false), ("", false)] {
            #expect(client.begin("https://example.org/\(path)").isEmpty == !isIn, "\(path)")
        }
        for url in ["http://example.org/a/b/", "https://example.org:444/a/b/", "https://www.example.org/a/b/"] {
            #expect(client.begin(url).isEmpty, "\(url)")
        }
    }

    @Test func nearestFolder() {
        var client = Client(
            [
                Client.password("outer", "p") { $0.realm = "outer" },
                Client.password("inner", "p") { $0.realm = "inner" },
            ], "https://example.org/x")
        #expect(client.challenged("Basic realm=outer") != nil)
        client.passed()
        let outer = client.begin("https://example.org/in/x")
        #expect(outer.toOrigin == "Basic b3V0ZXI6cA==")
        // What was shown unasked was for another realm: that is no failure.
        #expect(client.challenged("Basic realm=inner")?.toOrigin == "Basic aW5uZXI6cA==")
        #expect(client.told.last == "basic use 0")
        client.passed()
        #expect(client.begin("https://example.org/in/y").toOrigin == "Basic aW5uZXI6cA==")
        #expect(client.begin("https://example.org/y").toOrigin == "Basic b3V0ZXI6cA==")
    }

    @Test(arguments: [Credential.Persistence.none, .session, .permanent])
    func persistence(_ persistence: Credential.Persistence) {
        var client = Client([Client.password("u", "p") { $0.persistence = persistence }])
        #expect(client.challenged("Basic realm=r") != nil)
        client.passed()
        #expect(client.begin().isEmpty == (persistence == .none))
        let changes = client.accepted.takeChanges()
        #expect(changes.isEmpty == (persistence != .permanent))
        #expect(client.accepted.takeChanges().isEmpty)
        guard case .kept(let stored)? = changes.first else { return }
        #expect(stored.user == "u" && stored.secret == "p" && stored.folders == ["/dir/"])
        #expect(!"\(stored)".contains("p:") && stored.space.realm == "r")
    }

    /// The next run carries it at once; where it was changed or revoked it is looked up anew, and forgotten.
    @Test func stored() {
        let space = ProtectionSpace(
            origin: Client.url("https://example.org/").origin, realm: "r", method: .basic)
        let left = StoredCredential(space: space, user: "u", secret: "old", folders: ["/dir/"])
        func client(_ source: Credential.Source, _ persistence: Credential.Persistence = .permanent) -> Client {
            var credential = Credential(source: source)
            credential.persistence = persistence
            var client = Client([credential])
            client.accepted.take(stored: [left])
            return client
        }
        var helper = client(.helper(["x"]))
        helper.answers = { _ in .found(user: "u", password: "new") }
        #expect(helper.begin().toOrigin == "Basic dTpvbGQ=")
        #expect(helper.queries.isEmpty)
        #expect(helper.challenged("Basic realm=r")?.toOrigin == "Basic dTpuZXc=")
        helper.passed()
        let changes = helper.accepted.takeChanges()
        #expect(changes.first == .removed(left))
        guard case .kept(let kept)? = changes.last else {
            Issue.record("nothing is kept")
            return
        }
        #expect(kept.secret == "new")
        // The job names another password now, or does not want anything kept.
        #expect(client(.password(user: "u", password: "new")).with { $0.begin().isEmpty })
        #expect(client(.password(user: "u", password: "old")).with { !$0.begin().isEmpty })
        #expect(client(.helper(["x"]), .session).with { $0.begin().isEmpty })
    }

    /// What nobody here would have written is not believed.
    @Test func storedNonsense() {
        let space = ProtectionSpace(origin: Client.url("https://example.org/").origin, realm: "r", method: .basic)
        var credential = Credential(source: .helper(["x"]))
        credential.persistence = .permanent
        for (user, secret, folders) in [("a:b", "p", ["/"]), ("u", "p\n", ["/"]), ("u", "p", []), ("u", "p", ["x"])] {
            var client = Client([credential])
            client.accepted.take(stored: [StoredCredential(space: space, user: user, secret: secret, folders: folders)])
            #expect(client.accepted.isEmpty)
        }
    }

    /// A task with other credentials, or rules, shows nothing that it would not show by itself.
    @Test func otherTasks() {
        var first = Client([Client.password("alice", "p")])
        #expect(first.challenged("Basic realm=r") != nil)
        first.passed()
        func sends(_ credentials: [Credential], _ rules: [ChallengeRule] = []) -> String? {
            var task = Client(credentials, task: rules)
            task.accepted = first.accepted
            return task.begin().toOrigin
        }
        #expect(sends([Client.password("alice", "p")]) != nil)
        #expect(sends([]) == nil)
        #expect(sends([Client.password("bob", "p")]) == nil)
        #expect(sends([Client.password("bob", "p"), Client.password("alice", "p")]) == nil)
        #expect(sends([Client.password("alice", "p")], [Client.rule(.default)]) == nil)
        #expect(sends([Client.password("alice", "p")], [Client.rule(.use, realm: "other")]) != nil)
        // Two people in one realm do not drive each other out.
        var second = Client([Client.password("bob", "p")])
        second.accepted = first.accepted
        #expect(second.challenged("Basic realm=r") != nil)
        second.passed()
        first.accepted = second.accepted
        #expect(sends([Client.password("alice", "p")]) == "Basic YWxpY2U6cA==")
        #expect(sends([Client.password("bob", "p")]) == "Basic Ym9iOnA=")
    }

    @Test func failingServersTeachNothing() {
        var client = Client([Client.password("u", "p")])
        #expect(client.challenged("Basic realm=r") != nil)
        client.passed(status: 503)
        #expect(client.accepted.isEmpty)
        #expect(client.challenged("Basic realm=r") != nil)
        client.passed(status: 404)
        #expect(!client.begin().isEmpty)
    }

    // MARK: Before anybody asks

    @Test func preemptive() {
        var basic = Client([Client.password("u", "p") { $0.preemptive = true }])
        #expect(basic.begin().toOrigin == "Basic dTpw")
        #expect(basic.records.isEmpty)
        // Refused, it was a failure: it is not sent again.
        #expect(basic.challenged("Basic realm=r") == nil)
        #expect(basic.told == ["basic default 1"])
        // Asked for in another way, it was none.
        var digest = Client([Client.password("u", "p") { $0.preemptive = true }])
        _ = digest.begin()
        #expect(digest.challenged(#"Digest realm="r", nonce="n""#)?.field("nonce") == "n")
        var token = Client(
            [Credential(source: .token("t"))].map { one in
                var one = one
                one.preemptive = true
                return one
            })
        #expect(token.begin().toOrigin == "Bearer t")
        var only = Client([Client.password("u", "p") { ($0.preemptive, $0.method) = (true, .digest) }])
        #expect(only.begin().isEmpty)
        var ruled = Client([Client.password("u", "p") { $0.preemptive = true }], task: [Client.rule(.default)])
        #expect(ruled.begin().isEmpty)
    }

    // MARK: Proxies

    @Test func proxies() {
        let credentials = [Client.password("u", "p"), Client.password("proxy", "p") { $0.isForProxy = true }]
        var client = Client(credentials, "http://example.org/", proxy: Self.proxy)
        #expect(client.begin().isEmpty)
        let first = client.challenged("Basic realm=p", status: 407)
        #expect(first?.toProxy == "Basic cHJveHk6cA==" && first?.toOrigin == nil)
        // The server behind it asks, too: both go on together.
        let second = client.challenged(#"Digest realm="r", nonce="n", qop="auth""#)
        #expect(second?.toProxy == "Basic cHJveHk6cA==" && second?.field("nonce") == "n")
        client.passed()
        #expect(client.told == ["basic use 0", "digest use 0"])
        #expect(client.records[0].host == "proxy.example:3128")
        let next = client.begin()
        #expect(next.toProxy != nil && next.toOrigin != nil)
        // To another server it is the same proxy, to another proxy the same server.
        let elsewhere = client.begin("http://other.example/")
        #expect(elsewhere.toProxy != nil && elsewhere.toOrigin == nil)
        client.request = ChallengedRequest(
            url: client.request.url, method: "GET",
            proxy: Origin(scheme: "http", host: "proxy.example", port: 8080))
        #expect(client.begin().isEmpty)
        // Without a proxy a 407 is an answer like any other.
        var direct = Client(credentials, "http://example.org/")
        #expect(direct.challenged("Basic realm=p", status: 407) == nil)
        #expect(direct.records.isEmpty)
    }

    /// What a proxy's URL says is that proxy's alone, and goes out unasked; where it is refused so, in another way.
    @Test func aProxysURL() throws {
        let server = try ProxyServer.parse("http://ada:love@proxy.example:3128")
        let other = Origin(scheme: "http", host: "other.example", port: 3128)
        var client = Client([], "http://example.org/", proxy: Self.proxy, proxies: [server])
        #expect(client.begin().toProxy == "Basic YWRhOmxvdmU=")
        #expect(client.begin().toOrigin == nil)
        let again = client.challenged(#"Digest realm="p", nonce="n", qop="auth""#, status: 407)
        #expect(again?.field("username") == "ada" && again?.toOrigin == nil)
        #expect(client.challenged(#"Digest realm="p", nonce="n", qop="auth""#, status: 407) == nil)
        #expect(client.told == ["digest use 0", "digest default 1"])
        // Refused as it was shown, it is not shown so again.
        var basic = Client([], "http://example.org/", proxy: Self.proxy, proxies: [server])
        _ = basic.begin()
        #expect(basic.challenged("Basic realm=p", status: 407) == nil)
        // Neither to another proxy nor to a server, whatever they ask.
        var elsewhere = Client([], "http://proxy.example:3128/", proxy: other, proxies: [server])
        #expect(elsewhere.begin().isEmpty)
        #expect(elsewhere.challenged("Basic realm=p", status: 407) == nil)
        #expect(elsewhere.challenged("Basic realm=p") == nil)
        let socks = try ProxyServer.parse("socks5://ada:love@proxy.example:3128")
        #expect(ChallengePolicy(credentials: [], proxies: [socks]).hasNothingToShow)
        #expect(ChallengePolicy(credentials: [], proxies: [try .parse("http://proxy.example")]).hasNothingToShow)
    }

    /// The tunnel's request names another target than what goes through it.
    @Test func tunnels() {
        var client = Client([Client.password("u", "p") { $0.isForProxy = true }])
        client.request = ChallengedRequest(
            url: Client.url("https://example.org/secret/path"), method: "PUT", proxy: Self.proxy, isTunnel: true)
        let sent = client.challenged(#"Digest realm="p", nonce="n""#, status: 407)
        #expect(sent?.field("uri") == "example.org:443")
    }

    // MARK: Files and helpers

    @Test func lookedUp() {
        var client = Client([Credential(source: .netrc), Client.password("Aladdin", "open sesame")])
        #expect(client.challenged("Basic realm=r")?.toOrigin == "Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ==")
        #expect(client.queries.map(\.source) == [.netrc])
        client.answers = { _ in .found(user: "n", password: "p") }
        var named = Client([Credential(source: .netrc)], "https://me@example.org/")
        named.answers = client.answers
        #expect(named.challenged("Basic realm=r") != nil)
        #expect(named.queries.first?.user == "me")
        #expect(named.queries.first?.origin == Client.url("https://example.org/").origin)
    }

    @Test func helpers() {
        var credential = Credential(source: .helper(["git", "credential-cache"]))
        credential.maximumFailures = 2
        var client = Client([credential])
        let passwords = ["old", "new"]
        client.answers = { [passwords] _ in .found(user: "u", password: passwords[0]) }
        #expect(client.challenged("Basic realm=r") != nil)
        client.answers = { [passwords] _ in .found(user: "u", password: passwords[1]) }
        // What was refused it shall forget; it is asked again.
        #expect(client.challenged("Basic realm=r") != nil)
        #expect(client.reports.map(\.wasAccepted) == [false])
        #expect(client.reports[0].secret == .found(user: "u", password: "old"))
        client.passed()
        #expect(client.reports.map(\.wasAccepted) == [false, true])
        #expect(client.queries.count == 2)
        // The session's next task asks nobody.
        var next = Client([credential])
        next.accepted = client.accepted
        #expect(next.begin().toOrigin == "Basic dTpuZXc=")
        next.passed()
        #expect(next.reports.isEmpty && next.queries.isEmpty)
    }

    /// A 401 came through the proxy: its helper's password was right, whatever becomes of the server's question.
    @Test func helperOfAProxy_isToldOnce_whenTheServerAsksToo() {
        let proxy = Client.url("http://proxy.test:3128/").origin
        var credential = Credential(source: .helper(["x"]))
        credential.isForProxy = true
        var client = Client([credential, Client.password("u", "p")], proxy: proxy)
        client.answers = { _ in .found(user: "u", password: "proxy") }
        #expect(client.challenged("Basic realm=proxy", status: 407)?.toProxy != nil)
        #expect(client.challenged("Basic realm=server")?.toOrigin != nil)
        #expect(client.reports.map(\.wasAccepted) == [true])
        client.passed()
        #expect(client.reports.map(\.wasAccepted) == [true])
    }

    @Test func preemptiveHelpers() {
        var credential = Credential(source: .helper(["x"]))
        credential.preemptive = true
        var client = Client([credential])
        client.answers = { _ in .found(user: "u", password: "p") }
        #expect(client.begin().toOrigin == "Basic dTpw")
        #expect(client.challenged("Basic realm=r") == nil)
        #expect(client.reports.map(\.wasAccepted) == [false])
    }

    @Test func bounded() {
        var accepted = AcceptedCredentials()
        let origin = Client.url("https://example.org/").origin
        accepted.take(
            stored: (0..<200).map { number in
                StoredCredential(
                    space: ProtectionSpace(origin: origin, realm: "r\(number)", method: .basic), user: "u",
                    secret: "p", folders: ["/\(number)/"])
            })
        var credential = Credential(source: .netrc)
        credential.persistence = .permanent
        var client = Client([credential])
        client.accepted = accepted
        #expect(!client.begin("https://example.org/63/").isEmpty)
        #expect(client.begin("https://example.org/64/").isEmpty)
    }
}

extension ChallengeClient {
    fileprivate func with<T>(_ act: (inout ChallengeClient) -> T) -> T {
        var copy = self
        return act(&copy)
    }
}
