import TransferModel

// What holds a task back beside needs and limits: `earliestBegin`, its window, a command; and the clock of
// `timeoutForResource`.

extension Scheduler {
    /// The task's needs are met: it enters the phase of what else holds it back, or its lane.
    mutating func makeReady(_ task: TaskIndex) {
        let index = Int(task.raw)
        if let suspension = tasks[index].suspension {
            enterSuspended(index, suspension)
            // What a command did was told when it did it.
            if suspension == .byFile { actions.append(.waiting(task, .suspended)) }
        } else if isTemplate(task) {
            beginToExpand(task)
        } else if setBegin(task) {
            tasks.enter(.held, index, at: now.instant)
            if !plan.putsOffWhatWaits { actions.append(.waiting(task, .earliestBegin)) }
            postpone(task, .earliestBegin)
        } else if tasks[index].backoff.end > now.instant {
            if !isClosed(index) { startResourceClock(task) }
            // It was suspended in its back-off.
            tasks.enter(.backingOff, index, at: now.instant)
            timers.add(
                Timer(due: tasks[index].backoff.end, kind: .retry, index: task.raw, attempt: tasks[index].attempt))
            actions.append(.waiting(task, tasks[index].backoff.reason))
        } else {
            if !isClosed(index) { startResourceClock(task) }
            enqueue(task)
            if isClosed(index) { postpone(task, .window) }
        }
    }

    func isClosed(_ index: Int) -> Bool { slots.sessions[Int(plan.tasks[index].session.raw)].isClosed }

    // MARK: earliestBegin

    /// Whether the task's time has not come; sets the timer for it.
    private mutating func setBegin(_ task: TaskIndex) -> Bool {
        switch plan.policies[policyNumber(of: task)].earliestBegin {
        case nil: return false
        case .afterStart(let span):
            guard clock.beganAt + span > now.instant else { return false }
            // Or the run would be waited for, though it has nothing left to do.
            guard !plan.putsOffWhatWaits else { return true }
            timers.add(Timer(due: clock.beganAt + span, kind: .begin, index: task.raw))
        case .at(let date):
            guard date > now.wall else { return false }
            guard !plan.putsOffWhatWaits else { return true }
            timers.add(DateTimer(due: date, kind: .begin, index: task.raw))
        }
        return true
    }

    mutating func begin(_ task: TaskIndex) {
        let index = Int(task.raw)
        guard tasks[index].phase == .held else { return }
        leavePhase(index)
        makeReady(task)
    }

    // MARK: Suspended

    mutating func suspend(_ task: TaskIndex) -> Bool {
        let index = Int(task.raw)
        guard !tasks[index].isFinished, tasks[index].phase != .staged, tasks[index].suspension == nil else {
            return false
        }
        switch tasks[index].phase {
        // The needs of a blocked task are met while it is suspended.
        case .blocked, .suspended, .staged, .finished: break
        case .expanding where expansions.isHeld(task): break
        case .running:
            guard !runEnding.isEnding(task) else { return false }
            interrupt(task)
        // An expansion is worked out anew when the template is resumed.
        case .held, .queued, .backingOff, .awaitingConditions, .expanding: leavePhase(index)
        }
        tasks[index].suspension = .byCommand
        // At once, also while it is blocked: a process that restores the run from its events must know it.
        actions.append(.waiting(task, .suspended))
        switch tasks[index].phase {
        case .running, .blocked: break
        case .expanding where expansions.isHeld(task): break
        default: enterSuspended(index, .byCommand)
        }
        return true
    }

    /// It begins again when it may.
    mutating func interrupt(_ task: TaskIndex) {
        if comesToItsEnd(task) { return }
        guard runEnding.end(task, .interrupt) == .new else { return }
        actions.append(.perform(.cancel(task, keepPartial: true)))
    }

    /// What it sent may have been heard: to begin again would do it twice. A body that waits for standard output needs
    /// no network any more, and part of it may be written already.
    func comesToItsEnd(_ task: TaskIndex) -> Bool {
        output.isAwaiting(task)
            || !plan.unrepeatable.isEmpty && plan.unrepeatable.contains(task) && !unsent.contains(task)
    }

    private mutating func enterSuspended(_ index: Int, _ suspension: TaskState.Suspension) {
        stopResourceClock(index)
        retries.stop(TaskIndex(raw: UInt32(index)), at: now.instant)
        tasks.enter(.suspended(suspension), index, at: now.instant)
    }

    /// The server asked for a credential that is not known: the attempt counts as no try, and the task waits to be
    /// resumed.
    mutating func awaitCredential(_ task: TaskIndex, _ error: TransferError) {
        let index = Int(task.raw)
        tellsNothing(task)
        if isFreshRound(task) { tasks[index].tries -= 1 }
        actions.append(
            .attemptEnded(
                task,
                AttemptEnd(outcome: .failed, error: error, backoff: nil, held: tasks[index].takeWaitInAttempt())))
        actions.append(.waiting(task, .credential))
        tasks[index].suspension = .forCredential
        enterSuspended(index, .forCredential)
    }

    mutating func resume(_ task: TaskIndex) -> Bool {
        let index = Int(task.raw)
        guard !tasks[index].isFinished, tasks[index].suspension != nil else { return false }
        tasks[index].suspension = nil
        actions.append(.resumed(task))
        if case .suspended = tasks[index].phase { makeReady(task) }
        return true
    }

    /// The task's body waits for its turn on standard output, which may be slow without any fault of its host.
    mutating func awaitsOutput(_ task: TaskIndex) {
        let index = Int(task.raw)
        guard tasks[index].phase == .running, output.awaitsTurn(task) else { return }
        stopResourceClock(index)
    }

    /// Puts off what is left when only `suspended: true` holds it back: only a next run could resume it.
    mutating func deferTheSuspended() {
        // A group that is being published will still finish tasks.
        guard tasks.suspendedByFileCount > 0, finishedCount + tasks.idleCount + output.awaitingCount == tasks.count,
            !groups.areAnyPublishing, !needs.waitsForOtherRuns, !plan.waitsForResume
        else { return }
        // Bodies that wait for a suspended task's turn on standard output come next, and what needs them after those.
        guard output.awaitingCount == 0 else {
            for index in tasks.indices {
                guard case .suspended = tasks[index].phase else { continue }
                end(TaskIndex(raw: UInt32(index)), .finish(.deferred, nil, .suspended))
            }
            return
        }
        guard runEnding.begin(.deferring(.suspended), evenRunning: true) else { return }
        for index in tasks.indices {
            end(TaskIndex(raw: UInt32(index)), .finish(.deferred, nil, .suspended))
        }
    }

    // MARK: Windows

    mutating func readWindows() {
        for session in slots.sessions.indices { readWindow(session) }
    }

    mutating func readWindow(_ session: Int) {
        guard let window = plan.sessions[session].window else { return }
        let state = window.state(at: now.wall)
        if let change = state.changesAt {
            timers.add(DateTimer(due: change, kind: .window, index: UInt32(session)))
        }
        guard slots.setWindow(session, isOpen: state.isOpen, at: now.instant, &timers) else { return }
        for (index, task) in plan.tasks.enumerated() where Int(task.session.raw) == session {
            if state.isOpen { opened(index) } else { closed(index) }
        }
    }

    private mutating func closed(_ index: Int) {
        let task = TaskIndex(raw: UInt32(index))
        retries.stop(task, at: now.instant)
        switch tasks[index].phase {
        case .running where !runEnding.isEnding(task) && !comesToItsEnd(task):
            guard !plan.putsOffWhatWaits else {
                end(task, .finish(.deferred, nil, .window))
                return
            }
            interrupt(task)
            actions.append(.waiting(task, .window))
            stopResourceClock(index)
        case .queued:
            stopResourceClock(index)
            // Before its creation it stands in no lane, and may have to wait for others.
            if tasks[index].lane >= 0 { postpone(task, .window) }
        case .backingOff, .awaitingConditions: stopResourceClock(index)
        default: break
        }
    }

    private mutating func opened(_ index: Int) {
        let task = TaskIndex(raw: UInt32(index))
        switch tasks[index].phase {
        case .queued, .backingOff: startResourceClock(task)
        case .awaitingConditions(let reason): if reason == .network { runResourceClock(task) }
        case .blocked, .held, .suspended, .running, .staged, .expanding, .finished: break
        }
    }

    // MARK: timeoutForResource

    mutating func beginResourceClock(_ task: TaskIndex) {
        tasks[task].resourceClock.begin(left: plan.policies[policyNumber(of: task)].timeoutForResource)
        startResourceClock(task)
    }

    /// Lets the clock run, if it has begun: nothing but the network holds the task back.
    mutating func startResourceClock(_ task: TaskIndex) {
        guard let due = tasks[task].resourceClock.start(at: now.instant) else { return }
        timers.add(Timer(due: due, kind: .resource, index: task.raw))
    }

    /// Lets the clock run, whether or not it has begun.
    mutating func runResourceClock(_ task: TaskIndex) {
        if tasks[task].resourceClock.hasBegun { startResourceClock(task) } else { beginResourceClock(task) }
    }

    mutating func stopResourceClock(_ index: Int) {
        if tasks[index].resourceClock.stop(at: now.instant) { timers.noteVoid() }
    }

    // MARK: Bandwidth

    mutating func moved(_ task: TaskIndex, _ bytes: Int64) {
        bandwidth?.moved(task, bytes)
        bytesMoved(task)
        measureBytes(task, bytes)
        if self.bytes.spend(bytes) { deferAll(.maximumBytes, evenRunning: true) }
    }

    mutating func shareBandwidth() {
        guard let shares = bandwidth?.tick(clock.now) else { return }
        for share in shares { actions.append(.perform(.credit(share.task, bytes: share.bytes))) }
    }
}
