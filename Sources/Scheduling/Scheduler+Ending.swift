package import TransferModel

// The end of a task, and of the run before its tasks.

extension Scheduler {
    /// Ends a task before its attempt comes to its own end. Returns whether that had an effect.
    @discardableResult
    mutating func end(_ task: TaskIndex, _ ending: Ending, keepPartial: Bool = true) -> Bool {
        let index = Int(task.raw)
        switch run.tasks[index].phase {
        case .finished: return false
        case .running:
            switch runEnding.end(task, ending) {
            case .tooLate: return false
            case .replacesInterruption: return true
            case .new:
                run.actions.append(.perform(.cancel(task, keepPartial: keepPartial)))
                return true
            }
        case .staged: return endStaged(task, ending)
        case .expanding where expansions.isHeld(task):
            expansions.endHeld(ending)
            return true
        case .blocked, .held, .suspended, .queued, .backingOff, .awaitingConditions, .expanding:
            attempts.leavePhase(task, &run)
        }
        return finish(task, ending, nil)
    }

    /// Finishes the task as it was told to end. Returns `false` where it was not, or is only interrupted.
    @discardableResult
    mutating func finish(_ task: TaskIndex, _ ending: Ending?, _ status: Int?) -> Bool {
        guard case .finish(let outcome, let error, let deferral)? = ending else { return false }
        finish(task, outcome, error, status, deferral)
        return true
    }

    /// While its group is put in place there is nothing left to stop, but for a wait.
    private mutating func endStaged(_ task: TaskIndex, _ ending: Ending) -> Bool {
        guard let group = run.plan.tasks[Int(task.raw)].group,
            case .finish(let outcome, let error, let deferral) = ending
        else { return false }
        guard !groups.isPublishing(group) else { return giveUp(group, for: task, ending) }
        finish(task, outcome, error, nil, deferral)
        breakUp(group, deferral)
        return true
    }

    mutating func finish(
        _ task: TaskIndex, _ outcome: TaskOutcome, _ error: TransferError?, _ status: Int?, _ deferral: Deferral? = nil,
        blame: Blame? = nil
    ) {
        let index = Int(task.raw)
        let wasStaged = run.tasks[index].phase == .staged
        let staged = wasStaged ? run.now.instant - run.tasks[index].since : .zero
        run.tasks.enter(.finished(outcome), index, at: run.now.instant)
        if run.tasks[index].resourceClock.isRunning { run.timers.timerBecameVoid() }
        let tolerated = outcome == .failed && run.plan[policyOf: task].allowFailure.tolerates(status)
        let end = needEnd(of: task, outcome, isGood: outcome == .succeeded || tolerated, error, deferral, blame)
        if !run.plan.templates.isEmpty { expansions.ended(task, end) }
        let created = expansions.creation(of: task) ?? run.clock.beganAt
        run.actions.append(
            .finished(
                task,
                Conclusion(
                    outcome: outcome, error: error, tolerated: tolerated, waits: run.tasks[index].waits,
                    attempts: Int(run.tasks[index].attempt), duration: run.now.instant - created,
                    held: run.tasks[index].waitInAttempt, staged: staged, deferral: deferral, blame: blame,
                    triedFor: attempts.retries.triedSince(task).map { run.now.instant - $0 })))
        attempts.retries.forget(task)
        run.tasks[index].waits = []
        needs.ended(task)
        if !attempts.mirrors.isEmpty { attempts.mirrors[task] = nil }
        if !wasStaged, let group = run.plan.tasks[index].group {
            memberEnded(group, isMissing: !tolerated, deferral, error)
        }
        if mayStart {
            release(needs.dependants(of: task), end, unlessIn: wasStaged ? run.plan.tasks[index].group : nil)
            for freed in output.taskEnded(task) where mayBegin(freed) { meetNeed(of: freed) }
            skipAll()
        }
        runEnding.failures.count(outcome, isTolerated: tolerated)
        if run.plan.failFast, outcome == .failed, !tolerated, runEnding.stop == nil { failFast() }
        stopIfTooManyFailed()
    }

    /// Cancels the rest of the run where `limits.stopWhen` says so.
    mutating func stopIfTooManyFailed() {
        guard runEnding.stop == nil, runEnding.failures.isTooLarge else { return }
        failFast(.stoppedByShare(failed: runEnding.failures.failed, ended: runEnding.failures.ended))
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
        guard run.tasks[task].phase == .blocked, needs.meetNeed(of: task) else { return }
        if let skip = needs.allNeedsEnded(of: task, when: run.plan[policyOf: task].when) { return needs.skip(skip) }
        attempts.leavePhase(task, &run)
        makeReady(task)
    }

    /// Lets go the tasks that waited for an end, or skips them where it was not good; for an end that was put off they
    /// are put off as well. A task with a `when` may take any end. Members of `group` were let go before. Once the run
    /// is ending, tasks that wait are ended with it.
    mutating func release(_ waiting: ArraySlice<TaskIndex>, _ end: NeedEnd, unlessIn group: GroupIndex? = nil) {
        guard mayStart else { return }
        for dependant in waiting {
            let index = Int(dependant.raw)
            guard run.tasks[index].phase == .blocked, group == nil || run.plan.tasks[index].group != group,
                mayBegin(dependant)
            else { continue }
            if let skip = needs.needEnded(of: dependant, end, when: run.plan[policyOf: dependant].when) {
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
        guard run.tasks[index].attempt > 0, let group = run.plan.tasks[index].group else { return false }
        return groups.isBroken(group)
    }

    /// Ends the tasks whose needs were not met, and those that need them in turn.
    mutating func skipAll() {
        guard needs.beginSkipping() else { return }
        while let skip = needs.popSkip() {
            // A task that needs several which did not succeed is skipped once.
            guard run.tasks[skip.task].phase == .blocked else { continue }
            attempts.leavePhase(skip.task, &run)
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
        run.clock.set(now)
        release(needs.outsideEnded(waiting)[...], succeeded ? .good : .bad(deferral, Blame(.outside(number))))
    }

    /// A task of another run failed. With `failFast` that ends this run, whether or not a task here needs it.
    package mutating func failedOutside(now: Now) {
        run.clock.set(now)
        if run.plan.failFast, runEnding.stop == nil { failFast() }
    }

    // MARK: The run

    /// Whether the run was ended by a failure and goes on for the tasks whose `when` runs after one.
    var goesOnAfterFailure: Bool { runEnding.stop == .failing && needs.haveTasksAfterFailure }

    /// Whether any task may still start.
    var mayStart: Bool { runEnding.stop == nil || goesOnAfterFailure }

    /// Whether the task may still start, or begin again.
    func mayBegin(_ task: TaskIndex) -> Bool {
        runEnding.stop == nil || goesOnAfterFailure && run.plan[policyOf: task].when?.runsAfterFailure == true
    }

    /// What becomes of a task that would begin again.
    func nextTry(of task: TaskIndex) -> RunEnding.NextTry { mayBegin(task) ? .allowed : runEnding.nextTry }

    /// The first failure ends the run early: sessions that say so cancel what runs, others let it finish. Tasks whose
    /// `when` runs after a failure go on as ever.
    mutating func failFast(_ error: TransferError = .cancelledByFailFast) {
        guard runEnding.begin(.failing) else { return }
        endEarly(.cancelled, error, nil)
    }

    /// All bytes moved that the run may move.
    mutating func endOfBytes() {
        guard let error = run.plan.bytesAreSpent else { return deferAll(.maximumBytes, evenRunning: true) }
        stopAll(error)
    }

    /// A limit of the run puts off what is left to the next run.
    mutating func deferAll(_ reason: Deferral, evenRunning: Bool) {
        guard runEnding.begin(.deferring(reason), evenRunning: evenRunning || goesOnAfterFailure) else { return }
        endEarly(.deferred, nil, reason, evenRunning: evenRunning)
    }

    private mutating func endEarly(
        _ outcome: TaskOutcome, _ error: TransferError?, _ deferral: Deferral?, evenRunning: Bool = false
    ) {
        for index in run.tasks.indices {
            let task = TaskIndex(raw: UInt32(index))
            let mayFinish = !evenRunning && !run.plan[sessionOf: task].cancelsOnInvalidation
            if goesOnAfterFailure, mayBegin(task) { continue }
            switch run.tasks[index].phase {
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
        for index in run.tasks.indices {
            let task = TaskIndex(raw: UInt32(index))
            let cause = error.isByRunTimeout ? attempts.retries.timedOut(task, otherwise: error) : error
            end(task, .finish(.cancelled, cause, nil))
        }
    }
}
