import TransferModel

extension Scheduler {
    mutating func attemptEnded(_ task: TaskIndex, _ verdict: Verdict, _ now: Now) {
        let index = Int(task.raw)
        guard tasks[index].phase == .running else { return }
        giveBackSlot(task, nil, now.instant)
        if tasks[index].awaitedLane >= 0 {
            lanes[Int(tasks[index].awaitedLane)].grantsAwaited.remove(task)
            tasks[index].awaitedLane = -1
        }
        stopCounting(task)
        switch verdict.outcome {
        case .succeeded:
            finish(task, .succeeded, nil, verdict.status, now)
        case .cancelled(let error):
            let why = tasks[index].cancelError ?? error
            // A task whose own time was over failed; one that a rule or a signal ended was cancelled.
            finish(task, why.name == .timedOut && stopping == nil ? .failed : .cancelled, why, verdict.status, now)
        case .failed(let error):
            guard let wait = retryDelay(index, error, verdict) else {
                return finish(task, .failed, error, verdict.status, now)
            }
            backOff(task, wait, now)
        }
    }

    private mutating func backOff(_ task: TaskIndex, _ wait: (delay: TimeSpan, reason: WaitReason), _ now: Now) {
        let index = Int(task.raw)
        tasks[index].phase = .backingOff
        tasks[index].since = now.instant
        tasks[index].backoffReason = wait.reason
        timers.push(
            Timer(due: now.instant + wait.delay, task: task, kind: .retry, attempt: tasks[index].attempt))
        actions.append(.willRetry(task, backoff: wait.delay))
        actions.append(.waiting(task, wait.reason))
    }

    /// How long until the next attempt; `nil` when there is none.
    private mutating func retryDelay(
        _ index: Int, _ error: TransferError, _ verdict: Verdict
    ) -> (delay: TimeSpan, reason: WaitReason)? {
        let policy = plan.retries[plan.tasks[index].retry]
        guard stopping == nil, Int(tasks[index].attempt) < policy.attempts else { return nil }
        guard mayHeal(error, verdict, policy), mayRepeat(verdict, policy) else { return nil }
        let backoff = backoff(policy, attempt: tasks[index].attempt)
        guard policy.honorsRetryAfter, let asked = verdict.retryAfter else { return (backoff, .backoff) }
        guard asked <= policy.maximumRetryAfter else { return nil }
        return asked > backoff ? (asked, .retryAfter) : (backoff, .backoff)
    }

    private func mayHeal(_ error: TransferError, _ verdict: Verdict, _ policy: RetryPolicy) -> Bool {
        if error.name == .unexpectedResponse { return verdict.status.map { policy.statuses.contains($0) } ?? false }
        return error.name.canHeal
    }

    /// A POST is repeated only when nothing was sent, it was answered 429 or 503, or the job says so.
    private func mayRepeat(_ verdict: Verdict, _ policy: RetryPolicy) -> Bool {
        verdict.isIdempotent || policy.nonIdempotent || !verdict.sentSomething || verdict.status == 429
            || verdict.status == 503
    }

    private mutating func backoff(_ policy: RetryPolicy, attempt: UInt32) -> TimeSpan {
        var ceiling = Double(policy.initialBackoff.nanoseconds)
        for _ in 1..<max(1, attempt) where ceiling < Double(policy.maximumBackoff.nanoseconds) {
            ceiling *= policy.multiplier
        }
        ceiling = min(ceiling, Double(policy.maximumBackoff.nanoseconds))
        switch policy.jitter {
        case .none: return TimeSpan(nanoseconds: Int64(ceiling))
        case .full: return TimeSpan(nanoseconds: Int64(Double.random(in: 0...1, using: &random) * ceiling))
        }
    }

    mutating func fireTimers(_ now: Now) {
        while let timer = timers.first, timer.due <= now.instant {
            _ = timers.pop()
            let state = tasks[Int(timer.task.raw)]
            switch timer.kind {
            case .retry:
                guard state.phase == .backingOff, state.attempt == timer.attempt else { continue }
                endBackoff(Int(timer.task.raw), now.instant)
                enqueue(timer.task, now: now.instant)
            case .resource:
                guard state.phase != .finished else { continue }
                let error = TransferError(.timedOut, "the task's `timeoutForResource` is over")
                cancel(timer.task, error, now)
            }
        }
    }

    private mutating func cancel(_ task: TaskIndex, _ error: TransferError, _ now: Now) {
        let index = Int(task.raw)
        switch tasks[index].phase {
        case .finished: break
        case .running:
            tasks[index].cancelError = error
            actions.append(.perform(.cancel(task, keepPartial: true)))
        case .backingOff:
            endBackoff(index, now.instant)
            finish(task, error.name == .timedOut && stopping == nil ? .failed : .cancelled, error, nil, now)
        case .queued:
            let facts = plan.tasks[index]
            let lane = laneNumber(facts.session, facts.origin)
            tasks[index].addWait(lanes[lane].isFull ? .hostLimit : .runLimit, now.instant - tasks[index].since)
            finish(task, error.name == .timedOut && stopping == nil ? .failed : .cancelled, error, nil, now)
        case .blocked:
            tasks[index].addWait(.dependency, now.instant - tasks[index].since)
            finish(task, .cancelled, error, nil, now)
        }
    }

    private mutating func endBackoff(_ index: Int, _ now: Instant) {
        tasks[index].addWait(tasks[index].backoffReason, now - tasks[index].since)
    }

    mutating func stop(_ how: Stop, _ now: Now) {
        stopping = how
        guard case .cancelling(let error) = how else { return }
        for index in tasks.indices where tasks[index].phase != .finished {
            cancel(TaskIndex(raw: UInt32(index)), error, now)
        }
    }

    // MARK: The end of a task

    private mutating func finish(
        _ task: TaskIndex, _ outcome: TaskOutcome, _ error: TransferError?, _ status: Int?, _ now: Now
    ) {
        let index = Int(task.raw)
        guard tasks[index].phase != .finished else { return }
        tasks[index].phase = .finished
        finishedCount += 1
        let tolerated = outcome == .failed && isTolerated(plan.tasks[index].allowFailure, status)
        actions.append(
            .finished(
                task,
                Conclusion(
                    outcome: outcome, error: error, tolerated: tolerated, waits: tasks[index].waits,
                    attempts: Int(tasks[index].attempt), duration: now.instant - beganAt)))
        tasks[index].waits = []
        release(task, outcome == .succeeded || tolerated, now)
        if plan.failFast, outcome == .failed, !tolerated, stopping == nil { failFast(now) }
    }

    private func isTolerated(_ rule: AllowFailure, _ status: Int?) -> Bool {
        switch rule {
        case .no: false
        case .any: true
        case .statuses(let statuses): status.map { statuses.contains($0) } ?? false
        }
    }

    /// Lets go those that waited for `task`, or skips them.
    private mutating func release(_ task: TaskIndex, _ succeeded: Bool, _ now: Now) {
        for dependant in dependants.of(task) {
            let index = Int(dependant.raw)
            guard tasks[index].phase == .blocked else { continue }
            if succeeded {
                tasks[index].openNeeds -= 1
                guard tasks[index].openNeeds == 0 else { continue }
                tasks[index].addWait(.dependency, now.instant - tasks[index].since)
                enqueue(dependant, now: now.instant)
            } else {
                tasks[index].addWait(.dependency, now.instant - tasks[index].since)
                skipped.append(dependant)
            }
        }
        // A chain of a million dependants must not be a recursion of a million calls.
        guard !isSkipping else { return }
        isSkipping = true
        while let next = skipped.popLast() {
            finish(next, .skipped, TransferError(.dependencyFailed, "a task it needs did not succeed"), nil, now)
        }
        isSkipping = false
    }

    /// The first failure ends the run early: sessions that say so cancel what runs, others let it finish.
    private mutating func failFast(_ now: Now) {
        stopping = .finishing
        let error = TransferError(.runCancelled, "an earlier task failed and `failFast` is set")
        for index in tasks.indices where tasks[index].phase != .finished {
            let session = plan.sessions[Int(plan.tasks[index].session.raw)]
            if tasks[index].phase != .running || session.cancelsOnInvalidation {
                cancel(TaskIndex(raw: UInt32(index)), error, now)
            }
        }
    }
}
