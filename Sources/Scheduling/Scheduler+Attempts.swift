import TransferModel

// The end of an attempt: success, another attempt, or the task's end.

extension Scheduler {
    mutating func attemptEnded(_ task: TaskIndex, _ verdict: Verdict) {
        let index = Int(task.raw)
        guard tasks[index].phase == .running else { return }
        if let status = verdict.status, tasks[index].awaitsAnswer { answered(task, Answer(status: status)) }
        giveBackSlot(task)
        bytes.requestEnded(task)
        output.attemptEnded(task)
        if tasks[index].slot == .awaited {
            slots.withdrawRequest(of: task, in: Int(tasks[index].lane))
            endGrantWait(index)
        }
        stopCounting(task)
        conditions.attemptEnded(task)
        let meant = runEnding.attemptEnded(task)
        if isMirrored(task) {
            let mayOnlyGoOn = verdict.mayOnlyGoOn && !policy(of: task).retry.nonIdempotent
            mirrors[task]?.mustStay = mayOnlyGoOn || verdict.isOfStore
        }
        if case .failed = verdict.outcome {} else { tellsNothing(task) }
        switch verdict.outcome {
        case .succeeded: succeed(task, meant, verdict.status)
        case .cancelled(let error): cancelled(task, error, meant, verdict)
        case .failed(let error): failed(task, error, verdict, meant)
        }
    }

    /// A page of the task is whole: the attempt that goes on with the next one counts as that page's first.
    mutating func turnedPage(_ task: TaskIndex) {
        let index = Int(task.raw)
        guard tasks[index].phase == .running else { return }
        (tasks[index].tries, tasks[index].chargedProbes, tasks[index].networkFailures) = (1, 0, 0)
        retries.forget(task)
    }

    private mutating func succeed(_ task: TaskIndex, _ meant: Ending?, _ status: Int?) {
        mirrorServed(task)
        guard let group = plan.tasks[Int(task.raw)].group else { return finish(task, .succeeded, nil, status) }
        guard groups.isBroken(group) else { return stage(task, group) }
        if case .finish(let outcome, let error, let deferral) = meant {
            finish(task, outcome, error, status, deferral)
        } else {
            breakOff(task, group, status)
        }
    }

    private mutating func cancelled(_ task: TaskIndex, _ error: TransferError, _ meant: Ending?, _ verdict: Verdict) {
        let status = verdict.status
        switch meant {
        case .finish(let outcome, let error, let deferral):
            finish(task, outcome, error, status, deferral)
        case .interrupt:
            interrupted(task, error, status)
        case nil:
            if verdict.isForNextRun { return doesNotFit(task, verdict) }
            finish(task, .cancelled, error, status)
        }
    }

    /// The answer is longer than what is left of `maximumBytes`: the task is for the next run.
    private mutating func doesNotFit(_ task: TaskIndex, _ verdict: Verdict) {
        finish(task, .deferred, nil, verdict.status, .maximumBytes)
        guard verdict.sentSomething else { return }
        if bytes.answerWasTooLong() { deferAll(.maximumBytes, evenRunning: false) }
    }
    /// After so many answers that are longer than what is left of `maximumBytes` the rest of the run is put off.
    package static let mostAnswersTooLong = ByteBudget.mostAnswersTooLong

    /// The scheduler ended the attempt: it counts as no try, and another follows when it may.
    private mutating func interrupted(_ task: TaskIndex, _ error: TransferError, _ status: Int?) {
        switch nextTry(of: task) {
        case .deferred(let reason): finish(task, .deferred, nil, status, reason)
        case .none: finish(task, .cancelled, error, status)
        case .allowed:
            let error = runEnding.isHandoverClear ? .madeWay : error
            if isFreshRound(task) { tasks[task].tries -= 1 }
            actions.append(
                .attemptEnded(
                    task,
                    AttemptEnd(outcome: .cancelled, error: error, backoff: nil, held: tasks[task].takeWaitInAttempt())))
            makeReady(task)
        }
    }

    private mutating func failed(_ task: TaskIndex, _ error: TransferError, _ verdict: Verdict, _ meant: Ending?) {
        let index = Int(task.raw)
        if verdict.lacksCredential, meant == nil, mayBegin(task),
            plan.sessions[Int(plan.tasks[index].session.raw)].waitsForCredentials
        {
            return awaitCredential(task, error)
        }
        if awaitsProcess(task, error, verdict, meant) { return }
        let policy = policy(of: task).retry
        let loss = networkLoss(of: task, error, verdict)
        if let loss, waitsForNetwork(task), loss == .gone || !mayGoElsewhere(task) {
            tellsNothing(task)
            return goOnWithNetwork(task, error, verdict, meant, loss)
        }
        noteFailure(of: task, error, verdict)
        let backoff = policy.pause(after: tasks[index].tries + tasks[index].networkFailures, &random)
        let asked = policy.honorsRetryAfter ? verdict.retryAfter : nil
        let origin = origin(of: task)
        var isCharged = false
        if loss == nil, !verdict.isOfOtherHost {
            isCharged = judgeHost(of: task, error, verdict, asked: asked, backoff: backoff)
        } else {
            tellsNothing(task)
        }
        noteForgiven(task, error)
        let isKeptFromRepeating =
            hasTriesLeft(task, after: error) && policy.canHeal(error, verdict) && !policy.mayRepeat(verdict)
        let told = isKeptFromRepeating ? error.notSentAgain : error
        settleFailure(of: task, told, verdict, meant, loss, asked: asked, backoff: backoff)
        if isCharged, let origin { chargeProbe(origin, error) }
    }

    /// Ends the task after a failed attempt, or plans the next one.
    private mutating func settleFailure(
        of task: TaskIndex, _ error: TransferError, _ verdict: Verdict, _ meant: Ending?, _ loss: NetworkLoss?,
        asked: TimeSpan?, backoff: TimeSpan
    ) {
        let policy = policy(of: task).retry
        if mayGoElsewhere(task) {
            return failedAtMirror(task, error, verdict, meant, loss, asked: asked, backoff: backoff)
        }
        if loss == .noRoute { return finish(task, .failed, error.asRefusal, verdict.status) }
        let place = [origin(of: task)]
        let deadline = retryDeadline(of: task, at: place)
        guard mayRetry(task, error, verdict, policy), hasPatience(deadline) else {
            return finish(task, .failed, givenUp(task, error, at: place, deadline), verdict.status)
        }
        if case .finish(let outcome, let error, let deferral) = meant {
            return finish(task, outcome, error, verdict.status, deferral)
        }
        if let asked, asked > policy.maximumRetryAfter {
            return finish(
                task, .failed, error.adding(retryAfter: asked, beyond: "`retry.retryAfter.maximum`"), verdict.status)
        }
        if let asked, isTooLong(asked, deadline) {
            return finish(task, .failed, error.adding(retryAfter: asked, beyond: "`retry.for` leaves"), verdict.status)
        }
        switch nextTry(of: task) {
        case .allowed: break
        case .deferred(let reason): return finish(task, .deferred, nil, verdict.status, reason)
        case .none: return finish(task, .failed, error, verdict.status)
        }
        let pause = shortened(backoff, deadline)
        let told = policy.canHealOnce(error, verdict) ? nil : deadline
        if let asked, asked > pause {
            backOff(task, error, asked, .retryAfter, until: told)
        } else {
            backOff(task, error, pause, .backoff, until: told)
        }
    }

    /// Lets the task wait for its next attempt. `deadline` is until when it may be tried, as people are told; `nil` without
    /// a bound, and where the next attempt is the last.
    mutating func backOff(
        _ task: TaskIndex, _ error: TransferError, _ delay: TimeSpan, _ reason: WaitReason, until deadline: Instant?
    ) {
        let index = Int(task.raw)
        tasks.enter(.backingOff, index, at: now.instant)
        tasks[index].backoff = TaskState.Backoff(end: now.instant + delay, reason: reason)
        let held = tasks[index].takeWaitInAttempt()
        timers.add(Timer(due: now.instant + delay, kind: .retry, index: task.raw, attempt: tasks[index].attempt))
        actions.append(
            .attemptEnded(
                task, AttemptEnd(outcome: .failed, error: error, backoff: delay, held: held, until: deadline)))
        actions.append(.waiting(task, reason))
    }

    private func mayRetry(
        _ task: TaskIndex, _ error: TransferError, _ verdict: Verdict, _ policy: RetryPolicy
    ) -> Bool {
        hasTriesLeft(task, after: error) && policy.mayRepeat(verdict) && policy.canHeal(error, verdict)
    }

    private func hasTriesLeft(_ task: TaskIndex, after error: TransferError) -> Bool {
        Int(tasks[task].tries + tasks[task].chargedProbes) < mostTries(of: task, after: error)
    }

    private func isForgiven(_ task: TaskIndex, _ error: TransferError) -> Bool {
        plan.sessions[Int(plan.tasks[Int(task.raw)].session.raw)].isPatient && error.name.mayBeTheNetworks
    }

    /// What is the network's fault lengthens the pauses, and counts as no try.
    private mutating func noteForgiven(_ task: TaskIndex, _ error: TransferError) {
        let index = Int(task.raw)
        guard isForgiven(task, error) else { return tasks[index].networkFailures = 0 }
        // A round over several `urls` counts as a whole.
        guard tasks[index].tries > 0, !mayGoElsewhere(task) else { return }
        tasks[index].tries -= 1
        tasks[index].networkFailures += 1
    }

    /// How often a task may be tried that ended so.
    func mostTries(of task: TaskIndex, after error: TransferError) -> Int {
        isForgiven(task, error) ? .max : plan.policies[policyNumber(of: task)].retry.attempts ?? .max
    }
}
