import TransferModel

// What holds a task back beside needs and limits: `earliestBegin`, its window, a command; and the clock of
// `timeoutForResource`.

extension Scheduler {
    /// The task's needs are met: it enters the phase of what else holds it back, or its lane.
    mutating func makeReady(_ task: TaskIndex) {
        let index = Int(task.raw)
        if let suspension = run.tasks[index].suspension {
            enterSuspended(task, suspension)
            // What a command did was told when it did it.
            if suspension == .byFile { run.actions.append(.waiting(task, .suspended)) }
        } else if isTemplate(task) {
            beginToExpand(task)
        } else if awaitEarliestBegin(task) {
            run.tasks.enter(.held, index, at: run.now.instant)
            if !run.plan.putsOffWhatWaits { run.actions.append(.waiting(task, .earliestBegin)) }
            postpone(task, .earliestBegin)
        } else if run.tasks[index].backoff.end > run.now.instant {
            if !attempts.isWindowClosed(for: task, run) { run.startResourceClock(task) }
            // The task was suspended in its back-off.
            run.tasks.enter(.backingOff, index, at: run.now.instant)
            run.timers.add(
                Timer(
                    due: run.tasks[index].backoff.end, kind: .retry, index: task.raw, attempt: run.tasks[index].attempt)
            )
            run.actions.append(.waiting(task, run.tasks[index].backoff.reason))
        } else {
            if !attempts.isWindowClosed(for: task, run) { run.startResourceClock(task) }
            attempts.enqueue(task, &run)
            if attempts.isWindowClosed(for: task, run) { postpone(task, .window) }
        }
    }

    // MARK: earliestBegin

    /// Whether the task's time has not come; sets the timer for it.
    private mutating func awaitEarliestBegin(_ task: TaskIndex) -> Bool {
        switch run.plan[policyOf: task].earliestBegin {
        case nil: return false
        case .afterStart(let span):
            guard run.clock.beganAt + span > run.now.instant else { return false }
            // With a timer the run would go on, though it has nothing left to do.
            guard !run.plan.putsOffWhatWaits else { return true }
            run.timers.add(Timer(due: run.clock.beganAt + span, kind: .begin, index: task.raw))
        case .at(let date):
            guard date > run.now.wall else { return false }
            guard !run.plan.putsOffWhatWaits else { return true }
            run.timers.add(DateTimer(due: date, kind: .begin, index: task.raw))
        }
        return true
    }

    mutating func begin(_ task: TaskIndex) {
        let index = Int(task.raw)
        guard run.tasks[index].phase == .held else { return }
        attempts.leavePhase(task, &run)
        makeReady(task)
    }

    // MARK: Suspended

    mutating func suspend(_ task: TaskIndex) -> Bool {
        let index = Int(task.raw)
        guard !run.tasks[index].isFinished, run.tasks[index].phase != .staged, run.tasks[index].suspension == nil else {
            return false
        }
        switch run.tasks[index].phase {
        // The needs of a blocked task are met while it is suspended.
        case .blocked, .suspended, .staged, .finished: break
        case .expanding where expansions.isHeld(task): break
        case .running:
            guard !runEnding.isEnding(task) else { return false }
            interrupt(task)
        // An expansion is worked out anew when the template is resumed.
        case .held, .queued, .backingOff, .awaitingConditions, .expanding: attempts.leavePhase(task, &run)
        }
        run.tasks[index].suspension = .byCommand
        // At once, also while it is blocked: a process that restores the run from its events must know it.
        run.actions.append(.waiting(task, .suspended))
        switch run.tasks[index].phase {
        case .running, .blocked: break
        case .expanding where expansions.isHeld(task): break
        default: enterSuspended(task, .byCommand)
        }
        return true
    }

    /// Ends the running attempt; the task begins again when it may.
    mutating func interrupt(_ task: TaskIndex) {
        if comesToItsEnd(task) { return }
        guard runEnding.end(task, .interrupt) == .new else { return }
        run.actions.append(.perform(.cancel(task, keepPartial: true)))
    }

    /// Whether the running task must not be interrupted. The server may have acted on a request that must not be sent
    /// twice. A body that waits for standard output needs no network any more, and part of it may be written already.
    func comesToItsEnd(_ task: TaskIndex) -> Bool {
        output.isAwaiting(task)
            || !run.plan.unrepeatable.isEmpty && run.plan.unrepeatable.contains(task) && !run.tasks[task].awaitsRecord
    }

    mutating func enterSuspended(_ task: TaskIndex, _ suspension: TaskState.Suspension) {
        run.stopResourceClock(task)
        attempts.retries.stop(task, at: run.now.instant)
        run.tasks.enter(.suspended(suspension), Int(task.raw), at: run.now.instant)
    }

    mutating func resume(_ task: TaskIndex) -> Bool {
        let index = Int(task.raw)
        guard !run.tasks[index].isFinished, run.tasks[index].suspension != nil else { return false }
        run.tasks[index].suspension = nil
        run.actions.append(.resumed(task))
        if case .suspended = run.tasks[index].phase { makeReady(task) }
        return true
    }

    /// The task's body waits for its turn on standard output, which may be slow without any fault of its host.
    mutating func awaitsOutput(_ task: TaskIndex) {
        let index = Int(task.raw)
        guard run.tasks[index].phase == .running, output.awaitsTurn(task) else { return }
        run.stopResourceClock(task)
    }

    /// Puts off what is left when only `suspended: true` holds it back: only a next run could resume it.
    mutating func deferTheSuspended() {
        // A group that is being published will still finish tasks.
        guard run.tasks.suspendedByFileCount > 0,
            finishedCount + run.tasks.idleCount + output.awaitingCount == run.tasks.count,
            !groups.areAnyPublishing, !needs.waitsForOtherRuns, !run.plan.waitsForResume
        else { return }
        // Bodies that wait for a suspended task's turn on standard output come next, and what needs them after those.
        guard output.awaitingCount == 0 else {
            for index in run.tasks.indices {
                guard case .suspended = run.tasks[index].phase else { continue }
                end(TaskIndex(raw: UInt32(index)), .finish(.deferred, nil, .suspended))
            }
            return
        }
        guard runEnding.begin(.deferring(.suspended), evenRunning: true) else { return }
        for index in run.tasks.indices {
            end(TaskIndex(raw: UInt32(index)), .finish(.deferred, nil, .suspended))
        }
    }

    // MARK: Windows

    mutating func readWindows() {
        for session in attempts.slots.sessions.indices { readWindow(session) }
    }

    mutating func readWindow(_ session: Int) {
        guard let window = run.plan.sessions[session].window else { return }
        let state = window.state(at: run.now.wall)
        if let change = state.changesAt {
            run.timers.add(DateTimer(due: change, kind: .window, index: UInt32(session)))
        }
        guard attempts.slots.setWindow(session, isOpen: state.isOpen, at: run.now.instant, &run.timers) else { return }
        for (index, task) in run.plan.tasks.enumerated() where Int(task.session.raw) == session {
            if state.isOpen { opened(index) } else { closed(index) }
        }
    }

    private mutating func closed(_ index: Int) {
        let task = TaskIndex(raw: UInt32(index))
        attempts.retries.stop(task, at: run.now.instant)
        switch run.tasks[index].phase {
        case .running where !runEnding.isEnding(task) && !comesToItsEnd(task):
            guard !run.plan.putsOffWhatWaits else {
                end(task, .finish(.deferred, nil, .window))
                return
            }
            interrupt(task)
            run.actions.append(.waiting(task, .window))
            run.stopResourceClock(task)
        case .queued:
            run.stopResourceClock(task)
            // Before its creation it stands in no lane, and may have to wait for others.
            if run.tasks[index].lane >= 0 { postpone(task, .window) }
        case .backingOff, .awaitingConditions: run.stopResourceClock(task)
        default: break
        }
    }

    private mutating func opened(_ index: Int) {
        let task = TaskIndex(raw: UInt32(index))
        switch run.tasks[index].phase {
        case .queued, .backingOff: run.startResourceClock(task)
        case .awaitingConditions(let reason): if reason == .network { run.runResourceClock(task) }
        case .blocked, .held, .suspended, .running, .staged, .expanding, .finished: break
        }
    }

    // MARK: Networks and power

    /// Interrupts discretionary tasks whose terms are not met any more, and lets go those that need not wait.
    mutating func conditionsChanged(to news: Conditions) {
        if attempts.conditions.change(to: news) {
            for task in attempts.conditions.discretionary.sorted() { interruptIfShort(task) }
        }
        for task in attempts.conditions.takeWaiting() where attempts.conditionsChanged(for: task, &run) {
            makeReady(task)
        }
    }

    /// Interrupts a discretionary task that has to wait for other conditions. Where no permitted network is left at
    /// all, its executor ends it.
    private mutating func interruptIfShort(_ task: TaskIndex) {
        guard run.tasks[task].phase == .running, run.tasks[task].isCounted, !runEnding.isEnding(task),
            !comesToItsEnd(task),
            let shortage = attempts.awaitedShortage(of: task, at: attempts.origin(of: task, run), run)
        else { return }
        if run.plan.putsOffWhatWaits {
            end(task, .finish(.deferred, nil, shortage.deferral))
        } else {
            interrupt(task)
        }
    }
}
