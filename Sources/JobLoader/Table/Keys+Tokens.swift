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
                OAuth2Reader(reader: $1).tokenURL($0).map { .some($0) }
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
            ) { OAuth2Reader(reader: $1).assertion($0).map { .some($0) } },
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
