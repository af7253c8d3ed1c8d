import HTTPRules
import TestSupport
import Testing
import TextFormats
import TransferModel

/// What is sent for an access token, and what is believed of the answer.
@Suite struct TokenTests {
    static func client(
        _ grant: OAuth2Client.Grant = .clientCredentials, _ change: (inout OAuth2Client) -> Void = { _ in }
    ) -> OAuth2Client {
        var client = OAuth2Client(
            tokenURL: ChallengeClient.url("https://login.example.org/token"), clientID: "me", grant: grant)
        client.clientSecret = "sesame"
        change(&client)
        return client
    }

    private func form(_ client: OAuth2Client, proof: SecretText? = nil) -> String {
        String(decoding: TokenRequest(client, proof: proof).body, as: UTF8.self)
    }

    private func authorization(_ client: OAuth2Client) -> String? {
        TokenRequest(client, proof: nil).headers.first { $0.isNamed("authorization") }?.value.revealed
    }

    // MARK: The request

    @Test func clientCredentials() {
        #expect(form(Self.client()) == "grant_type=client_credentials")
        #expect(authorization(Self.client()) == "Basic bWU6c2VzYW1l")
        let whole = Self.client { ($0.scope, $0.audience) = ("read write", "https://api.example.org/?a&b") }
        #expect(
            form(whole) == "grant_type=client_credentials&scope=read%20write"
                + "&audience=https%3A%2F%2Fapi.example.org%2F%3Fa%26b")
    }

    @Test func idAndSecret_areEncodedBeforeTheyAreJoined() throws {
        let client = Self.client { ($0.clientID, $0.clientSecret) = ("a:b", "p+ß%") }
        let shown = try #require(authorization(client))
        let pair = try #require(Base64.decode(String(shown.dropFirst(6))))
        #expect(String(decoding: pair, as: UTF8.self) == "a%3Ab:p%2B%C3%9F%25")
    }

    @Test func inTheBody() {
        let client = Self.client { ($0.authentication, $0.clientSecret) = (.body, "a&b=c") }
        #expect(form(client) == "grant_type=client_credentials&client_id=me&client_secret=a%26b%3Dc")
        #expect(authorization(client) == nil)
    }

    @Test func clientWithoutSecret_saysItsIDInTheBody() {
        let client = Self.client(.refreshToken("r")) { $0.clientSecret = nil }
        #expect(form(client, proof: "r2") == "grant_type=refresh_token&refresh_token=r2&client_id=me")
        #expect(authorization(client) == nil)
    }

    @Test func assertion() {
        let client = Self.client(.assertion(.text("a.b.c"))) { $0.audience = "x" }
        #expect(
            form(client, proof: "a.b.c")
                == "grant_type=urn%3Aietf%3Aparams%3Aoauth%3Agrant-type%3Ajwt-bearer&assertion=a.b.c&audience=x")
    }

    @Test func assertionOfGitHub_saysItselfWhomItIsFor() {
        let url = ChallengeClient.url("https://run.example/id?api-version=2.0")
        let client = Self.client(.assertion(.github(url: url, token: "t"))) { $0.audience = "x" }
        #expect(
            form(client, proof: "a.b.c")
                == "grant_type=urn%3Aietf%3Aparams%3Aoauth%3Agrant-type%3Ajwt-bearer&assertion=a.b.c")
        let request = GitHubTokenRequest(url, token: "t", audience: "https://a/?b")
        #expect(request.url.text == "https://run.example/id?api-version=2.0&audience=https%3A%2F%2Fa%2F%3Fb")
        #expect(request.headers.map { "\($0.name): \($0.value.revealed)" }.contains("Authorization: Bearer t"))
    }

    /// A secret that is bound to hosts stays bound in what is made of it.
    @Test func boundSecrets_stayBound() throws {
        let hosts = [try #require(HostPattern("other.example"))]
        let secret = SecretText(pieces: [.secret(name: "S", value: "sesame", hosts: hosts)])
        let origin = Self.client().tokenURL.origin
        let inHeader = TokenRequest(Self.client { $0.clientSecret = secret }, proof: nil)
        #expect(inHeader.headers.compactMap { $0.value.secretBarred(from: origin) } == ["S"])
        let inBody = TokenRequest(Self.client { ($0.clientSecret, $0.authentication) = (secret, .body) }, proof: nil)
        #expect(inBody.texts.compactMap { $0.secretBarred(from: origin) } == ["S"])
    }

    // MARK: The answer

    private let now = ManualClock().instant

    private func read(_ body: String, status: Int = 200) throws(TokenRefusal) -> GrantedToken {
        try GrantedToken(status: status, Array(body.utf8), asked: now)
    }

    private func refusal(_ body: String, status: Int = 200) -> String? {
        do throws(TokenRefusal) {
            _ = try read(body, status: status)
            return nil
        } catch {
            return ForeignText.told(error.words) { $0 }
        }
    }

    @Test func granted() throws {
        let token = try read(#"{"access_token":"abc","token_type":"bEARER","expires_in":3600,"refresh_token":"r"}"#)
        #expect(token.text == "abc" && token.refreshToken == "r")
        #expect(token.renewAt == now + .seconds(3_540))
        #expect(!token.isDue(at: now + .seconds(3_539)) && token.isDue(at: now + .seconds(3_540)))
    }

    @Test func noEndNamed_isGoodUntilItIsRefused() throws {
        let token = try read(#"{"access_token":"abc"}"#, status: 201)
        #expect(token.renewAt == nil && !token.isDue(at: now + .seconds(1_000_000_000)))
    }

    @Test(arguments: [
        ("0", 0.0), ("-5", 0), ("-1e400", 0), ("1", 0.5), ("60", 30), ("120", 60), ("121", 61), ("1e400", 31_535_940),
        ("99999999999999999999", 31_535_940), ("\"3599\"", 3_539), ("3599.5", 3_539.5),
    ]) func ends(_ text: String, _ seconds: Double) throws {
        let token = try read(#"{"access_token":"abc","expires_in":\#(text)}"#)
        let until = (try #require(token.renewAt) - now).nanoseconds
        #expect(Double(until) / 1e9 == seconds)
    }

    @Test(arguments: ["null", "true", "\"soon\"", "[]", "{}", "\"nan\""])
    func endThatIsNoNumber_saysNothing(_ text: String) throws {
        #expect(try read(#"{"access_token":"abc","expires_in":\#(text)}"#).renewAt == nil)
    }

    @Test(arguments: [
        ("", "its answer is no JSON object"), ("<html>", "its answer is no JSON object"),
        ("[]", "its answer is no JSON object"), ("{}", "its answer holds no `access_token`"),
        (#"{"access_token":""}"#, "`access_token` of its answer is no text"),
        (#"{"access_token":1}"#, "`access_token` of its answer is no text"),
        (#"{"access_token":null}"#, "`access_token` of its answer is no text"),
        (#"{"access_token":["a"]}"#, "`access_token` of its answer is no text"),
        (#"{"access_token":"a","refresh_token":7}"#, "`refresh_token` of its answer is no text"),
        (#"{"access_token":"a","token_type":"mac"}"#, "its answer holds a token that is not of the type `Bearer`"),
        (#"{"access_token":"a","token_type":1}"#, "its answer holds a token that is not of the type `Bearer`"),
        (#"{"error":"slow_down"}"#, "it says `slow_down`"),
    ]) func uselessAnswers(_ body: String, _ words: String) {
        #expect(refusal(body) == words)
    }

    @Test(arguments: [#"a\r\nX-Evil: 1"#, #"a b"#, #"a\u0000"#, #"a\u007f"#, "ä", #"\ud800"#, #"a\t"#])
    func tokensThatCannotBeSent(_ token: String) {
        for name in ["access_token", "refresh_token"] {
            let other = name == "access_token" ? "" : #""access_token":"a","#
            #expect(refusal(#"{\#(other)"\#(name)":"\#(token)"}"#) != nil)
        }
    }

    @Test func longAnswers() {
        let most = String(repeating: "a", count: 16 << 10)
        #expect(refusal(#"{"access_token":"\#(most)"}"#) == nil)
        #expect(refusal(#"{"access_token":"\#(most)a"}"#) == "`access_token` of its answer is longer than 16 KiB")
        let much = String(repeating: " ", count: 64 << 10)
        #expect(refusal(#"{"access_token":"a"}"# + much) == "its answer is no JSON object")
        #expect(refusal(String(repeating: "[", count: 1_000)) == "its answer is no JSON object")
    }

    @Test func refusals() {
        #expect(
            refusal(#"{"error":"invalid_client","error_description":"No such\r\nclient.\u202e"}"#, status: 401)
                == #"it says `invalid_client`: "No such client.""#)
        #expect(refusal("<h1>no</h1>", status: 404) == "404 Not Found")
        #expect(refusal("", status: 302) == "302 Found, and a request for a token follows no redirect")
        #expect(refusal(#"{"access_token":"a"}"#, status: 400) == "400 Bad Request")
        let long = String(repeating: "x", count: 5_000)
        #expect((refusal(#"{"error":"\#(long)","error_description":"\#(long)"}"#, status: 400) ?? "").utf8.count < 400)
    }

    @Test(arguments: [(500, true), (503, true), (429, true), (408, true), (400, false), (401, false), (404, false)])
    func whatMayPass_hasItsStatus(_ status: Int, _ mayPass: Bool) {
        for body in ["", #"{"error":"temporarily_unavailable"}"#] {
            do throws(TokenRefusal) {
                _ = try read(body, status: status)
                Issue.record("a token")
            } catch {
                #expect(error.status == (mayPass ? status : nil))
            }
        }
    }

    /// Any bytes: no crash, and no token with anything in it that a header cannot hold.
    @Test func anyAnswer() {
        var random = Seeded("TokenTests.anyAnswer")
        let words = [
            "{", "}", "[", "]", ":", ",", "\"access_token\"", "\"expires_in\"", "\"error\"", "\"token_type\"",
            "\"Bearer\"",
            "1", "-1e9", "null", "\"a\"", "\"\\u000a\"", " ", "\u{FEFF}", "true",
        ]
        for _ in 0..<Rounds.scaled(2_000) {
            let text = (0..<random.below(14)).map { _ in random.pick(words) }.joined()
            guard let token = try? read(text, status: random.pick([200, 200, 400, 500])) else { continue }
            #expect(token.text == "a")
        }
    }

    // MARK: Assertions

    @Test func assertionInAFile() throws {
        #expect(try GrantedToken.assertion(file: Array("\n a.b.c\r\n".utf8)) == "a.b.c")
        for bad in ["", " \n", "a b", "a\nb", "ä", String(repeating: "a", count: (16 << 10) + 1)] {
            #expect(throws: TokenRefusal.self) { try GrantedToken.assertion(file: Array(bad.utf8)) }
        }
        #expect(throws: TokenRefusal.self) { try GrantedToken.assertion(file: [0xFF, 0xFE]) }
    }

    @Test func assertionOfGitHub() throws {
        #expect(try GrantedToken.assertion(status: 200, Array(#"{"count":1,"value":"a.b.c"}"#.utf8)) == "a.b.c")
        for bad in ["{}", #"{"value":1}"#, #"{"value":"a\nb"}"#, "no"] {
            #expect(throws: TokenRefusal.self) { try GrantedToken.assertion(status: 200, Array(bad.utf8)) }
        }
    }

    @Test func token_isNotPrinted() throws {
        let token = try read(#"{"access_token":"sesame1","refresh_token":"sesame2"}"#)
        var dumped = "\(token) \(String(reflecting: token))"
        dump(token, to: &dumped)
        #expect(!dumped.contains("sesame"))
    }
}

/// When a token is shown, and what happens where it is refused.
@Suite struct ShownTokenTests {
    /// A client whose server gives `t1`, `t2`, …
    private func client(
        _ url: String = "https://api.example.org/v1/a", host: String? = "*.example.org", task: [ChallengeRule] = [],
        before: [Credential] = []
    ) throws -> ChallengeClient {
        var credential = Credential(source: .oauth2(TokenTests.client()))
        (credential.method, credential.preemptive, credential.persistence) = (.bearer, true, .none)
        credential.host = try host.map { try #require(HostPattern($0)) }
        var client = ChallengeClient(before + [credential], url, task: task)
        var count = 0
        client.answers = { _ in
            count += 1
            return .token(SecretText("t\(count)"))
        }
        return client
    }

    @Test func first_isShownUnasked() throws {
        var client = try client()
        #expect(client.begin().toOrigin == "Bearer t1")
        client.passed()
        #expect(client.reports == [] && client.accepted.isEmpty)
        // Whoever holds the tokens says which counts now; within an attempt it stays.
        #expect(client.begin("https://api.example.org/v1/b").toOrigin == "Bearer t1")
    }

    @Test(arguments: [["Bearer realm=\"api\", error=\"invalid_token\""], [], ["Basic realm=\"x\""]])
    func refused_isGivenBackAndAnotherShown_once(_ offers: [String]) throws {
        var client = try client()
        _ = client.begin()
        let step = client.step(offers)
        guard case .send(let second) = step.action else {
            Issue.record("\(step.action)")
            return
        }
        #expect(second.toOrigin == "Bearer t2")
        #expect(client.reports.map { $0.wasAccepted } == [false])
        #expect(client.reports.first?.secret == .token("t1"))
        if case .accept = client.step(offers).action {} else { Issue.record("the second 401 is the result") }
        #expect(client.queries.count == 2 && client.reports.count == 1)
    }

    @Test func otherHosts_getNone() throws {
        var client = try client()
        #expect(client.begin("https://example.net/a").toOrigin == nil && client.queries.isEmpty)
        var own = try self.client(host: nil)
        #expect(own.begin().toOrigin == "Bearer t1")
        #expect(own.begin("https://other.example.org/").toOrigin == nil)
    }

    @Test func rules_mayForbidIt() throws {
        var client = try client(task: [ChallengeClient.rule(.default, .bearer)])
        #expect(client.begin().toOrigin == nil && client.queries.isEmpty)
        // A rule for the realm that the server names only now.
        var late = try self.client(task: [ChallengeClient.rule(.cancel, .bearer, realm: "api")])
        #expect(late.begin().toOrigin == "Bearer t1")
        if case .cancel = late.step(["Bearer realm=\"api\""]).action {} else { Issue.record("not cancelled") }
        #expect(late.queries.count == 1)
    }

    @Test func typedAuthorization_speaksForItself() throws {
        var client = try client()
        client.request = ChallengedRequest(url: client.request.url, method: "GET", isTyped: true)
        #expect(client.begin().toOrigin == nil && client.queries.isEmpty)
    }

    /// Its secrets are known to the log before anything is sent.
    @Test func policy_tellsItsSecrets() {
        let policy = ChallengePolicy(
            credentials: [Credential(source: .oauth2(TokenTests.client(.refreshToken("fresh"))))])
        #expect(policy.secrets == ["sesame", "fresh"])
        #expect(policy.ofProxies.hasNothingToShow)
    }
}

/// Whose answer it is, where tokens come and go.
@Suite struct TokenMarkTests {
    private func mark(_ token: String, _ owner: String?, named name: String = ShownSecret.accessToken) -> RequestMark {
        let shown = SecretText(pieces: [.literal("Bearer "), .secret(name: name, value: token, hosts: nil)])
        return RequestMark(sent: [HeaderField(name: "Authorization", value: shown)], proof: owner)
    }

    @Test func nextToken_isTheSameUsers() {
        let text = mark("one", "me").text(answer: .empty, key: 7)
        #expect(mark("two", "me").fits(text))
        #expect(!mark("one", "somebody").fits(text) && !mark("one", nil).fits(text))
    }

    @Test func otherTokens_areWhoTheyAre() {
        let text = mark("one", nil, named: "API").text(answer: .empty, key: 7)
        #expect(mark("one", nil, named: "API").fits(text) && !mark("two", nil, named: "API").fits(text))
    }
}
