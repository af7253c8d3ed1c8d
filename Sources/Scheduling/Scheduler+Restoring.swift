import TransferModel

// Restores a run whose process ended from its events: which tasks have finished, the numbers of attempts, and every
// clock. Attempts that were under way are lost, and begin again.

extension Scheduler {
    /// After so many crashes in a row, in each of which the task was under way, it is taken for their cause.
    static let mostCrashes = 3

    /// An end that the events imply and do not tell.
    private enum Owed {
        case success(status: Int?)
        case failure(TransferError, status: Int?)
    }

    mutating func restore(
        _ history: RunHistory, hasCrashed: Bool, _ done: Set<TaskIndex>, _ lost: Set<TaskIndex> = []
    ) {
        precondition(history.tasks.count == tasks.count, "a history of another job")
        bytes.restore(history.bytesMoved)
        for index in tasks.indices { restoreTask(index, history.tasks[index], history) }
        for group in groups.all { restoreGroup(group, history) }
        var owed: [(task: Int, end: Owed)] = []
        for index in tasks.indices where !tasks[index].isFinished {
            let isDone = done.contains(TaskIndex(raw: UInt32(index)))
            let isLost = lost.contains(TaskIndex(raw: UInt32(index)))
            let end =
                isLost
                ? .failure(.lostFromJournal, status: nil)
                : owedEnd(of: index, history.tasks[index], isDone: isDone, hasCrashed: hasCrashed)
            endLost(index, history.tasks[index], end, hasCrashed: hasCrashed)
            if let end { owed.append((index, end)) }
        }
        let ending = Set(owed.map(\.task))
        for index in tasks.indices where !tasks[index].isFinished && !ending.contains(index) {
            revive(TaskIndex(raw: UInt32(index)), history)
        }
        // First what went well: a failure may end the rest.
        for (task, end) in owed { if case .success = end { settle(task, end) } }
        for (task, end) in owed { settle(task, end) }
        endBrokenGroups()
        skipAll()
        let hasFailed = history.tasks.contains { $0.ending.map { $0.outcome == .failed && !$0.isTolerated } ?? false }
        if plan.failFast, hasFailed, runEnding.stop == nil { failFast() }
        // What ran when `limits.stopWhen` was met may have changed the share since.
        let met = history.tasks.lazy.compactMap { $0.ending?.error }.first { $0.isByStopWhen }
        if let met, runEnding.stop == nil { failFast(met) }
        stopIfTooManyFailed()
        leaveOutWhatWasTold(history)
    }

    private mutating func restoreTask(_ index: Int, _ past: TaskPast, _ history: RunHistory) {
        tasks[index].attempt = UInt32(past.attempts)
        if past.isExpanded {
            return tasks.enter(.finished(.succeeded), index, at: now.instant)
        }
        if let ending = past.ending {
            tasks.enter(.finished(ending.outcome), index, at: now.instant)
            failures.count(ending.outcome, isTolerated: ending.isTolerated)
            let task = TaskIndex(raw: UInt32(index))
            expansions.ended(task, ending.meaning(of: task))
            if !mirrors.isEmpty { mirrors[TaskIndex(raw: UInt32(index))] = nil }
            return
        }
        // Until `revive` decides what the task waits for.
        tasks.enter(.held, index, at: now.instant)
        // A round over several `urls` counts as a whole, whatever it failed by.
        if isMirrored(TaskIndex(raw: UInt32(index))) {
            let policy = plan.policies[plan.tasks[index].policy]
            tasks[index].tries = UInt32(
                past.rounds(of: policy.retry.attempts ?? .max, waitsForConnectivity: policy.waitsForConnectivity))
        } else {
            let forgives = plan.sessions[Int(plan.tasks[index].session.raw)].isPatient
            tasks[index].tries = UInt32(past.tries - (forgives ? past.networkTries : 0))
            tasks[index].networkFailures = forgives ? UInt32(past.networkTriesInARow) : 0
        }
        tasks[index].waits = past.waits
        tasks[index].addWait(narrowestLimit(of: index), past.untoldWait)
        let time = now.instant - clock.beganAt
        if past.createdAfter != .zero {
            expansions.created(TaskIndex(raw: UInt32(index)), at: clock.beganAt + (past.createdAfter ?? time))
        }
        if let open = past.open {
            tasks[index].attemptBeganAt = clock.beganAt + open.beganAfter
        } else if past.createdAfter != nil {
            // Its wait went on while no process carried the run.
            tasks[index].addWait(past.waiting ?? narrowestLimit(of: index), time - past.explained)
        }
        if past.hasBegun {
            let timeout = plan.policies[plan.tasks[index].policy].timeoutForResource
            tasks[index].resourceClock.begin(left: timeout - past.resourceTime(at: time))
        }
        if let failing = past.failing {
            retries.restore(
                TaskIndex(raw: UInt32(index)), begunAt: clock.beganAt + failing.begunAfter,
                failedAt: clock.beganAt + failing.since)
        }
        guard let retryAt = past.retryAt else { return }
        let known = past.waiting.flatMap { [.retryAfter, .processLimit].contains($0) ? $0 : nil }
        tasks[index].backoff = TaskState.Backoff(end: clock.beganAt + retryAt, reason: known ?? .backoff)
        parkHost(of: index, past)
    }

    /// The limit that is reached first, which held the task back where no event says what did.
    private func narrowestLimit(of index: Int) -> WaitReason {
        let session = plan.sessions[Int(plan.tasks[index].session.raw)]
        let perHost = plan.tasks[index].origin == nil ? Int.max : session.maximumConnectionsPerHost
        let inSession = session.maximumConcurrentTasks ?? Int.max
        if perHost <= min(inSession, plan.maximumConcurrentTasks) { return .hostLimit }
        return inSession <= plan.maximumConcurrentTasks ? .sessionLimit : .runLimit
    }

    /// Parks the host that asked for quiet, for the other tasks as well.
    private mutating func parkHost(of index: Int, _ past: TaskPast) {
        let rest = tasks[index].backoff.end - now.instant
        guard past.hostAskedForQuiet, rest > .zero, let origin = plan.tasks[index].origin,
            !isMirrored(TaskIndex(raw: UInt32(index)))
        else { return }
        slots.park(origin, for: rest, at: now.instant, &timers)
    }

    // MARK: Groups

    /// Restores a group. Only the ends of its members, or their files, tell that it was published.
    private mutating func restoreGroup(_ group: GroupIndex, _ history: RunHistory) {
        let known = groups.members(of: group).map { history.tasks[Int($0.raw)] }
        guard !known.isEmpty else { return }
        let members = known.filter { !$0.isExpanded }
        let missing = members.first { $0.ending.map { !$0.isGood } ?? false }
        groups.restore(
            group, open: members.count { $0.ending == nil },
            hasPublished: members.contains { $0.ending?.outcome == .succeeded || $0.file != nil },
            missing: missing.map { $0.ending?.deferral })
        if groups.isPublished(group) {
            actions.append(.groupFinished(group, published: true, nil))
        } else if missing != nil {
            // A member that was verified and failed all the same failed with its group.
            let telling = members.first {
                $0.ending?.outcome == .failed && ($0.lastEnd == .succeeded || Self.isOfGroup($0.ending?.error))
            }
            let error = telling?.ending?.error
            actions.append(.groupFinished(group, published: telling != nil && Self.stands(error), error))
        }
    }

    private mutating func endBrokenGroups() {
        for group in groups.all where groups.isBrokenAndOpen(group) {
            for member in groups.members(of: group) { end(member, missing(in: group)) }
        }
    }

    // MARK: What was under way

    private func owedEnd(of index: Int, _ past: TaskPast, isDone: Bool, hasCrashed: Bool) -> Owed? {
        if let group = plan.tasks[index].group {
            if groups.isPublished(group) { return .success(status: past.status) }
        } else if isDone || past.lastEnd == .succeeded {
            return .success(status: past.status)
        }
        if past.crashes(hasCrashed: hasCrashed) >= Self.mostCrashes {
            return .failure(.crashedTooOften, status: nil)
        }
        if past.open != nil, plan.unrepeatable.contains(TaskIndex(raw: UInt32(index))) {
            return .failure(.notSentAgain, status: nil)
        }
        guard past.open == nil, case .failed(let error)? = past.lastEnd, !mayGoOn(index, after: error) else {
            return nil
        }
        return .failure(error, status: past.status)
    }

    /// A failure without a pause: the next of its `urls` may follow at once, or an attempt when a network is there.
    private func mayGoOn(_ index: Int, after error: TransferError) -> Bool {
        if isMirrored(TaskIndex(raw: UInt32(index))) { return true }
        guard plan.policies[plan.tasks[index].policy].waitsForConnectivity else { return false }
        return error.name == .noPermittedRoute || error.name.mayBeTheNetworks
    }

    /// Ends the attempt that was under way, which counts as no try.
    private mutating func endLost(_ index: Int, _ past: TaskPast, _ owed: Owed?, hasCrashed: Bool) {
        guard past.open != nil else { return }
        if case .success? = owed { return }
        let error = hasCrashed ? TransferError.processCrashed : .processEnded
        actions.append(
            .attemptEnded(
                TaskIndex(raw: UInt32(index)),
                AttemptEnd(outcome: .cancelled, error: error, backoff: nil, held: .zero)))
    }

    private mutating func settle(_ index: Int, _ owed: Owed) {
        let task = TaskIndex(raw: UInt32(index))
        // Another's end may have been its own.
        guard !tasks[index].isFinished else { return }
        switch owed {
        case .failure(let error, let status): finish(task, .failed, error, status)
        case .success(let status):
            if plan.tasks[index].group != nil { tasks.enter(.staged, index, at: now.instant) }
            finish(task, .succeeded, nil, status)
        }
    }

    // MARK: What goes on

    private mutating func revive(_ task: TaskIndex, _ history: RunHistory) {
        let index = Int(task.raw)
        let isByFile = plan.policies[plan.tasks[index].policy].isSuspended
        let past = history.tasks[index]
        tasks[index].suspension = isByFile && !past.wasResumed ? .byFile : past.isSuspended ? .byCommand : nil
        // It ends with its group, also if it needed the member that is missing.
        if let group = plan.tasks[index].group, groups.isBroken(group) {
            return block(task, isTold: false)
        }
        switch standing(of: task, history) {
        case .free: makeReady(task)
        case .blocked: block(task)
        case .lost(let skip):
            block(task, isTold: false)
            // One need more: an end that the events do not tell may meet the last of the others before it is skipped.
            needs.addNeed(to: task)
            needs.skip(skip)
        }
    }

    private enum Needs {
        case free, blocked
        case lost(DependencyGraph.Skip)
    }

    /// Of what it needs, only what has not ended well counts. What is verified and not put in place has to be fetched
    /// again.
    private mutating func standing(of task: TaskIndex, _ history: RunHistory) -> Needs {
        let index = Int(task.raw)
        var lost: DependencyGraph.Skip?
        for need in plan.tasks[index].needs {
            if history.tasks[Int(need.raw)].isExpanded { needs.meetNeed(of: task) }
            guard let ending = history.tasks[Int(need.raw)].ending else { continue }
            needs.meetNeed(of: task)
            let skip = skip(task, for: ending.meaning(of: need))
            lost = lost ?? skip
        }
        if let lost { return .lost(lost) }
        for group in plan.tasks[index].neededGroups {
            if groups.isBroken(group) {
                if let skip = skip(task, for: .bad(groups.deferral(of: group), Blame(.group(group)))) {
                    return .lost(skip)
                }
                needs.meetNeed(of: task)
            } else if groups.isPublished(group) {
                needs.meetNeed(of: task)
            }
        }
        if needs.hasOpenNeeds(task) { return .blocked }
        return skip(for: task).map { .lost($0) } ?? .free
    }

    /// Removes the actions that tell of a wait which goes on: its events did so.
    private mutating func leaveOutWhatWasTold(_ history: RunHistory) {
        actions.removeAll { action in
            guard case .waiting(let task, let reason) = action else { return false }
            let past = history.tasks[Int(task.raw)]
            return past.open == nil && past.waiting == reason
        }
    }
}

extension TaskPast.Ending {
    /// What the end means for tasks that need this one.
    fileprivate func meaning(of task: TaskIndex) -> NeedEnd {
        if isGood { return .good }
        let blame = Blame(.task(task), outcome)
        return isPassedOver ? .passedOver(blame) : .bad(deferral, blame)
    }
}
