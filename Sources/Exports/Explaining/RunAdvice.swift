internal import Reporting
internal import TransferModel

/// Advice on what to change so that a run takes less time: only about parts that took a noticeable share of it, largest
/// first.
struct RunAdvice {
    private let run: RunExplanation
    private let course: RequestConcurrency.Measures

    init(_ run: RunExplanation, _ course: RequestConcurrency.Measures) {
        self.run = run
        self.course = course
    }

    /// Smallest share of the time, in percent, that is worth a sentence.
    private static let least = 10
    /// A shorter run gets no advice: there is little to gain.
    private static let shortest = TimeSpan.seconds(1)

    var lines: [String] {
        guard run.duration >= Self.shortest else {
            return ["The run was over in \(HumanText.duration(run.duration)): there is little to gain."]
        }
        let found = waits + phases + [staged, tail, retries].compactMap { $0 }
        return found.sorted { $0.share > $1.share }.map(\.text)
    }

    private typealias Finding = (share: Int, text: String)

    // MARK: Waits

    private var waits: [Finding] {
        WaitReason.allCases.compactMap { reason in
            guard let wait = run.waits[reason], let text = words(reason, wait) else { return nil }
            let share = RunExplanation.percent(wait.time.nanoseconds, of: run.taskTime.nanoseconds)
            return share >= Self.least ? (share, text) : nil
        }
    }

    private func words(_ reason: WaitReason, _ wait: RunExplanation.Wait) -> String? {
        let who = "\(PageText.count(wait.tasks, "task")) waited \(HumanText.duration(wait.time)) together"
        switch reason {
        case .hostLimit:
            return
                "\(who) for a connection to their host\(busiest). A higher `maximumConnectionsPerHost` gives them one "
                + "sooner, if the server allows it."
        case .sessionLimit:
            return
                "\(who) for a place in their session. A higher `maximumConcurrentTasks` of the session lets more run at a time."
        case .runLimit:
            return
                "\(who) for a place in the run. A higher `limits.maximumConcurrentTasks` (or `--max-concurrent`) lets "
                + "more run at a time."
        case .requestRate:
            return
                "\(who) for their turn under `requestsPerSecond`, or under the limit that a server told. A higher rate helps "
                + "if the server allows it."
        case .bandwidth: return "\(who) for bandwidth: `bandwidth` bound the run."
        case .retryAfter, .hostParked:
            return "\(who) for hosts that asked for quiet or did not answer. Fewer requests at a time "
                + "(`maximumConnectionsPerHost`, `requestsPerSecond`) may spare the pauses."
        case .dependency:
            return "\(who) for tasks they need: the longest wait was \(HumanText.duration(wait.longest)). What is not "
                + "needed in `needs` costs time."
        case .flush:
            return "\(who) for the disk: `durability: flush` has each file on it before the task counts as done."
        case .processLimit: return "\(who) for \(Explanation.words(reason)). Less at a time, or a higher limit, helps."
        case .network, .power, .window, .earliestBegin, .suspended, .credential:
            return "\(who) for \(Explanation.words(reason)): the job, or somebody, wanted it so."
        // `retries` reports it, with the attempts that failed.
        case .backoff: return nil
        }
    }

    /// A sentence about files that waited for their groups; `nil` if they did not wait long.
    private var staged: Finding? {
        let share = RunExplanation.percent(run.staged.time.nanoseconds, of: run.taskTime.nanoseconds)
        guard share >= Self.least else { return nil }
        return (
            share,
            "\(PageText.count(run.staged.tasks, "file")) waited \(HumanText.duration(run.staged.time)) together, verified, for "
                + "the other files of their groups: a group is put in place in one step, when its last file is whole."
        )
    }

    /// The host with most connections at one time, as the end of a sentence; empty if none is known.
    private var busiest: String {
        let hosts = run.head.sessions.flatMap(\.hosts)
        guard let most = hosts.max(by: { $0.peakConnections < $1.peakConnections }), most.peakConnections > 0 else {
            return ""
        }
        return "; \(SafeText.line(most.host)) had \(most.peakConnections) at a time"
    }

    // MARK: Requests

    private var phases: [Finding] {
        let whole = run.requestTime.nanoseconds
        // Where hardly any time went into requests, they are not what to change.
        guard RunExplanation.percent(whole, of: run.duration.nanoseconds) >= Self.least else { return [] }
        func share(_ parts: RequestPhases.Phase...) -> Int {
            RunExplanation.percent(parts.reduce(0) { $0 + run.phases[$1] }, of: whole)
        }
        /// Share of the tasks' time, in percent, by which findings are ordered.
        func weight(_ parts: RequestPhases.Phase...) -> Int {
            RunExplanation.percent(parts.reduce(0) { $0 + run.phases[$1] }, of: run.taskTime.nanoseconds)
        }
        var found: [Finding] = []
        let connecting = share(.connect, .tls)
        if connecting >= 2 * Self.least {
            let opened = run.requests - run.reused
            found.append(
                (
                    weight(.connect, .tls),
                    "\(connecting) % of the time of requests went into connecting and TLS: "
                        + "\(PageText.count(opened, "connection")) for \(PageText.count(run.requests, "request")). One "
                        + "session for a host, fewer connections at a time or a server with HTTP/2 reuse more."
                ))
        }
        if share(.lookup) >= Self.least {
            found.append(
                (
                    weight(.lookup),
                    "\(share(.lookup)) % of the time of requests went into looking up names. A resolver that caches helps."
                ))
        }
        if share(.wait) >= 5 * Self.least {
            let mean = PageText.duration(seconds: Double(run.phases[.wait]) / 1e9 / Double(max(1, run.requests)))
            found.append(
                (
                    weight(.wait),
                    "\(share(.wait)) % of the time of requests was spent waiting for the first byte, \(mean) each: the servers, or "
                        + "the way to them, were slow to answer. More requests at a time help where the server has room."
                ))
        }
        if share(.receive) >= 5 * Self.least, let rate {
            found.append(
                (
                    weight(.receive),
                    "\(share(.receive)) % of the time of requests went into receiving, \(rate) over the whole run: the line or "
                        + "the servers bound it."
                ))
        }
        return found
    }

    /// Bytes received per second of the whole run; `nil` if none were.
    private var rate: String? {
        let bytes = run.head.totals.bytesReceived
        guard bytes > 0 else { return nil }
        return HumanText.size(Int64(Double(bytes) / run.duration.seconds)) + "/s"
    }

    // MARK: The end, and what failed

    /// Advice about a single request that outlasts all others; `nil` if it does not take long enough.
    private var tail: Finding? {
        let share = RunExplanation.percent(course.tail.nanoseconds, of: run.duration.nanoseconds)
        guard share >= 2 * Self.least, let last = run.last else { return nil }
        return (
            share,
            "For \(HumanText.duration(course.tail)) at the end one request at a time was under way, at the end that of "
                + "`\(SafeText.line(last.id))`. For a large file `segments` takes several connections, and a higher "
                + "`priority` begins it sooner."
        )
    }

    private var retries: Finding? {
        let failed = run.failedAttempts
        let pauses = run.waits[.backoff]?.time ?? .zero
        let share = RunExplanation.percent((failed.time + pauses).nanoseconds, of: run.taskTime.nanoseconds)
        guard share >= Self.least, failed.tasks > 0 else { return nil }
        let often = run.errors.max { ($0.value, $1.key) < ($1.value, $0.key) }
        let names = often.map { ", most often with `\($0.key)`" } ?? ""
        return (
            share,
            "\(PageText.count(failed.tasks, "attempt")) failed\(names): they took "
                + "\(HumanText.duration(failed.time)), and the pauses after them \(HumanText.duration(pauses))."
        )
    }
}
