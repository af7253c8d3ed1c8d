internal import Scheduling
package import Simulation
package import TransferModel

// Ends: of attempts, tasks, groups and the run.

extension WorldAudit {
    mutating func cancel(_ task: TaskIndex, _ now: Now) {
        let index = Int(task.raw)
        let page = pages[index]
        guard page.phase == .running else {
            let hasJustEnded = page.verdict != nil || page.phase == .staged
            return hold(hasJustEnded, now, "task \(index) was cancelled and does not run")
        }
        hold(!page.isCancelled, now, "task \(index) was cancelled twice")
        pages[index].isCancelled = true
        // A task whose body was wholly sent waits for its answer, also when no further byte may move.
        let hasReason = page.sentBody == .awaitsAnswer ? hasReasonButForBytes(task, now) : hasReasonToEnd(task, now)
        hold(hasReason, now, "task \(index) was cancelled for nothing")
    }

    func hasReasonToEnd(_ task: TaskIndex, _ now: Now) -> Bool { hasMovedAll || hasReasonButForBytes(task, now) }

    private func hasReasonButForBytes(_ task: TaskIndex, _ now: Now) -> Bool {
        let page = pages[Int(task.raw)]
        if page.isSuspended || !isOpen(facts(task).session, now) { return true }
        if isOverButForBytes(now, afterFailure: runsAfterFailure(task)) { return true }
        if mayBeInterrupted(task) || mustMakeWay(task) { return true }
        let hasCommand = setting.commands.contains { after, command in
            guard setting.start.instant + after <= now.instant else { return false }
            switch command {
            case .cancel(let tasks, _), .suspend(let tasks): return tasks.contains(task)
            case .stop, .resume, .conditions, .pauseStarts, .leave, .makeWay: return false
            }
        }
        if hasCommand { return true }
        if let group = facts(task).group, groups[Int(group.raw)].members.contains(where: isMissing) { return true }
        return page.begunAt.map { $0 + policy(task).timeoutForResource <= now.instant } ?? false
    }

    private func isMissing(_ member: Int) -> Bool {
        pages[member].conclusion.map { $0.outcome != .succeeded && !$0.tolerated } ?? false
    }

    mutating func ended(_ task: TaskIndex, _ verdict: Verdict, _ now: Now) {
        let index = Int(task.raw)
        noteLoss(task, verdict, now)
        noteFailure(task, verdict, now)
        judgeHost(task, verdict, now)
        endedAtMirror(task, verdict, now)
        release(task)
        stopCounting(task)
        pages[index].phase = .waiting
        pages[index].wanted = nil
        pages[index].sentBody = .no
        pages[index].attemptTime += now.instant - pages[index].startedAt
        pages[index].verdict = verdict
        // A member of a group finishes when the group does.
        if case .succeeded = verdict.outcome, facts(task).group != nil {
            pages[index].phase = .staged
            pages[index].verdict = nil
        }
    }

    mutating func attemptEnded(_ task: TaskIndex, _ end: AttemptEnd, _ now: Now) {
        let index = Int(task.raw)
        let page = pages[index]
        if page.isLost { return lostAttemptEnded(index, end, now) }
        guard let verdict = page.verdict else { return hold(false, now, "task \(index): nothing ended") }
        pages[index].verdict = nil
        pages[index].held += end.held
        hold(end.held >= .zero, now, "task \(index) was held for \(end.held.nanoseconds)")
        switch verdict.outcome {
        case .succeeded: hold(false, now, "task \(index) succeeded and goes on")
        case .cancelled:
            if page.mirrors?.failures.isEmpty ?? true { pages[index].tries -= 1 }
            hold(end.outcome == .cancelled && end.backoff == nil, now, "task \(index): an interruption is no failure")
        case .failed:
            if goesOnWithNetwork(task, end, now) {
                return hold(!wasOver(for: task), now, "task \(index) goes on after the end began")
            }
            if page.mirrors != nil { return goesOn(task, end.backoff, now) }
            guard let backoff = end.backoff else { return hold(false, now, "task \(index) retries at once") }
            checkRetry(task, verdict, backoff, now)
            pages[index].backoffUntil = now.instant + backoff
        }
    }

    private mutating func checkRetry(_ task: TaskIndex, _ verdict: Verdict, _ backoff: TimeSpan, _ now: Now) {
        let policy = policy(task).retry
        let index = Int(task.raw)
        let most = policy.attempts ?? .max
        hold(pages[index].tries < most, now, "task \(index) retries after \(pages[index].tries) attempts")
        checkPatience(index, backoff, now)
        let asked = policy.honorsRetryAfter ? verdict.retryAfter ?? .zero : .zero
        hold(backoff >= asked, now, "task \(index) waits less than the server asked for")
        hold(backoff <= max(asked, policy.maximumBackoff), now, "task \(index) waits longer than its policy")
        hold(asked <= policy.maximumRetryAfter, now, "task \(index) waits longer than `retryAfter.maximum`")
        if policy.jitter == .none {
            let most = policy.ceiling(afterFailures: pages[index].tries)
            let least = min(most, patienceLeft(index, now))
            let isRight = backoff == max(asked, most) || backoff < most && backoff >= max(asked, least)
            hold(isRight, now, "task \(index) waits \(backoff.seconds) s, not \(most.seconds) s")
        }
        if let status = verdict.status, verdict.error?.name == .unexpectedResponse {
            hold(policy.statuses.contains(status), now, "task \(index) retries after \(status)")
        }
        hold(!wasOver(for: task), now, "task \(index) is to be tried again after the end began")
    }

    mutating func finished(_ task: TaskIndex, _ conclusion: Conclusion, _ now: Now) {
        let index = Int(task.raw)
        let page = pages[index]
        hold(page.phase != .finished, now, "task \(index) finished twice")
        hold(page.phase != .running, now, "task \(index) finished while it runs")
        hold(!page.isLost || page.phase == .staged, now, "task \(index) finished before its last attempt was told")
        hold(conclusion.attempts == page.attempts, now, "task \(index): \(page.attempts) attempts were made")
        let created = setting.start.instant + page.createdAfter
        hold(conclusion.duration == now.instant - created, now, "task \(index) has a wrong duration")
        checkAccounts(index, conclusion, now)
        checkShortage(task, conclusion, now)
        checkOutcome(task, conclusion, now)
        checkFit(task, conclusion, now)
        pages[index].phase = .finished
        pages[index].conclusion = conclusion
        countEnd(conclusion.outcome, conclusion.tolerated)
        judgeShare(now)
        // Also in the turn in which all bytes have moved: the order of the two is unknown here.
        if plan.failFast, conclusion.outcome == .failed, !conclusion.tolerated, !isOverButForBytes(now) {
            hasFailedFast = true
        }
    }

    /// Counts a task for `limits.stopWhen`.
    mutating func countEnd(_ outcome: TaskOutcome, _ tolerated: Bool) {
        guard outcome == .succeeded || outcome == .failed else { return }
        endedCount += 1
        if outcome == .failed, !tolerated { failedCount += 1 }
    }

    /// Where `limits.stopWhen` is met, the run's end begins.
    mutating func judgeShare(_ now: Now) {
        guard let rule = plan.stopWhen, endedCount >= rule.atLeast, !isOverButForBytes(now) else { return }
        let share = Double(failedCount) / Double(endedCount)
        if failedCount > 0, share * 100 >= rule.failedPercent - 1e-9 { hasFailedFast = true }
    }

    /// Checks that a task that does not fit into the rest of the run is put off, and that only a task found too long
    /// is.
    private mutating func checkFit(_ task: TaskIndex, _ conclusion: Conclusion, _ now: Now) {
        let index = Int(task.raw)
        guard let verdict = pages[index].verdict, verdict.isForNextRun else { return }
        let isPutOff = conclusion.outcome == .deferred && conclusion.deferral == .maximumBytes
        hold(isPutOff || hasReasonToEnd(task, now), now, "task \(index) did not fit into the run and was not put off")
        if isPutOff, verdict.sentSomething, !pages[index].isCancelled { answersTooLong += 1 }
    }

    private mutating func checkAccounts(_ index: Int, _ conclusion: Conclusion, _ now: Now) {
        let page = pages[index]
        // The last attempt's held time is reported with the task's end, unless it was reported before.
        let isLastTold = page.verdict == nil && page.phase != .staged
        let held = isLastTold ? page.held : page.held + conclusion.held
        let waited = conclusion.waits.reduce(TimeSpan.zero) { $0 + $1.duration }
        hold(
            (waited + page.attemptTime - held - conclusion.duration).magnitude <= slack, now,
            "task \(index): \(waited.seconds) s waited, \(page.attemptTime.seconds) s in attempts, \(held.seconds) s held, "
                + "in all \(conclusion.duration.seconds) s")
        hold(conclusion.waits.allSatisfy { $0.duration > .zero }, now, "task \(index) has a wait of no length")
        hold(Set(conclusion.waits.map(\.reason)).count == conclusion.waits.count, now, "task \(index) waits twice")
    }

    private mutating func checkOutcome(_ task: TaskIndex, _ conclusion: Conclusion, _ now: Now) {
        let index = Int(task.raw)
        let page = pages[index]
        let verdict = page.verdict
        switch conclusion.outcome {
        case .succeeded:
            var hasSucceeded = page.phase == .staged
            if case .succeeded? = verdict?.outcome { hasSucceeded = true }
            hold(hasSucceeded && conclusion.error == nil, now, "task \(index) did not succeed")
            if let group = facts(task).group {
                hold(
                    groups[Int(group.raw)].outcome == true, now, "task \(index) succeeded, its group was not published")
            }
        case .failed: checkFailure(task, conclusion, now)
        case .cancelled:
            hold(conclusion.error != nil, now, "task \(index) was cancelled without a reason")
            hold(hasReasonToEnd(task, now), now, "task \(index) was cancelled for nothing")
        case .skipped:
            if conclusion.error == nil { return checkPassedOver(task, now) }
            hold(page.attempts == 0 && conclusion.error?.name == .dependencyFailed, now, "task \(index) was skipped")
            hold(policy(task).when == nil, now, "task \(index) has a `when`, and was skipped as a failure")
            let culprits = facts(task).needs.contains { isBad(Int($0.raw)) }
            let broken = facts(task).neededGroups.contains { groups[Int($0.raw)].members.contains(where: isMissing) }
            let unpublished = facts(task).neededGroups.contains { groups[Int($0.raw)].outcome == false }
            hold(culprits || broken || unpublished, now, "task \(index) was skipped for nothing")
        case .deferred:
            hold(conclusion.deferral != nil, now, "task \(index) was put off without a reason")
            let mayDefer = conclusion.deferral.map { isPutOffRightly(task, $0, now) } ?? false
            hold(mayDefer, now, "task \(index) was put off for nothing")
        }
        if conclusion.outcome != .failed { hold(!conclusion.tolerated, now, "task \(index) is tolerated") }
    }

    func allows(_ task: TaskIndex, _ status: Int?) -> Bool {
        switch policy(task).allowFailure {
        case .no: false
        case .any: true
        case .statuses(let statuses): status.map { statuses.contains($0) } ?? false
        }
    }

    private mutating func checkFailure(_ task: TaskIndex, _ conclusion: Conclusion, _ now: Now) {
        let index = Int(task.raw)
        hold(conclusion.error != nil, now, "task \(index) failed without an error")
        hold(isLostRightly(task, conclusion, now), now, "task \(index) was never tried and failed because of others")
        let isAllowed = allows(task, pages[index].verdict?.status)
        // With several URLs the reported failure counts, also when the run's end left no time to try more of them.
        if let mirrors = pages[index].mirrors, !isOver(for: task, now) || pages[index].hasFailed {
            return checkGivenUp(task, mirrors, conclusion, now)
        }
        hold(conclusion.tolerated == isAllowed, now, "task \(index) is tolerated: \(conclusion.tolerated)")
        guard case .failed(let error)? = pages[index].verdict?.outcome, !isOver(for: task, now), !pages[index].isOwed
        else {
            return
        }
        // A task that could be tried again must not be given up.
        let policy = policy(task).retry
        let asked = policy.honorsRetryAfter ? pages[index].verdict?.retryAfter ?? .zero : .zero
        let canHeal =
            error.name == .unexpectedResponse
            ? pages[index].verdict?.status.map { policy.statuses.contains($0) } ?? false : error.name.canHeal
        let isUseless = networks[index].loss == .noRoute || !canHeal
        let isSpent =
            pages[index].tries + pages[index].charged >= policy.attempts ?? .max || asked > policy.maximumRetryAfter
            || isOutOfPatience(index, after: asked, now)
        hold(isSpent || isUseless || hasReasonToEnd(task, now), now, "task \(index) was given up too early")
    }

    // MARK: Groups

    mutating func publish(_ group: GroupIndex, _ now: Now) {
        let number = Int(group.raw)
        hold(!groups[number].isPublishing && !groups[number].isDiscarded, now, "group \(number) is published again")
        groups[number].isPublishing = true
        for member in groups[number].members {
            let isDone = pages[member].phase == .staged || pages[member].conclusion?.tolerated == true
            hold(isDone, now, "group \(number) is published without task \(member)")
        }
    }

    mutating func groupFinished(_ group: GroupIndex, _ published: Bool, _ now: Now) {
        let number = Int(group.raw)
        hold(!groups[number].isTold || !published, now, "group \(number) finished twice")
        if published {
            let isEmpty = groups[number].members.allSatisfy { pages[$0].conclusion?.tolerated == true }
            hold(groups[number].outcome == true || isEmpty, now, "group \(number) is said to be published")
            groups[number].isTold = true
        }
    }

    // MARK: Each turn, and the end

    /// Checks the state after a turn of the scheduler.
    package mutating func turnEnded(at now: Now) {
        wasOver = isOver(now)
        wasOverForAll = isOverButForBytes(now, afterFailure: true) || hasMovedAll
        hasCommands = false
        changes = 0
        for index in pages.indices {
            let page = pages[index]
            hold(
                page.verdict == nil && !page.isLost || page.phase == .finished, now,
                "the end of task \(index)'s attempt led to nothing")
            guard page.phase != .finished else { continue }
            let task = TaskIndex(raw: UInt32(index))
            if page.phase == .running, !page.isCancelled {
                hold(!page.isSuspended, now, "task \(index) is suspended and runs")
                hold(isOpen(facts(task).session, now), now, "task \(index) runs outside its window")
                hold(!isStopped, now, "task \(index) runs although the run was stopped")
            }
            checkDeadlines(task, page, now)
        }
        checkLoans(now)
    }

    private mutating func checkDeadlines(_ task: TaskIndex, _ page: Page, _ now: Now) {
        let isEnding = page.phase == .running && page.isCancelled || page.phase == .staged
        if let timeout = plan.timeout, setting.start.instant + timeout <= now.instant {
            hold(isEnding, now, "task \(task.raw) outlives `limits.timeout`")
        }
        if isOver(for: task, now), page.phase == .waiting {
            hold(false, now, "task \(task.raw) waits although nothing starts")
        }
        if hasMovedAll, page.sentBody == .no {
            hold(isEnding, now, "task \(task.raw) goes on after `limits.maximumBytes`")
        }
        let isHeld =
            plan.sessions[Int(facts(task).session.raw)].window != nil || setting.hasOrders
            || policy(task).isDiscretionary
        if let begun = page.begunAt, !isHeld, !page.isPatient, !policy(task).isSuspended,
            begun + policy(task).timeoutForResource <= now.instant
        {
            hold(isEnding, now, "task \(task.raw) outlives its `timeoutForResource`")
        }
    }

    /// Checks the state after the run.
    package mutating func close(_ result: SimulationResult) {
        let now = setting.start
        switch result.ending {
        case .finished, .interrupted: break
        case .stuck: hold(false, now, "nothing is under way or due, and the run is not over")
        case .endless: hold(false, now, "the run does not end (\(result.duration.seconds) s)")
        }
        guard result.ending == .finished else { return }
        for index in pages.indices { hold(pages[index].phase == .finished, now, "task \(index) never finished") }
        for lane in lanes { hold(lane.slots == 0, now, "a slot was never given back") }
        hold(runningCount == 0, now, "\(runningCount) tasks are still counted")
    }
}
