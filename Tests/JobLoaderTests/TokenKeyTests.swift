import Diagnostics
import JobLoader
import Testing
import TransferModel

/// `oauth2` of a credential as a job writes it.
@Suite struct TokenKeyTests {
    private func job(_ keys: String, credential: String = "host: api.example.org, ", head: String = "") -> String {
        task("credentials: [{ \(credential)oauth2: { \(keys) } }]", head: head)
    }

    private static let whole = "tokenURL: https://login.example.org/token, clientID: me, clientSecret: sesame"

    private func credential(_ text: String, environment: [String: String] = [:]) throws -> Credential {
        let result = load(text, environment: environment)
        let job = try #require(result.job, "\(result.messages)")
        #expect(result.summary == [])
        return try #require(job.tasks.first?.options.values.policies.credentials.first)
    }

    private func client(_ text: String, environment: [String: String] = [:]) throws -> OAuth2Client {
        guard case .oauth2(let client) = try credential(text, environment: environment).source else {
            throw Missing()
        }
        return client
    }
    private struct Missing: Error {}

    @Test func clientCredentials() throws {
        let credential = try credential(job("\(Self.whole), scope: \"a b\", audience: x, clientAuthentication: body"))
        guard case .oauth2(let client) = credential.source else { throw Missing() }
        #expect(client.tokenURL.text == "https://login.example.org/token" && client.clientID == "me")
        #expect(client.grant == .clientCredentials && client.clientSecret == "sesame")
        #expect(client.scope == "a b" && client.audience == "x" && client.authentication == .body)
        // Tokens go where the credential goes and back to where they come from.
        #expect(client.hosts?.map(\.description) == ["api.example.org", "login.example.org:443"])
        #expect(credential.preemptive && credential.persistence == .none && credential.method == .bearer)
    }

    @Test func defaults() throws {
        let client = try client(job(Self.whole, credential: ""))
        #expect(client.authentication == .basic && client.scope == nil && client.audience == nil)
        #expect(client.hosts == nil)
    }

    @Test func refreshToken_andAssertion_withAndWithoutASecret() throws {
        let start = "tokenURL: https://login.example.org/token, clientID: me"
        #expect(try client(job("\(start), refreshToken: r")).grant == .refreshToken("r"))
        #expect(try client(job("\(Self.whole), refreshToken: r")).clientSecret == "sesame")
        #expect(try client(job("\(start), assertion: a.b.c")).grant == .assertion(.text("a.b.c")))
        #expect(try client(job("\(start), assertion: { file: id/token }")).grant == .assertion(.file("/job/id/token")))
    }

    @Test func secrets_stayMarked() throws {
        let text = job(
            "tokenURL: https://login.example.org/token, clientID: me, clientSecret: \"${secret.S}\"",
            head: "secrets: { S: { env: S, hosts: [login.example.org] } }\n")
        let secret = try #require(try client(text, environment: ["S": "sesame"]).clientSecret)
        #expect(secret.secretNames == ["S"] && secret.revealed == "sesame")
    }

    @Test(arguments: [
        ("clientID: me, clientSecret: s", "`oauth2` needs `tokenURL`"),
        ("tokenURL: https://l.test/t, clientSecret: s", "`oauth2` needs `clientID`"),
        ("tokenURL: https://l.test/t, clientID: me", "`oauth2` must say what it shows the server"),
        ("\(whole), refreshToken: a, assertion: b", "`refreshToken` and `assertion` exclude each other in `oauth2`"),
        ("\(whole), clientAuthentication: none", "`clientAuthentication` must be `basic` or `body`"),
        ("tokenURL: \"ftp://l.test/t\", clientID: me, clientSecret: s", "`tokenURL` is an http or https URL"),
        ("tokenURL: \"https://u:p@l.test/t\", clientID: me, clientSecret: s", "`tokenURL` is an http or https URL"),
        ("\(whole), assertion: {}", "`assertion` needs `file`"),
        ("\(whole), token_url: x", "unknown key `token_url` in `oauth2`"),
    ]) func mistakes(_ keys: String, _ message: String) {
        let result = load(job(keys))
        #expect(result.job == nil && result.messages.contains(message), "\(result.messages)")
        #expect(result.summary.count == 1, "\(result.messages)")
    }

    @Test(arguments: [
        ("user: me, password: p, ", "a credential has one source"),
        ("token: t, ", "a credential has one source"), ("netrc: true, ", "a credential has one source"),
        ("realm: r, ", "`realm` is about servers that ask"), ("preemptive: true, ", "`preemptive` is about servers"),
        ("persistence: permanent, ", "`persistence` is about servers that ask"),
        ("maximumFailures: 2, ", "`maximumFailures` is about servers"), ("proxy: true, ", "`proxy` is about servers"),
        ("method: basic, ", "a token of `oauth2` is shown by `method: bearer` alone"),
    ]) func otherKeys_areRefused(_ other: String, _ message: String) {
        let result = load(job(Self.whole, credential: other))
        #expect(result.job == nil && result.messages.contains(message), "\(result.messages)")
    }

    @Test func noMap_isToldWithAnExample() {
        let result = load(task("credentials: [{ oauth2: https://login.example.org/token }]"))
        #expect(result.messages.contains("`oauth2` must be a map"), "\(result.messages)")
        #expect(result.summary.count == 1, "\(result.messages)")
    }

    @Test(arguments: [
        ("http://login.example.org/token", true), ("https://login.example.org/token", false),
        ("http://localhost:8080/token", false), ("http://127.0.0.1/token", false), ("http://[::1]/token", false),
    ]) func plainHTTP_isWarnedOf(_ url: String, _ isWarned: Bool) {
        let result = load(job("tokenURL: \"\(url)\", clientID: me, clientSecret: s"))
        #expect(result.job != nil && result.summary.contains { $0.hasSuffix("warning clear-text-token") } == isWarned)
    }

    // MARK: GitHub Actions

    private static let gitHub = "tokenURL: https://login.example.org/token, clientID: me, assertion: github"
    private static let environment = [
        "ACTIONS_ID_TOKEN_REQUEST_URL": "https://run.actions.example/id?v=2",
        "ACTIONS_ID_TOKEN_REQUEST_TOKEN": "sesame",
    ]

    @Test func gitHub() throws {
        let client = try client(job(Self.gitHub), environment: Self.environment)
        guard case .assertion(.github(let url, let token)) = client.grant else { throw Missing() }
        #expect(url.text == "https://run.actions.example/id?v=2" && token.revealed == "sesame" && token.isSecret)
    }

    @Test(arguments: ["ACTIONS_ID_TOKEN_REQUEST_URL", "ACTIONS_ID_TOKEN_REQUEST_TOKEN"])
    func gitHub_outsideOfGitHub_isAnError(_ name: String) {
        let result = load(job(Self.gitHub), environment: Self.environment.filter { $0.key != name })
        #expect(result.job == nil && result.messages.contains("`\(name)`, which is not set"), "\(result.messages)")
        #expect(result.messages.contains("permissions: { id-token: write }"))
    }

    /// `check` on a machine that is no runner of GitHub's.
    @Test func gitHub_inACheck_isAWarning() {
        let result = look(job(Self.gitHub))
        #expect(result.job != nil && result.summary.allSatisfy { $0.hasSuffix("warning missing-value") })
        #expect(!result.summary.isEmpty)
    }

    @Test func access_namesWhoIsAskedAndWhatIsRead() throws {
        let access = try #require(look(job(Self.gitHub), environment: Self.environment).access)
        #expect(access.names(.host).contains("https://login.example.org"))
        #expect(access.names(.host).contains("https://run.actions.example"))
        #expect(access.names(.environment) == ["ACTIONS_ID_TOKEN_REQUEST_URL"])
        #expect(access.names(.secret) == ["ACTIONS_ID_TOKEN_REQUEST_TOKEN"])
        let file = job("tokenURL: https://login.example.org/token, clientID: me, assertion: { file: /run/id }")
        #expect(look(file).access?.names(.read) == ["/run/id"])
    }

    private func look(_ text: String, environment: [String: String] = [:]) -> LoadResult {
        JobLoader.load(
            SourceText(name: "/job/jobs.yaml", bytes: Array(text.utf8)), options: LoadOptions(),
            resources: world(environment: environment), missingValues: .tolerated, notesAccess: true)
    }
}
