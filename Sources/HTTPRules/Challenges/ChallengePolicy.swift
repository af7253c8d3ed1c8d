package import TransferModel

/// Who a task may be, and what it does when somebody asks: the session's word and its own. Tasks that say the same share
/// one.
package final class ChallengePolicy: Sendable {
    /// A credential, and the only origin (or proxy) it is for where it comes from a URL.
    struct Candidate: Sendable {
        let credential: Credential
        let origin: Origin?
    }
    let candidates: [Candidate]
    /// Those that sign each request unasked; nobody challenges them.
    private let signers: [Credential]
    /// The name that the URL gives without a password: whose entry to look for.
    private let user: (origin: Origin, name: String)?
    private let sessionRules: [ChallengeRule]
    private let taskRules: [ChallengeRule]

    /// `taskRules` are the task's own or, where it has none, its session's again. Of `proxies` the URLs' own users and
    /// passwords count, each at its proxy alone.
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

    /// Whoever writes a password into a proxy's URL wants it sent there without being asked.
    private static func candidate(_ proxy: ProxyServer) -> Candidate? {
        guard let user = proxy.user, !proxy.kind.isSOCKS else { return nil }
        var credential = Credential(source: .password(user: user, password: proxy.password ?? ""))
        (credential.isForProxy, credential.preemptive) = (true, true)
        return Candidate(credential: credential, origin: proxy.origin)
    }

    package static let none = ChallengePolicy(credentials: [])

    /// With what `url` says before its host. Only of what the task itself names: a name and password that a redirect
    /// brings are nobody's.
    package func adding(_ url: ResourceURL) -> ChallengePolicy {
        guard let text = url.userInformation, let secret = ShownSecret(userInformation: text),
            case .password(let user, let password) = secret
        else { return self }
        return ChallengePolicy(self, user, password, at: url.origin, isWhole: text.utf8.contains(UInt8(ascii: ":")))
    }

    /// A name alone comes last: a file or a helper may know its password.
    private init(
        _ other: ChallengePolicy, _ user: SecretText, _ password: SecretText, at origin: Origin, isWhole: Bool
    ) {
        let own = Candidate(credential: Credential(source: .password(user: user, password: password)), origin: origin)
        candidates = isWhole ? [own] + other.candidates : other.candidates + [own]
        self.user = isWhole ? nil : (origin, user.revealed)
        signers = other.signers
        (sessionRules, taskRules) = (other.sessionRules, other.taskRules)
    }

    func user(at origin: Origin) -> String? { user?.origin == origin ? user?.name : nil }

    /// What of it no event may tell, as far as the job says it.
    package var secrets: [String] {
        candidates.compactMap { candidate in
            switch candidate.credential.source {
            case .password(_, let password): password.revealed
            case .token(let token): token.revealed
            case .netrc, .helper, .aws: nil
            }
        }
            + signers.compactMap { signer in
                if case .aws(_, _, let token, _, _) = signer.source { token?.revealed } else { nil }
            }
    }

    package var signsRequests: Bool { !signers.isEmpty }

    /// Who signs a request to `origin`. A key without a host is for the servers that the task names, and one that is
    /// bound to hosts signs for no other.
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

    /// Nothing goes out before anybody asks, and what is learned is of no use.
    package var hasNothingToShow: Bool { candidates.isEmpty }

    /// What a rule says and at which level; without one a credential that fits is used.
    func rule(for space: ProtectionSpace) -> (disposition: ChallengeRule.Disposition?, level: String) {
        if space.method.isOfConnection {
            if let rule = sessionRules.first(where: { $0.matches(space) }) { return (rule.disposition, "session") }
            guard let rule = taskRules.first(where: { $0.matches(space) }) else { return (nil, "session") }
            return (rule.disposition, "task")
        }
        return (taskRules.first { $0.matches(space) }?.disposition, "task")
    }
}
