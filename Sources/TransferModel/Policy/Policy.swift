/// An operator's rules, which win over a job's own values (`--policy`). A rule that is not written forbids nothing.
package struct Policy: Hashable, Sendable {
    /// A value with the place of its rule, as messages name it: `policy.yaml:4`.
    package struct Rule<Value: Hashable & Sendable>: Hashable, Sendable {
        /// What the rule says.
        package let value: Value
        /// File and line of the rule.
        package let place: String
        package init(_ value: Value, place: String) {
            self.value = value
            self.place = place
        }
    }

    /// How messages begin to speak of a policy: its place follows.
    package static let words = "the policy "

    /// The hosts that requests may go to.
    package var hosts = HostRules()
    /// The addresses that connections may be made to.
    package var addresses = AddressRules(owner: .policy, deny: [], allow: [])
    /// Rules that change URLs; the first that matches is applied, before the job's own rules for redirects.
    package var rewrite: [RedirectPolicy.Rewrite] = []
    /// The lowest version of TLS, whatever the job says.
    package var minimumTLS: Rule<TLSVersion>?
    /// Whether a session may check no certificates.
    package var insecure: Rule<Bool>?
    /// Whether the job may run commands.
    package var commands: Rule<Bool>?
    /// The greatest amounts.
    package var limits = Limits()

    package init() {}

    /// The `limits` of a policy. The stricter of the job's and the policy's holds.
    package struct Limits: Hashable, Sendable {
        /// Tasks of the run, with those that its templates become.
        package var tasks: Rule<Int>?
        /// Body bytes of the run, in both directions.
        package var bytes: Rule<Int64>?
        /// Time from the start of the run.
        package var time: Rule<TimeSpan>?
        /// Tasks at a time.
        package var maximumConcurrentTasks: Rule<Int>?
        /// Connections to one host, over all sessions.
        package var maximumConnectionsPerHost: Rule<Int>?
        /// Requests to one host, over all sessions.
        package var requestsPerSecond: Rule<RequestRate>?
        /// Body bytes a second, over all sessions.
        package var bandwidth: Rule<Int64>?
        package init() {}
    }

    /// Returns why a run must not have so many tasks; `nil` if it may.
    package func refusal(ofTasks count: Int) -> PolicyRefusal? {
        guard let rule = limits.tasks, count > rule.value else { return nil }
        return PolicyRefusal(
            rule: "limits.tasks", place: rule.place,
            message: "the run has \(count) tasks, and \(Self.words)\(rule.place) allows \(rule.value)")
    }
}

/// Why a policy refuses something, for people.
package struct PolicyRefusal: Hashable, Sendable {
    /// The key of the rule, such as `hosts.deny`.
    package let rule: String
    /// File and line of the rule.
    package let place: String
    /// The sentence that says so.
    package let message: String
    package init(rule: String, place: String, message: String) {
        self.rule = rule
        self.place = place
        self.message = message
    }
}

/// The `hosts` of a policy: `deny` wins, and without `allow` every other host is allowed.
package struct HostRules: Hashable, Sendable {
    /// The only hosts that requests may go to; `nil` for any.
    package var allow: Policy.Rule<[HostPattern]>?
    /// Hosts that no request goes to, each with the place of its entry.
    package var deny: [Policy.Rule<HostPattern>] = []
    package init() {}

    /// Returns why no request may go to the host (lower case, ASCII) at the port; `nil` where it may.
    package func refusal(ofHost host: String, port: UInt16) -> PolicyRefusal? {
        if let rule = deny.first(where: { $0.value.matches(host: host, port: port) }) {
            return PolicyRefusal(
                rule: "hosts.deny", place: rule.place,
                message: "\(host): \(Policy.words)\(rule.place) denies `\(rule.value)`")
        }
        guard let rule = allow, !rule.value.contains(where: { $0.matches(host: host, port: port) }) else { return nil }
        let named = rule.value.prefix(Self.named).map { "`\($0)`" }.joined(separator: ", ")
        let more = rule.value.count > Self.named ? " and \(rule.value.count - Self.named) more" : ""
        let place = rule.value.contains(where: \.namesPort) ? "\(host):\(port)" : host
        return PolicyRefusal(
            rule: "hosts.allow", place: rule.place,
            message: "\(place): \(Policy.words)\(rule.place) allows no host but \(named)\(more)")
    }

    /// Patterns of `allow` that a message names, at most.
    private static let named = 4
}
