import AttemptLife
import HTTPRules
import Testing
import TransferModel

/// An attempt that is asked who it is.
struct ChallengedAttemptTests {
    private func life(
        _ credential: Credential, type: TaskType = .data, expect: Expectations = Expectations(),
        headers: [HeaderField] = [], rules: [ChallengeRule] = []
    ) throws -> AttemptLife {
        AttemptLife(
            try ResourceURL.parse("https://a.test/dir/x"),
            AttemptRules(
                type: type, method: "GET", headers: headers, expect: expect,
                challenges: ChallengePolicy(credentials: [credential], taskRules: rules)))
    }

    private let password = Credential(source: .password(user: "u", password: "p"))
    private let helper = Credential(source: .helper(["h"]))
    private let asks = HeaderBlock([("WWW-Authenticate", "Basic realm=r"), ("Content-Length", "3")])
    private let end = TransportEnd(error: nil, received: 3, sawCloseNotify: true)

    /// What the request that goes out now shows; a question comes first if there is one.
    private func begin(_ life: inout AttemptLife, _ lore: inout SessionState) -> CredentialQuery? {
        life.authorize(by: &lore)
    }

    private func shown(_ life: AttemptLife, _ lore: inout SessionState) -> [String] {
        let headers =
            life.withSessionHeaders(life.request, from: &lore, at: WallTime(nanoseconds: 0)) ?? life.request.headers
        return headers.filter { $0.name == "Authorization" }.map(\.value.revealed)
    }

    private func head(_ life: inout AttemptLife, _ status: Int, _ headers: HeaderBlock, _ lore: inout SessionState)
        -> HeadDecision
    {
        life.head(status: status, version: .http1, headers: headers, sessionState: &lore, at: WallTime(nanoseconds: 0))
    }

    @Test func theSameRequestAgain() throws {
        var (life, lore) = (try life(password), SessionState())
        #expect(begin(&life, &lore) == nil)
        #expect(shown(life, &lore).isEmpty)
        #expect(head(&life, 401, asks, &lore) == .discard)
        #expect(!life.isFinalAnswer)
        guard case .send(let request, nil) = life.ended(end) else {
            Issue.record("it does not go on")
            return
        }
        // Who it is from is no part of the request: no redirect has to take it off.
        #expect(request.headers.isEmpty && request.url == life.request.url)
        #expect(begin(&life, &lore) == nil)
        #expect(shown(life, &lore) == ["Basic dTpw"])
        let elsewhere = HeaderBlock([("Location", "https://b.test/dir/x")])
        #expect(head(&life, 307, elsewhere, &lore) == .discard)
        _ = life.ended(end)
        #expect(begin(&life, &lore) == nil)
        #expect(shown(life, &lore).isEmpty)
        #expect(life.takeChallengeNews().records.map(\.disposition) == ["use"])
        #expect(life.takeChallengeNews().records.isEmpty)
    }

    /// Until somebody answers, the 401 may be the result.
    @Test(arguments: [nil, "p"]) func questions(_ answer: String?) throws {
        var expect = Expectations()
        expect.status = StatusSet(401)
        var (life, lore) = (try life(helper, expect: expect), SessionState())
        #expect(begin(&life, &lore) == nil)
        #expect(head(&life, 401, asks, &lore) == .keep)
        #expect(!life.isFinalAnswer)
        guard case .ask(let query) = life.ended(end) else {
            Issue.record("nobody is asked")
            return
        }
        #expect(query.origin.host == "a.test")
        switch life.found(answer.map { .found(user: "u", password: $0) }, by: &lore) {
        case .send:
            #expect(answer != nil)
            #expect(begin(&life, &lore) == nil)
            #expect(shown(life, &lore) == ["Basic dTpw"])
        case .accept(let end):
            #expect(answer == nil)
            #expect(life.isFinalAnswer)
            guard case .deliver = life.ended(end) else {
                Issue.record("it is not the result")
                return
            }
        case .ask, .cancel: Issue.record("nothing follows from it")
        }
    }

    @Test func aQuestionBeforeAnythingIsSent() throws {
        var credential = helper
        credential.preemptive = true
        var (life, lore) = (try life(credential), SessionState())
        #expect(begin(&life, &lore)?.source == .helper(["h"]))
        guard case .send = life.found(.found(user: "u", password: "p"), by: &lore) else {
            Issue.record("nothing is sent")
            return
        }
        #expect(begin(&life, &lore) == nil)
        #expect(shown(life, &lore) == ["Basic dTpw"])
    }

    @Test func cancelled() throws {
        var rule = ChallengeRule(disposition: .cancel)
        rule.method = .basic
        var (life, lore) = (try life(password, rules: [rule]), SessionState())
        #expect(head(&life, 401, asks, &lore) == .discard)
        guard case .cancel(let error) = life.ended(end) else {
            Issue.record("it goes on")
            return
        }
        #expect(error.name == .cancelled)
    }

    /// The connection on which the server asked is of no use to who proves another.
    @Test func connections() throws {
        var (life, lore) = (try life(password), SessionState())
        let offers = HeaderBlock([("WWW-Authenticate", "NTLM"), ("Content-Length", "3")])
        #expect(head(&life, 401, offers, &lore) == .abort)
        _ = life.ended(end)
        #expect(begin(&life, &lore) == nil)
        #expect(life.connectionProof?.method == .ntlm)
        #expect(shown(life, &lore).isEmpty)
    }

    // MARK: Bodies

    private func upload(_ credential: Credential?, _ headers: [HeaderField] = [], expects: Bool = false) throws
        -> AttemptLife
    {
        AttemptLife(
            try ResourceURL.parse("http://a.test/dir/x"),
            AttemptRules(
                type: .upload, method: "PUT", headers: headers, hasBody: true, expectsContinue: expects,
                challenges: ChallengePolicy(credentials: credential.map { [$0] } ?? [])))
    }

    /// A long body is not sent in vain to a server that may want to know first who sends it.
    @Test func aLongBodyThatALoginMayCost_isAskedFor() throws {
        var (life, lore) = (try upload(password), SessionState())
        #expect(begin(&life, &lore) == nil)
        #expect(life.asksBeforeBody(ofLength: (64 << 10) + 1) && life.request.expectsContinue)
        #expect(life.asksBeforeBody(ofLength: nil), "nobody knows how long it is")
        #expect(!life.asksBeforeBody(ofLength: 64 << 10) && !life.request.expectsContinue)
        #expect(head(&life, 401, asks, &lore) == .discard)
        _ = life.ended(end)
        #expect(begin(&life, &lore) == nil)
        #expect(life.asksBeforeBody(ofLength: 1 << 20), "the server has not let it in yet")
        _ = head(&life, 201, HeaderBlock([("Content-Length", "0")]), &lore)
        var next = try upload(password)
        #expect(begin(&next, &lore) == nil)
        #expect(shown(next, &lore) == ["Basic dTpw"] && !next.asksBeforeBody(ofLength: 1 << 20))
    }

    @Test func whatIsShownUnasked_isNotAskedFor() throws {
        var credential = password
        credential.preemptive = true
        var lore = SessionState()
        for var life in [
            try upload(credential), try upload(nil),
            try upload(password, [HeaderField(name: "Authorization", value: SecretText("Bearer x"))]),
        ] {
            #expect(begin(&life, &lore) == nil)
            #expect(!life.asksBeforeBody(ofLength: 1 << 20))
        }
    }

    @Test func aCredentialForAnotherServer_isNoReason() throws {
        var credential = password
        credential.host = HostPattern("b.test")
        var (life, lore) = (try upload(credential), SessionState())
        #expect(begin(&life, &lore) == nil)
        #expect(!life.asksBeforeBody(ofLength: 1 << 20))
    }

    /// A server that does not know the word is asked once.
    @Test(arguments: [false, true]) func whoRefusesToBeAsked_isNotAskedAgain(_ expects: Bool) throws {
        var (life, lore) = (try upload(password, expects: expects), SessionState())
        #expect(begin(&life, &lore) == nil)
        #expect(life.asksBeforeBody(ofLength: 1 << 20))
        #expect(head(&life, 417, HeaderBlock([("Content-Length", "0")]), &lore) == .abort)
        guard case .send(let request, nil) = life.ended(end) else {
            Issue.record("it does not go on")
            return
        }
        #expect(!request.expectsContinue)
        #expect(begin(&life, &lore) == nil)
        #expect(!life.asksBeforeBody(ofLength: 1 << 20))
    }

    // MARK: Proxies

    private func proxied(_ url: String, _ credential: Credential) throws -> AttemptLife {
        var credential = credential
        credential.isForProxy = true
        let life = AttemptLife(
            try ResourceURL.parse(url),
            AttemptRules(type: .data, method: "GET", challenges: ChallengePolicy(credentials: [credential])))
        life.proxy = Origin(scheme: "http", host: "gate.test", port: 3128)
        return life
    }

    private let gate = HeaderBlock([("Proxy-Authenticate", "Basic realm=g")])
    private let refused = TransportEnd(
        error: TransferError(.proxyAuthenticationRequired, "407"), received: 0, sawCloseNotify: false)

    @Test func beforeATunnel() throws {
        var (life, lore) = (try proxied("https://a.test/x", password), SessionState())
        #expect(begin(&life, &lore) == nil)
        #expect(life.proxyAuthorization == nil)
        #expect(life.proxyAsked(gate, by: &lore))
        guard case .send(let request, nil) = life.ended(refused) else {
            Issue.record("it does not go on")
            return
        }
        #expect(request.headers.isEmpty)
        #expect(begin(&life, &lore) == nil)
        #expect(
            life.proxyAuthorization
                == .header(
                    SecretText(pieces: [
                        .literal("Basic "), .secret(name: "credential", value: "dTpw", hosts: nil),
                    ])))
        #expect(shown(life, &lore).isEmpty)
        // A wrong one is not sent again: then the transport's word counts.
        #expect(!life.proxyAsked(gate, by: &lore))
        guard case .fail(let error, nil) = life.ended(refused), error.name == .proxyAuthenticationRequired else {
            Issue.record("it goes on")
            return
        }
    }

    /// Until somebody answers, the tunnel stays shut.
    @Test(arguments: [nil, "p"]) func questionsOfProxies(_ answer: String?) throws {
        var (life, lore) = (try proxied("https://a.test/x", helper), SessionState())
        #expect(begin(&life, &lore) == nil)
        #expect(life.proxyAsked(gate, by: &lore))
        guard case .ask(let query) = life.ended(refused) else {
            Issue.record("nobody is asked")
            return
        }
        #expect(query.origin == life.proxy)
        switch life.found(answer.map { .found(user: "u", password: $0) }, by: &lore) {
        case .send: #expect(answer != nil)
        case .accept(let end):
            #expect(answer == nil)
            guard case .fail(let error, nil) = life.ended(end), error.name == .proxyAuthenticationRequired else {
                Issue.record("what failed has failed")
                return
            }
        case .ask, .cancel: Issue.record("it was answered")
        }
    }

    /// Each hears the one who is meant: a tunnel's answers are the server's, others may be the proxy's.
    @Test func whoseWordItIs() throws {
        var (life, lore) = (try proxied("https://a.test/x", password), SessionState())
        #expect(head(&life, 407, gate, &lore) == .keep)
        life = try proxied("http://a.test/x", password)
        #expect(!life.proxyAsked(gate, by: &lore))
        #expect(head(&life, 407, gate, &lore) == .discard)
        life = try proxied("http://a.test/x", password)
        life.proxy = nil
        #expect(head(&life, 407, gate, &lore) == .keep)
        // An ftp server behind it is shown nothing over HTTP.
        life = try proxied("ftp://a.test/x", password)
        #expect(life.proxyAsked(gate, by: &lore))
    }

    /// A wrong password is not sent again by the next attempt.
    @Test func refusalsAreRemembered() throws {
        var (life, lore) = (try life(password), SessionState())
        #expect(head(&life, 401, asks, &lore) == .discard)
        _ = life.ended(end)
        #expect(begin(&life, &lore) == nil)
        #expect(head(&life, 401, asks, &lore) == .keep)
        let refusals = try #require(life.refusals)
        var next = try self.life(password)
        next.recall(refusals)
        #expect(begin(&next, &lore) == nil)
        #expect(head(&next, 401, asks, &lore) == .keep)
        #expect(next.takeChallengeNews().records.map(\.previousFailureCount) == [1])
    }
}
