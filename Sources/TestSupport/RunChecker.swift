package import TransferModel

/// Checks a run's events against its rules, one after the other. The owner of a real or simulated run passes it every
/// event and reads `violations`.
package struct RunChecker: Sendable {
    /// What the events so far say of a task.
    struct TaskTrace: Sendable {
        var createdAt: WallTime?
        var end: TraceStep.TaskEnd?
        var endedAt: UInt64 = 0
        var attempts = 0
        var failures = 0
        var hasSucceeded = false
        var running: RunningAttempt?
        /// When the last attempt ended, and the back-off announced with its end.
        var lastEnd: WallTime?
        var backoff: TimeSpan?
        var attemptTime = TimeSpan.zero
        var lastStart: (time: WallTime, sequence: UInt64)?
    }

    struct RunningAttempt: Sendable {
        let startedAt: WallTime
        let began: UInt64
        /// Sequence number of the last event at which the attempt certainly counted against the limits.
        var sure: UInt64
    }

    /// The events over which an attempt certainly counted against the limits on running tasks: local work after the
    /// last byte does not count, and no event tells when that begins.
    struct Busy: Sendable {
        let from: UInt64
        let to: UInt64
        let task: Int
    }

    /// What the job says.
    package let facts: TraceFacts
    /// The violations found so far, in the order of the events.
    package private(set) var violations: [TraceViolation] = []
    var tasks: [TaskTrace]
    var busy: [Busy] = []
    private var sequence: UInt64 = 0
    private var time = WallTime(nanoseconds: .min)
    private(set) var beganAt: WallTime?
    /// Sequence number of the failure that ended the run by `failFast`.
    private var failedFast: UInt64?
    /// Tasks that succeeded or failed, and those of them whose failure is not tolerated.
    private var endedCount = 0
    private var failedCount = 0
    var runEnd: (outcome: RunOutcome, exitStatus: Int)?
    /// Tolerance of waits and attempts against a task's duration.
    static let accountingSlack = TimeSpan.milliseconds(5)

    package init(_ facts: TraceFacts) {
        self.facts = facts
        tasks = Array(repeating: TaskTrace(), count: facts.tasks.count)
    }

    /// Checks a whole run, from its first event to its last.
    package static func violations(in steps: [TraceStep], _ facts: TraceFacts) -> [TraceViolation] {
        var checker = RunChecker(facts)
        for step in steps { checker.take(step) }
        checker.finish()
        return checker.violations
    }

    /// Checks the next event of the run.
    package mutating func take(_ step: TraceStep) {
        let isNext = step.sequence == sequence + 1
        sequence = step.sequence
        if !isNext { report(.counting, nil, "comes out of turn") }
        if step.time < time { report(.time, step.task, "lies before the event before it") }
        time = max(time, step.time)
        if beganAt == nil { beganAt = step.time }
        if runEnd != nil { report(.ending, step.task, "comes after the end of the run") }
        guard let task = step.task else {
            if case .runFinished(let outcome, let status) = step.kind { runEnd = (outcome, status) }
            return
        }
        guard facts.tasks.indices.contains(task) else { return report(.creation, nil, "is of task \(task), unknown") }
        take(step, task)
    }

    private mutating func take(_ step: TraceStep, _ task: Int) {
        if let session = step.session, session != facts.tasks[task].session {
            report(.creation, task, "is said to be of another session")
        }
        if tasks[task].end != nil { report(.ending, task, "has an event after it finished") }
        if case .created = step.kind {
            if tasks[task].createdAt != nil { report(.creation, task, "was created twice") }
            tasks[task].createdAt = step.time
            return
        }
        if tasks[task].createdAt == nil { report(.creation, task, "has an event before it was created") }
        switch step.kind {
        case .waiting(let reason): waits(task, for: reason)
        case .attemptStarted(let number): attemptStarts(task, number, step.time)
        case .redirect: isSurelyRunning(task)
        case .progress: isSurelyRunning(task, isThen: !facts.sessions[facts.tasks[task].session].isBackground)
        case .response(let status): if status != nil { isSurelyRunning(task) }
        case .fileFinished:
            if tasks[task].running == nil { report(.numbering, task, "has a file without an attempt") }
        // What fails from now on is the next page's, with all of its attempts.
        case .pageFinished: tasks[task].failures = 0
        case .expanded: tasks[task].end = TraceStep.TaskEnd(outcome: .succeeded, tolerated: false, duration: .zero)
        case .attemptFinished(let end): attemptEnds(task, end, step.time)
        case .taskFinished(let end): ends(task, end, step.time)
        case .created, .resumed, .other, .runFinished: break
        }
    }

    mutating func report(_ rule: TraceRule, _ task: Int?, _ what: String, at place: UInt64? = nil) {
        let id = task.flatMap { facts.tasks.indices.contains($0) ? facts.tasks[$0].id : nil }
        violations.append(TraceViolation(rule: rule, task: id, sequence: place ?? sequence, what: what))
    }

    // MARK: Attempts

    private mutating func attemptStarts(_ task: Int, _ number: Int, _ now: WallTime) {
        if tasks[task].running != nil { report(.numbering, task, "starts attempt \(number) while one runs") }
        if number != tasks[task].attempts + 1 {
            report(.numbering, task, "starts attempt \(number) after \(tasks[task].attempts)")
        }
        let policy = facts.tasks[task].retry
        // A body that was verified and not published when its process ended is fetched again.
        let mayBeAgain = facts.interruptions > 0 && facts.tasks[task].isGrouped
        if tasks[task].hasSucceeded, !mayBeAgain { report(.attempts, task, "is tried again after it succeeded") }
        if tasks[task].failures >= mostFailures(task) {
            report(
                .attempts, task, "is tried again after \(tasks[task].failures) failures of \(policy.attempts ?? .max)")
        }
        checkNeeds(task)
        checkMoment(task, now)
        tasks[task].attempts = number
        tasks[task].backoff = nil
        tasks[task].lastStart = (now, sequence)
        tasks[task].running = RunningAttempt(startedAt: now, began: sequence, sure: sequence)
    }

    /// Returns the failed attempts that the retry policy allows. A round over several `urls` that was not over when its
    /// process ended begins anew.
    private func mostFailures(_ task: Int) -> Int {
        let facts = facts.tasks[task]
        // Tries on until `timeoutForResource`.
        if facts.isPatient { return .max }
        let begunAnew = facts.mirrors > 1 ? self.facts.interruptions * facts.mirrors : 0
        guard let attempts = facts.retry.attempts else { return .max }
        return attempts * facts.mirrors + begunAnew
    }

    private mutating func checkNeeds(_ task: Int) {
        if let when = facts.tasks[task].when, when.runsAfterFailure { return checkCondition(when, task) }
        for need in facts.tasks[task].needs + facts.tasks[task].members {
            let end = tasks[need].end
            if end?.outcome == .succeeded || end?.tolerated == true { continue }
            report(.needs, task, "starts before `\(facts.tasks[need].id)`, which it needs")
        }
        for need in facts.tasks[task].verified where tasks[need].attempts == 0 && tasks[need].end?.tolerated != true {
            report(.needs, task, "starts before `\(facts.tasks[need].id)` of its group, which it needs")
        }
    }

    private mutating func checkMoment(_ task: Int, _ now: WallTime) {
        if let end = tasks[task].lastEnd, let backoff = tasks[task].backoff, now + facts.slack < end + backoff {
            report(.backoff, task, "starts \((now - end).seconds) s after its last attempt, not \(backoff.seconds) s")
        }
        if let earliest = moment(facts.tasks[task].earliestBegin), now + facts.slack < earliest {
            report(.earliestBegin, task, "starts \((earliest - now).seconds) s too early")
        }
        if let failedFast, facts.tasks[task].when?.runsAfterFailure != true {
            report(.stopping, task, "starts after the failure of event \(failedFast) (`failFast`, `stopWhen`)")
        }
        for (name, end) in [("timeout", facts.timeout.map { .afterStart($0) }), ("finishBy", facts.finishBy)] {
            if let end = moment(end), end + facts.slack < now {
                report(.stopping, task, "starts \((now - end).seconds) s after `limits.\(name)`")
            }
        }
    }

    private func moment(_ moment: Moment?) -> WallTime? {
        switch moment {
        case nil: nil
        case .at(let time)?: time
        case .afterStart(let span)?: beganAt.map { $0 + span }
        }
    }

    /// Notes that the task has an attempt; with `isThen`, at this event and not some time before it.
    private mutating func isSurelyRunning(_ task: Int, isThen: Bool = true) {
        if tasks[task].running == nil { report(.numbering, task, "moves without an attempt") }
        if isThen { tasks[task].running?.sure = sequence }
    }

    private mutating func attemptEnds(_ task: Int, _ end: TraceStep.AttemptEnd, _ now: WallTime) {
        guard let running = tasks[task].running else {
            return report(.numbering, task, "ends attempt \(end.number), which did not run")
        }
        if end.number != tasks[task].attempts {
            report(.numbering, task, "ends attempt \(end.number) while \(tasks[task].attempts) runs")
        }
        let lasted = now - running.startedAt
        if end.duration < .zero || end.duration > lasted + facts.slack {
            report(.accounting, task, "has an attempt of \(end.duration.seconds) s within \(lasted.seconds) s")
        }
        if (end.outcome == .succeeded) != (end.error == nil) {
            let error = end.error?.rawValue ?? "none"
            report(.outcome, task, "has an attempt that \(end.outcome.rawValue), error \(error)")
        }
        tasks[task].attemptTime += end.duration
        tasks[task].running = nil
        tasks[task].lastEnd = now
        tasks[task].backoff = end.backoff
        if end.outcome == .succeeded { tasks[task].hasSucceeded = true }
        if end.outcome == .failed, !isForNothing(task, end) { tasks[task].failures += 1 }
        busy.append(Busy(from: running.began, to: running.sure, task: task))
        checkBackoff(task, end)
        checkRequests(task, end)
    }

    /// Whether an attempt counts as no failure because it found no network and another follows in its place. Any
    /// network failure without a back-off counts so, the last one of a task included.
    private func isForNothing(_ task: Int, _ end: TraceStep.AttemptEnd) -> Bool {
        guard facts.tasks[task].waitsForConnectivity, end.backoff == nil else { return false }
        return end.error.map { Self.networkNames.contains($0) } ?? false
    }

    private static let networkNames: Set<ErrorName> = [
        .noPermittedRoute, .notConnectedToInternet, .networkConnectionLost, .timedOut, .cannotFindHost,
        .cannotConnectToHost, .dnsLookupFailed, .cannotFindProxy, .cannotConnectToProxy, .proxyCouldNotConnect,
    ]

    /// Checks that the attempt's requests follow one another, except for segments.
    private mutating func checkRequests(_ task: Int, _ end: TraceStep.AttemptEnd) {
        // At one moment, ends come before beginnings.
        let changes = end.requests.flatMap { request in
            let last = max(request.lowerBound, request.upperBound + TimeSpan(nanoseconds: -facts.slack.nanoseconds))
            return [(request.lowerBound, 1), (last, -1)]
        }
        var (underWay, most) = (0, 0)
        for (_, change) in changes.sorted(by: { ($0.0, $0.1) < ($1.0, $1.1) }) {
            underWay += change
            most = max(most, underWay)
        }
        if most > facts.tasks[task].segments {
            report(.requests, task, "has \(most) requests at once and \(facts.tasks[task].segments) segments")
        }
    }

    private mutating func checkBackoff(_ task: Int, _ end: TraceStep.AttemptEnd) {
        guard let backoff = end.backoff else { return }
        let policy = facts.tasks[task].retry
        let asked = policy.honorsRetryAfter ? policy.maximumRetryAfter : .zero
        if backoff < .zero || backoff > max(policy.maximumBackoff, asked) {
            report(.policy, task, "waits \(backoff.seconds) s, longer than its policy lets it")
        }
        if end.outcome == .succeeded { report(.policy, task, "waits for another attempt after a success") }
        if tasks[task].failures >= mostFailures(task) {
            report(.policy, task, "waits for an attempt that it has not left")
        }
        // With a time the last pause may be cut short.
        guard policy.jitter == .none, policy.patience == nil, end.outcome == .failed, facts.tasks[task].mirrors == 1
        else { return }
        let least = policy.ceiling(afterFailures: tasks[task].failures)
        if backoff < least { report(.policy, task, "waits \(backoff.seconds) s of \(least.seconds) s") }
    }

    /// Whether an earlier task that writes to standard output has not ended: only a limited number of such tasks runs
    /// ahead of it.
    private func mayWaitForOutput(_ task: Int) -> Bool {
        facts.tasks[task].writesOutput
            && (0..<task).contains { facts.tasks[$0].writesOutput && tasks[$0].end == nil }
    }

    private mutating func waits(_ task: Int, for reason: WaitReason) {
        if facts.putsOffWhatWaits, [.network, .power, .window, .earliestBegin].contains(reason) {
            report(.waiting, task, "waits for \(reason.rawValue) in a run that puts such tasks off")
        }
        switch reason {
        case .dependency:
            // A verified body waits for the others of its group.
            if tasks[task].running != nil, facts.tasks[task].isGrouped { break }
            if mayWaitForOutput(task) { break }
            let facts = facts.tasks[task]
            let needs = facts.needs + facts.verified + facts.members
            let isFree = needs.allSatisfy { need in
                tasks[need].end.map { $0.isGood || facts.when?.runsAfterFailure == true } ?? false
            }
            if isFree { report(.waiting, task, "waits for tasks that have succeeded") }
        case .backoff, .retryAfter:
            if tasks[task].backoff == nil { report(.waiting, task, "backs off without a failure") }
        case .earliestBegin:
            if facts.tasks[task].earliestBegin == nil { report(.waiting, task, "waits for no `earliestBegin`") }
        case .network:
            if !facts.tasks[task].waitsForConnectivity, !facts.tasks[task].isDiscretionary {
                report(.waiting, task, "waits for a network and should fail")
            }
        case .power:
            if !facts.tasks[task].isDiscretionary { report(.waiting, task, "waits for power and is not discretionary") }
        default: break
        }
    }

    // MARK: Tasks

    private mutating func ends(_ task: Int, _ end: TraceStep.TaskEnd, _ now: WallTime) {
        if tasks[task].running != nil { report(.ending, task, "finishes while its attempt runs") }
        let explained = end.waits.reduce(tasks[task].attemptTime) { $0 + $1.duration }
        if (end.duration - explained).magnitude > Self.accountingSlack {
            report(.accounting, task, "took \(end.duration.seconds) s, explained are \(explained.seconds) s")
        }
        if Set(end.waits.map(\.reason)).count < end.waits.count || end.waits.contains(where: { $0.duration <= .zero }) {
            report(.accounting, task, "has a wait twice, or one of no length")
        }
        if let created = tasks[task].createdAt {
            let lived = now - created
            if (lived - end.duration).magnitude > Self.accountingSlack + facts.slack {
                report(.accounting, task, "took \(end.duration.seconds) s of \(lived.seconds) s")
            }
        }
        checkOutcome(task, end)
        tasks[task].end = end
        tasks[task].endedAt = sequence
        if facts.failFast, end.outcome == .failed, !end.tolerated, failedFast == nil { failedFast = sequence }
        if end.outcome == .succeeded || end.outcome == .failed {
            endedCount += 1
            if end.outcome == .failed, !end.tolerated { failedCount += 1 }
            let isMet = facts.stopWhen?.isMet(failed: failedCount, ended: endedCount) ?? false
            if isMet, failedFast == nil { failedFast = sequence }
        }
    }

    private mutating func checkOutcome(_ task: Int, _ end: TraceStep.TaskEnd) {
        let trace = tasks[task]
        if (end.outcome == .succeeded) != (end.error == nil), end.outcome != .deferred, !end.isPassedOver {
            report(.outcome, task, "\(end.outcome.rawValue), error \(end.error?.rawValue ?? "none")")
        }
        if end.tolerated, end.outcome != .failed || !facts.tasks[task].mayFail {
            report(.outcome, task, "\(end.outcome.rawValue) and is tolerated")
        }
        switch end.outcome {
        case .succeeded: if !trace.hasSucceeded { report(.outcome, task, "succeeded without an attempt that did") }
        case .skipped:
            if trace.attempts > 0 { report(.outcome, task, "was skipped after it had begun") }
            if end.isPassedOver { return checkPassedOver(task) }
            let facts = facts.tasks[task]
            let isMissing = (facts.needs + facts.verified).contains { isBad($0) }
            let isLost = facts.members.contains { tasks[$0].end.map { $0.outcome != .succeeded } ?? false }
            if !isMissing, !isLost { report(.outcome, task, "was skipped, and nothing it needs failed") }
        case .failed, .cancelled, .deferred: break
        }
    }

    // MARK: `when`

    private func isBad(_ need: Int) -> Bool { tasks[need].end.map { !$0.isGood && !$0.isPassedOver } ?? false }

    /// Checks that all of the task's needs have ended, and ended so that it may begin.
    private mutating func checkCondition(_ when: NeedsCondition, _ task: Int) {
        let needs = facts.tasks[task].needs
        for need in needs where tasks[need].end == nil {
            report(.needs, task, "starts before the end of `\(facts.tasks[need].id)`, which it needs")
        }
        let isMet = when == .finished || needs.contains { isBad($0) } || !facts.tasks[task].members.isEmpty
        if !isMet { report(.needs, task, "starts with `when: failed`, and nothing it needs failed") }
    }

    /// Checks that the task was skipped without harm by a `when`: its own, or that of a task it needs.
    private mutating func checkPassedOver(_ task: Int) {
        let facts = facts.tasks[task]
        let needs = facts.needs + facts.verified
        let isRight =
            switch facts.when {
            case nil: needs.contains { tasks[$0].end?.isPassedOver == true }
            case .finished: false
            case .failed: needs.allSatisfy { tasks[$0].end != nil && !isBad($0) }
            case .succeeded:
                !facts.members.isEmpty || needs.contains { tasks[$0].end.map { !$0.isGood } ?? false }
            }
        if !isRight { report(.outcome, task, "was skipped without harm, and no `when` says so") }
    }
}

extension TraceStep.TaskEnd {
    /// Whether tasks that need this one may begin.
    fileprivate var isGood: Bool { outcome == .succeeded || tolerated }
    /// Whether it was skipped without harm, by a `when`.
    var isPassedOver: Bool { outcome == .skipped && error == nil }
}

extension TimeSpan {
    /// The span's length without its sign.
    package var magnitude: TimeSpan { TimeSpan(nanoseconds: abs(nanoseconds)) }
}

extension RetryPolicy {
    /// Returns the longest back-off after `count` failures, which is the back-off without jitter.
    package func ceiling(afterFailures count: Int) -> TimeSpan {
        var ceiling = Double(initialBackoff.nanoseconds)
        for _ in 1..<max(1, min(count, 10_000)) { ceiling *= multiplier }
        return TimeSpan(nanoseconds: Int64(min(ceiling, Double(maximumBackoff.nanoseconds))))
    }
}
