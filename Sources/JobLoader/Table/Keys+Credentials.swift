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
            ) { $1.oauth2($0).map { .some($0) } },
            .secretText("accessKey", \.accessKey, default: "none", "for `method: awsSigV4`"),
            .secretText("secretKey", \.secretKey, default: "none", "for `method: awsSigV4`"),
            .secretText("sessionToken", \.sessionToken, default: "none", "for `method: awsSigV4`"),
            .text("region", \.region, default: "none", "for `method: awsSigV4`"),
            .text("service", \.service, default: "none", "for `method: awsSigV4`"),
            Key(
                "endpoint", \.endpoint, .url, default: "the `host`, else Amazon's of the `region`",
                "the URL of an object store, below which it has its buckets; the key is for that server alone"
            ) { $1.endpoint($0).map { .some($0) } },
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

extension Reader {
    func credentials(_ node: NodeID) -> [Credential]? {
        guard expectList(node, .list(.object("credential"))) else { return nil }
        return tree.children(node).compactMap { element in
            var draft = CredentialDraft()
            Sections.credential.decode(element, into: &draft, self)
            guard tree.kind(element) == .mapping, let source = source(of: draft, element) else {
                lacksCredential = true
                return nil
            }
            check(draft, element)
            var credential = Credential(source: source)
            credential.host = draft.host
            credential.realm = draft.realm
            credential.method = draft.method ?? (draft.token == nil ? .any : .bearer)
            credential.isForProxy = draft.proxy
            credential.preemptive = draft.preemptive
            credential.maximumFailures = draft.maximumFailures
            credential.persistence = draft.persistence
            credential.endpoint = draft.endpoint
            if case .oauth2 = source {
                (credential.method, credential.preemptive, credential.persistence) = (.bearer, true, .none)
            }
            if let endpoint = draft.endpoint, draft.host == nil {
                credential.host = HostPattern("\(endpoint.host):\(endpoint.port)")
            }
            return credential
        }
    }

    /// Reports values that cannot be sent: they would end their header's line, or become another user name.
    private func check(_ draft: CredentialDraft, _ node: NodeID) {
        let texts = [
            ("user", draft.user), ("password", draft.password), ("token", draft.token),
            ("accessKey", draft.accessKey), ("secretKey", draft.secretKey), ("sessionToken", draft.sessionToken),
            ("region", draft.region.map { SecretText($0) }), ("service", draft.service.map { SecretText($0) }),
        ]
        for (name, text) in texts {
            guard let text, text.revealed.utf8.contains(where: { $0 < 0x20 || $0 == 0x7F }) else { continue }
            error("invalid-value", "`\(name)` holds a control character", at: beginning(node))
        }
        if draft.method == .basic, draft.user?.revealed.utf8.contains(UInt8(ascii: ":")) == true {
            error(
                "invalid-value", "a `user` with a colon would be another one in `method: basic`", at: beginning(node))
        }
    }

    private func source(of draft: CredentialDraft, _ node: NodeID) -> Credential.Source? {
        if draft.method == .awsSigV4 { return signature(draft, node) }
        if draft.hasSigningKeys {
            error(
                "conflicting-keys",
                "`accessKey`, `secretKey`, `sessionToken`, `region`, `service` and `endpoint` are for `method: awsSigV4`",
                at: beginning(node))
            return nil
        }
        var sources: [Credential.Source] = []
        if let password = draft.password, let user = draft.user {
            sources.append(.password(user: user, password: password))
        }
        if let token = draft.token { sources.append(.token(token)) }
        if let helper = draft.helper { sources.append(.helper(helper)) }
        if draft.netrc {
            sources.append(.netrc)
            note(.read, "the user's .netrc", node)
        }
        if let oauth2 = draft.oauth2 {
            guard let client = client(oauth2, of: draft, node) else { return nil }
            sources.append(.oauth2(client))
        }
        if sources.count == 1 {
            refuseHalves(draft, node)
            refuseUnusable(draft, node)
            return sources[0]
        }
        let hint = "give it `user` and `password`, or one of `token`, `helper`, `netrc: true` and `oauth2`"
        if sources.isEmpty {
            // A key that is present but could not be read was reported already.
            let written = writtenKeys(node)
            if !written.isDisjoint(with: ["token", "helper", "netrc", "oauth2"])
                || written.isSuperset(of: ["user", "password"])
            {
                return nil
            }
            error("missing-key", "a credential must say what to show", hint: hint, at: beginning(node))
        } else {
            error("conflicting-keys", "a credential has one source", hint: hint, at: beginning(node))
        }
        return nil
    }

    /// Reports a user name without password, or the reverse, beside another source, where it has no effect.
    private func refuseHalves(_ draft: CredentialDraft, _ node: NodeID) {
        let half: (name: String, other: String)
        switch (draft.user != nil, draft.password != nil) {
        case (true, false): half = ("user", "password")
        case (false, true): half = ("password", "user")
        case (true, true), (false, false): return
        }
        error(
            "conflicting-keys", "`\(half.name)` goes with `\(half.other)`, and this credential has another source",
            hint: "leave it out", at: beginning(node))
    }

    /// Reports values that the credential's method cannot send, and those that cannot be sent before a challenge.
    private func refuseUnusable(_ draft: CredentialDraft, _ node: NodeID) {
        if draft.preemptive, draft.realm != nil {
            error(
                "conflicting-keys", "`preemptive` and `realm` exclude each other",
                hint: "which realm it is a server only says when it asks", at: beginning(node))
        }
        if draft.preemptive, draft.method == .digest {
            error(
                "conflicting-keys", "`preemptive` and `method: digest` exclude each other",
                hint: "a digest is of what the server says when it asks", at: beginning(node))
        }
        guard let method = draft.method, method != .any else { return }
        if draft.token != nil, method != .bearer {
            error(
                "conflicting-keys", "a `token` is shown by `method: bearer` alone, not by `\(method.rawValue)`",
                at: beginning(node))
        } else if draft.password != nil, method == .bearer {
            error(
                "conflicting-keys", "`method: bearer` shows a `token`, no `user` and `password`", at: beginning(node))
        }
    }

    /// Returns the keys that have a value; `netrc: false` counts as none.
    func writtenKeys(_ node: NodeID) -> Set<String> {
        let entries = tree.entries(node).filter { key, value in
            !tree.isNull(value) && !(tree.text(key, is: "netrc") && tree.text(value) == "false")
        }
        return Set(entries.map { tree.text($0.0) })
    }

    /// Returns the URL of an object store.
    fileprivate func endpoint(_ node: NodeID) -> ResourceURL? {
        guard let url = url(node) else { return nil }
        guard url.isHTTP, url.query == nil, url.userInformation == nil else {
            error(
                "invalid-value", "`endpoint` is an http or https URL without user and query",
                hint: "such as `https://s3.example.org`", node)
            return nil
        }
        return url
    }

    private func signature(_ draft: CredentialDraft, _ node: NodeID) -> Credential.Source? {
        guard let access = draft.accessKey, let secret = draft.secretKey, let region = draft.region,
            let service = draft.service
        else {
            let written = writtenKeys(node)
            if !written.isSuperset(of: ["accessKey", "secretKey", "region", "service"]) {
                error(
                    "missing-key", "`method: awsSigV4` needs `accessKey`, `secretKey`, `region` and `service`",
                    at: beginning(node))
            }
            return nil
        }
        if draft.hasAnswer || draft.proxy {
            error(
                "conflicting-keys",
                "`method: awsSigV4` signs each request to its servers; it goes with no `realm`, no `proxy` and nothing "
                    + "else to show", at: beginning(node))
            return nil
        }
        if let endpoint = draft.endpoint {
            if service != "s3" {
                error(
                    "conflicting-keys", "`endpoint` is where `to: s3://…` goes, and this key is for `\(service)`",
                    hint: "`service: s3`", at: beginning(node))
            } else if let host = draft.host, !host.matches(endpoint.origin) {
                error(
                    "conflicting-keys", "the key is for `\(host)` alone, and its `endpoint` is at `\(endpoint.host)`",
                    hint: "leave `host` out", at: beginning(node))
            }
        }
        let ofChallenges = ["preemptive", "maximumFailures", "persistence"]
        if let name = ofChallenges.first(where: writtenKeys(node).contains) {
            error(
                "conflicting-keys", "`\(name)` is about servers that ask, and `method: awsSigV4` signs unasked",
                hint: "leave it out", at: beginning(node))
        }
        return .aws(
            accessKey: access, secretKey: secret, sessionToken: draft.sessionToken, region: region, service: service)
    }
}
