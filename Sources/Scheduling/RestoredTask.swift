import TransferModel

// What the events of earlier processes show of one task.

extension TaskState {
    /// Restores the counts, waits and clocks of a task that has not finished. `limit` is what held it back where no
    /// event says what did.
    mutating func restore(
        from past: TaskPast, _ policy: SchedulingPlan.TaskPolicy, isMirrored: Bool, forgivesNetwork: Bool,
        limit: WaitReason, _ clock: RunClock
    ) {
        // A round over several `urls` counts as a whole, whatever it failed by.
        if isMirrored {
            tries = UInt32(
                past.rounds(of: policy.retry.attempts ?? .max, waitsForConnectivity: policy.waitsForConnectivity))
        } else {
            tries = UInt32(past.tries - (forgivesNetwork ? past.networkTries : 0))
            networkFailures = forgivesNetwork ? UInt32(past.networkTriesInARow) : 0
        }
        waits = past.waits
        addWait(limit, past.untoldWait)
        let time = clock.now.instant - clock.beganAt
        if let open = past.open {
            attemptBeganAt = clock.beganAt + open.beganAfter
        } else if past.createdAfter != nil {
            // Its wait went on while no process carried the run.
            addWait(past.waiting ?? limit, time - past.explained)
        }
        if past.hasBegun { resourceClock.begin(left: policy.timeoutForResource - past.resourceTime(at: time)) }
        guard let retryAt = past.retryAt else { return }
        let known = past.waiting.flatMap { [.retryAfter, .processLimit].contains($0) ? $0 : nil }
        backoff = Backoff(end: clock.beganAt + retryAt, reason: known ?? .backoff)
    }
}

extension SchedulingPlan {
    /// The limit on the task that is reached first.
    func narrowestLimit(of task: TaskIndex) -> WaitReason {
        let session = self[sessionOf: task]
        let perHost = tasks[Int(task.raw)].origin == nil ? Int.max : session.maximumConnectionsPerHost
        let inSession = session.maximumConcurrentTasks ?? Int.max
        if perHost <= min(inSession, maximumConcurrentTasks) { return .hostLimit }
        return inSession <= maximumConcurrentTasks ? .sessionLimit : .runLimit
    }
}

/// An end of a task that its events imply and do not record.
enum ImpliedEnd: Sendable {
    case success(status: Int?)
    case failure(TransferError, status: Int?)

    var isSuccess: Bool { if case .success = self { true } else { false } }
}

extension TaskPast {
    /// After so many crashes in a row, in each of which the task was under way, it is taken for their cause.
    static let mostCrashes = 3

    /// The end that the task's events imply; `nil` where it goes on. `hasFile`: its file, or its group, is in place.
    /// `mayRepeat`: an attempt whose end is unknown may be repeated. `mayGoOn`: another attempt may follow a failure at
    /// once.
    func impliedEnd(
        hasFile: Bool, hasCrashed: Bool, mayRepeat: Bool, mayGoOn: (TransferError) -> Bool
    ) -> ImpliedEnd? {
        if hasFile { return .success(status: status) }
        if crashes(hasCrashed: hasCrashed) >= Self.mostCrashes { return .failure(.crashedTooOften, status: nil) }
        if open != nil, !mayRepeat { return .failure(.notSentAgain, status: nil) }
        guard open == nil, case .failed(let error)? = lastEnd, !mayGoOn(error) else { return nil }
        return .failure(error, status: status)
    }
}

extension TaskPast.Ending {
    /// What the end means for tasks that need this one.
    func meaning(of task: TaskIndex) -> NeedEnd {
        if isGood { return .good }
        let blame = Blame(.task(task), outcome)
        return isPassedOver ? .passedOver(blame) : .bad(deferral, blame)
    }
}
