import TransferModel

extension Scheduler {
    mutating func attemptEnded(_ task: TaskIndex, _ verdict: Verdict, _ now: Instant) {
        let index = Int(task.raw)
        guard tasks[index].phase == .running else { return }
        giveBackSlot(task, now)
        if tasks[index].awaitsGrant {
            lanes[Int(tasks[index].lane)].grantsAwaited.remove(task)
            tasks[index].awaitsGrant = false
        }
        stopCounting(task, now)
        let meant = endings.isEmpty ? nil : endings.removeValue(forKey: task)
        switch verdict.outcome {
        case .succeeded:
            finish(task, .succeeded, nil, verdict.status, now)
        case .cancelled(let error):
            finish(task, meant?.outcome ?? .cancelled, meant?.error ?? error, verdict.status, now)
        case .failed(let error):
            attemptFailed(task, error, verdict, meant, now)
        }
    }

    private mutating func attemptFailed(
        _ task: TaskIndex, _ error: TransferError, _ verdict: Verdict, _ meant: Ending?, _ now: Instant
    ) {
        let policy = plan.retries[plan.tasks[Int(task.raw)].retry]
        let backoff = backoff(policy, attempt: tasks[Int(task.raw)].attempt)
        let asked = policy.honorsRetryAfter ? verdict.retryAfter : nil
        holdBackHost(of: task, verdict, policy, asked ?? backoff, wasAsked: asked != nil, now)
        guard mayRetry(task, error, verdict, policy) else {
            return finish(task, .failed, error, verdict.status, now)
        }
        if let meant { return finish(task, meant.outcome, meant.error, verdict.status, now) }
        if let asked, asked > policy.maximumRetryAfter {
            return finish(task, .failed, error.adding(retryAfter: asked), verdict.status, now)
        }
        guard stopping == nil else { return finish(task, .failed, error, verdict.status, now) }
        if let asked, asked > backoff {
            backOff(task, asked, .retryAfter, now)
        } else {
            backOff(task, backoff, .backoff, now)
        }
    }

    private mutating func backOff(_ task: TaskIndex, _ delay: TimeSpan, _ reason: WaitReason, _ now: Instant) {
        let index = Int(task.raw)
        tasks[index].phase = .backingOff
        tasks[index].since = now
        tasks[index].backoffReason = reason
        timers.push(Timer(due: now + delay, kind: .retry, index: task.raw, attempt: tasks[index].attempt))
        actions.append(.willRetry(task, backoff: delay))
        actions.append(.waiting(task, reason))
    }

    private func mayRetry(
        _ task: TaskIndex, _ error: TransferError, _ verdict: Verdict, _ policy: RetryPolicy
    ) -> Bool {
        guard Int(tasks[Int(task.raw)].attempt) < policy.attempts, mayRepeat(verdict, policy) else { return false }
        if error.name == .unexpectedResponse { return verdict.status.map { policy.statuses.contains($0) } ?? false }
        return error.name.canHeal
    }

    /// A POST is repeated only when nothing was sent, it was answered 429 or 503, or the job says so.
    private func mayRepeat(_ verdict: Verdict, _ policy: RetryPolicy) -> Bool {
        verdict.isIdempotent || policy.nonIdempotent || !verdict.sentSomething || verdict.saysBusy
    }

    /// `Retry-After`, 429 and 503 speak for the whole host. A wait that no task would take holds back nobody.
    private mutating func holdBackHost(
        of task: TaskIndex, _ verdict: Verdict, _ policy: RetryPolicy, _ delay: TimeSpan, wasAsked: Bool, _ now: Instant
    ) {
        guard wasAsked || verdict.saysBusy, !wasAsked || delay <= policy.maximumRetryAfter,
            let origin = lanes[Int(tasks[Int(task.raw)].lane)].origin
        else { return }
        park(origin, until: now + delay, now)
    }

    private mutating func backoff(_ policy: RetryPolicy, attempt: UInt32) -> TimeSpan {
        let maximum = Double(policy.maximumBackoff.nanoseconds)
        var ceiling = Double(policy.initialBackoff.nanoseconds)
        var left = policy.multiplier == 1 ? 0 : attempt - 1
        while left > 0, ceiling > 0, ceiling < maximum || policy.multiplier < 1 {
            ceiling *= policy.multiplier
            left -= 1
        }
        ceiling = min(ceiling, maximum)
        switch policy.jitter {
        case .none: return TimeSpan(nanoseconds: Int64(ceiling))
        case .full: return TimeSpan(nanoseconds: Int64(Double.random(in: 0...1, using: &random) * ceiling))
        }
    }

    // MARK: Timers

    mutating func fireTimers(_ now: Instant) {
        while let timer = timers.first, timer.due <= now {
            _ = timers.pop()
            guard !isVoid(timer) else { continue }
            switch timer.kind {
            case .retry:
                tasks[Int(timer.index)].addWait(
                    tasks[Int(timer.index)].backoffReason, now - tasks[Int(timer.index)].since)
                enqueue(TaskIndex(raw: timer.index), now)
            case .resource:
                let error = TransferError(.timedOut, "the task's `timeoutForResource` is over")
                end(TaskIndex(raw: timer.index), Ending(outcome: .failed, error: error), now)
            case .unpark:
                unpark(Int(timer.index), now)
            }
        }
    }

    /// Whether what the timer was set for has moved on.
    private func isVoid(_ timer: Timer) -> Bool {
        switch timer.kind {
        case .retry: tasks[Int(timer.index)].phase != .backingOff || tasks[Int(timer.index)].attempt != timer.attempt
        case .resource: tasks[Int(timer.index)].phase == .finished
        case .unpark: origins[Int(timer.index)].parkedUntil != timer.due
        }
    }

    /// A million finished tasks must not leave a million timers behind, nor wake the loop for them.
    mutating func dropVoidTimers() {
        if voidTimers > 64, voidTimers > timers.count / 2 {
            var kept = Heap<Timer>()
            swap(&kept, &timers)
            kept.filter { !isVoid($0) }
            swap(&kept, &timers)
            voidTimers = 0
        }
        while let timer = timers.first, isVoid(timer) { _ = timers.pop() }
    }

    // MARK: The end of a task

    /// Ends a task that has not come to its own end.
    mutating func end(_ task: TaskIndex, _ ending: Ending, _ now: Instant) {
        let index = Int(task.raw)
        switch tasks[index].phase {
        case .finished: return
        case .running:
            // Once is enough; what it was told first is the truth.
            guard endings[task] == nil else { return }
            endings[task] = ending
            actions.append(.perform(.cancel(task, keepPartial: true)))
            return
        case .backingOff: tasks[index].addWait(tasks[index].backoffReason, now - tasks[index].since)
        case .queued: accountQueueTime(index, now)
        case .blocked: tasks[index].addWait(.dependency, now - tasks[index].since)
        }
        finish(task, ending.outcome, ending.error, nil, now)
    }

    private mutating func finish(
        _ task: TaskIndex, _ outcome: TaskOutcome, _ error: TransferError?, _ status: Int?, _ now: Instant
    ) {
        let index = Int(task.raw)
        tasks[index].phase = .finished
        finishedCount += 1
        if tasks[index].hasBegun { voidTimers += 1 }
        let tolerated = outcome == .failed && isTolerated(plan.tasks[index].allowFailure, status)
        actions.append(
            .finished(
                task,
                Conclusion(
                    outcome: outcome, error: error, tolerated: tolerated, waits: tasks[index].waits,
                    attempts: Int(tasks[index].attempt), duration: now - beganAt)))
        tasks[index].waits = []
        // Once the run is ending, whoever ended it ends those that wait too.
        if stopping == nil { release(task, outcome == .succeeded || tolerated, now) }
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
    private mutating func release(_ task: TaskIndex, _ succeeded: Bool, _ now: Instant) {
        for dependant in dependants.of(task) {
            let index = Int(dependant.raw)
            guard tasks[index].phase == .blocked else { continue }
            guard succeeded else {
                skipped.append(dependant)
                continue
            }
            tasks[index].openNeeds -= 1
            guard tasks[index].openNeeds == 0 else { continue }
            tasks[index].addWait(.dependency, now - tasks[index].since)
            enqueue(dependant, now)
        }
        // A chain of a million dependants must not be a recursion of a million calls.
        if !isSkipping { skipAll(now) }
    }

    private mutating func skipAll(_ now: Instant) {
        isSkipping = true
        var next = 0
        while next < skipped.count {
            let task = skipped[next]
            next += 1
            // It may need several that did not succeed.
            guard tasks[Int(task.raw)].phase == .blocked else { continue }
            tasks[Int(task.raw)].addWait(.dependency, now - tasks[Int(task.raw)].since)
            finish(task, .skipped, TransferError(.dependencyFailed, "a task it needs did not succeed"), nil, now)
        }
        skipped = []
        isSkipping = false
    }

    /// The first failure ends the run early: sessions that say so cancel what runs, others let it finish.
    private mutating func failFast(_ now: Instant) {
        stopping = .finishing
        let error = TransferError(.runCancelled, "an earlier task failed and `failFast` is set")
        for index in tasks.indices {
            let mayFinish = !plan.sessions[Int(plan.tasks[index].session.raw)].cancelsOnInvalidation
            if tasks[index].phase == .running, mayFinish { continue }
            end(TaskIndex(raw: UInt32(index)), Ending(outcome: .cancelled, error: error), now)
        }
    }
}

extension Verdict {
    /// The server has more to do than it can.
    fileprivate var saysBusy: Bool { status == 429 || status == 503 }
}

extension TransferError {
    /// The same, saying why nobody waited.
    fileprivate func adding(retryAfter: TimeSpan) -> TransferError {
        var error = self
        let seconds = retryAfter.nanoseconds / 1_000_000_000
        error.message += "; it asks to wait \(seconds) s, longer than `retry.retryAfter.maximum`"
        return error
    }
}
