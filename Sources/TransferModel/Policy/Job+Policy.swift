/// What a policy made of a value of the job.
package struct PolicyNote: Hashable, Sendable {
    /// The key of the job with its value now: `limits.timeout: 1h`.
    package let what: String
    /// File and line of the rule.
    package let place: String
}

extension SessionConfiguration {
    /// Puts the session under the policy, and returns what that changed.
    package mutating func hold(to policy: Policy) -> [PolicyNote] {
        self.policy = policy
        guard let floor = policy.minimumTLS, tls.minimum < floor.value else { return [] }
        tls.minimum = floor.value
        return [
            PolicyNote(what: "`tls.minimum` of the session `\(name)`: \(floor.value.rawValue)", place: floor.place)
        ]
    }
}

extension Job {
    /// Puts the run's limits under the job's policy, and returns what that changed. Once more is the same.
    @discardableResult package mutating func holdLimits() -> [PolicyNote] {
        policy.map { limits.hold(to: $0.limits) } ?? []
    }

    /// Returns the error that fails a template whose tasks would be too many for the policy, beside those that the run has.
    package func refusal(ofAdding count: Int) -> TransferError? {
        guard let policy, policy.limits.tasks != nil else { return nil }
        let tasks = tasks.count { !$0.isTemplate }
        return policy.refusal(ofTasks: tasks + count).map { TransferError(.expansionFailed, $0.message) }
    }

    /// The error that ends what is left of the run when its time is over.
    package var timeIsOver: TransferError {
        guard let rule = policy?.limits.time, rule.value == limits.timeout else { return .runTimedOut }
        return .runTimedOut(after: rule)
    }

    /// The rule of the policy that bounds the run's bytes; `nil` where the job is stricter, or nothing bounds them.
    package var byteRule: Policy.Rule<Int64>? {
        policy?.limits.bytes.flatMap { $0.value == limits.maximumBytes ? $0 : nil }
    }
}

extension RunLimits {
    /// Lowers what is above the policy's limits, and returns what that changed.
    mutating func hold(to policy: Policy.Limits) -> [PolicyNote] {
        var notes: [PolicyNote] = []
        func lower<Value: Comparable>(
            _ name: String, _ value: inout Value?, to rule: Policy.Rule<Value>?, _ words: (Value) -> String
        ) {
            guard let rule, value.map({ $0 > rule.value }) ?? true else { return }
            value = rule.value
            notes.append(PolicyNote(what: "`limits.\(name)`: \(words(rule.value))", place: rule.place))
        }
        var tasks: Int? = maximumConcurrentTasks
        lower("maximumConcurrentTasks", &tasks, to: policy.maximumConcurrentTasks) { "\($0)" }
        maximumConcurrentTasks = tasks ?? maximumConcurrentTasks
        lower("timeout", &timeout, to: policy.time) { Explanation.words($0) }
        lower("maximumBytes", &maximumBytes, to: policy.bytes) { SizeText.of($0) }
        if let rule = policy.bandwidth {
            let held = bandwidth?.held(below: rule.value) ?? .steady(rule.value)
            if held != bandwidth {
                bandwidth = held
                notes.append(PolicyNote(what: "`limits.bandwidth`: \(SizeText.of(rule.value))/s", place: rule.place))
            }
        }
        return notes + holdHosts(to: policy)
    }

    /// An entry of `limits.hosts` for every host: of several that match, the strictest counts.
    private mutating func holdHosts(to policy: Policy.Limits) -> [PolicyNote] {
        let (connections, rate) = (policy.maximumConnectionsPerHost, policy.requestsPerSecond)
        guard connections != nil || rate != nil, let all = HostPattern("*") else { return [] }
        for place in hosts.indices {
            // The lowest rate counts, and brings its own burst.
            guard let most = rate?.value.burst, let burst = hosts[place].requestsPerSecond?.burst else { continue }
            hosts[place].requestsPerSecond?.burst = min(burst, most)
        }
        let limit = HostLimit(
            pattern: all, maximumConnections: connections?.value, requestsPerSecond: rate?.value)
        guard !hosts.contains(limit) else { return [] }
        hosts.append(limit)
        return [
            connections.map {
                PolicyNote(what: "connections to a host, over all sessions: \($0.value)", place: $0.place)
            },
            rate.map {
                PolicyNote(what: "requests to a host in a second: \(Self.number($0.value.perSecond))", place: $0.place)
            },
        ].compactMap(\.self)
    }

    private static func number(_ value: Double) -> String {
        value == value.rounded() && abs(value) < 1e15 ? "\(Int64(value))" : "\(value)"
    }
}

extension Bandwidth {
    /// Returns the bandwidth with no rate above `most`, also at times of day for which it says nothing.
    fileprivate func held(below most: Int64) -> Bandwidth {
        switch self {
        case .steady(let rate): return .steady(min(rate, most))
        case .byTimeOfDay(let hours):
            // The first entry that is open counts: these two are open whenever no other is.
            let rest = [TimeWindow(from: 0, to: 720), TimeWindow(from: 720, to: 0)].map {
                Hours(window: $0, rate: most)
            }
            let held = hours.map { Hours(window: $0.window, rate: min($0.rate, most)) }
            return .byTimeOfDay(held.suffix(2) == rest ? held : held + rest)
        }
    }
}
