import TransferModel

// What one task finds out about a host on behalf of all that wait for it.

extension Scheduler {
    /// Probes that failed while it waited, since the host answered last.
    func charges(on task: TaskIndex, at origin: OriginID) -> UInt32 {
        slots[origin].health.charges(since: tasks[task].failedProbes)
    }

    /// A failed probe was tried on behalf of all that wait for the host: it counts as an attempt of each. So a dead
    /// host ends its tasks as soon as each would have ended alone, without each of them connecting.
    ///
    /// But a host that hangs up may do so because of what it was asked: that fails no task that was never tried. When
    /// such tasks are all that is left, the host is opened for them, until `ownTries` of the plan show that it hangs up
    /// always.
    ///
    /// Only when the probe's own task has been settled: an end may take others of its group with it.
    mutating func chargeProbe(_ origin: OriginID, _ error: TransferError) {
        var lost: [TaskIndex] = []
        for lane in slots[origin].lanes {
            // One that began to wait with this probe's end was not waiting for it.
            for task in slots.lanes[lane].queued(where: { isQueued($0, in: lane) && !isMirrored($0) })
            where charges(on: task, at: origin) > 0 {
                retries.probeFailed(for: task, of: origin, at: now.instant, slots.hosts)
                let state = tasks[task]
                let tries = state.tries + state.chargedProbes + charges(on: task, at: origin)
                let isSpent = Int(tries) >= mostTries(of: task, after: error)
                if isSpent || !hasPatience(retryDeadline(of: task, at: [origin])) { lost.append(task) }
            }
        }
        var spared = lost.count { hasOwnTry($0, at: origin, after: error) }
        let told = error.foundByAnotherTask
        for task in lost where !hasOwnTry(task, at: origin, after: error) {
            let error = givenUp(task, told, at: [origin], retryDeadline(of: task, at: [origin]))
            end(task, .finish(.failed, error, nil))
        }
        spared += chargeMirrors(origin, told)
        if spared > 0 {
            slots.giveOwnTries(origin, plan.ownTries, at: now.instant, &timers)
        }
    }

    /// Whether only the task itself can find out that the host answers it.
    func hasOwnTry(_ task: TaskIndex, at origin: OriginID, after error: TransferError) -> Bool {
        error.name.saysHungUp && tasks[task].attempt == 0 && slots[origin].health.ownTries == .notYet
    }
}
