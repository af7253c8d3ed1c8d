import TransferModel

// Networks and power: which tasks may start under them, and which wait until they change.

extension AttemptScheduler {
    /// What follows where networks or power keep a task from starting.
    enum HoldBack: Sendable {
        /// The task waits for other conditions.
        case waits
        /// The task is put off to the next run.
        case putsOff(Deferral)
        /// The task fails.
        case fails(TransferError?)
    }

    /// What is missing for a request of the task to the origin; `nil` where nothing is.
    func shortage(of task: TaskIndex, at origin: OriginID?, _ run: borrowing RunState) -> Shortage? {
        guard conditions.areStrict else { return nil }
        return conditions.shortage(under: run.plan[policyOf: task], at: origin)
    }

    /// The shortage that the task, with attempts at the origin, has to wait for; `nil` where none is, or it would not
    /// wait.
    func awaitedShortage(of task: TaskIndex, at origin: OriginID?, _ run: borrowing RunState) -> Shortage? {
        guard let shortage = shortage(of: task, at: origin, run),
            conditions.letsWait(run.plan[policyOf: task], for: shortage)
        else { return nil }
        return shortage
    }

    /// Whether the task waits until a network is there.
    func waitsForNetwork(_ task: TaskIndex, _ run: borrowing RunState) -> Bool {
        conditions.letsWaitForNetwork(run.plan[policyOf: task])
    }

    /// Judges a task that nothing else keeps from starting in the lane. Returns `nil` where it may start.
    mutating func holdBack(_ task: TaskIndex, in lane: Int, _ run: inout RunState) -> HoldBack? {
        guard conditions.areStrict || run.tasks[task].hasNoRoute else { return nil }
        let origin = slots.lanes[lane].origin
        guard let shortage = shortage(of: task, at: origin, run) else {
            // No route led to the host, and nothing has changed since.
            let isWithoutRoute = run.tasks[task].hasNoRoute && run.tasks[task].conditionsMet == conditions.number
            return isWithoutRoute ? holdBack(task, .network, .network, &run) : nil
        }
        guard conditions.letsWait(run.plan[policyOf: task], for: shortage) else {
            return .fails(conditions.present?.error(for: shortage))
        }
        return holdBack(task, shortage.reason, shortage.deferral, &run)
    }

    private mutating func holdBack(
        _ task: TaskIndex, _ reason: WaitReason, _ deferral: Deferral, _ run: inout RunState
    ) -> HoldBack {
        guard !run.plan.putsOffWhatWaits else { return .putsOff(deferral) }
        leavePhase(task, &run)
        awaitConditions(task, reason, &run)
        return .waits
    }

    private mutating func awaitConditions(_ task: TaskIndex, _ reason: WaitReason, _ run: inout RunState) {
        run.tasks.enter(.awaitingConditions(reason), Int(task.raw), at: run.now.instant)
        retries.stop(task, at: run.now.instant)
        conditions.awaitChange(task, of: run.tasks.count)
        run.actions.append(.waiting(task, reason))
        if reason == .power {
            run.stopResourceClock(task)
        } else if !isWindowClosed(for: task, run) {
            run.runResourceClock(task)
        }
    }

    /// Whether the window of the task's session is closed.
    func isWindowClosed(for task: TaskIndex, _ run: borrowing RunState) -> Bool {
        slots.sessions[Int(run.plan.tasks[Int(task.raw)].session.raw)].isClosed
    }

    /// Judges a task anew that waited for other conditions when they changed. Returns whether it waits no more.
    mutating func conditionsChanged(for task: TaskIndex, _ run: inout RunState) -> Bool {
        guard case .awaitingConditions(let reason) = run.tasks[task].phase else { return false }
        guard let shortage = awaitedShortage(of: task, at: nextOrigin(of: task, run), run) else { return true }
        if shortage.reason == reason {
            conditions.awaitChange(task, of: run.tasks.count)
        } else {
            awaitConditions(task, shortage.reason, &run)
        }
        return false
    }

    private func nextOrigin(of task: TaskIndex, _ run: borrowing RunState) -> OriginID? {
        guard isMirrored(task), let round = mirrors[task] else { return run.plan.tasks[Int(task.raw)].origin }
        return round.origins[bestMirror(of: round, for: task, run)]
    }

    /// The network failed, not the task: the attempt counts as no try, and another follows when a network is there.
    mutating func tryAgainWithNetwork(_ failed: FailedAttempt, _ run: inout RunState) -> AfterFailure {
        let task = failed.task
        guard run.plan[policyOf: task].retry.mayRepeat(failed.verdict) else {
            return .finish(.failed, failed.error.asRefusal, nil, status: failed.verdict.status)
        }
        if let ending = failed.givenEnding(otherwise: failed.error.asRefusal) { return ending }
        if isFreshRound(task) { run.tasks[task].tries -= 1 }
        run.tasks[task].hasNoRoute = failed.loss == .noRoute
        return .tryAgain(failed.error)
    }
}
