import TransferModel

// What falls due.

extension Scheduler {
    /// The run's own deadlines.
    mutating func setDeadlines() {
        if let timeout = plan.timeout { timers.add(Timer(due: clock.beganAt + timeout, kind: .timeout)) }
        switch plan.finishBy {
        case nil: break
        case .afterStart(let span): timers.add(Timer(due: clock.beganAt + span, kind: .finishBy))
        case .at(let date): timers.add(DateTimer(due: date, kind: .finishBy, index: 0))
        }
    }

    /// Takes in the time. A date that was set back or forth makes windows open or close out of their turn.
    mutating func beginTurn(_ now: Now) {
        if clock.beginTurn(now), plan.sessions.contains(where: { $0.window != nil }) { readWindows() }
    }

    mutating func fireTimers() {
        while let timer = timers.popDue(at: now.instant) {
            if !isVoid(timer) { fire(timer) }
        }
        while let timer = timers.popDue(on: now.wall) {
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
            leavePhase(index)
            makeReady(task)
        case .resource: end(task, .finish(.failed, resourceTimedOut(task), nil))
        case .begin: begin(task)
        case .unpark: slots.endPark(OriginID(raw: timer.index))
        case .originGate: slots.hostGateOpened(OriginID(raw: timer.index))
        case .laneGate: slots.laneGateOpened(index)
        case .timeout: stopAll(.runTimedOut)
        case .finishBy: deferAll(.finishBy, evenRunning: false)
        }
    }

    /// Whether what the timer was set for has moved on.
    private func isVoid(_ timer: Timer) -> Bool {
        let index = Int(timer.index)
        switch timer.kind {
        case .retry: return tasks[index].phase != .backingOff || tasks[index].attempt != timer.attempt
        case .resource:
            return tasks[index].isFinished || tasks[index].phase == .staged
                || !tasks[index].resourceClock.ends(at: timer.due)
        case .begin: return tasks[index].phase != .held
        case .unpark, .originGate, .laneGate: return slots.isVoid(timer)
        case .timeout: if case .cancelling? = runEnding.stop { return true } else { return false }
        case .finishBy: return runEnding.stop != nil && !goesOnAfterFailure
        }
    }

    /// Removes void timers, which must not wake the loop.
    mutating func removeVoidTimers() {
        // Taken out while it is cleaned: the question whether a timer is void reads the rest of the scheduler.
        var queues = TimerQueues()
        swap(&queues, &timers)
        queues.removeVoid { isVoid($0) }
        swap(&queues, &timers)
    }
}
