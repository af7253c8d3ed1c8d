import TransferModel

// Slots beside an attempt's own, for the further requests of a download in segments.

extension Scheduler {
    // MARK: What the executor reports

    mutating func couldUse(_ task: TaskIndex, _ origin: OriginID, slots wanted: Int) {
        let index = Int(task.raw)
        guard !loans.want(wanted, by: task) else { return }
        // What must be alone on its connection gains nothing by company.
        guard wanted > 0, tasks[index].phase == .running, tasks[index].slot == .held(isAlone: false) else { return }
        let lane = Int(tasks[index].lane)
        guard slots.lanes[lane].origin == origin else { return }
        loans.add(task, in: lane, at: origin, wanted: wanted)
    }

    mutating func giveBackLent(_ task: TaskIndex, wasAnswered: Bool) {
        if let slot = loans.giveBack(task, wasAnswered: wasAnswered) { giveBack(slot, of: task) }
    }

    private mutating func giveBack(_ slot: SlotLoans.Return, of task: TaskIndex) {
        if slot.ownAwaitsAnswer { tasks[task].awaitsAnswer = true }
        slots.giveBack(slot.lane, isAlone: false, wasAnswered: slot.wasAnswered, at: now.instant)
    }

    /// The attempt gives up its own slot, and with it all that it was lent.
    mutating func endLoan(_ task: TaskIndex) {
        for slot in loans.end(task) { giveBack(slot, of: task) }
    }

    // MARK: Each turn, when all has started that may

    mutating func settleLoans() {
        guard !loans.isEmpty else { return }
        for origin in loans.origins {
            var isAwaited = false
            for lane in slots[origin].lanes {
                let waiting = waitingForSlot(lane)
                guard waiting > 0 else { continue }
                isAwaited = true
                for task in loans.recall(waiting, for: lane, at: origin, in: slots, runEnding) {
                    actions.append(.perform(.recall(task, origin)))
                }
            }
            if !isAwaited { lend(at: origin) }
        }
    }

    /// How many would begin or go on in the lane at once if they had a slot.
    private mutating func waitingForSlot(_ lane: Int) -> Int {
        guard slots.lanes[lane].closure == .hostLimit else { return 0 }
        let requests = slots.lanes[lane].requests.count
        let room = slots.room(of: lane)
        guard runEnding.stop == nil, room > 0 else { return requests }
        while let head = slots.lanes[lane].head, !isQueued(head.task, in: lane) { slots.removeHead(lane) }
        return requests + min(room, slots.lanes[lane].queuedCount)
    }

    private mutating func lend(at origin: OriginID) {
        // A further request is no probe: it would tell little of a host that is not well.
        guard runEnding.stop == nil, slots[origin].health.isOpen else { return }
        while let (task, lane) = loans.lend(at: origin, in: slots, runEnding) {
            actions.append(.perform(.lend(task, origin)))
            slots.take(lane, isAlone: false, by: nil, at: now.instant, &timers)
        }
    }
}
