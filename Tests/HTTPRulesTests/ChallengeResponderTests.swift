import HTTPRules
import Testing
import TransferModel

/// One task that is asked who it is: what it shows, how often, and what it tells.
struct ChallengeResponderTests {
    private typealias Client = ChallengeClient
    private static let digest = #"Digest realm="r", nonce="n", qop="auth""#
    private static let sha = #"Digest realm="r", nonce="s", qop="auth", algorithm=SHA-256"#
    private static let aladdin = "Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ=="

    @Test func basic() {
        var client = Client([Client.password("Aladdin", "open sesame")])
        #expect(client.begin().isEmpty)
        // RFC 7617, section 2.
        #expect(client.challenged(#"Basic realm="WallyWorld""#)?.toOrigin == Self.aladdin)
        client.passed()
        #expect(client.told == ["basic use 0"])
        let record = client.records[0]
        #expect(record.host == "example.org:443" && record.realm == "WallyWorld" && record.level == "task")
        // Section 2.1.
        var other = Client([Client.password("test", "123£")])
        #expect(other.challenged(#"Basic realm="foo", charset="UTF-8""#)?.toOrigin == "Basic dGVzdDoxMjPCow==")
    }

    @Test func wrongPasswordIsSentOnce() {
        var client = Client([Client.password("u", "wrong")])
        #expect(client.begin().isEmpty)
        #expect(client.challenged("Basic realm=r") != nil)
        #expect(client.challenged("Basic realm=r") == nil)
        #expect(client.told == ["basic use 0", "basic default 1"])
        #expect(client.responder.remembers)
        // Nor by the next attempt, nor in a weaker way.
        #expect(client.begin().isEmpty)
        #expect(client.challenged("Basic realm=r") == nil)
        var digest = Client([Client.password("u", "wrong")])
        #expect(digest.challenged(Self.digest, "Basic realm=r")?.field("nonce") == "n")
        #expect(digest.challenged(Self.digest, "Basic realm=r") == nil)
        // A server that renames its realm each time gets it no oftener.
        var renaming = Client([Client.password("u", "wrong")])
        #expect(renaming.challenged("Basic realm=a") != nil)
        #expect(renaming.challenged("Basic realm=b") == nil)
    }

    @Test func maximumFailures() {
        var client = Client([Client.password("u", "wrong") { $0.maximumFailures = 3 }])
        var sent = 0
        while client.challenged("Basic realm=r") != nil { sent += 1 }
        #expect(sent == 3)
        #expect(client.told == ["basic use 0", "basic use 1", "basic use 2", "basic default 3"])
    }

    @Test(arguments: [
        (["Basic realm=r", digest], "n"), ([digest, sha, "Basic realm=r"], "s"), ([sha, digest], "s"),
    ])
    func strongest(_ offers: [String], _ nonce: String) {
        var client = Client([Client.password("u", "p")])
        guard case .send(let sent) = client.step(offers).action else {
            Issue.record("nothing is sent")
            return
        }
        #expect(sent.field("nonce") == nonce)
    }

    @Test func methodsOfConnections() {
        var client = Client([Client.password("u", "p")])
        #expect(client.challenged(Self.digest, "NTLM", "Basic realm=r")?.toOrigin == "ntlm u:p")
        #expect(client.records[0].level == "session" && client.records[0].realm == nil)
        // No ticket: the password was not what was refused.
        var tickets = Client([Client.password("u", "p")])
        #expect(tickets.challenged("Negotiate", "NTLM")?.toOrigin == "negotiate u:p")
        #expect(tickets.challenged("Negotiate", "NTLM")?.toOrigin == "ntlm u:p")
        #expect(tickets.challenged("Negotiate", "NTLM") == nil)
        #expect(tickets.told == ["negotiate use 0", "ntlm use 0", "ntlm default 1"])
        // Only for what it is written for.
        var digest = Client([Client.password("u", "p") { $0.method = .digest }])
        #expect(digest.challenged("NTLM", "Basic realm=r", Self.digest)?.field("nonce") == "n")
    }

    @Test func tokens() {
        let token = Credential(source: .token("t0ken"))
        var client = Client([token])
        #expect(client.challenged("Basic realm=r") == nil)
        #expect(client.challenged("Basic realm=r", "Bearer realm=r")?.toOrigin == "Bearer t0ken")
        // A password is no token, and what would end the line is none.
        var password = Client([Client.password("u", "p")])
        #expect(password.challenged("Bearer realm=r") == nil)
        var broken = Client([Credential(source: .token("a\r\nX: y"))])
        #expect(broken.challenged("Bearer realm=r") == nil)
    }

    /// A name with a colon would be another name in Basic.
    @Test func whatCannotBeShown() {
        var colon = Client([Client.password("a:b", "p")])
        #expect(colon.challenged("Basic realm=r") == nil)
        #expect(colon.challenged("Basic realm=r", Self.digest)?.field("username") == "a:b")
        var lines = Client([Client.password("a\r\nX: y", "p")])
        #expect(lines.challenged(Self.digest) == nil)
    }

    // MARK: Which credential

    @Test func firstThatFits() throws {
        let other = Client.password("other", "p") { $0.host = HostPattern("*.example.net") }
        let realm = Client.password("realm", "p") { $0.realm = "staff" }
        let rest = Client.password("rest", "p")
        let proxy = Client.password("proxy", "p") { $0.isForProxy = true }
        var client = Client([other, proxy, realm, rest])
        let staff = client.challenged(#"Digest realm="staff", nonce=n"#)
        #expect(staff?.field("username") == "realm")
        client = Client([other, proxy, realm, rest])
        let all = client.challenged(#"Digest realm="all", nonce=n"#)
        #expect(all?.field("username") == "rest")
    }

    @Test func credentialsOfURLs() {
        var client = Client([Client.password("list", "p")], "https://me:p%40ss@example.org/x")
        #expect(client.challenged("Basic realm=r")?.toOrigin == "Basic bWU6cEBzcw==")
        // Elsewhere, on another port or scheme too, it is nobody's.
        for url in ["https://example.org:8443/x", "http://example.org/x", "https://me:p%40ss@other.example/"] {
            var away = Client([], "https://me:p%40ss@example.org/x")
            #expect(away.begin(url).isEmpty)
            #expect(away.challenged("Basic realm=r") == nil)
        }
        // A token in a name's place, as some servers want it.
        var name = Client([], "https://tok@example.org/x")
        #expect(name.challenged("Basic realm=r")?.toOrigin == "Basic dG9rOg==")
    }

    /// A secret that is bound to hosts goes nowhere else; what comes after it may.
    @Test func boundSecrets() {
        let hosts = ["intern.example"].compactMap { HostPattern($0) }
        let bound = Credential(
            source: .password(user: "u", password: SecretText(pieces: [.secret(name: "P", value: "p", hosts: hosts)])))
        var client = Client([bound])
        #expect(client.challenged("Basic realm=r") == nil)
        var second = Client([bound, Client.password("Aladdin", "open sesame")])
        #expect(second.challenged("Basic realm=r")?.toOrigin == Self.aladdin)
        var home = Client([bound], "https://intern.example/")
        #expect(home.challenged("Basic realm=r")?.toOrigin == "Basic dTpw")
    }

    /// Whoever types `Authorization` answers for himself.
    @Test func typed() {
        var client = Client([Client.password("u", "p") { $0.preemptive = true }], isTyped: true)
        #expect(client.begin().isEmpty)
        #expect(client.challenged("Basic realm=r") == nil)
        #expect(client.told == ["basic default 0"])
    }

    /// Without a host it is for the servers that the task names, whatever a redirect leads to.
    @Test func withoutHosts() {
        var client = Client([Client.password("u", "p") { $0.preemptive = true }])
        #expect(!client.begin().isEmpty)
        #expect(client.begin("https://other.example/").isEmpty)
        #expect(client.challenged("Basic realm=r") == nil)
        var any = Client([Client.password("u", "p") { $0.host = HostPattern("*") }])
        #expect(any.begin("https://other.example/").isEmpty)
        #expect(any.challenged("Basic realm=r") != nil)
    }

    // MARK: Rules

    @Test func dispositions() {
        let credentials = [Client.password("u", "p")]
        let offers = [Self.digest, "Basic realm=r"]
        var use = Client(credentials, task: [Client.rule(.use)])
        #expect(use.step(offers).records.map(\.disposition) == ["use"])
        var accept = Client(credentials, task: [Client.rule(.default)])
        #expect(accept.challenged(Self.digest) == nil)
        #expect(accept.told == ["digest default 0"])
        var reject = Client(credentials, task: [Client.rule(.reject, .digest)])
        #expect(reject.challenged(Self.digest, "Basic realm=r")?.toOrigin == "Basic dTpw")
        #expect(reject.told == ["digest reject 0", "basic use 0"])
        var all = Client(credentials, task: [Client.rule(.reject)])
        #expect(all.challenged(Self.digest, "Basic realm=r") == nil)
        #expect(all.told == ["digest reject 0", "basic reject 0"])
        var cancel = Client(credentials, task: [Client.rule(.cancel, .basic, realm: "r")])
        #expect(cancel.challenged(Self.digest)?.field("nonce") == "n")
        guard case .cancel(let error) = cancel.step(["Basic realm=r"]).action else {
            Issue.record("it is not cancelled")
            return
        }
        #expect(error.name == .cancelled && error.name.code == -999)
        #expect(error.message.contains("example.org:443") && !error.message.contains("dTpw"))
    }

    @Test func firstRuleWins() {
        var client = Client([Client.password("u", "p")], task: [Client.rule(.use, .basic), Client.rule(.cancel)])
        #expect(client.challenged("Basic realm=r") != nil)
        guard case .cancel = client.step([Self.digest]).action else {
            Issue.record("it is not cancelled")
            return
        }
    }

    /// NTLM and Negotiate: the session's word, then the task's. All others: the task's alone.
    @Test func levels() {
        let credentials = [Client.password("u", "p")]
        var both = Client(credentials, session: [Client.rule(.reject, .ntlm)], task: [Client.rule(.use)])
        #expect(both.challenged("NTLM") == nil)
        #expect(both.records.map { "\($0.level) \($0.disposition)" } == ["session reject"])
        var task = Client(credentials, session: [Client.rule(.use, .basic)], task: [Client.rule(.reject, .ntlm)])
        #expect(task.challenged("NTLM") == nil)
        #expect(task.records.map { "\($0.level) \($0.disposition)" } == ["task reject"])
        var basic = Client(credentials, session: [Client.rule(.cancel)], task: [])
        #expect(basic.challenged("Basic realm=r") != nil)
        #expect(basic.records.map(\.level) == ["task"])
    }

    @Test func nothingToSay() {
        var client = Client([])
        #expect(client.begin().isEmpty)
        #expect(client.challenged(Self.digest, "Basic realm=r") == nil)
        #expect(client.told == ["digest default 0"])
        #expect(client.challenged("Strange token") == nil)
        #expect(client.challenged() == nil)
        #expect(client.told.count == 1)
    }

    // MARK: Digest

    @Test func staleIsNoFailure() {
        var client = Client([Client.password("u", "p")])
        #expect(client.challenged(Self.digest)?.field("nonce") == "n")
        let stale = #"Digest realm="r", nonce="m", qop="auth", stale=TRUE"#
        #expect(client.challenged(stale)?.field("nonce") == "m")
        #expect(client.told == ["digest use 0", "digest use 0"])
        // For ever it is not believed.
        var sent = 0
        while client.challenged(stale) != nil { sent += 1 }
        #expect(sent == 2)
    }

    @Test func knownNonces() {
        var client = Client([Client.password("u", "p")])
        #expect(client.challenged(Self.digest)?.field("nc") == "00000001")
        client.passed()
        let second = client.begin("https://example.org/other?q=%20")
        #expect(second.field("nc") == "00000002" && second.field("uri") == "/other?q=%20")
        client.passed(status: 200, [("Authentication-Info", #"nextnonce="next""#)])
        let third = client.begin()
        #expect(third.field("nonce") == "next" && third.field("nc") == "00000001")
        // A server that was started anew knows it no more, and does not say `stale`.
        #expect(client.challenged(#"Digest realm="r", nonce="new", qop="auth""#)?.field("nonce") == "new")
        #expect(client.told.last == "digest use 0")
        client.passed()
        #expect(client.begin().field("nonce") == "new")
    }

    @Test func domains() {
        var client = Client([Client.password("u", "p")])
        let line = #"Digest realm="r", nonce="n", domain="/a https://example.org/b https://evil.example/""#
        #expect(client.challenged(line) != nil)
        client.passed()
        #expect(!client.begin("https://example.org/a/x").isEmpty)
        #expect(!client.begin("https://example.org/b").isEmpty)
        #expect(client.begin("https://example.org/c").isEmpty)
        #expect(client.begin("https://evil.example/").isEmpty)
    }
}
