import TransferModel

// What follows a failed attempt for its own task.

extension AttemptScheduler {
    /// Judges a failed attempt: what it shows of its host, and how its task goes on. `chargesHost`: a probe failed,
    /// which counts as an attempt of each task that waits for the host.
    mutating func judge(_ attempt: FailedAttempt, _ run: inout RunState) -> (next: AfterFailure, chargesHost: Bool) {
        var failed = attempt
        let (task, error, verdict) = (failed.task, failed.error, failed.verdict)
        let index = Int(task.raw)
        if verdict.lacksCredential, failed.ending == nil, failed.nextTry == .allowed,
            run.plan[sessionOf: task].waitsForCredentials
        {
            endProbe(task, run)
            if isFreshRound(task) { run.tasks[index].tries -= 1 }
            return (.awaitCredential(error), false)
        }
        if let wait = waitForProcess(failed, &run) { return (wait, false) }
        let policy = run.plan[policyOf: task].retry
        failed.loss = conditions.networkLoss(
            error, verdict, under: run.plan[policyOf: task], at: origin(of: task, run),
            since: run.tasks[index].conditionsMet)
        if let loss = failed.loss, waitsForNetwork(task, run), loss == .gone || !mayGoElsewhere(task) {
            endProbe(task, run)
            return (tryAgainWithNetwork(failed, &run), false)
        }
        countFailure(failed, run)
        failed.backoff = policy.pause(after: run.tasks[index].tries + run.tasks[index].networkFailures, &random)
        failed.retryAfter = policy.honorsRetryAfter ? verdict.retryAfter : nil
        let chargesHost = judgeHost(after: failed, &run)
        forgive(failed, &run)
        let hasTriesLeft =
            Int(run.tasks[task].tries + run.tasks[task].chargedProbes) < mostTries(of: task, after: error, run)
        if hasTriesLeft, policy.canHeal(error, verdict), !policy.mayRepeat(verdict) {
            failed.error = error.notSentAgain
        }
        if mayGoElsewhere(task) { return (failedAtMirror(failed, &run), chargesHost) }
        let deadline = retryDeadline(of: task, at: [origin(of: task, run)], run)
        return (failed.next(policy, hasTriesLeft: hasTriesLeft, deadline), chargesHost)
    }

    /// Notes that an attempt of the task failed, which begins the clock of `retry.for` or lets it run on.
    private mutating func countFailure(_ failed: FailedAttempt, _ run: borrowing RunState) {
        if failed.verdict.wentFurther { retries.forget(failed.task) }
        retries.attemptFailed(
            of: failed.task, by: failed.error, begunAt: run.tasks[failed.task].attemptBeganAt, at: run.now.instant,
            slots.hosts)
    }

    /// What is the network's fault lengthens the pauses, and counts as no try.
    private func forgive(_ failed: FailedAttempt, _ run: inout RunState) {
        let index = Int(failed.task.raw)
        guard isForgiven(failed.task, failed.error, run) else { return run.tasks[index].networkFailures = 0 }
        // A round over several `urls` counts as a whole.
        guard run.tasks[index].tries > 0, !mayGoElsewhere(failed.task) else { return }
        run.tasks[index].tries -= 1
        run.tasks[index].networkFailures += 1
    }

    private func isForgiven(_ task: TaskIndex, _ error: TransferError, _ run: borrowing RunState) -> Bool {
        run.plan[sessionOf: task].isPatient && error.name.mayBeTheNetworks
    }

    /// How often a task may be tried that failed by the error.
    func mostTries(of task: TaskIndex, after error: TransferError, _ run: borrowing RunState) -> Int {
        isForgiven(task, error, run) ? .max : run.plan[policyOf: task].retry.attempts ?? .max
    }

    /// Until when the task is tried that fails at these origins.
    func retryDeadline(of task: TaskIndex, at origins: [OriginID?], _ run: borrowing RunState) -> RetryDeadline {
        retries.deadline(
            of: task, run.plan[policyOf: task].retry, isPatient: run.plan[sessionOf: task].isPatient,
            isUnanswered: slots.areUnanswered(origins), slots.hosts, at: run.now.instant)
    }

    /// The error of a task whose `timeoutForResource` is over.
    func resourceTimedOut(_ task: TaskIndex, _ run: borrowing RunState) -> TransferError {
        let limit = run.plan[policyOf: task].timeoutForResource
        if case .awaitingConditions = run.tasks[task].phase {
            return .resourceTimedOut(limit, "it waited for a network that it may use")
        }
        return retries.timedOut(task, otherwise: .resourceTimedOut(limit))
    }

    // MARK: The limits of the process

    /// Returns the wait of a task whose attempt failed because the process has no descriptor or thread left for it.
    /// That is no fault of the task or its host, and passes when others have ended: the attempt counts as no try.
    ///
    /// Returns `nil` where the failure is to be judged like any other: it is of another kind, the request must not be
    /// sent again, the task is to end, or its `retry.for` is over.
    private mutating func waitForProcess(_ failed: FailedAttempt, _ run: inout RunState) -> AfterFailure? {
        let (task, index) = (failed.task, Int(failed.task.raw))
        let policy = run.plan[policyOf: task].retry
        guard failed.error.isOfProcessLimit, policy.mayRepeat(failed.verdict), failed.nextTry == .allowed,
            !failed.isToldToEnd
        else {
            return nil
        }
        countFailure(failed, run)
        let deadline = retries.deadline(
            of: task, policy, isPatient: run.plan[sessionOf: task].isPatient, isUnanswered: false, slots.hosts,
            at: run.now.instant)
        guard !deadline.isOver else { return nil }
        endProbe(task, run)
        if isFreshRound(task), run.tasks[index].tries > 0 { run.tasks[index].tries -= 1 }
        run.tasks[index].networkFailures += 1
        let pause = processPause(after: run.tasks[index].networkFailures)
        return .backOff(failed.error, deadline.shortened(pause), .processLimit, until: deadline.end)
    }

    /// The pause after so many failures in a row: from a second to half a minute, half of it random, so that not all
    /// tasks ask at once. What a job says of its servers (`retry.backoff`) does not count here.
    private mutating func processPause(after failures: UInt32) -> TimeSpan {
        let longest = TimeSpan.seconds(min(30, Int64(1) << Int64(min(max(1, failures) - 1, 5))))
        let half = TimeSpan(nanoseconds: longest.nanoseconds / 2)
        return half + random.part(of: half)
    }
}
