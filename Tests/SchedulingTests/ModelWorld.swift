import Scheduling
import TestSupport
import Testing
import TransferModel

/// An executor on a virtual clock that does anything a real one may do, and keeps books of its own: every action of
/// the scheduler is held against them.
struct ModelWorld: ~Copyable {
    enum Place {
        case hop(OriginID?)
        case awaiting(OriginID)
        /// Only local work is left; it holds nothing.
        case local
    }
    struct Live {
        var place: Place
        /// Where it holds its slot, held its last, or waits for one.
        var origin: OriginID?
        var due: Instant
        var hopsLeft: Int
        let startedAt: Instant
        var isCounted = true
        var isCancelled = false
    }
    struct Books {
        var finished: Conclusion?
        var isRunning = false
        var attempts = 0
        var attemptTime = TimeSpan.zero
        var begunAt: Instant?
        /// Since when only limits hold it back; `nil` when something else does.
        var readySince: Instant?
        var backoffUntil: Instant?
        var lastVerdict: Verdict?
    }

    let job: RandomJob
    var scheduler: Scheduler
    var clock = ManualClock()
    let beganAt: Instant
    var live: [TaskIndex: Live] = [:]
    var books: [Books]
    var learned: Set<OriginID> = []
    /// No sooner than this may an origin that asked for quiet be met, and no later must it be.
    var quietUntil: [OriginID: Instant] = [:]
    var busyUntil: [OriginID: Instant] = [:]
    /// Origins that did not answer, or asked for quiet: they may be met by one request first.
    var suspects: Set<OriginID> = []
    var isStopped = false
    /// The run's deadline came with this turn: what ended before it may still have led to a retry.
    var isTimedOut = false
    var hasFailedFast = false
    /// Ended attempts whose next action must come with this turn.
    var owed: Set<TaskIndex> = []
    var random: Seeded

    init(_ job: RandomJob, _ random: Seeded) {
        self.job = job
        self.random = random
        beganAt = clock.instant
        scheduler = Scheduler(job.plan, now: clock.now)
        let start = clock.instant
        books = job.plan.tasks.map { Books(readySince: $0.needs.isEmpty ? start : nil) }
    }

    func facts(_ task: TaskIndex) -> SchedulingPlan.Task { job.plan.tasks[Int(task.raw)] }
    func session(_ task: TaskIndex) -> SchedulingPlan.Session { job.plan.sessions[Int(facts(task).session.raw)] }
    func policy(_ task: TaskIndex) -> SchedulingPlan.TaskPolicy { job.plan.policies[facts(task).policy] }
    func retry(_ task: TaskIndex) -> RetryPolicy { policy(task).retry }

    /// To the end of the run, or to the first thing that is wrong.
    mutating func run() {
        for _ in 0..<100_000 {
            let actions = scheduler.turn(now: clock.now)
            if let timeout = job.plan.timeout, beganAt + timeout <= clock.instant { isTimedOut = true }
            for action in actions { perform(action) }
            isStopped = isStopped || isTimedOut
            checkState()
            if scheduler.isFinished { return checkEnd() }
            guard advance() else {
                Issue.record("nothing is under way, nothing falls due, and the run is not at its end")
                return
            }
            sendCommands()
            report()
        }
        Issue.record("the run does not end")
    }

    // MARK: What the world does

    /// To the next thing that happens, or, as loops do, a little later.
    private mutating func advance() -> Bool {
        var next = live.values.map(\.due).min()
        for instant in [scheduler.nextDeadline(now: clock.now), command(job.stopAfter)] {
            if let instant { next = min(next ?? instant, instant) }
        }
        guard let next else { return false }
        clock.advance(to: next)
        if random.oneIn(4) { clock.advance(.milliseconds(Int64(random.below(50)))) }
        return true
    }

    private func command(_ after: TimeSpan?) -> Instant? {
        guard let after, !isStopped else { return nil }
        return beganAt + after
    }

    private mutating func sendCommands() {
        guard let after = job.stopAfter, !isStopped, beganAt + after <= clock.instant else { return }
        scheduler.command(.stop(signal: 15), now: clock.now)
        isStopped = true
    }

    private mutating func report() {
        for task in live.keys.sorted() where (live[task]?.due ?? .distantFuture) <= clock.instant { step(task) }
    }

    private mutating func step(_ task: TaskIndex) {
        guard var attempt = live[task] else { return }
        let isDone = attempt.isCancelled || attempt.hopsLeft == 0 || random.oneIn(10)
        switch attempt.place {
        case .awaiting: if attempt.isCancelled { end(task, attempt, cancelled: true) }
        case .local: end(task, attempt, cancelled: false)
        case .hop(let origin):
            learn(origin)
            if origin != nil, random.oneIn(2) {
                scheduler.receive(.answered(task, Answer(status: 200)), now: clock.now)
            }
            if isDone, !attempt.isCancelled, random.oneIn(3) {
                release(task, origin)
                scheduler.receive(.transferred(task), now: clock.now)
                attempt.place = .local
                attempt.isCounted = false
                attempt.due = clock.instant + .milliseconds(Int64(random.below(300)))
                live[task] = attempt
            } else if isDone {
                if random.oneIn(2) { release(task, origin) }
                end(task, attempt, cancelled: attempt.isCancelled)
            } else if let origin {
                let next = OriginID(raw: UInt32(random.below(job.versions.count)))
                attempt.hopsLeft -= 1
                attempt.due = .distantFuture
                attempt.place = .awaiting(next)
                attempt.origin = next
                live[task] = attempt
                release(task, origin)
                scheduler.receive(.needsGrant(task, next), now: clock.now)
            } else {
                end(task, attempt, cancelled: false)
            }
        }
    }

    private mutating func release(_ task: TaskIndex, _ origin: OriginID?) {
        if let origin { scheduler.receive(.released(task, origin), now: clock.now) }
    }

    private mutating func learn(_ origin: OriginID?) {
        guard let origin, random.oneIn(2) else { return }
        scheduler.receive(.protocolIs(origin, job.versions[Int(origin.raw)]), now: clock.now)
        if job.versions[Int(origin.raw)] == .http2 { learned.insert(origin) }
    }

    private mutating func end(_ task: TaskIndex, _ attempt: Live, cancelled: Bool) {
        let verdict = cancelled && !random.oneIn(4) ? Self.cancelled : verdict()
        live[task] = nil
        books[Int(task.raw)].isRunning = false
        books[Int(task.raw)].attemptTime += clock.instant - attempt.startedAt
        books[Int(task.raw)].lastVerdict = verdict
        owed.insert(task)
        scheduler.receive(.ended(task, verdict), now: clock.now)
        if let origin = attempt.origin { markQuietChanged(task, origin, verdict, wasThere: attempt.wasThere) }
    }

    private static let cancelled = Verdict(.cancelled(TransferError(.cancelled, "the transfer was cancelled")))

    private mutating func verdict() -> Verdict {
        if random.oneIn(2) { return Verdict(.succeeded, status: 200) }
        let isIdempotent = !random.oneIn(4)
        let retryAfter: TimeSpan? = random.oneIn(4) ? .milliseconds(Int64(random.below(6_000))) : nil
        if random.oneIn(2) {
            return Verdict(
                .failed(TransferError(.unexpectedResponse, "x")), status: random.pick([404, 429, 500, 503]),
                retryAfter: retryAfter, sentSomething: true, isIdempotent: isIdempotent)
        }
        let name = random.pick([ErrorName.networkConnectionLost, .cannotConnectToHost, .checksumMismatch, .badURL])
        return Verdict(
            .failed(TransferError(name, "x")), sentSomething: random.oneIn(2), isIdempotent: isIdempotent)
    }

    /// What a host asked for, as far as a run must heed it.
    private mutating func markQuietChanged(_ task: TaskIndex, _ origin: OriginID, _ verdict: Verdict, wasThere: Bool) {
        let policy = retry(task)
        guard case .failed = verdict.outcome else { return }
        let asked = policy.honorsRetryAfter ? verdict.retryAfter : nil
        suspects.insert(origin)
        if let asked {
            guard asked <= policy.maximumRetryAfter else { return }
            if wasThere { quietUntil[origin] = max(quietUntil[origin] ?? clock.instant, clock.instant + asked) }
        } else if verdict.status != 429, verdict.status != 503, verdict.status != nil {
            return
        }
        busyUntil[origin] = max(busyUntil[origin] ?? clock.instant, clock.instant + (asked ?? policy.maximumBackoff))
    }
}

extension ModelWorld.Live {
    fileprivate var wasThere: Bool { if case .awaiting = place { false } else { true } }
}
