import TransferModel

// Attempts: their starts, and what follows their ends.

extension Scheduler {
    // MARK: Starts

    mutating func startReadyTasks() {
        repeat {
            finishPostponed()
            startInOrder()
        } while mayStart && attempts.passOverQuietHosts(&run) || !postponed.isEmpty
    }

    private mutating func startInOrder() {
        // A task that cannot start may fail, and end the run.
        while mayStart, runEnding.pauses.isEmpty, let (task, lane) = attempts.slots.next {
            attempts.slots.removeHead(lane)
            // One that was ended or suspended while it waited stays in its queue until it comes to the front.
            if run.isQueued(task, in: lane), !runEnding.isLeftToSuccessor(task), !attempts.goesElsewhere(task, &run),
                !isHeldBack(task, in: lane)
            {
                attempts.start(task, lane, &run)
            } else {
                attempts.slots.refresh(lane, at: run.now.instant, &run.timers)
            }
        }
    }

    /// Whether networks or power keep the task from starting. Then it waits or has ended.
    private mutating func isHeldBack(_ task: TaskIndex, in lane: Int) -> Bool {
        switch attempts.holdBack(task, in: lane, &run) {
        case nil: return false
        case .waits: break
        case .putsOff(let deferral): end(task, .finish(.deferred, nil, deferral))
        case .fails(let error): end(task, .finish(.failed, error, nil))
        }
        return true
    }

    // MARK: Ends

    mutating func attemptEnded(_ task: TaskIndex, _ verdict: Verdict) {
        let index = Int(task.raw)
        guard run.tasks[index].phase == .running else { return }
        run.tasks[index].endRecordWait(at: run.now.instant)
        if let status = verdict.status, run.tasks[index].awaitsAnswer {
            attempts.answered(task, Answer(status: status), &run)
        }
        attempts.giveBackSlot(task, &run)
        bytes.requestEnded(task)
        output.attemptEnded(task)
        attempts.withdrawRequest(of: task, &run)
        attempts.stopCounting(task, &run)
        attempts.conditions.attemptEnded(task)
        let ending = runEnding.attemptEnded(task)
        attempts.attemptEndedAtMirror(task, verdict, run)
        if case .failed = verdict.outcome {} else { attempts.endProbe(task, run) }
        switch verdict.outcome {
        case .succeeded: succeed(task, ending, verdict.status)
        case .cancelled(let error): cancelled(task, error, ending, verdict)
        case .failed(let error):
            attemptFailed(
                FailedAttempt(task: task, error: error, verdict: verdict, ending: ending, nextTry: nextTry(of: task)))
        }
    }

    /// A page of the task is whole: the attempt that goes on with the next one counts as that page's first.
    mutating func pageEnded(_ task: TaskIndex) {
        let index = Int(task.raw)
        guard run.tasks[index].phase == .running else { return }
        (run.tasks[index].tries, run.tasks[index].chargedProbes, run.tasks[index].networkFailures) = (1, 0, 0)
        attempts.retries.forget(task)
    }

    private mutating func succeed(_ task: TaskIndex, _ ending: Ending?, _ status: Int?) {
        attempts.mirrorServed(task, run)
        guard let group = run.plan.tasks[Int(task.raw)].group else { return finish(task, .succeeded, nil, status) }
        guard groups.isBroken(group) else { return stage(task, group) }
        // Too late to be stopped, and of no use without the others.
        if !finish(task, ending, status) { finish(task, groups.endingWithoutMember(group), status) }
    }

    private mutating func cancelled(
        _ task: TaskIndex, _ error: TransferError, _ ending: Ending?, _ verdict: Verdict
    ) {
        if finish(task, ending, verdict.status) { return }
        if ending != nil { return interrupted(task, error, verdict.status) }
        // Where a policy bounds the bytes, no later run goes on for this one.
        guard verdict.isForNextRun, run.plan.bytesAreSpent == nil else {
            return finish(task, .cancelled, error, verdict.status)
        }
        // The answer is longer than what is left of `maximumBytes`: the task is for the next run.
        finish(task, .deferred, nil, verdict.status, .maximumBytes)
        if verdict.sentSomething, bytes.answerWasTooLong() { deferAll(.maximumBytes, evenRunning: false) }
    }
    /// After so many answers that are longer than what is left of `maximumBytes` the rest of the run is put off.
    package static let mostAnswersTooLong = ByteBudget.mostAnswersTooLong

    /// The scheduler ended the attempt: it counts as no try, and another follows when it may.
    private mutating func interrupted(_ task: TaskIndex, _ error: TransferError, _ status: Int?) {
        switch nextTry(of: task) {
        case .deferred(let reason): finish(task, .deferred, nil, status, reason)
        case .none: finish(task, .cancelled, error, status)
        case .allowed:
            if attempts.isFreshRound(task) { run.tasks[task].tries -= 1 }
            run.endAttempt(of: task, .cancelled, runEnding.isHandoverClear ? .madeWay : error)
            makeReady(task)
        }
    }

    private mutating func attemptFailed(_ failed: FailedAttempt) {
        let task = failed.task
        let (next, chargesHost) = attempts.judge(failed, &run)
        // The attempt's host: its task may be queued for another one next.
        let origin = attempts.origin(of: task, run)
        apply(next, to: task)
        guard let origin else { return }
        if chargesHost { chargeProbe(of: origin, failed.error) }
        for (task, error) in attempts.overdue(at: origin, run) { end(task, .finish(.failed, error, nil)) }
    }

    /// Ends a task after a failed attempt, or lets it wait for the next one.
    private mutating func apply(_ next: AfterFailure, to task: TaskIndex) {
        switch next {
        case .finish(let outcome, let error, let deferral, let status):
            finish(task, outcome, error, status, deferral)
        case .backOff(let error, let delay, let reason, let deadline):
            backOff(task, error, delay, reason, until: deadline)
        case .tryAgain(let error):
            run.endAttempt(of: task, .failed, error)
            makeReady(task)
        case .awaitCredential(let error):
            run.endAttempt(of: task, .failed, error)
            run.actions.append(.waiting(task, .credential))
            run.tasks[task].suspension = .forCredential
            enterSuspended(task, .forCredential)
        }
    }

    private mutating func backOff(
        _ task: TaskIndex, _ error: TransferError, _ delay: TimeSpan, _ reason: WaitReason, until deadline: Instant?
    ) {
        let index = Int(task.raw)
        let end = run.now.instant + delay
        run.tasks.enter(.backingOff, index, at: run.now.instant)
        run.tasks[index].backoff = TaskState.Backoff(end: end, reason: reason)
        run.timers.add(Timer(due: end, kind: .retry, index: task.raw, attempt: run.tasks[index].attempt))
        run.endAttempt(of: task, .failed, error, pause: delay, until: deadline)
        run.actions.append(.waiting(task, reason))
    }

    /// Counts a failed probe as an attempt of each task that waits for the host, and ends those that it is the last of.
    ///
    /// But a host that hangs up may do so because of what it was asked: that fails no task that was never tried. When
    /// such tasks are all that is left, the host is opened for them, until `ownTries` of the plan show that it hangs up
    /// always.
    ///
    /// Only when the probe's own task has been settled: an end may take others of its group with it.
    private mutating func chargeProbe(of origin: OriginID, _ error: TransferError) {
        var (lost, spared) = attempts.probeFailed(at: origin, error, run)
        for (task, error) in lost { end(task, .finish(.failed, error, nil)) }
        for (task, lane) in attempts.mirrored(waitingFor: Int(origin.raw), run) where run.isQueued(task, in: lane) {
            switch attempts.chargeProbe(of: origin, error.foundByAnotherTask, toMirrored: task, &run) {
            case .waits: break
            case .spared: spared += 1
            case .finish(let next): apply(next, to: task)
            }
        }
        guard spared > 0 else { return }
        attempts.slots.giveOwnTries(origin, run.plan.ownTries, at: run.now.instant, &run.timers)
    }
}
