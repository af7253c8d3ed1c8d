package import TransferModel

/// The rules of `challenges` for questions that arise when a connection is made: whether the server is trusted, and
/// which certificate it is shown. The session's rules come first, then the task's. Only a rule that names one of the
/// two methods applies: a rule for any method means requests that are answered 401.
package struct ConnectionChallenges: Sendable {
    /// The rule's answer to a question.
    package struct Answer: Hashable, Sendable {
        /// How the question is handled.
        package let disposition: ChallengeRule.Disposition
        /// `session` or `task`: whose rule it is.
        package let level: String
    }

    private let rules: [(rule: ChallengeRule, level: String)]

    package init(session: [ChallengeRule], task: [ChallengeRule] = []) {
        rules =
            session.filter(Self.isMeant).map { ($0, "session") } + task.filter(Self.isMeant).map { ($0, "task") }
    }

    /// Whether a rule is for a connection.
    package static func isMeant(_ rule: ChallengeRule) -> Bool {
        rule.method == .clientCertificate || rule.method == .serverTrust
    }

    /// Whether there are no rules.
    package var isEmpty: Bool { rules.isEmpty }

    /// Returns the answer of the first rule that fits; `nil` means default handling: trust as `tls` says, and the
    /// certificate that fits.
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
