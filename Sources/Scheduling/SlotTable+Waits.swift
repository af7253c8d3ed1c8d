import TransferModel

// The waits of tasks for slots, which the clocks of lanes and sessions account for.

extension SlotTable {
    /// Begins the wait of a task in a lane's queue.
    func beginQueueWait(of task: inout TaskState, in lane: Int, at now: Instant) {
        beginWait(of: &task, in: lane, at: now)
        task.sessionFullClock = sessions[session(of: lane)].fullClock.reading(at: now)
        if let origin = lanes[lane].origin { task.failedProbes = self[origin].health.failedProbes }
    }

    /// Begins the wait of a task for a slot of the lane.
    func beginWait(of task: inout TaskState, in lane: Int, at now: Instant) {
        task.lane = Int32(lane)
        task.since = now
        task.laneClock = lanes[lane].reading(at: now)
    }

    /// Adds the time in a lane's queue to the task's waits: for what closed the lane, else for the session's limit
    /// while that was reached, else for the run's.
    func endQueueWait(of task: inout TaskState, at now: Instant) {
        let rest = addClosedTime(to: &task, at: now)
        guard rest > .zero else { return }
        let clock = sessions[session(of: Int(task.lane))].fullClock.reading(at: now)
        let sessionFull = min(rest, clock - task.sessionFullClock)
        task.addWait(.sessionLimit, sessionFull)
        task.addWait(.runLimit, rest - sessionFull)
    }

    /// Ends a running attempt's wait for a slot, whether or not it got one.
    func endSlotWait(of task: inout TaskState, at now: Instant) {
        task.slot = .none
        task.waitInAttempt += now - task.since
        let rest = addClosedTime(to: &task, at: now)
        task.addWait(.hostLimit, rest)
    }

    /// Adds the time in which the lane was closed to the task's waits. Returns the rest of the time since the wait
    /// began.
    private func addClosedTime(to task: inout TaskState, at now: Instant) -> TimeSpan {
        var rest = now - task.since
        guard rest > .zero else { return .zero }
        let spent = lanes[Int(task.lane)].reading(at: now) &- task.laneClock
        for number in spent.indices where spent[number] > 0 {
            guard let closure = WaitLedger.Closure(rawValue: number) else { continue }
            task.addWait(closure.reason, TimeSpan(nanoseconds: spent[number]))
            rest = rest - TimeSpan(nanoseconds: spent[number])
        }
        return rest
    }

    /// Whether none of the hosts answered in this run. A place that needs no connection has no host, and has answered.
    func areUnanswered(_ origins: [OriginID?]) -> Bool {
        origins.allSatisfy { origin in
            guard let origin, Int(origin.raw) < hosts.count else { return false }
            return !self[origin].health.hasAnswered
        }
    }
}
