import TransferModel

// What falls due.

extension Scheduler {
    /// The run's own deadlines.
    mutating func setDeadlines() {
        if let timeout = run.plan.timeout { run.timers.add(Timer(due: run.clock.beganAt + timeout, kind: .timeout)) }
        switch run.plan.finishBy {
        case nil: break
        case .afterStart(let span): run.timers.add(Timer(due: run.clock.beganAt + span, kind: .finishBy))
        case .at(let date): run.timers.add(DateTimer(due: date, kind: .finishBy, index: 0))
        }
    }

    /// Takes in the time. A date that was set back or forth makes windows open or close out of their turn.
    mutating func beginTurn(_ now: Now) {
        if run.clock.beginTurn(now), run.plan.sessions.contains(where: { $0.window != nil }) { readWindows() }
    }

    mutating func fireTimers() {
        while let timer = run.timers.popDue(at: run.now.instant) {
            if !isVoid(timer) { fire(timer) }
        }
        while let timer = run.timers.popDue(on: run.now.wall) {
            switch timer.kind {
            case .begin: begin(TaskIndex(raw: timer.index))
            case .window: readWindow(Int(timer.index))
            case .finishBy: deferAll(.finishBy, evenRunning: false)
            }
        }
    }

    private mutating func fire(_ timer: Timer) {
        let index = Int(timer.index)
        let task = TaskIndex(raw: timer.index)
        switch timer.kind {
        case .retry:
            attempts.leavePhase(task, &run)
            makeReady(task)
        case .resource: end(task, .finish(.failed, attempts.resourceTimedOut(task, run), nil))
        case .begin: begin(task)
        case .unpark: attempts.slots.endPark(OriginID(raw: timer.index))
        case .originGate: attempts.slots.hostGateOpened(OriginID(raw: timer.index))
        case .laneGate: attempts.slots.laneGateOpened(index)
        case .timeout: stopAll(run.plan.timeIsOver)
        case .finishBy: deferAll(.finishBy, evenRunning: false)
        }
    }

    /// Whether what the timer was set for has moved on.
    private func isVoid(_ timer: Timer) -> Bool {
        let index = Int(timer.index)
        switch timer.kind {
        case .retry: return run.tasks[index].phase != .backingOff || run.tasks[index].attempt != timer.attempt
        case .resource:
            return run.tasks[index].isFinished || run.tasks[index].phase == .staged
                || !run.tasks[index].resourceClock.ends(at: timer.due)
        case .begin: return run.tasks[index].phase != .held
        case .unpark, .originGate, .laneGate: return attempts.slots.isVoid(timer)
        case .timeout: if case .cancelling? = runEnding.stop { return true } else { return false }
        case .finishBy: return runEnding.stop != nil && !goesOnAfterFailure
        }
    }

    /// Removes void timers, which must not wake the loop.
    mutating func removeVoidTimers() {
        // Taken out while it is cleaned: the question whether a timer is void reads the rest of the scheduler.
        var queues = TimerQueues()
        swap(&queues, &run.timers)
        queues.removeVoid { isVoid($0) }
        swap(&queues, &run.timers)
    }
}
