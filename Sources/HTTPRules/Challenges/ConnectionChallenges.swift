package import TransferModel

/// What `challenges` says of what is asked when a connection is made: whether the server is trusted, and which certificate
/// it is shown. Both are the session's to answer, then the task's. Only a rule that names one of the two is about it: one
/// for any method means requests that are answered 401.
package struct ConnectionChallenges: Sendable {
    package struct Answer: Hashable, Sendable {
        package let disposition: ChallengeRule.Disposition
        /// `session` or `task`.
        package let level: String
    }

    private let rules: [(rule: ChallengeRule, level: String)]

    package init(session: [ChallengeRule], task: [ChallengeRule] = []) {
        rules =
            session.filter(Self.isMeant).map { ($0, "session") } + task.filter(Self.isMeant).map { ($0, "task") }
    }

    /// Whether a rule is about a connection.
    package static func isMeant(_ rule: ChallengeRule) -> Bool {
        rule.method == .clientCertificate || rule.method == .serverTrust
    }

    /// Nothing is said.
    package var isEmpty: Bool { rules.isEmpty }

    /// The first rule's that fits; `nil` is default handling: trust as `tls` says, and the certificate that fits.
    package func answer(to method: ChallengeRule.Method, at url: ResourceURL) -> Answer? {
        guard !rules.isEmpty else { return nil }
        let (host, port) = (url.host, url.port)
        let found = rules.first { entry in
            // A certificate is for a host, not for a realm.
            entry.rule.method == method && entry.rule.realm == nil
                && entry.rule.host?.matches(host: host, port: port) != false
        }
        return found.map { Answer(disposition: $0.rule.disposition, level: $0.level) }
    }
}
