import TransferModel

// What one task finds out about a host on behalf of all that wait for it.

extension Scheduler {
    /// A failed probe was tried on behalf of all that wait for the host: it counts as an attempt of each. So a dead host
    /// ends its tasks as soon as each would have ended alone, without each of them knocking.
    ///
    /// But a host that hangs up may do so at what it was asked, and fails nobody for that who was never tried: when that is
    /// all that is left, the host is opened, until `ownTries` of the plan show that it hangs up at all.
    ///
    /// Only when the probe's own task has been settled: an end may take others of its group with it.
    mutating func chargeProbes() {
        while let (origin, error) = probesToCharge.popLast() { chargeProbe(origin, error) }
    }

    /// Probes that failed while it waited, since the host answered last.
    func charges(on task: TaskIndex, at origin: OriginID) -> UInt32 {
        let state = origins[Int(origin.raw)]
        return state.failedProbes - max(tasks[Int(task.raw)].failedProbes, state.forgivenProbes)
    }

    private mutating func chargeProbe(_ origin: OriginID, _ error: TransferError) {
        var lost: [TaskIndex] = []
        for lane in origins[Int(origin.raw)].lanes {
            lost += lanes[lane].queued { task in
                let state = tasks[Int(task.raw)]
                guard isQueued(task, in: lane), !isMirrored(task) else { return false }
                let tries = state.tries + state.chargedProbes + charges(on: task, at: origin)
                return Int(tries) >= mostTries(of: task, after: error)
            }
        }
        var spared = lost.count { hasOwnTry($0, at: origin, after: error) }
        var told = error
        told.message += " (found by another task: the host fails again and again)"
        for task in lost where !hasOwnTry(task, at: origin, after: error) { end(task, .finish(.failed, told, nil)) }
        spared += chargeMirrors(origin, told)
        if spared > 0 { giveOwnTries(at: origin) }
    }

    /// Nobody but the task itself can find out whether the host answers it.
    func hasOwnTry(_ task: TaskIndex, at origin: OriginID, after error: TransferError) -> Bool {
        error.name.saysHungUp && tasks[Int(task.raw)].attempt == 0 && origins[Int(origin.raw)].ownTries == .notYet
    }

    private mutating func giveOwnTries(at origin: OriginID) {
        let number = Int(origin.raw)
        origins[number].ownTries = .left(
            origins[number].hasAnswered ? plan.ownTries.answered : plan.ownTries.unanswered)
        setQuiet(number, .no)
        for lane in origins[number].lanes { refresh(lane) }
        noteAll(lanesOf: origin)
    }

    /// What refuses or is not found is not about what was asked: then, too, nobody else has to try.
    mutating func ownTryFailed(
        of task: TaskIndex, _ error: TransferError, _ origin: OriginID, _ policy: RetryPolicy, left: Int
    ) {
        let number = Int(origin.raw)
        // Streams of one connection end with it: that shows what one of them did.
        let isOneOfMany = lanes[Int(tasks[Int(task.raw)].lane)].isShared && !beginsRound(task, number)
        if error.name.saysHungUp, isOneOfMany || left > 1 {
            origins[number].ownTries = .left(isOneOfMany ? left : left - 1)
            return
        }
        origins[number].ownTries = .spent
        parkUnanswered(origin, policy)
        probesToCharge.append((origin, error))
    }
}
