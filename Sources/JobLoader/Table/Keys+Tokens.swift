import Diagnostics
import TransferModel
import YAMLTree

struct OAuth2Draft: Blank, Sendable {
    var tokenURL: ResourceURL?
    var clientID: SecretText?
    var clientSecret: SecretText?
    var refreshToken: SecretText?
    var assertion: OAuth2Client.Assertion?
    var scope: String?
    var audience: String?
    var authentication = OAuth2Client.Authentication.basic
    var node = NodeID(raw: 0)
    static var blank: OAuth2Draft { OAuth2Draft() }
}

extension Sections {
    static let oauth2 = Section<OAuth2Draft>(
        "oauth2", in: "`oauth2`", title: "`credentials.oauth2`",
        """
        Who asks which server for access tokens (OAuth 2.0). A token is asked for when a request to `host` first needs \
        one, by one request for all tasks of the session, and sent as `Authorization: Bearer` with each request there, \
        unasked. Another one is asked for a minute before its end, and once where the server refuses it with 401. Tokens \
        are kept in memory alone. With `refreshToken` or `assertion` the server gives a token for that (RFC 6749, \
        RFC 7523), and `clientSecret` only says who asks; without them it is the client's own (`client_credentials`).
        """,
        keys: [
            Key("tokenURL", \.tokenURL, .url, default: "required", "where tokens are given; no redirect is followed") {
                $1.tokenURL($0).map { .some($0) }
            },
            .secretText("clientID", \.clientID, default: "required", "the client's id"),
            .secretText("clientSecret", \.clientSecret, default: "none", "the client's secret"),
            .secretText(
                "refreshToken", \.refreshToken, default: "none",
                """
                a token that a person allowed once. Where the server gives another one with a token, that counts for the \
                rest of the run
                """),
            Key(
                "assertion", \.assertion, .either([.text, .object("assertion")]), default: "none",
                """
                a JWT by which another party says who asks; `github` is the OIDC token of the GitHub Actions job, \
                `{ file }` one that is read from there each time
                """
            ) { $1.assertion($0).map { .some($0) } },
            .text(
                "scope", \.scope, default: "the server's", "what the token is to allow: names with spaces between them"),
            .text(
                "audience", \.audience, default: "none; of `assertion: github` the `tokenURL`",
                "whom the token is for; with `assertion: github` who is to believe the assertion"),
            .choice(
                "clientAuthentication", \.authentication, default: "basic",
                "`clientID` and `clientSecret` go in an `Authorization` header, or in the `body`"),
        ],
        rules: [
            .atMostOne(["refreshToken", "assertion"]),
            .when(
                .all([.lacks("refreshToken"), .lacks("assertion")]), .needs(["clientSecret"])),
        ])

    static let assertion = Section<AssertionDraft>(
        "assertion", in: "`assertion`", title: "`credentials.oauth2.assertion`",
        keys: [
            .path(
                "file", \.file, default: "required",
                "the file that holds the JWT, at most 16 KiB; it may be renewed while the job runs")
        ])

    struct AssertionDraft: Blank, Sendable {
        var file: String?
        static var blank: AssertionDraft { AssertionDraft() }
    }
}

extension Reader {
    func oauth2(_ node: NodeID) -> OAuth2Draft? {
        var draft = OAuth2Draft.blank
        draft.node = node
        Sections.oauth2.decode(node, into: &draft, self)
        return tree.kind(node) == .mapping ? draft : nil
    }

    func tokenURL(_ node: NodeID) -> ResourceURL? {
        guard let url = url(node) else { return nil }
        guard url.isHTTP, url.userInformation == nil else {
            error(
                "invalid-value", "`tokenURL` is an http or https URL without user and password",
                hint: "who asks is said by `clientID` and `clientSecret`", node)
            return nil
        }
        if !url.isSecure, !Self.isThisMachine(url.host) {
            warning(
                "clear-text-token", "`tokenURL` is no https URL: anybody on the way can read the secret and the token",
                at: tree.span(node))
        }
        return url
    }

    private static func isThisMachine(_ host: String) -> Bool {
        host == "localhost" || host.hasSuffix(".localhost") || host == "[::1]" || host.hasPrefix("127.")
    }

    // MARK: Assertions

    func assertion(_ node: NodeID) -> OAuth2Client.Assertion? {
        if tree.kind(node) == .mapping {
            var draft = Sections.AssertionDraft.blank
            Sections.assertion.decode(node, into: &draft, self)
            return draft.file.map { .file($0) }
        }
        guard let text = secretText(node, .either([.text, .object("assertion")])) else { return nil }
        return text.plain == "github" ? gitHubAssertion(node) : .text(text)
    }

    /// Returns where GitHub Actions gives the job's OIDC token, as it says in the environment.
    private func gitHubAssertion(_ node: NodeID) -> OAuth2Client.Assertion? {
        let (place, key) = ("ACTIONS_ID_TOKEN_REQUEST_URL", "ACTIONS_ID_TOKEN_REQUEST_TOKEN")
        note(.environment, place, node)
        note(.secret, key, node)
        let text = (try? resources.environment(place)) ?? nil
        guard let text, let token = names.secrets.value(key, self, at: tree.span(node)) else {
            return lacksGitHub(text == nil ? place : key, node)
        }
        guard let url = try? ResourceURL.parse(text), url.isHTTP else {
            error("invalid-url", "the environment's `\(place)` is no http or https URL", node)
            return nil
        }
        noteHost(url.origin, node)
        return .github(url: url, token: token)
    }

    private func lacksGitHub(_ name: String, _ node: NodeID) -> OAuth2Client.Assertion? {
        let hint = "GitHub Actions sets it for a job with `permissions: { id-token: write }`"
        guard missingValues == .tolerated else {
            error(
                "missing-value", "`assertion: github` needs the environment's `\(name)`, which is not set", hint: hint,
                node)
            return nil
        }
        warning(
            "missing-value", "the environment has no `\(name)` here, and a run needs it", hint: hint,
            at: tree.span(node))
        let url = try? ResourceURL.parse("https://\(MissingValue.placeholder)/")
        return url.map { .github(url: $0, token: names.secrets.placeholder("ACTIONS_ID_TOKEN_REQUEST_TOKEN")) }
    }

    // MARK: The whole

    /// Returns the client that a credential with `oauth2` is.
    func client(_ draft: OAuth2Draft, of credential: CredentialDraft, _ node: NodeID) -> OAuth2Client? {
        let others = ["realm", "preemptive", "maximumFailures", "persistence"]
        if let name = others.first(where: writtenKeys(node).contains) ?? (credential.proxy ? "proxy" : nil) {
            error(
                "conflicting-keys",
                "`\(name)` is about servers that ask, and a token of `oauth2` goes to its servers unasked",
                hint: "leave it out", at: spanOfKey(name, in: node))
        }
        if let method = credential.method, method != .any, method != .bearer {
            error(
                "conflicting-keys",
                "a token of `oauth2` is shown by `method: bearer` alone, not by `\(method.rawValue)`",
                hint: "leave `method` out", at: spanOfKey("method", in: node))
        }
        guard let url = draft.tokenURL, let id = draft.clientID, let grant = grant(draft) else { return nil }
        var client = OAuth2Client(tokenURL: url, clientID: id, grant: grant)
        (client.clientSecret, client.authentication) = (draft.clientSecret, draft.authentication)
        (client.scope, client.audience) = (draft.scope, draft.audience)
        client.hosts = credential.host.map { host in
            [host] + [HostPattern("\(url.host):\(url.port)")].compactMap(\.self)
        }
        return client
    }

    private func spanOfKey(_ name: String, in node: NodeID) -> SourceSpan {
        tree.entries(node).first { tree.text($0.key) == name }.map { tree.span($0.key) } ?? beginning(node)
    }

    private func grant(_ draft: OAuth2Draft) -> OAuth2Client.Grant? {
        if let text = draft.refreshToken { return .refreshToken(text) }
        if let assertion = draft.assertion { return .assertion(assertion) }
        if draft.clientSecret != nil { return .clientCredentials }
        // A key that is present but could not be read was reported already.
        if writtenKeys(draft.node).isDisjoint(with: ["clientSecret", "refreshToken", "assertion"]) {
            error(
                "missing-key", "`oauth2` must say what it shows the server",
                hint: "give it a `clientSecret`, a `refreshToken` or an `assertion`", at: beginning(draft.node))
        }
        return nil
    }
}
