import TransferModel
import YAMLTree

extension ChallengeRule: Blank { static var blank: ChallengeRule { ChallengeRule(disposition: .default) } }

/// A credential as it is written, before its kind is known.
struct CredentialDraft: Blank, Sendable {
    var host: HostPattern?
    var realm: String?
    var method: Credential.Method?
    var user: SecretText?
    var password: SecretText?
    var token: SecretText?
    var helper: [SecretText]?
    var netrc = false
    var oauth2: OAuth2Draft?
    var accessKey: SecretText?
    var secretKey: SecretText?
    var sessionToken: SecretText?
    var region: String?
    var service: String?
    var endpoint: ResourceURL?
    var proxy = false
    var preemptive = false
    var maximumFailures = 1
    var persistence = Credential.Persistence.session
    static var blank: CredentialDraft { CredentialDraft() }

    var hasSigningKeys: Bool {
        accessKey != nil || secretKey != nil || sessionToken != nil || region != nil || service != nil
            || endpoint != nil
    }
    /// Whether it has keys that only make sense in response to a server's challenge.
    var hasAnswer: Bool {
        user != nil || password != nil || token != nil || helper != nil || netrc || oauth2 != nil || realm != nil
    }
}

extension Sections {
    static let credential = Section<CredentialDraft>(
        "credential", in: "a credential", title: "`credentials`",
        "Each of the list is a map. Of what a server offers and a credential fits, the strongest method is taken.",
        keys: [
            .host(
                "host", \.host, default: "the servers that the task itself names; any for `helper` and `netrc`",
                "where it may be used"),
            .text("realm", \.realm, default: "any", "the realm it is for"),
            .optionalChoice(
                "method", \.method, default: "any", "the only method it may be used with"),
            .secretText("user", \.user, default: "none", "with `password`"),
            .secretText("password", \.password, default: "none", "with `user`"),
            .secretText("token", \.token, default: "none", "for `method: bearer`"),
            .command("helper", \.helper, default: "none", "a program that speaks the git-credential protocol"),
            .boolean("netrc", \.netrc, default: "false", "read the user's `.netrc`"),
            Key(
                "oauth2", \.oauth2, .object("oauth2"), default: "none", "a server that gives access tokens for `host`"
            ) { OAuth2Reader(reader: $1).oauth2($0).map { .some($0) } },
            .secretText("accessKey", \.accessKey, default: "none", "for `method: awsSigV4`"),
            .secretText("secretKey", \.secretKey, default: "none", "for `method: awsSigV4`"),
            .secretText("sessionToken", \.sessionToken, default: "none", "for `method: awsSigV4`"),
            .text("region", \.region, default: "none", "for `method: awsSigV4`"),
            .text("service", \.service, default: "none", "for `method: awsSigV4`"),
            Key(
                "endpoint", \.endpoint, .url, default: "the `host`, else Amazon's of the `region`",
                "the URL of an object store, below which it has its buckets; the key is for that server alone"
            ) { CredentialReader(reader: $1).endpoint($0).map { .some($0) } },
            .boolean(
                "proxy", \.proxy, default: "false",
                "it is a proxy's, of any `method`; a SOCKS proxy takes `user` and `password` alone"),
            .boolean("preemptive", \.preemptive, default: "false", "send it before anybody asks"),
            .integer("maximumFailures", \.maximumFailures, 1...100, default: "1", "how often it may be refused"),
            .choice("persistence", \.persistence, default: "session", "how long a credential that worked is kept"),
        ],
        rules: credentialRules)

    private static let signingKeys = ["accessKey", "secretKey", "region", "service"]
    private static let otherMethods = Credential.Method.allCases.map(\.rawValue).filter { $0 != "awsSigV4" }

    private static let credentialRules: [SectionDocument.Rule] = [
        .when(.isOne("method", of: ["awsSigV4"]), .needs(signingKeys)),
        .when(
            .isOne("method", of: ["awsSigV4"]),
            .excludes([
                "user", "password", "token", "helper", "oauth2", "realm", "preemptive", "maximumFailures",
                "persistence",
            ])),
        .when(.isOne("method", of: ["awsSigV4"]), .isNotTrue("netrc")),
        .when(.isOne("method", of: ["awsSigV4"]), .isNotTrue("proxy")),
        .when(.isOne("method", of: otherMethods), .excludes(signingKeys + ["sessionToken", "endpoint"])),
        .when(.lacks("method"), .excludes(signingKeys + ["sessionToken", "endpoint"])),
        .when(
            .all([.lacks("method"), .lacks("token"), .lacks("helper"), .lacks("oauth2"), .isNotTrue("netrc")]),
            .needs(["user", "password"])),
        .when(
            .all([
                .isOne("method", of: otherMethods), .lacks("token"), .lacks("helper"), .lacks("oauth2"),
                .isNotTrue("netrc"),
            ]),
            .needs(["user", "password"])),
        .when(.has("token"), .excludes(["user", "password", "helper"])),
        .when(.has("helper"), .excludes(["user", "password"])),
        .when(.isTrue("netrc"), .excludes(["user", "password", "token", "helper", "oauth2"])),
        .when(
            .has("oauth2"),
            .excludes([
                "user", "password", "token", "helper", "realm", "preemptive", "maximumFailures", "persistence",
            ])),
        .when(.has("oauth2"), .isNotTrue("proxy")),
        .when(.has("oauth2"), .differs("method", from: ["basic", "digest", "ntlm", "negotiate"])),
        .when(.isTrue("preemptive"), .excludes(["realm"])),
        .when(.isTrue("preemptive"), .differs("method", from: ["digest"])),
        .when(.has("token"), .differs("method", from: ["basic", "digest", "ntlm", "negotiate"])),
        .when(.has("password"), .differs("method", from: ["bearer"])),
        .always(.filled(["helper"])),
    ]

    static let challenge = Section<ChallengeRule>(
        "challenge", in: "a rule of `challenges`", title: "`challenges`",
        """
        Each of the list is a map; the first that matches decides. `use` takes the matching credential; `default` goes on \
        without (a 401 is then the result); `reject` passes to the next method the server offers; `cancel` cancels the task.

        `clientCertificate` and `serverTrust` are about connections, and only rules that name them are about those: the \
        session's first, then the task's. For a server that asks for a certificate `use` is what happens without a rule, \
        `default` and `reject` show none, `cancel` cancels the task when it is asked. For a server's own certificate `use` \
        and `default` leave it to `tls.trust`, `reject` fails the task, `cancel` cancels it, before it connects.
        """,
        keys: [
            .optionalChoice("method", \.method, default: "any", "the kind of challenge"),
            .host("host", \.host, default: "any", "who asks"),
            .text("realm", \.realm, default: "any", "the realm it is about"),
            .choice("do", \.disposition, default: "required", "what to do"),
        ])
}
