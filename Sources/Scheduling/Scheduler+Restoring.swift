import TransferModel

// Restores a run whose process ended from its events: which tasks have finished, the numbers of attempts, and every
// clock. Attempts that were under way are lost, and begin again.

extension Scheduler {
    mutating func restore(
        _ history: RunHistory, hasCrashed: Bool, _ done: Set<TaskIndex>, _ lost: Set<TaskIndex> = []
    ) {
        precondition(history.tasks.count == run.tasks.count, "a history of another job")
        bytes.restore(history.bytesMoved)
        for index in run.tasks.indices { restoreTask(TaskIndex(raw: UInt32(index)), history.tasks[index]) }
        for group in groups.all {
            guard let end = groups.restore(group, history) else { continue }
            run.actions.append(.groupFinished(group, published: end.published, end.error))
        }
        var implied: [(task: TaskIndex, end: ImpliedEnd)] = []
        for index in run.tasks.indices where !run.tasks[index].isFinished {
            let task = TaskIndex(raw: UInt32(index))
            let end =
                lost.contains(task)
                ? .failure(.lostFromJournal, status: nil)
                : impliedEnd(of: task, history.tasks[index], isDone: done.contains(task), hasCrashed: hasCrashed)
            // The attempt that was under way is over, and counts as no try.
            if history.tasks[index].open != nil, end?.isSuccess != true {
                run.endAttempt(of: task, .cancelled, hasCrashed ? .processCrashed : .processEnded)
            }
            if let end { implied.append((task, end)) }
        }
        let ending = Set(implied.map(\.task))
        for index in run.tasks.indices where !run.tasks[index].isFinished {
            let task = TaskIndex(raw: UInt32(index))
            if !ending.contains(task) { revive(task, history) }
        }
        // First what went well: a failure may end the rest.
        for (task, end) in implied where end.isSuccess { finish(task, end) }
        for (task, end) in implied { finish(task, end) }
        for group in groups.all where groups.isBrokenAndOpen(group) {
            for member in groups.members(of: group) { end(member, groups.endingWithoutMember(group)) }
        }
        skipAll()
        let hasFailed = history.tasks.contains { $0.ending.map { $0.outcome == .failed && !$0.isTolerated } ?? false }
        if run.plan.failFast, hasFailed, runEnding.stop == nil { failFast() }
        // What ran when `limits.stopWhen` was met may have changed the share since.
        let met = history.tasks.lazy.compactMap { $0.ending?.error }.first { $0.isByStopWhen }
        if let met, runEnding.stop == nil { failFast(met) }
        stopIfTooManyFailed()
        removeReportedWaits(history)
    }

    private mutating func restoreTask(_ task: TaskIndex, _ past: TaskPast) {
        let index = Int(task.raw)
        run.tasks[index].attempt = UInt32(past.attempts)
        if past.isExpanded { return run.tasks.enter(.finished(.succeeded), index, at: run.now.instant) }
        if let ending = past.ending {
            run.tasks.enter(.finished(ending.outcome), index, at: run.now.instant)
            runEnding.failures.count(ending.outcome, isTolerated: ending.isTolerated)
            expansions.ended(task, ending.meaning(of: task))
            if !attempts.mirrors.isEmpty { attempts.mirrors[task] = nil }
            return
        }
        // Until `revive` decides what the task waits for.
        run.tasks.enter(.held, index, at: run.now.instant)
        let isMirrored = attempts.isMirrored(task)
        run.tasks[index].restore(
            from: past, run.plan[policyOf: task], isMirrored: isMirrored,
            forgivesNetwork: run.plan[sessionOf: task].isPatient, limit: run.plan.narrowestLimit(of: task), run.clock)
        let beganAt = run.clock.beganAt
        if past.createdAfter != .zero {
            expansions.created(task, at: past.createdAfter.map { beganAt + $0 } ?? run.now.instant)
        }
        if let failing = past.failing {
            attempts.retries.restore(
                task, begunAt: beganAt + failing.begunAfter, failedAt: beganAt + failing.since)
        }
        // The host that asked for quiet is parked for the other tasks as well.
        let rest = run.tasks[index].backoff.end - run.now.instant
        guard past.retryAt != nil, past.hostAskedForQuiet, rest > .zero, let origin = run.plan.tasks[index].origin,
            !isMirrored
        else { return }
        attempts.slots.park(origin, for: rest, at: run.now.instant, &run.timers)
    }

    // MARK: What was under way

    private func impliedEnd(of task: TaskIndex, _ past: TaskPast, isDone: Bool, hasCrashed: Bool) -> ImpliedEnd? {
        let hasFile =
            run.plan.tasks[Int(task.raw)].group.map { groups.isPublished($0) } ?? (isDone || past.lastEnd == .succeeded)
        return past.impliedEnd(
            hasFile: hasFile, hasCrashed: hasCrashed, mayRepeat: !run.plan.unrepeatable.contains(task)
        ) { error in
            // A failure without a pause: the next of its `urls` may follow at once, or an attempt when a network is
            // there.
            attempts.isMirrored(task)
                || run.plan[policyOf: task].waitsForConnectivity
                    && (error.name == .noPermittedRoute || error.name.mayBeTheNetworks)
        }
    }

    private mutating func finish(_ task: TaskIndex, _ end: ImpliedEnd) {
        // Another's end may have been its own.
        guard !run.tasks[task].isFinished else { return }
        switch end {
        case .failure(let error, let status): finish(task, .failed, error, status)
        case .success(let status):
            let index = Int(task.raw)
            if run.plan.tasks[index].group != nil { run.tasks.enter(.staged, index, at: run.now.instant) }
            finish(task, .succeeded, nil, status)
        }
    }

    // MARK: What goes on

    private mutating func revive(_ task: TaskIndex, _ history: RunHistory) {
        let index = Int(task.raw)
        let isByFile = run.plan[policyOf: task].isSuspended && !history.tasks[index].wasResumed
        run.tasks[index].suspension = isByFile ? .byFile : history.tasks[index].isSuspended ? .byCommand : nil
        // The task ends with its group, also if it needed the member that is missing.
        if let group = run.plan.tasks[index].group, groups.isBroken(group) {
            return block(task, isReported: false)
        }
        if let skip = restoreNeeds(of: task, history) {
            block(task, isReported: false)
            // One need more: an end that the events do not tell may meet the last of the others before it is skipped.
            needs.addNeed(to: task)
            needs.skip(skip)
        } else if needs.hasOpenNeeds(task) {
            block(task)
        } else {
            makeReady(task)
        }
    }

    /// Closes the task's needs that ended well, and returns how another one skips it. What is verified and not put in
    /// place has to be fetched again.
    private mutating func restoreNeeds(of task: TaskIndex, _ history: RunHistory) -> DependencyGraph.Skip? {
        let index = Int(task.raw)
        let when = run.plan[policyOf: task].when
        var lost: DependencyGraph.Skip?
        for need in run.plan.tasks[index].needs {
            if history.tasks[Int(need.raw)].isExpanded { needs.meetNeed(of: task) }
            guard let ending = history.tasks[Int(need.raw)].ending else { continue }
            needs.meetNeed(of: task)
            let skip = needs.needEnded(of: task, ending.meaning(of: need), when: when)
            lost = lost ?? skip
        }
        if let lost { return lost }
        for group in run.plan.tasks[index].neededGroups {
            if groups.isBroken(group) {
                let end = NeedEnd.bad(groups.deferral(of: group), Blame(.group(group)))
                if let skip = needs.needEnded(of: task, end, when: when) { return skip }
                needs.meetNeed(of: task)
            } else if groups.isPublished(group) {
                needs.meetNeed(of: task)
            }
        }
        return needs.hasOpenNeeds(task) ? nil : needs.allNeedsEnded(of: task, when: when)
    }

    /// Removes the actions that tell of a wait which goes on: its events did so.
    private mutating func removeReportedWaits(_ history: RunHistory) {
        run.actions.removeAll { action in
            guard case .waiting(let task, let reason) = action else { return false }
            let past = history.tasks[Int(task.raw)]
            return past.open == nil && past.waiting == reason
        }
    }
}
