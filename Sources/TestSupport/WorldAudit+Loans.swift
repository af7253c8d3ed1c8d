internal import Scheduling
import Simulation
import TransferModel

// Slots that are lent to running attempts beside their own: to whom, when, and never at the cost of another task.

extension WorldAudit {
    mutating func lend(_ task: TaskIndex, _ origin: OriginID, _ now: Now) {
        let index = Int(task.raw)
        let page = pages[index]
        hold(page.phase == .running && page.holdsSlot, now, "task \(index) is lent a slot and has none of its own")
        hold(page.origin == origin && !page.isAlone, now, "task \(index) is lent a slot of no use to it")
        hold(page.lent < page.wantedLoans, now, "task \(index) is lent more than it could use")
        hold(!page.isCancelled && !page.isSuspended, now, "task \(index) is to end and is lent a slot")
        hold(isOpen(facts(task).session, now) && !isOver(now), now, "task \(index) is lent a slot when nothing starts")
        let number = Int(origin.raw)
        hold(origins[number].quietUntil <= now.instant, now, "host \(number) asked for quiet and a slot is lent there")
        hold(!origins[number].isParked, now, "host \(number) has trouble and a slot is lent there")
        pages[index].lent += 1
        pages[index].lentUnanswered += 1
        occupy(task, origin, isAlone: false, now)
    }

    mutating func recall(_ task: TaskIndex, _ origin: OriginID, _ now: Now) {
        let index = Int(task.raw)
        hold(pages[index].recalled < pages[index].lent, now, "task \(index) has nothing lent to give back")
        let isAwaited = pages.indices.contains { other in
            other != index && (pages[other].wanted == origin || mayGo(other, to: origin))
        }
        hold(isAwaited, now, "a slot at host \(origin.raw) is asked back and nobody waits for it")
        pages[index].recalled += 1
    }

    private func mayGo(_ task: Int, to origin: OriginID) -> Bool {
        guard pages[task].phase == .waiting else { return false }
        let number = TaskIndex(raw: UInt32(task))
        return (0..<plan.mirrorCount(of: number)).contains { plan.origin(of: number, mirror: $0) == origin }
    }

    mutating func gaveBack(_ task: TaskIndex, _ origin: OriginID, _ wasAnswered: Bool) {
        let index = Int(task.raw)
        guard pages[index].lent > 0 else { return }
        pages[index].lent -= 1
        pages[index].recalled = max(0, pages[index].recalled - 1)
        lanes[lane(task, origin)].slots -= 1
        if !wasAnswered {
            pages[index].lentUnanswered -= 1
            origins[Int(origin.raw)].unanswered -= 1
        } else if pages[index].lentUnanswered > pages[index].lent {
            pages[index].lentUnanswered -= 1
            pages[index].awaitsAnswer = true
        }
    }

    /// Returns the attempt's lent slots together with its own.
    mutating func endLoans(_ task: TaskIndex, _ origin: OriginID) {
        let index = Int(task.raw)
        while pages[index].lent > 0 { gaveBack(task, origin, pages[index].lentUnanswered == 0) }
        pages[index].wantedLoans = 0
    }

    mutating func turnedAway(
        _ task: TaskIndex, _ origin: OriginID, _ status: Int, _ retryAfter: TimeSpan?, _ now: Now
    ) {
        let policy = policy(task).retry
        let asked = policy.honorsRetryAfter ? retryAfter : nil
        guard asked ?? .zero <= policy.maximumRetryAfter else { return }
        let number = Int(origin.raw)
        guard asked != nil || status == 429 else {
            if origins[number].probe != task { _ = answeredBadly(number) }
            return
        }
        origins[number].isParked = true
        (origins[number].isExact, origins[number].isTakingBody) = (false, false)
        origins[number].probe = nil
        origins[number].restUntil = max(origins[number].restUntil, now.instant + (asked ?? policy.maximumBackoff))
        if let asked { origins[number].quietUntil = max(origins[number].quietUntil, now.instant + asked) }
    }

    // MARK: After each turn

    /// Checks that no ready task waits for a slot that another task was lent and not asked to return.
    func checkLoans(_ now: Now) {
        guard pages.contains(where: { $0.lent > 0 }), !isOver(now), way == nil,
            runningCount < plan.maximumConcurrentTasks
        else { return }
        for index in pages.indices where pages[index].lent > pages[index].recalled && !pages[index].isCancelled {
            let task = TaskIndex(raw: UInt32(index))
            guard let origin = pages[index].origin, isPlain(origin, facts(task).session) else { continue }
            let lane = lane(task, origin)
            let ready = plan.tasks.indices.filter { isReady($0, lane: lane, now) }
            let coming = pages.indices.reduce(0) { sum, other in
                let isThere = pages[other].origin.map { self.lane(TaskIndex(raw: UInt32(other)), $0) } == lane
                guard isThere, pages[other].lent > 0 else { return sum }
                return sum + (pages[other].isCancelled ? pages[other].lent : pages[other].recalled)
            }
            let session = Int(facts(task).session.raw)
            let room = min(
                plan.maximumConcurrentTasks - runningCount,
                (plan.sessions[session].maximumConcurrentTasks ?? .max) - sessionRunning[session])
            hold(
                min(ready.count, room) <= coming, now,
                "task \(ready.first ?? -1) could begin, and task \(index) keeps a slot that it was lent")
        }
    }

    /// Whether only slots limit the session's requests at the origin.
    private func isPlain(_ origin: OriginID, _ session: SessionIndex) -> Bool {
        let page = origins[Int(origin.raw)]
        let hasLimits = setting.hostLimits.contains { $0.origin == origin }
        return !page.isShared && !page.isParked && !page.hasHadTrouble && page.quota == nil && !hasLimits
            && plan.sessions[Int(session.raw)].requestsPerSecond == nil
    }

    private func isReady(_ index: Int, lane: Int, _ now: Now) -> Bool {
        let page = pages[index]
        let task = TaskIndex(raw: UInt32(index))
        guard page.phase == .waiting, page.verdict == nil, page.mirrors == nil, !page.isSuspended,
            let origin = facts(task).origin, self.lane(task, origin) == lane, isOpen(facts(task).session, now)
        else { return false }
        if let until = page.backoffUntil, until > now.instant { return false }
        if let begin = moment(policy(task).earliestBegin), begin > now.wall { return false }
        if shortage(task, at: origin) != nil || networks[index].foundNoRoute { return false }
        return hasNeeds(task)
    }

    private func hasNeeds(_ task: TaskIndex) -> Bool {
        if runsAfterFailure(task) { return isConditionMet(task) }
        let isThere = facts(task).needs.allSatisfy { need in
            let page = pages[Int(need.raw)]
            let isVerified = page.phase == .staged && facts(need).group == facts(task).group
            return isVerified || page.conclusion.map { $0.outcome == .succeeded || $0.tolerated } ?? false
        }
        return isThere && facts(task).neededGroups.allSatisfy { groups[Int($0.raw)].isThere }
    }
}
