import TransferModel

// Slots beside an attempt's own, for the further requests of a download in segments.

extension AttemptScheduler {
    // MARK: What the executor reports

    /// The task's attempt could use so many more slots at the origin; none any more with 0.
    mutating func couldUse(_ task: TaskIndex, _ origin: OriginID, slots wanted: Int, _ run: borrowing RunState) {
        let index = Int(task.raw)
        guard !loans.want(wanted, by: task) else { return }
        // What must be alone on its connection gains nothing by company.
        guard wanted > 0, run.tasks[index].phase == .running, run.tasks[index].slot == .held(isAlone: false) else {
            return
        }
        let lane = Int(run.tasks[index].lane)
        guard slots.lanes[lane].origin == origin else { return }
        loans.add(task, in: lane, at: origin, wanted: wanted)
    }

    /// The task's attempt gives back one lent slot.
    mutating func giveBackLent(_ task: TaskIndex, wasAnswered: Bool, _ run: inout RunState) {
        if let slot = loans.giveBack(task, wasAnswered: wasAnswered) { giveBack(slot, of: task, &run) }
    }

    private mutating func giveBack(_ slot: SlotLoans.Return, of task: TaskIndex, _ run: inout RunState) {
        if slot.ownAwaitsAnswer { run.tasks[task].awaitsAnswer = true }
        slots.giveBack(slot.lane, isAlone: false, wasAnswered: slot.wasAnswered, at: run.now.instant)
    }

    /// The attempt gives up its own slot, and with it all that it was lent.
    mutating func endLoan(_ task: TaskIndex, _ run: inout RunState) {
        for slot in loans.end(task) { giveBack(slot, of: task, &run) }
    }

    // MARK: Each turn, when all has started that may

    /// Recalls lent slots that a task or an attempt waits for, and lends those that are free.
    mutating func settleLoans(_ ending: RunEnding, _ run: inout RunState) {
        guard !loans.isEmpty else { return }
        for origin in loans.origins {
            var isAwaited = false
            for lane in slots[origin].lanes {
                let waiting = waitingForSlot(lane, ending, run)
                guard waiting > 0 else { continue }
                isAwaited = true
                for task in loans.recall(waiting, for: lane, at: origin, in: slots, ending) {
                    run.actions.append(.perform(.recall(task, origin)))
                }
            }
            if !isAwaited { lend(at: origin, ending, &run) }
        }
    }

    /// How many would begin or go on in the lane at once if they had a slot.
    private mutating func waitingForSlot(_ lane: Int, _ ending: RunEnding, _ run: borrowing RunState) -> Int {
        guard slots.lanes[lane].closure == .hostLimit else { return 0 }
        let requests = slots.lanes[lane].requests.count
        let room = slots.room(of: lane)
        guard ending.stop == nil, room > 0 else { return requests }
        while let head = slots.lanes[lane].head, !run.isQueued(head.task, in: lane) { slots.removeHead(lane) }
        return requests + min(room, slots.lanes[lane].queuedCount)
    }

    private mutating func lend(at origin: OriginID, _ ending: RunEnding, _ run: inout RunState) {
        // A further request is no probe: it would tell little of a host that is not well.
        guard ending.stop == nil, slots[origin].health.isOpen else { return }
        while let (task, lane) = loans.lend(at: origin, in: slots, ending) {
            run.actions.append(.perform(.lend(task, origin)))
            slots.takeSlot(of: lane, isAlone: false, by: nil, at: run.now.instant, &run.timers)
        }
    }
}
