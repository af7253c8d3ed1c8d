package import TransferModel

// The end of a task, and of the run before its tasks.

extension Scheduler {
    /// Ends a task before its attempt comes to its own end. Returns whether that had an effect.
    @discardableResult
    mutating func end(_ task: TaskIndex, _ ending: Ending, keepPartial: Bool = true) -> Bool {
        let index = Int(task.raw)
        switch tasks[index].phase {
        case .finished: return false
        case .running:
            switch runEnding.end(task, ending) {
            case .tooLate: return false
            case .replacesInterruption: return true
            case .new:
                actions.append(.perform(.cancel(task, keepPartial: keepPartial)))
                return true
            }
        case .staged: return endStaged(task, ending)
        case .expanding where expansions.isHeld(task):
            expansions.endHeld(ending)
            return true
        case .blocked, .held, .suspended, .queued, .backingOff, .awaitingConditions, .expanding: leavePhase(index)
        }
        guard case .finish(let outcome, let error, let deferral) = ending else { return false }
        finish(task, outcome, error, nil, deferral)
        return true
    }

    /// While its group is put in place there is nothing left to stop, but for a wait.
    private mutating func endStaged(_ task: TaskIndex, _ ending: Ending) -> Bool {
        guard let group = plan.tasks[Int(task.raw)].group, case .finish(let outcome, let error, let deferral) = ending
        else { return false }
        guard !groups.isPublishing(group) else { return giveUp(group, for: task, ending) }
        finish(task, outcome, error, nil, deferral)
        breakUp(group, deferral)
        return true
    }

    /// Adds the time in its queue to the waits of a task that leaves it. The waits of other phases are added when the
    /// next one is entered.
    mutating func leavePhase(_ index: Int) {
        if tasks[index].phase == .queued { accountQueueTime(index) }
    }

    mutating func finish(
        _ task: TaskIndex, _ outcome: TaskOutcome, _ error: TransferError?, _ status: Int?, _ deferral: Deferral? = nil,
        blame: Blame? = nil
    ) {
        let index = Int(task.raw)
        let wasStaged = tasks[index].phase == .staged
        let staged = wasStaged ? now.instant - tasks[index].since : .zero
        tasks.enter(.finished(outcome), index, at: now.instant)
        if tasks[index].resourceClock.isRunning { timers.noteVoid() }
        let tolerated = outcome == .failed && isTolerated(plan.policies[policyNumber(of: task)].allowFailure, status)
        let end = needEnd(of: task, outcome, isGood: outcome == .succeeded || tolerated, error, deferral, blame)
        if !plan.templates.isEmpty { expansions.ended(task, end) }
        let created = expansions.creation(of: task) ?? clock.beganAt
        actions.append(
            .finished(
                task,
                Conclusion(
                    outcome: outcome, error: error, tolerated: tolerated, waits: tasks[index].waits,
                    attempts: Int(tasks[index].attempt), duration: now.instant - created,
                    held: tasks[index].waitInAttempt, staged: staged, deferral: deferral, blame: blame,
                    triedFor: retries.triedSince(task).map { now.instant - $0 })))
        retries.forget(task)
        tasks[index].waits = []
        needs.ended(task)
        if !mirrors.isEmpty { mirrors[task] = nil }
        if !wasStaged, let group = plan.tasks[index].group {
            memberEnded(group, isMissing: !tolerated, deferral, error)
        }
        if mayStart {
            release(needs.dependants(of: task), end, unlessIn: wasStaged ? plan.tasks[index].group : nil)
            for freed in output.taskEnded(task) where mayBegin(freed) { meetNeed(of: freed) }
            skipAll()
        }
        failures.count(outcome, isTolerated: tolerated)
        if plan.failFast, outcome == .failed, !tolerated, runEnding.stop == nil { failFast() }
        stopIfTooManyFailed()
    }

    /// Cancels the rest of the run where `limits.stopWhen` says so.
    mutating func stopIfTooManyFailed() {
        guard runEnding.stop == nil, failures.isTooLarge else { return }
        failFast(.stoppedByShare(failed: failures.failed, ended: failures.ended))
    }

    /// What the end of a task means for those that need it.
    private func needEnd(
        of task: TaskIndex, _ outcome: TaskOutcome, isGood: Bool, _ error: TransferError?, _ deferral: Deferral?,
        _ own: Blame?
    ) -> NeedEnd {
        if isGood { return .good }
        let blame = Blame(.task(task), outcome, for: own)
        return outcome == .skipped && error == nil ? .passedOver(blame) : .bad(deferral, blame)
    }

    /// Closes one need of a blocked task, which may begin when that was the last.
    private mutating func meetNeed(of task: TaskIndex) {
        let index = Int(task.raw)
        guard tasks[index].phase == .blocked, needs.meetNeed(of: task) else { return }
        if let skip = skip(for: task) { return needs.skip(skip) }
        leavePhase(index)
        makeReady(task)
    }

    private func isTolerated(_ rule: AllowFailure, _ status: Int?) -> Bool {
        switch rule {
        case .no: false
        case .any: true
        case .statuses(let statuses): status.map { statuses.contains($0) } ?? false
        }
    }

    /// Lets go the tasks that waited for an end, or skips them where it was not good; for an end that was put off they
    /// are put off as well. A task with a `when` may take any end. Members of `group` were let go before. Once the run
    /// is ending, tasks that wait are ended with it.
    mutating func release(_ waiting: ArraySlice<TaskIndex>, _ end: NeedEnd, unlessIn group: GroupIndex? = nil) {
        guard mayStart else { return }
        for dependant in waiting {
            let index = Int(dependant.raw)
            guard tasks[index].phase == .blocked, group == nil || plan.tasks[index].group != group, mayBegin(dependant)
            else { continue }
            if let skip = skip(dependant, for: end) {
                if !endsWithGroup(index) { needs.skip(skip) }
                continue
            }
            meetNeed(of: dependant)
        }
        skipAll()
    }

    /// Whether the task ends with its broken group instead of being skipped: it began in an earlier process, when the
    /// members that it needs were verified.
    private func endsWithGroup(_ index: Int) -> Bool {
        guard tasks[index].attempt > 0, let group = plan.tasks[index].group else { return false }
        return groups.isBroken(group)
    }

    /// Ends the tasks whose needs were not met, and those that need them in turn.
    mutating func skipAll() {
        guard needs.beginSkipping() else { return }
        while let skip = needs.popSkip() {
            // It may need several that did not succeed.
            guard tasks[skip.task].phase == .blocked else { continue }
            leavePhase(Int(skip.task.raw))
            guard skip.deferral == nil else {
                finish(skip.task, .deferred, nil, nil, skip.deferral)
                continue
            }
            let error = TransferError(.dependencyFailed, "a task it needs did not succeed")
            finish(skip.task, .skipped, skip.isHarmless ? nil : error, nil, blame: skip.blame)
        }
    }

    /// A task of another run has ended; `waiting` names each task that needs it, once for each need. Tasks that are
    /// skipped because of it blame it by `number`.
    package mutating func outsideEnded(
        _ waiting: [TaskIndex], succeeded: Bool, deferral: Deferral? = nil, number: Int = 0, now: Now
    ) {
        clock.set(now)
        release(needs.outsideEnded(waiting)[...], succeeded ? .good : .bad(deferral, Blame(.outside(number))))
    }

    /// A task of another run failed. With `failFast` that ends this run, whether or not a task here needs it.
    package mutating func failedOutside(now: Now) {
        clock.set(now)
        if plan.failFast, runEnding.stop == nil { failFast() }
    }

    // MARK: The run

    /// The first failure ends the run early: sessions that say so cancel what runs, others let it finish. Tasks whose
    /// `when` runs after a failure go on as ever.
    mutating func failFast(_ error: TransferError = .cancelledByFailFast) {
        guard runEnding.begin(.failing) else { return }
        endEarly(.cancelled, error, nil)
    }

    /// A limit of the run puts off what is left to the next run.
    mutating func deferAll(_ reason: Deferral, evenRunning: Bool) {
        guard runEnding.begin(.deferring(reason), evenRunning: evenRunning || goesOnAfterFailure) else { return }
        endEarly(.deferred, nil, reason, evenRunning: evenRunning)
    }

    private mutating func endEarly(
        _ outcome: TaskOutcome, _ error: TransferError?, _ deferral: Deferral?, evenRunning: Bool = false
    ) {
        for index in tasks.indices {
            let task = TaskIndex(raw: UInt32(index))
            let mayFinish = !evenRunning && !plan.sessions[Int(plan.tasks[index].session.raw)].cancelsOnInvalidation
            if goesOnAfterFailure, mayBegin(task) { continue }
            switch tasks[index].phase {
            case .running where mayFinish && !runEnding.isInterrupted(task): continue
            // All that counts of it has moved, and only its answer tells what became of it.
            case .running where deferral == .maximumBytes && bytes.awaitsAnswerToBody(task): continue
            // Whether its group comes to its end is seen when those that run have come to theirs.
            case .staged: continue
            default: end(task, .finish(outcome, error, deferral))
            }
        }
    }

    mutating func stopAll(_ error: TransferError) {
        guard runEnding.begin(.cancelling(error)) else { return }
        for index in tasks.indices {
            let task = TaskIndex(raw: UInt32(index))
            let told = error.isByRunTimeout ? timedOut(task, otherwise: error) : error
            end(task, .finish(.cancelled, told, nil))
        }
    }
}
