import JobLoader
package import TransferModel

/// A setting of the job that a simulation varies: `sessions.default.maximumConnectionsPerHost=2,4,8`.
package struct Sweep: Hashable, Sendable {
    /// The settings that can be varied.
    private enum Setting: Hashable {
        case session(String, String)
        case limit(String)
        case hostLimit(String, String)
    }

    /// The setting as it was written.
    package let key: String
    /// Its values as they were written.
    package let values: [String]
    private let setting: Setting

    /// Why a sweep cannot be done.
    package struct Problem: Error, Hashable, Sendable {
        /// What is wrong.
        package let message: String
        /// What would be right.
        package let hint: String?
    }

    private static let sessionKeys = [
        "maximumConnectionsPerHost", "maximumConcurrentTasks", "requestsPerSecond", "bandwidth", "retry.attempts",
    ]
    private static let limitKeys = ["maximumConcurrentTasks", "bandwidth", "maximumBytes", "timeout"]
    private static let hostKeys = ["maximumConnections", "requestsPerSecond"]

    /// What can be varied, for messages.
    package static var known: String {
        let keys =
            sessionKeys.map { "sessions.NAME.\($0)" } + limitKeys.map { "limits.\($0)" }
            + hostKeys.map { "limits.hosts.PATTERN.\($0)" }
        return keys.map { "`\($0)`" }.joined(separator: ", ")
    }

    /// Reads `KEY=VALUE,VALUE`.
    package init(_ text: String) throws(Problem) {
        guard let equals = text.firstIndex(of: "="), equals > text.startIndex else {
            throw Problem(
                message: "`--sweep \(text)` gives no values",
                hint: "such as `--sweep sessions.default.maximumConnectionsPerHost=2,4,8`")
        }
        key = String(text[..<equals])
        values = text[text.index(after: equals)...].split(separator: ",", omittingEmptySubsequences: false)
            .map { String($0) }
        guard let setting = Self.setting(key) else {
            throw Problem(message: "`\(key)` cannot be varied", hint: "these can: \(Self.known)")
        }
        self.setting = setting
    }

    private static func setting(_ key: String) -> Setting? {
        if key.hasPrefix("sessions.") {
            let rest = key.dropFirst("sessions.".count)
            guard let name = sessionKeys.first(where: { rest.hasSuffix(".\($0)") }) else { return nil }
            return .session(String(rest.dropLast(name.count + 1)), name)
        }
        if key.hasPrefix("limits.hosts.") {
            let rest = key.dropFirst("limits.hosts.".count)
            guard let name = hostKeys.first(where: { rest.hasSuffix(".\($0)") }) else { return nil }
            return .hostLimit(String(rest.dropLast(name.count + 1)), name)
        }
        guard key.hasPrefix("limits."), limitKeys.contains(String(key.dropFirst("limits.".count))) else { return nil }
        return .limit(String(key.dropFirst("limits.".count)))
    }

    /// Returns the job with one of the values.
    package func apply(_ value: String, to job: Job) throws(Problem) -> Job {
        var job = job
        switch setting {
        case .session(let name, let key):
            guard let place = job.sessions.firstIndex(where: { $0.name == name }) else {
                let names = job.sessions.map { "`\($0.name)`" }.joined(separator: ", ")
                throw Problem(message: "the job has no session `\(name)`", hint: "its sessions: \(names)")
            }
            try apply(value, key, to: &job.sessions[place])
            if key == "retry.attempts" { job.setRetries(of: SessionIndex(raw: UInt16(place)), try count(value)) }
        case .limit("maximumConcurrentTasks"): job.limits.maximumConcurrentTasks = try count(value)
        case .limit("bandwidth"): job.limits.bandwidth = .steady(try rate(value))
        case .limit("maximumBytes"): job.limits.maximumBytes = try size(value)
        case .limit: job.limits.timeout = try duration(value)
        case .hostLimit(let text, let key):
            guard let pattern = HostPattern(text) else {
                throw Problem(message: "`\(text)` is no host pattern", hint: nil)
            }
            let isConnections = key == "maximumConnections"
            job.limits.hosts.removeAll { $0.pattern == pattern }
            job.limits.hosts.append(
                RunLimits.HostLimit(
                    pattern: pattern, maximumConnections: isConnections ? try count(value) : nil,
                    requestsPerSecond: isConnections ? nil : RequestRate(perSecond: try number(value))))
        }
        return job
    }

    private func apply(_ value: String, _ key: String, to session: inout SessionConfiguration) throws(Problem) {
        switch key {
        case "maximumConnectionsPerHost":
            session.connectionRange = value == "auto" ? .standard : nil
            session.maximumConnectionsPerHost = value == "auto" ? ConnectionRange.standard.maximum : try count(value)
        case "maximumConcurrentTasks": session.maximumConcurrentTasks = try count(value)
        case "requestsPerSecond":
            session.requestsPerSecond = RequestRate(
                perSecond: try number(value), burst: session.requestsPerSecond?.burst ?? 1)
        case "bandwidth": session.bandwidth = .steady(try rate(value))
        default: break
        }
    }

    // MARK: Values

    private func count(_ text: String) throws(Problem) -> Int {
        guard let count = Int(text), (1...1_000_000).contains(count) else {
            throw wrong(text, "a whole number from 1 to 1000000")
        }
        return count
    }

    private func number(_ text: String) throws(Problem) -> Double {
        guard let number = Double(text), number.isFinite, number > 0 else { throw wrong(text, "a number above 0") }
        return number
    }

    private func rate(_ text: String) throws(Problem) -> Int64 {
        guard let rate = ValueText.rate(text), rate > 0 else {
            throw wrong(
                text, "a rate such as `10MiB/s`", hint: ValueText.rateHint(text) ?? Self.sizeForms + " and `/s`")
        }
        return rate
    }

    private func size(_ text: String) throws(Problem) -> Int64 {
        guard let size = ValueText.size(text), size > 0 else {
            throw wrong(
                text, "a size such as `10GiB`", hint: ValueText.unitHint(text, isRate: false) ?? Self.sizeForms)
        }
        return size
    }

    private func duration(_ text: String) throws(Problem) -> TimeSpan {
        guard let span = ValueText.duration(text), span > .zero else {
            throw wrong(
                text, "a duration such as `2h`",
                hint: ValueText.durationHint(text) ?? "units are `ms`, `s`, `m`, `h` and `d`, as in `1h30m`")
        }
        return span
    }

    private static let sizeForms =
        "a number with `KiB`, `MiB`, `GiB`, `TiB` (×1024) or `kB`, `MB`, `GB`, `TB` (×1000)"

    private func wrong(_ text: String, _ wanted: String, hint: String? = nil) -> Problem {
        let several = text.contains("-") ? "several values have commas between them: `\(key)=1,2,4`" : nil
        return Problem(message: "`\(key)` must be \(wanted), not `\(text)`", hint: hint ?? several)
    }
}

extension Job {
    /// Gives all tasks of a session another number of attempts.
    fileprivate mutating func setRetries(of session: SessionIndex, _ attempts: Int) {
        var known: (from: TaskOptions, to: TaskOptions)?
        for index in tasks.indices where tasks[index].session == session {
            let options = tasks[index].options
            if known?.from !== options {
                var values = options.values
                values.policies.retry.attempts = attempts
                known = (options, TaskOptions(values))
            }
            if let known { tasks[index].options = known.to }
        }
    }
}

/// The simulations of all combinations of swept values.
package struct SweepTable: Sendable {
    /// One combination.
    package struct Row: Sendable {
        /// The values, one for each sweep.
        package let values: [String]
        /// The result of its simulation.
        package let summary: SimulationSummary
    }

    /// The settings that were varied.
    package let sweeps: [Sweep]
    /// One row for each combination, the last setting varied fastest.
    package let rows: [Row]

    /// Most combinations.
    package static let most = 400

    /// Simulates each combination.
    package init(_ sweeps: [Sweep], _ job: Job, in network: NetworkModel, seed: UInt64, failFast: Bool) throws(Sweep
        .Problem)
    {
        self.sweeps = sweeps
        let count = sweeps.reduce(1) { $0.multipliedReportingOverflow(by: $1.values.count).partialValue }
        guard (1...Self.most).contains(count) else {
            throw Sweep.Problem(message: "\(count) combinations are more than \(Self.most)", hint: nil)
        }
        var combinations: [(values: [String], job: Job)] = [([], job)]
        for sweep in sweeps {
            var next: [(values: [String], job: Job)] = []
            for combination in combinations {
                for value in sweep.values {
                    next.append((combination.values + [value], try sweep.apply(value, to: combination.job)))
                }
            }
            combinations = next
        }
        rows = combinations.map { values, job in
            Row(values: values, summary: JobSimulation(job, in: network, seed: seed, failFast: failFast).run())
        }
    }
}
