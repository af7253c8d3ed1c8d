import Reporting
import Scheduling
import Simulation
package import TransferModel

/// The result of a simulated run, in numbers and in words.
package struct SimulationSummary: Sendable {
    /// Time from the beginning of the run to its end.
    package let duration: TimeSpan
    /// Number of tasks by outcome; tolerated failures count as failed.
    package let outcomes: [TaskOutcome: Int]
    /// Bytes of bodies that moved, repeated ones counted again.
    package let bytes: Int64
    /// Attempts beyond the first of each task.
    package let retries: Int
    /// Whether the scheduler came to an end.
    package let isWhole: Bool
    private let job: Job
    private let network: NetworkModel
    private let origins: [Origin]
    private let hostLimits: [OriginID: OriginLimits]
    private let tally: SimulationTally

    init(
        _ job: Job, _ network: NetworkModel, _ origins: [Origin],
        _ hostLimits: [(origin: OriginID, limits: OriginLimits)], _ result: SimulationResult, _ tally: SimulationTally
    ) {
        self.job = job
        self.network = network
        self.origins = origins
        self.tally = tally
        self.hostLimits = Dictionary(hostLimits.map { ($0.origin, $0.limits) }) { $1 }
        duration = result.duration
        outcomes = tally.outcomes
        bytes = tally.bytes
        isWhole = result.ending == .finished
        retries = tally.attempts - tally.begun
    }

    /// Tasks that did not succeed, tolerated failures left out.
    package var failures: Int {
        max(0, (outcomes[.failed] ?? 0) + (outcomes[.cancelled] ?? 0) + (outcomes[.skipped] ?? 0) - tally.tolerated)
    }

    /// Mean rate in bytes per second; `nil` where nothing moved.
    package var rate: Int64? {
        guard duration > .zero, bytes > 0 else { return nil }
        return Int64(min(Double(bytes) / duration.seconds, 1e18))
    }

    // MARK: Words

    /// The whole text.
    package func lines(seed: UInt64) -> [String] {
        var lines = [title, "  simulated with \(network.source), seed \(seed)"]
        func section(_ title: String, _ rows: [String]) {
            guard !rows.isEmpty else { return }
            lines += ["", title] + rows
        }
        section("What came of it", outcomeRows)
        section("What held tasks back", waitRows)
        section("What binds", bindingRows)
        section("Hosts", hostRows)
        section("Faults", faultRows)
        return lines
    }

    private var title: String {
        let parts = [
            HumanText.count(job.tasks.count, "task"), HumanText.size(bytes), rate.map { "\(HumanText.size($0))/s" },
        ]
        let name = SafeText.line(job.redactor.redacted(name: job.name))
        let end = isWhole ? "" : " (not finished: it was stopped)"
        return "\(name): \(HumanText.duration(duration))\(end) for \(parts.compactMap { $0 }.joined(separator: ", "))"
    }

    private var outcomeRows: [String] {
        let rows = TaskOutcome.allCases.compactMap { outcome in
            outcomes[outcome].map { "  \(HumanText.grouped($0)) \(outcome.rawValue)" }
        }
        return rows + (retries > 0 ? ["  \(HumanText.count(retries, "further attempt"))"] : [])
    }

    private var waitRows: [String] {
        let rows = tally.waits.filter { $0.value.time > .zero }
            .sorted { ($1.value.time, $0.key.rawValue) < ($0.value.time, $1.key.rawValue) }
            .map { reason, wait in
                let mean = TimeSpan(nanoseconds: wait.time.nanoseconds / Int64(max(1, wait.tasks)))
                return [
                    HumanText.duration(wait.time), Explanation.words(reason),
                    "\(HumanText.count(wait.tasks, "task")), \(HumanText.duration(mean)) on average, "
                        + "\(HumanText.duration(wait.longest)) at most",
                ]
            }
        return TextLayout.columns(rows, right: [0])
    }

    private var hostRows: [String] {
        let busiest = origins.indices.sorted { (tally.hosts[$1].requests, $0) < (tally.hosts[$0].requests, $1) }
        let rows = busiest.prefix(10).map { number in
            let host = tally.hosts[number]
            let span = (host.first.flatMap { first in host.last.map { $0 - first } } ?? .zero).seconds
            let rate = span > 0 ? "\(HumanText.size(Int64(min(Double(host.bytes) / span, 1e18))))/s" : ""
            return [
                "\(origins[number])", HumanText.count(host.requests, "request"), HumanText.size(host.bytes), rate,
                "\(host.peak) at a time at most",
            ]
        }
        let more = origins.count - rows.count
        return TextLayout.columns(Array(rows)) + (more > 0 ? ["  and \(HumanText.count(more, "more host"))"] : [])
    }

    private var faultRows: [String] {
        tally.faults.sorted { ($1.value, $0.key) < ($0.value, $1.key) }.prefix(10).map {
            "  \(HumanText.count($0.value, "attempt")) \($0.key)"
        }
    }

    // MARK: The limit that binds

    /// The limit that held tasks back most, with what a change of it would be.
    private var bindingRows: [String] {
        var rows: [String] = []
        if let row = lineRow { rows.append(row) }
        let limits: [WaitReason] = [.hostLimit, .sessionLimit, .runLimit, .requestRate, .bandwidth]
        let held = limits.compactMap { reason in tally.waits[reason].map { (reason, $0.time) } }
            .max { $0.1 < $1.1 }
        if let held, held.1.seconds > 0.05 * max(tally.taskTime.seconds, 1e-9) { rows.append(row(held.0)) }
        return rows.isEmpty
            ? ["  no limit of the job: it takes as long as its longest chain of requests and bodies"] : rows
    }

    private func row(_ reason: WaitReason) -> String {
        let busiest = tally.hosts.indices.max { tally.hosts[$0].requests < tally.hosts[$1].requests } ?? 0
        let host = busiest < origins.count ? "\(origins[busiest])" : "the host"
        switch reason {
        case .hostLimit:
            return "  connections to \(host): \(tally.hosts[busiest].peak) at a time; try "
                + "`--sweep sessions.\(session(of: busiest)).maximumConnectionsPerHost=…`"
        case .sessionLimit:
            return "  `maximumConcurrentTasks` of a session; try `--sweep sessions.NAME.maximumConcurrentTasks=…`"
        case .runLimit:
            return "  `limits.maximumConcurrentTasks`, \(job.limits.maximumConcurrentTasks); try "
                + "`--sweep limits.maximumConcurrentTasks=…`"
        case .requestRate:
            return "  `requestsPerSecond`; try `--sweep sessions.\(session(of: busiest)).requestsPerSecond=…`"
        default: return "  `bandwidth`; try `--sweep limits.bandwidth=…`"
        }
    }

    private func session(of host: Int) -> String {
        guard host < origins.count else { return "NAME" }
        let task = job.tasks.first { $0.location.originURL?.origin == origins[host] }
        return task.map { job.sessions[Int($0.session.raw)].name } ?? "NAME"
    }

    /// The job's bandwidth or a host's line, where most of it is used all the time.
    private var lineRow: String? {
        if let rate, let limit = job.limits.bandwidth?.lowest, Double(rate) > 0.8 * Double(limit) {
            return "  `limits.bandwidth`, \(HumanText.size(limit))/s: \(HumanText.size(rate))/s moved on average"
        }
        for (number, host) in tally.hosts.enumerated() {
            guard let first = host.first, let last = host.last, let line = network.host(origins[number]).bandwidth
            else { continue }
            let mean = Double(host.bytes) / max((last - first).seconds, 1e-9)
            guard mean > 0.8 * Double(line), (last - first).seconds > 0.5 * duration.seconds else { continue }
            let moved = "\(HumanText.size(Int64(mean)))/s moved on average"
            if let most = network.host(origins[number]).mostSeen {
                return "  \(HumanText.size(line))/s, the most that the report shows of \(origins[number]) (at "
                    + "\(HumanText.count(most, "request")) at a time): \(moved); what more would bring only a run can show"
            }
            return
                "  the line of \(origins[number]), \(HumanText.size(line))/s: \(moved); no setting of the job makes it faster"
        }
        return nil
    }
}
