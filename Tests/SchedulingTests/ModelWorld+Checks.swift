import Scheduling
import TestSupport
import Testing
import TransferModel

extension ModelWorld {
    // MARK: Each action

    mutating func perform(_ action: SchedulerAction) {
        switch action {
        case .perform(.start(let task, let attempt, _)): start(task, attempt)
        case .perform(.grant(let task, let origin)): grant(task, origin)
        case .perform(.cancel(let task, _)): cancel(task)
        case .perform(.credit), .perform(.publish), .perform(.giveUp), .perform(.discard), .perform(.lend),
            .perform(.recall), .perform(.discardPartial), .resumed, .expand, .groupFinished, .connectionsChanged:
            Issue.record("nobody asked for that")
        case .waiting: break
        case .attemptEnded(let task, let end):
            books[Int(task.raw)].attemptTime = books[Int(task.raw)].attemptTime - end.held
            willRetry(task, end.backoff ?? .zero)
        case .finished(let task, let conclusion): finish(task, conclusion)
        }
    }

    private mutating func start(_ task: TaskIndex, _ attempt: Int) {
        let index = Int(task.raw)
        hold(!isStopped && !hasFailedFast, "something started after the end had begun")
        hold(books[index].finished == nil && !books[index].isRunning)
        hold(attempt == books[index].attempts + 1 && attempt <= retry(task).attempts ?? .max)
        for need in facts(task).needs {
            let conclusion = books[Int(need.raw)].finished
            hold(conclusion?.outcome == .succeeded || conclusion?.tolerated == true, "\(task) before its needs")
        }
        if let until = books[index].backoffUntil { hold(until <= clock.instant, "\(task) before its back-off") }
        if let origin = facts(task).origin { checkQuiet(origin) }
        checkTurn(task)
        books[index].isRunning = true
        books[index].attempts = attempt
        books[index].readySince = nil
        if books[index].begunAt == nil { books[index].begunAt = clock.instant }
        live[task] = Live(
            place: .hop(facts(task).origin), origin: facts(task).origin, due: clock.instant + duration(),
            hopsLeft: random.oneIn(2) ? 0 : random.below(4),
            startedAt: clock.instant)
        checkLimits()
    }

    private mutating func duration() -> TimeSpan { .milliseconds(Int64(random.below(random.oneIn(5) ? 5_000 : 400))) }

    private mutating func grant(_ task: TaskIndex, _ origin: OriginID) {
        guard case .awaiting(let wanted)? = live[task]?.place else {
            // It ended in the same turn: the slot comes back with its end.
            hold(live[task] == nil)
            return
        }
        hold(wanted == origin)
        checkQuiet(origin)
        live[task]?.place = .hop(origin)
        let due = clock.instant + duration()
        live[task]?.due = due
        checkLimits()
    }

    /// An executor may end it at once, later, or not at all when only local work is left.
    private mutating func cancel(_ task: TaskIndex) {
        guard live[task] != nil else {
            hold(owed.contains(task))
            return
        }
        hold(live[task]?.isCancelled == false, "\(task) was cancelled twice")
        live[task]?.isCancelled = true
        if case .local? = live[task]?.place { return }
        let due = clock.instant + .milliseconds(Int64(random.oneIn(2) ? 0 : random.below(50)))
        live[task]?.due = due
    }

    private mutating func willRetry(_ task: TaskIndex, _ backoff: TimeSpan) {
        let policy = retry(task)
        let index = Int(task.raw)
        hold(owed.remove(task) != nil && books[index].finished == nil)
        guard let verdict = books[index].lastVerdict, case .failed(let error) = verdict.outcome else {
            Issue.record("\(task) is retried although it did not fail")
            return
        }
        hold(mayRetry(task, error, verdict) && !isStopped && !hasFailedFast)
        let asked = policy.honorsRetryAfter ? verdict.retryAfter ?? .zero : .zero
        hold(backoff >= asked && backoff <= max(asked, policy.maximumBackoff))
        if policy.jitter == .none { hold(backoff == max(asked, Self.ceiling(policy, books[index].attempts))) }
        books[index].backoffUntil = clock.instant + backoff
    }

    /// The contract's rule in other words.
    private func mayRetry(_ task: TaskIndex, _ error: TransferError, _ verdict: Verdict) -> Bool {
        let policy = retry(task)
        if books[Int(task.raw)].attempts >= policy.attempts ?? .max { return false }
        if policy.honorsRetryAfter, let asked = verdict.retryAfter, asked > policy.maximumRetryAfter { return false }
        let isBusy = verdict.status == 429 || verdict.status == 503
        if !verdict.isIdempotent, !policy.nonIdempotent, verdict.sentSomething, !isBusy { return false }
        switch error.name {
        case .unexpectedResponse: return [429, 500, 503].contains(verdict.status)
        case .networkConnectionLost, .cannotConnectToHost: return true
        default: return false
        }
    }

    private static func ceiling(_ policy: RetryPolicy, _ attempt: Int) -> TimeSpan {
        var delay = Double(policy.initialBackoff.nanoseconds)
        for _ in 1..<attempt { delay *= policy.multiplier }
        return TimeSpan(nanoseconds: Int64(min(delay, Double(policy.maximumBackoff.nanoseconds))))
    }

    private mutating func finish(_ task: TaskIndex, _ conclusion: Conclusion) {
        let index = Int(task.raw)
        hold(books[index].finished == nil, "\(task) finished twice")
        hold(live[task] == nil, "\(task) finished while its attempt runs")
        hold(conclusion.attempts == books[index].attempts)
        hold(conclusion.duration == clock.instant - beganAt)
        let waited = conclusion.waits.reduce(TimeSpan.zero) { $0 + $1.duration }
        hold(
            waited + books[index].attemptTime - conclusion.held == conclusion.duration,
            "\(task): waits and attempts are not its time")
        hold(conclusion.waits.allSatisfy { $0.duration > .zero })
        hold(Set(conclusion.waits.map(\.reason)).count == conclusion.waits.count)
        checkOutcome(task, conclusion)
        owed.remove(task)
        books[index].finished = conclusion
        books[index].readySince = nil
        if job.plan.failFast, conclusion.outcome == .failed, !conclusion.tolerated { hasFailedFast = true }
        release()
    }

    /// Whatever has nothing but limits before it now is ready.
    private mutating func release() {
        for index in books.indices {
            let task = TaskIndex(raw: UInt32(index))
            guard books[index].finished == nil, books[index].attempts == 0, books[index].readySince == nil else {
                continue
            }
            let isFree = facts(task).needs.allSatisfy { need in
                books[Int(need.raw)].finished.map { $0.outcome == .succeeded || $0.tolerated } ?? false
            }
            if isFree { books[index].readySince = clock.instant }
        }
    }

    private func checkOutcome(_ task: TaskIndex, _ conclusion: Conclusion) {
        let book = books[Int(task.raw)]
        hold((conclusion.outcome == .succeeded) == (conclusion.error == nil))
        switch conclusion.outcome {
        case .succeeded:
            if case .succeeded? = book.lastVerdict?.outcome { break }
            Issue.record("\(task) did not succeed")
        case .failed:
            let due = book.begunAt.map { $0 + policy(task).timeoutForResource }
            if conclusion.error?.name == .timedOut { hold(due ?? .distantFuture <= clock.instant) }
            let tolerated: Bool =
                switch policy(task).allowFailure {
                case .no: false
                case .any: true
                case .statuses:
                    owed.contains(task) && (book.lastVerdict?.status == 404 || book.lastVerdict?.status == 503)
                }
            hold(conclusion.tolerated == tolerated)
        case .cancelled:
            hold(isStopped || isTimedOut || hasFailedFast)
        case .skipped:
            hold(!isStopped && book.attempts == 0 && conclusion.error?.name == .dependencyFailed)
            let culprits = facts(task).needs.filter { need in
                books[Int(need.raw)].finished.map { $0.outcome != .succeeded && !$0.tolerated } ?? false
            }
            hold(!culprits.isEmpty, "\(task) was skipped for nothing")
        case .deferred:
            Issue.record("nothing defers here")
        }
        if conclusion.outcome != .failed { hold(!conclusion.tolerated) }
    }

    // MARK: Each moment

    private func checkQuiet(_ origin: OriginID) {
        if let until = quietUntil[origin] { hold(until <= clock.instant, "a host that asked for quiet gets none") }
    }

    func capacity(_ session: SchedulingPlan.Session, _ origin: OriginID) -> Int {
        guard learned.contains(origin) else { return session.maximumConnectionsPerHost }
        return max(session.maximumConnectionsPerHost, session.streamsPerConnection)
    }

    private func slots(_ session: SessionIndex, _ origin: OriginID) -> Int {
        live.count { task, attempt in
            if case .hop(origin) = attempt.place { facts(task).session == session } else { false }
        }
    }

    private func counted(_ session: SessionIndex) -> Int {
        live.count { $0.value.isCounted && facts($0.key).session == session }
    }

    private func checkLimits() {
        hold(live.values.count { $0.isCounted } <= job.plan.maximumConcurrentTasks)
        for (number, session) in job.plan.sessions.enumerated() {
            let index = SessionIndex(raw: UInt16(number))
            hold(counted(index) <= session.maximumConcurrentTasks ?? .max)
            for origin in job.versions.indices.map({ OriginID(raw: UInt32($0)) }) {
                hold(slots(index, origin) <= capacity(session, origin))
            }
        }
    }

    /// Nobody who waits for the same slots goes before: higher priority first, then who waited longer.
    private func checkTurn(_ task: TaskIndex) {
        guard let since = books[Int(task.raw)].readySince ?? books[Int(task.raw)].backoffUntil else {
            Issue.record("\(task) started although it was not ready")
            return
        }
        for (index, other) in books.enumerated() where index != Int(task.raw) {
            let rival = job.plan.tasks[index]
            guard let waiting = other.readySince, rival.session == facts(task).session,
                rival.origin == facts(task).origin
            else { continue }
            let (theirs, ours) = (job.plan.policies[rival.policy].priority, policy(task).priority)
            hold(theirs <= ours, "\(task) went before \(index), which is more urgent")
            let areFromTheStart = rival.needs.isEmpty && facts(task).needs.isEmpty && books[Int(task.raw)].attempts == 0
            if theirs == ours, waiting == since, areFromTheStart {
                hold(index > Int(task.raw), "\(task) went before \(index), which stands before it")
            }
        }
    }

    /// After a turn nothing waits that could run: no slot is lost, and no host holds up another.
    func checkState() {
        hold(!scheduler.nearsEnd || books.allSatisfy { $0.finished != nil || $0.isRunning }, "some have yet to begin")
        hold(owed.isEmpty, "an ended attempt led to nothing: \(owed)")
        for (index, book) in books.enumerated() {
            let task = TaskIndex(raw: UInt32(index))
            if let begun = book.begunAt, book.finished == nil, begun + policy(task).timeoutForResource <= clock.instant
            {
                hold(live[task]?.isCancelled == true, "\(task) outlives its timeoutForResource")
            }
            let isBackedOff = book.backoffUntil.map { $0 <= clock.instant } ?? false && !book.isRunning
            guard book.finished == nil, book.readySince != nil || isBackedOff else { continue }
            hold(!isStopped && !hasFailedFast, "\(task) still waits although nothing starts any more")
            let isFull = live.values.count { $0.isCounted } >= job.plan.maximumConcurrentTasks
            let isSessionFull = counted(facts(task).session) >= session(task).maximumConcurrentTasks ?? .max
            if !isFull, !isSessionFull { hold(mayWaitForHost(task), "\(task) waits for nothing") }
        }
        for (task, attempt) in live {
            guard case .awaiting(let origin) = attempt.place, !attempt.isCancelled else { continue }
            let isFull = slots(facts(task).session, origin) >= capacity(session(task), origin)
            hold(isFull || isBusy(origin), "\(task) waits for a grant that is there")
        }
    }

    private func mayWaitForHost(_ task: TaskIndex) -> Bool {
        guard let origin = facts(task).origin else { return false }
        return slots(facts(task).session, origin) >= capacity(session(task), origin) || isBusy(origin)
    }

    /// Somebody is finding out whether the host is well.
    private func isProbed(_ origin: OriginID) -> Bool {
        suspects.contains(origin)
            && live.values.contains { if case .hop(origin) = $0.place { true } else { false } }
    }

    /// A host that answered 429 or 503 lately may be left alone for a back-off.
    private func isBusy(_ origin: OriginID) -> Bool {
        (busyUntil[origin] ?? beganAt) > clock.instant || isProbed(origin)
    }

    func checkEnd() {
        hold(books.allSatisfy { $0.finished != nil })
        hold(live.isEmpty)
        hold(scheduler.finishedCount == books.count)
        var tasks = 0
        for (number, session) in job.plan.sessions.enumerated() {
            for host in scheduler.hosts(of: SessionIndex(raw: UInt16(number))) {
                hold(host.peak <= session.maximumConnectionsPerHost)
                tasks += host.tasks
            }
        }
        hold(tasks <= books.count)
    }
}

/// `#expect` at a tenth of its price: a run is held against its rules thousands of times.
private func hold(
    _ condition: Bool, _ why: @autoclosure () -> String = "", sourceLocation: SourceLocation = #_sourceLocation
) {
    if !condition { Issue.record(Comment(rawValue: why()), sourceLocation: sourceLocation) }
}
