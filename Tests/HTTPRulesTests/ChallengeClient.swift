import HTTPRules
import TransferModel

/// One task before the rules of challenges: it sends, is answered, and says what the next request carries.
struct ChallengeClient {
    var responder: ChallengeResponder
    var accepted = AcceptedCredentials()
    var request: ChallengedRequest
    private(set) var records: [ChallengeRecord] = []
    private(set) var reports: [HelperReport] = []
    private(set) var queries: [CredentialQuery] = []
    /// What files and helpers say.
    var answers: (CredentialQuery) -> ShownSecret? = { _ in nil }

    init(
        _ credentials: [Credential], _ url: String = "https://example.org/dir/file", session: [ChallengeRule] = [],
        task: [ChallengeRule] = [], method: String = "GET", proxy: Origin? = nil, isTyped: Bool = false,
        proxies: [ProxyServer] = []
    ) {
        let url = Self.url(url)
        let policy = ChallengePolicy(
            credentials: credentials, proxies: proxies, sessionRules: session, taskRules: task)
        responder = ChallengeResponder(policy.adding(url), named: [url.origin])
        request = ChallengedRequest(url: url, method: method, proxy: proxy, isTyped: isTyped)
    }

    static func url(_ text: String) -> ResourceURL {
        do { return try ResourceURL.parse(text) } catch { preconditionFailure("\(text): \(error)") }
    }

    static func password(
        _ user: String, _ password: String, _ change: (inout Credential) -> Void = { _ in }
    ) -> Credential {
        var credential = Credential(source: .password(user: SecretText(user), password: SecretText(password)))
        change(&credential)
        return credential
    }

    static func rule(
        _ disposition: ChallengeRule.Disposition, _ method: ChallengeRule.Method? = nil, realm: String? = nil
    ) -> ChallengeRule {
        var rule = ChallengeRule(disposition: disposition)
        (rule.method, rule.realm) = (method, realm)
        return rule
    }

    // MARK: Events

    /// What the first request carries.
    mutating func begin() -> RequestAuthorization {
        authorization(settled(responder.prepare(request, &accepted) { "cnonce" }))
    }

    mutating func begin(_ url: String) -> RequestAuthorization {
        request = ChallengedRequest(url: Self.url(url), method: request.method, proxy: request.proxy)
        return begin()
    }

    /// `nil`: the answer is the result.
    mutating func challenged(_ offers: String..., status: Int = 401) -> RequestAuthorization? {
        let step = step(offers, status: status)
        if case .send(let authorization) = step.action { return authorization }
        return nil
    }

    mutating func step(_ offers: [String], status: Int = 401) -> ChallengeStep {
        let name = status == 407 ? "Proxy-Authenticate" : "WWW-Authenticate"
        let headers = HeaderBlock(offers.map { (name, $0) })
        return settled(responder.challenged(request, status: status, headers, &accepted) { "cnonce" })
    }

    mutating func passed(status: Int = 200, _ headers: [(String, String)] = []) {
        reports += responder.passed(request, status: status, HeaderBlock(headers), &accepted)
    }

    private mutating func settled(_ first: ChallengeStep) -> ChallengeStep {
        var step = first
        while true {
            records += step.records
            reports += step.reports
            guard case .lookUp(let query) = step.action else { return step }
            queries.append(query)
            step = responder.found(answers(query), &accepted) { "cnonce" }
        }
    }

    private func authorization(_ step: ChallengeStep) -> RequestAuthorization {
        if case .send(let authorization) = step.action { return authorization }
        preconditionFailure("nothing is sent: \(step.action)")
    }

    /// `method disposition failures`, as the report tells it.
    var told: [String] { records.map { "\($0.method) \($0.disposition) \($0.previousFailureCount)" } }
}

extension RequestAuthorization {
    /// The header's value, or how a connection proves it.
    var toOrigin: String? { Self.text(origin) }
    var toProxy: String? { Self.text(proxy) }

    private static func text(_ proof: Proof?) -> String? {
        switch proof {
        case .header(let value): return value.revealed
        case .connection(let method, .password(let user, let password)):
            return "\(method.name) \(user.revealed):\(password.revealed)"
        case .connection(let method, .token(let token)): return "\(method.name) \(token.revealed)"
        case nil: return nil
        }
    }

    /// A field of a Digest.
    func field(_ name: String) -> String? {
        guard let text = toOrigin ?? toProxy else { return nil }
        let offer = OfferedChallenge.all(in: HeaderBlock([("WWW-Authenticate", text)])).first
        return offer?[name]
    }
}
