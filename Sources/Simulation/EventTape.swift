internal import Scheduling
package import TransferModel

/// Produces the events of a simulated run: the same kinds in the same order as a real run reports, for the same
/// consumers.
package final class EventTape {
    /// An attempt that has begun and whose end has not been reported.
    private struct OpenAttempt {
        let number: Int
        let startedAt: Now
        var origin: OriginID?
        var url: String
        var error: TransferError?
        /// Whether the attempt itself succeeded, whatever becomes of the task: its group may fail later.
        var hasSucceeded = false
        /// The status of the last response, which may turn out to be a redirect.
        var status: Int?
        var hasResponse = false
        var bytes: Int64 = 0
    }

    /// The names that a tape gives to hosts, URLs and files.
    package struct Names: Sendable {
        /// Returns the origin of that number.
        package var origin: @Sendable (OriginID) -> Origin
        /// Returns the URL of a task's request at an origin; `nil` for a task that asks no server.
        package var url: @Sendable (TaskIndex, OriginID?) -> String
        /// Returns the path of a task's file; `nil` for a task without one.
        package var path: @Sendable (TaskIndex) -> String?

        package init(
            origin: @escaping @Sendable (OriginID) -> Origin,
            url: @escaping @Sendable (TaskIndex, OriginID?) -> String, path: @escaping @Sendable (TaskIndex) -> String?
        ) {
            (self.origin, self.url, self.path) = (origin, url, path)
        }

        /// Made-up names.
        package static let madeUp = Names(
            origin: { Origin(scheme: "http", host: "host-\($0.raw).example", port: 80) },
            url: { task, origin in
                origin.map { "http://host-\($0.raw).example/\(task.raw)" } ?? "data:,\(task.raw)"
            }, path: { "/\($0.raw)" })
    }

    private let consumer: any EventConsumer
    private let names: Names
    private var plan = SchedulingPlan()
    private var past: RunHistory?
    private var beganAt: Now?
    private var sequence: UInt64 = 0
    private var events: [Event] = []
    private var open: [TaskIndex: OpenAttempt] = [:]
    private var facts = ExitFacts()
    private var bytes: [TaskIndex: Int64] = [:]
    /// The first error that the consumer threw; `nil` while it threw none.
    package private(set) var failure: (any Error)?

    package init(_ consumer: any EventConsumer, names: Names = .madeUp) {
        self.consumer = consumer
        self.names = names
    }

    private func add(_ kind: Event.Kind, _ now: Now, task: TaskIndex? = nil, session: SessionIndex? = nil) {
        sequence += 1
        let own = task.map { plan.tasks[Int($0.raw)].session }
        events.append(Event(time: now.wall, sequence: sequence, session: own ?? session, task: task, kind: kind))
    }

    func handOver() {
        guard !events.isEmpty else { return }
        do { try consumer.consume(events[...]) } catch { failure = failure ?? error }
        events.removeAll(keepingCapacity: true)
    }

    func begin(_ plan: SchedulingPlan, _ now: Now, _ history: RunHistory? = nil) {
        self.plan = plan
        beganAt = now
        if let history { goOn(history, now) }
        for session in plan.sessions.indices where history?.sessions[session].isStarted != true {
            add(.sessionStarted, now, session: SessionIndex(raw: UInt16(session)))
        }
        for (index, task) in plan.tasks.enumerated() {
            let number = TaskIndex(raw: UInt32(index))
            let told = history?.tasks[index] ?? TaskPast()
            if told.createdAfter == nil { add(.taskCreated, now, task: number) }
            if told.wasResumed { continue }
            if !plan.policies[task.policy].isSuspended { add(.taskResumed, now, task: number) }
        }
    }

    private func goOn(_ history: RunHistory, _ now: Now) {
        past = history
        sequence = history.lastSequence
        let elapsed = TimeSpan.zero - history.elapsed(at: now.wall)
        let began = Now(instant: now.instant + elapsed, boot: now.boot + elapsed, wall: now.wall + elapsed)
        beganAt = began
        for (index, task) in history.tasks.enumerated() {
            if let ending = task.ending { facts.count(ending, type: .download) }
            guard let attempt = task.open else { continue }
            let startedAt = Now(
                instant: began.instant + attempt.beganAfter, boot: began.boot + attempt.beganAfter,
                wall: attempt.startedAt)
            open[TaskIndex(raw: UInt32(index))] = OpenAttempt(
                number: attempt.number, startedAt: startedAt, origin: nil, url: attempt.url)
        }
    }

    // MARK: What the scheduler does

    func performs(_ command: ExecutorCommand, _ now: Now) {
        guard case .start(let task, let number, let mirror) = command else { return }
        let origin = plan.origin(of: task, mirror: mirror)
        // Two mirrors at one host get different URLs.
        let url = names.url(task, origin) + (mirror == 0 ? "" : "?\(mirror)")
        open[task] = OpenAttempt(number: number, startedAt: now, origin: origin, url: url)
        add(.attemptStarted(AttemptStart(number: number, url: url)), now, task: task)
    }

    func takes(_ action: SchedulerAction, _ now: Now) {
        switch action {
        case .waiting(let task, let reason): add(.waiting(reason), now, task: task)
        case .resumed(let task): add(.taskResumed, now, task: task)
        case .attemptEnded(let task, let end):
            endAttempt(task, end.outcome, end.error, backoff: end.backoff, until: end.until, away: end.held, now)
        case .connectionsChanged(let session, let origin, let step):
            let step = ConnectionStep(
                origin: names.origin(origin), from: step.from, to: step.to, reason: step.reason)
            add(.connectionsChanged(step), now, session: session)
        case .perform, .expand, .finished, .groupFinished: break
        }
    }

    /// Reports the end of the task's open attempt, if there is one. `away` is time that the task's waits account for.
    private func endAttempt(
        _ task: TaskIndex, _ outcome: TaskOutcome, _ error: TransferError?, backoff: TimeSpan?, until: Instant? = nil,
        away: TimeSpan,
        _ now: Now
    ) {
        guard let attempt = open.removeValue(forKey: task) else { return }
        let outcome = attempt.hasSucceeded ? .succeeded : outcome
        add(
            .attemptFinished(
                AttemptRecord(
                    number: attempt.number, url: attempt.url, outcome: outcome, resumedFrom: 0,
                    startedAt: attempt.startedAt.wall, duration: now.instant - attempt.startedAt.instant - away,
                    error: outcome == .succeeded ? nil : error ?? attempt.error, backoff: backoff,
                    transactions: Self.transactions(attempt.url, attempt.bytes, attempt.startedAt.wall),
                    retriesUntil: until.map { now.wall + ($0 - now.instant) })),
            now, task: task)
    }

    /// Returns the attempt's moved bytes as the metrics of one request; empty if none moved.
    private static func transactions(_ url: String, _ bytes: Int64, _ began: WallTime) -> [TransactionMetrics] {
        guard bytes > 0 else { return [] }
        var metrics = TransactionMetrics(method: "GET", url: url, fetchStart: began)
        metrics.responseBodyBytesReceived = bytes
        return [metrics]
    }

    func finished(_ task: TaskIndex, _ conclusion: Conclusion, _ now: Now) {
        endAttempt(
            task, conclusion.outcome, conclusion.error, backoff: nil, away: conclusion.held + conclusion.staged, now)
        let record = TaskRecord(
            outcome: conclusion.outcome, tolerated: conclusion.tolerated, changed: conclusion.outcome == .succeeded,
            source: conclusion.outcome == .succeeded ? .network : nil, waits: conclusion.waits,
            error: conclusion.error, body: nil, lengthUnverified: false, captures: [], duration: conclusion.duration,
            explanation: Explanation.sentence(
                outcome: conclusion.outcome, error: conclusion.error, waits: conclusion.waits,
                attempts: conclusion.attempts, triedFor: conclusion.triedFor, deferral: conclusion.deferral))
        facts.count(record, type: .download)
        add(.taskFinished(record), now, task: task)
    }

    func takes(_ command: RunCommand) {
        if case .stop(let signal) = command, facts.signal == nil { facts.signal = signal }
    }

    // MARK: What the world reports

    func takes(_ report: ExecutorReport, _ now: Now) {
        switch report {
        case .answered(let task, let answer):
            // The response to a further request (a segment) is not a response of its task.
            guard !answer.isFurther else { return }
            open[task]?.status = answer.status
            if !(300..<400).contains(answer.status) { respond(task, answer.status, now) }
        case .needsGrant(let task, let origin, _): redirect(task, to: origin, now)
        case .moved(let task, let count):
            bytes[task, default: 0] += count
            open[task]?.bytes += count
            add(.receivedData(Event.Progress(bytes: bytes[task] ?? count, expected: nil)), now, task: task)
        case .ended(let task, let verdict): ended(task, verdict, now)
        case .released, .unused, .transferred, .awaitsOutput, .protocolIs, .published, .couldUse, .gaveBack,
            .turnedAway, .sentBody, .awaitsRecord, .isRecorded, .turnedPage, .heard:
            break
        }
    }

    private func respond(_ task: TaskIndex, _ status: Int, _ now: Now) {
        guard let attempt = open[task] else { return }
        open[task]?.hasResponse = true
        add(
            .response(
                ResponseRecord(
                    status: status, url: attempt.url, method: "GET", mimeType: nil, charset: nil, expectedLength: nil,
                    suggestedFilename: nil, contentEncoding: nil, headers: .empty)), now, task: task)
    }

    private func redirect(_ task: TaskIndex, to origin: OriginID, _ now: Now) {
        guard let attempt = open[task], let status = attempt.status else { return }
        let target = names.url(task, origin)
        add(
            .redirect(
                RedirectRecord(
                    status: status, from: attempt.url, to: target, method: "GET", action: .followed, stripped: [])),
            now, task: task)
        open[task]?.url = target
        open[task]?.origin = origin
    }

    private func ended(_ task: TaskIndex, _ verdict: Verdict, _ now: Now) {
        open[task]?.error = verdict.error
        if case .succeeded = verdict.outcome { open[task]?.hasSucceeded = true }
        guard case .succeeded = verdict.outcome, plan.tasks[Int(task.raw)].group == nil, let path = names.path(task)
        else { return }
        add(
            .fileFinished(
                FileRecord(
                    path: path, bytes: bytes[task] ?? 0, checksum: nil, changed: true, lengthUnverified: false
                )), now, task: task)
    }

    func end(_ scheduler: borrowing Scheduler, _ now: Now) {
        for index in plan.sessions.indices where past?.sessions[index].isInvalidated != true {
            let session = SessionIndex(raw: UInt16(index))
            let hosts = scheduler.hosts(of: session).map {
                SessionRecord.Host(origin: names.origin($0.origin), peakConnections: $0.peak, tasks: $0.tasks)
            }
            add(
                .sessionInvalidated(SessionRecord(connectionsOpened: 0, connectionsReused: 0, hosts: hosts)), now,
                session: session)
        }
        if past?.isFinished == true { return handOver() }
        let status = facts.status
        let duration = now.instant - (beganAt ?? now).instant
        add(
            .runFinished(RunRecord(outcome: status.outcome, exitStatus: Int(status.code), duration: duration)), now)
        handOver()
    }
}
