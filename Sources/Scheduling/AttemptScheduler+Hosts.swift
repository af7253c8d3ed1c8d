import TransferModel

// What answers and failures of attempts show of their host.

extension AttemptScheduler {
    /// The head of an answer arrived: whatever it says, the host is there.
    mutating func answered(_ task: TaskIndex, _ answer: Answer, _ run: inout RunState) {
        let index = Int(task.raw)
        guard run.tasks[index].holdsSlot, let origin = origin(of: task, run) else { return }
        if answer.isFurther, loans.answered(task) {
            slots.requestAnswered(origin)
        } else if run.tasks[index].awaitsAnswer {
            run.tasks[index].awaitsAnswer = false
            slots.requestAnswered(origin)
        }
        if let quota = answer.quota, run.plan[policyOf: task].retry.honorsRetryAfter {
            slots.learn(origin, quota, at: run.now.instant)
        }
        slots.hostAnswered(origin)
        run.tasks[index].chargedProbes = 0
        // What a failure means for its host shows with the attempt's end: it may say for how long to wait.
        if answer.status != 429, !answer.isServerError { slots.hostIsWell(origin, at: run.now.instant) }
        guard answer.status != 429, answer.status != 503, !answer.isFurther else { return }
        // Of later requests of an attempt it is not known when they were sent.
        let isFirst = run.tasks[index].waitInAttempt == .zero
        measure(task, .answered(after: isFirst ? run.now.instant - run.tasks[index].attemptBeganAt : nil), &run)
    }

    /// The host sent a sign of life for the task's request, and no answer yet.
    mutating func signOfLifeReceived(_ task: TaskIndex, _ run: inout RunState) {
        guard run.tasks[task].holdsSlot, let origin = origin(of: task, run) else { return }
        run.tasks[task].wasHeard = true
        run.tasks[task].chargedProbes = 0
        slots.hostAnswered(origin)
        slots.hostIsWell(origin, at: run.now.instant)
    }

    /// Bytes of a body moved. Those of one that is sent before its answer show that others need not wait for the host.
    mutating func bytesMoved(_ task: TaskIndex, _ run: borrowing RunState) {
        guard run.tasks[task].awaitsAnswer, run.tasks[task].holdsSlot, let origin = origin(of: task, run) else {
            return
        }
        slots.hostTookBytes(origin, of: task)
    }

    /// A whole answer arrived, which shows that the host is well, whether or not its head was reported.
    mutating func answerEnded(_ task: TaskIndex, _ run: borrowing RunState) {
        guard run.tasks[task].phase == .running, let origin = origin(of: task, run) else { return }
        // Or it came out of a cache.
        if run.tasks[task].holdsSlot { slots.hostAnswered(origin) }
        slots.probeSucceeded(origin, by: task)
    }

    /// Releases the probe when the outcome of the task's attempt says nothing about the health of its last host.
    mutating func endProbe(_ task: TaskIndex, _ run: borrowing RunState) {
        if let origin = origin(of: task, run) { slots.endProbe(origin, of: task) }
    }

    /// Lets the connections to the task's host be counted anew, if their number is found by what the host bears.
    mutating func measure(_ task: TaskIndex, _ event: ConnectionController.Event, _ run: inout RunState) {
        let lane = Int(run.tasks[task].lane)
        guard lane >= 0, let step = slots.measure(event, in: lane, at: run.now.instant),
            let origin = slots.lanes[lane].origin
        else { return }
        run.actions.append(.connectionsChanged(slots.lanes[lane].session, origin, step))
    }

    private mutating func measureRefusal(_ task: TaskIndex, _ reason: ConnectionStep.Reason, _ run: inout RunState) {
        measure(task, .refused(reason, begunAt: run.tasks[task].attemptBeganAt), &run)
    }

    /// When the host where the task is or was takes requests again; `nil` where it does now, where nobody knows, and for
    /// a task that may go to another place.
    func hostOpens(for task: TaskIndex, _ run: borrowing RunState) -> Instant? {
        guard run.tasks[task].lane >= 0, !isMirrored(task), let origin = origin(of: task, run) else { return nil }
        return slots.opening(of: origin, at: run.now.instant)
    }

    /// What the request failed by after which the host was parked for which the task waits in its queue.
    func failureOfHost(awaitedBy task: TaskIndex, _ run: borrowing RunState) -> TransferError? {
        let state = run.tasks[task]
        guard state.phase == .queued, state.lane >= 0, slots.lanes[Int(state.lane)].isParked else { return nil }
        return origin(of: task, run).flatMap { slots[$0].failure?.foundByAnotherTask }
    }

    // MARK: Failures

    /// Parks the host if the failure of an attempt says so. Returns whether the failure counts as one of each task that
    /// waits for the host.
    mutating func judgeHost(after failed: FailedAttempt, _ run: inout RunState) -> Bool {
        let task = failed.task
        guard failed.loss == nil, !failed.verdict.isOfOtherHost, let origin = origin(of: task, run) else {
            endProbe(task, run)
            return false
        }
        slots.requestFailed(at: origin, by: failed.error)
        let policy = run.plan[policyOf: task].retry
        if failed.verdict.saysBusy {
            measureRefusal(task, failed.verdict.status == 429 ? .tooManyRequests : .unavailable, &run)
        }
        let isProbe = slots[origin].health.isProbed(by: task)
        switch failed.evidence(policy, isProbe: isProbe, wasHeard: run.tasks[task].wasHeard) {
        case .none: slots.endProbe(origin, of: task)
        case .wantsQuiet:
            let deadline = retryDeadline(of: task, at: [origin], run)
            let pause = failed.retryAfter ?? deadline.shortened(park: failed.backoff)
            slots.park(origin, for: pause, at: run.now.instant, &run.timers)
        case .serverError: slots.hostAnsweredBadly(origin, task)
        case .noAnswer: return judgeSilence(of: origin, failed, &run)
        }
        return false
    }

    private mutating func judgeSilence(
        of origin: OriginID, _ failed: FailedAttempt, _ run: inout RunState
    ) -> Bool {
        let task = failed.task
        // One that never answered is down, however many connections it would bear.
        if slots[origin].health.hasAnswered { measureRefusal(task, .noAnswer, &run) }
        let consequence = slots.requestFailed(
            origin, of: task, begunAt: run.tasks[task].attemptBeganAt, at: run.now.instant,
            hungUp: failed.error.name.saysHungUp, isStream: slots.lanes[Int(run.tasks[task].lane)].isShared)
        guard consequence == .park || consequence == .parkAndCharge else { return false }
        // So that the last attempt of the task that found it is not late, the host is probed by the task's deadline.
        let deadline = retryDeadline(of: task, at: [origin], run)
        let delay = run.plan[policyOf: task].retry.park(after: UInt32(slots[origin].health.parks + 1), &random)
        slots.park(origin, for: deadline.shortened(park: delay), at: run.now.instant, &run.timers)
        return consequence == .parkAndCharge
    }

    /// A further request of an attempt that goes on was one too many: that is judged like any other answer of its host.
    mutating func turnedAway(
        _ task: TaskIndex, _ origin: OriginID, status: Int, _ retryAfter: TimeSpan?, _ run: inout RunState
    ) {
        let policy = run.plan[policyOf: task].retry
        let asked = policy.honorsRetryAfter ? retryAfter : nil
        guard run.tasks[task].holdsSlot, asked ?? .zero <= policy.maximumRetryAfter else { return }
        measureRefusal(task, .tooManyRequests, &run)
        guard asked != nil || status == 429 else { return slots.hostAnsweredBadly(origin, task) }
        let delay = asked ?? policy.pause(after: run.tasks[task].tries, &random)
        slots.park(origin, for: delay, at: run.now.instant, &run.timers)
    }

    // MARK: Probes

    /// Takes in that a probe of the host failed, which was tried on behalf of all tasks that wait there: it counts as
    /// an attempt of each. So a dead host ends its tasks as soon as each would have ended alone, without each of them
    /// connecting. Returns the tasks that this ends, with their errors, and how many it would end that were never
    /// tried: those wait on.
    ///
    /// Tasks with several `urls` are left out: `chargeProbe(_:ofMirrored:)` is for those.
    mutating func probeFailed(
        at origin: OriginID, _ error: TransferError, _ run: borrowing RunState
    ) -> (lost: [(task: TaskIndex, error: TransferError)], spared: Int) {
        var lost: [(task: TaskIndex, error: TransferError)] = []
        var spared = 0
        for lane in slots[origin].lanes {
            // One that began to wait with this probe's end was not waiting for it.
            for task in slots.lanes[lane].queued(where: { run.isQueued($0, in: lane) && !isMirrored($0) }) {
                let charges = slots[origin].health.charges(since: run.tasks[task].failedProbes)
                guard charges > 0 else { continue }
                retries.probeFailed(for: task, of: origin, at: run.now.instant, slots.hosts)
                let tries = run.tasks[task].tries + run.tasks[task].chargedProbes + charges
                let deadline = retryDeadline(of: task, at: [origin], run)
                guard Int(tries) >= mostTries(of: task, after: error, run) || deadline.isOver else { continue }
                if hasOwnTry(task, at: origin, after: error, run) {
                    spared += 1
                } else {
                    lost.append((task, deadline.explained(error.foundByAnotherTask)))
                }
            }
        }
        return (lost, spared)
    }

    /// The tasks that wait for the turn of a host which is not well although their `retry.for` is over, each with what its
    /// own attempts failed by. A host that answers one task after the other would hold them for many times that.
    func overdue(at origin: OriginID, _ run: borrowing RunState) -> [(task: TaskIndex, error: TransferError)] {
        guard !slots[origin].health.isOpen else { return [] }
        var overdue: [(task: TaskIndex, error: TransferError)] = []
        for lane in slots[origin].lanes {
            for task in slots.lanes[lane].queued(where: { run.isQueued($0, in: lane) && !isMirrored($0) }) {
                guard let cause = retries.cause(of: task) else { continue }
                let deadline = retryDeadline(of: task, at: [origin], run)
                if deadline.isOver { overdue.append((task, deadline.explained(cause.error))) }
            }
        }
        return overdue
    }

    /// Whether only the task itself can find out that the host answers it: a host that hangs up may do so because of
    /// what it was asked, and that fails no task that was never tried.
    func hasOwnTry(
        _ task: TaskIndex, at origin: OriginID, after error: TransferError, _ run: borrowing RunState
    ) -> Bool {
        error.name.saysHungUp && run.tasks[task].attempt == 0 && slots[origin].health.ownTries == .notYet
    }
}
