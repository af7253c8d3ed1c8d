package import TransferModel

/// The credentials of a task, and the rules of its session and its own for challenges. Tasks with the same share one
/// object.
package final class ChallengePolicy: Sendable {
    /// A credential, and the only origin (or proxy) that it is for where it comes from a URL.
    struct Candidate: Sendable {
        let credential: Credential
        let origin: Origin?
    }
    let candidates: [Candidate]
    /// Credentials that sign each request without a challenge.
    private let signers: [Credential]
    /// The user name that the task's URL gives without a password: selects the entry to look up.
    private let user: (origin: Origin, name: String)?
    private let sessionRules: [ChallengeRule]
    private let taskRules: [ChallengeRule]

    /// `taskRules` are the task's own or, where it has none, its session's again. User and password in the URLs of
    /// `proxies` become credentials, each for its proxy alone.
    package init(
        credentials: [Credential], proxies: [ProxyServer] = [], sessionRules: [ChallengeRule] = [],
        taskRules: [ChallengeRule] = []
    ) {
        candidates =
            proxies.compactMap { Self.candidate($0) }
            + credentials.filter { $0.method != .awsSigV4 }.map { Candidate(credential: $0, origin: nil) }
        signers = credentials.filter { $0.method == .awsSigV4 && !$0.isForProxy }
        user = nil
        self.sessionRules = sessionRules
        self.taskRules = taskRules
    }

    /// The credential in a proxy's URL, which is sent to the proxy without a challenge.
    private static func candidate(_ proxy: ProxyServer) -> Candidate? {
        guard let user = proxy.user, !proxy.kind.isSOCKS else { return nil }
        var credential = Credential(source: .password(user: user, password: proxy.password ?? ""))
        (credential.isForProxy, credential.preemptive) = (true, true)
        return Candidate(credential: credential, origin: proxy.origin)
    }

    /// No credentials and no rules.
    package static let none = ChallengePolicy(credentials: [])

    /// Returns the policy with the user and password in `url` added. Only for URLs of the task itself: user and
    /// password that a redirect brings are ignored.
    package func adding(_ url: ResourceURL) -> ChallengePolicy {
        guard let text = url.userInformation, let secret = ShownSecret(userInformation: text),
            case .password(let user, let password) = secret
        else { return self }
        return ChallengePolicy(self, user, password, at: url.origin, isWhole: text.utf8.contains(UInt8(ascii: ":")))
    }

    /// A user name without password comes last: a file or a helper may know its password.
    private init(
        _ other: ChallengePolicy, _ user: SecretText, _ password: SecretText, at origin: Origin, isWhole: Bool
    ) {
        let own = Candidate(credential: Credential(source: .password(user: user, password: password)), origin: origin)
        candidates = isWhole ? [own] + other.candidates : other.candidates + [own]
        self.user = isWhole ? nil : (origin, user.revealed)
        signers = other.signers
        (sessionRules, taskRules) = (other.sessionRules, other.taskRules)
    }

    /// Returns the policy with what is for proxies alone.
    package var ofProxies: ChallengePolicy { ChallengePolicy(ofProxiesOf: self) }

    private init(ofProxiesOf other: ChallengePolicy) {
        candidates = other.candidates.filter(\.credential.isForProxy)
        (signers, user) = ([], nil)
        (sessionRules, taskRules) = (other.sessionRules, other.taskRules)
    }

    func user(at origin: Origin) -> String? { user?.origin == origin ? user?.name : nil }

    /// Secrets written in the job that no event may contain.
    package var secrets: [String] {
        candidates.flatMap { candidate -> [String] in
            switch candidate.credential.source {
            case .password(_, let password): [password.revealed]
            case .token(let token): [token.revealed]
            case .oauth2(let client): client.secrets.map(\.revealed)
            case .netrc, .helper, .aws: []
            }
        }
            + signers.compactMap { signer in
                if case .aws(_, _, let token, _, _) = signer.source { token?.revealed } else { nil }
            }
    }

    /// Whether any credential signs requests.
    package var signsRequests: Bool { !signers.isEmpty }

    /// Returns the signature for requests to `origin`, or `nil`. A key without a host is for the servers that the task
    /// names, and a key that is bound to hosts signs for no other.
    package func signature(for origin: Origin, named: [Origin]) -> AWSSignature? {
        for signer in signers where signer.host?.matches(origin) ?? named.contains(origin) {
            guard case .aws(let access, let secret, let token, let region, let service) = signer.source,
                [access, secret, token ?? ""].allSatisfy({ $0.secretBarred(from: origin) == nil })
            else { continue }
            return AWSSignature(
                accessKey: access, secretKey: secret, sessionToken: token, region: region, service: service)
        }
        return nil
    }

    /// Whether no credential answers challenges; then none is sent in advance, and nothing learned is of use.
    package var hasNothingToShow: Bool { candidates.isEmpty }

    /// Returns the disposition of the first rule for the space, and its level; without a rule the disposition is `nil`,
    /// and a credential that fits is used.
    func rule(for space: ProtectionSpace) -> (disposition: ChallengeRule.Disposition?, level: String) {
        if space.method.isOfConnection {
            if let rule = sessionRules.first(where: { $0.matches(space) }) { return (rule.disposition, "session") }
            guard let rule = taskRules.first(where: { $0.matches(space) }) else { return (nil, "session") }
            return (rule.disposition, "task")
        }
        return (taskRules.first { $0.matches(space) }?.disposition, "task")
    }
}
