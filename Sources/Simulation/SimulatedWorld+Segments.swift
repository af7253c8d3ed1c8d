import Scheduling
import TransferModel

// Bodies in segments: a branch is a flight that brings a part of another's body, under a slot that was lent to it.

extension SimulatedWorld {
    enum BranchEnd {
        case done, recalled
        /// Another branch would fare no better.
        case failed
    }

    /// Reports how many further slots the flight could use, if the model has segments and the body is long enough for
    /// them.
    mutating func offerSegments(_ place: Int) {
        guard let flight = flights[place], let origin = flight.origin, !flight.isAlone else { return }
        if case .doubted = flight.fate { return }
        let most = model.segments(of: Int(flight.task.raw))
        guard most > 1, flight.size - flight.received >= 2 * model.leastSegment else { return }
        flights[place]?.branchesWanted = most - 1
        reports.append(.couldUse(flight.task, origin, slots: most - 1))
    }

    /// Starts a branch with half of what the stream with the most left still has to move.
    mutating func lent(_ task: TaskIndex, _ origin: OriginID) {
        // An attempt that ended meanwhile gave its lent slots back together with its own.
        guard let place = place(of: task), let flight = flights[place], flight.branchesWanted > 0 else { return }
        let streams = [place] + flight.branches
        guard let slowest = streams.max(by: { free(of: $0) < free(of: $1) }),
            free(of: slowest) >= 2 * model.leastSegment
        else {
            reports.append(.gaveBack(task, origin, wasAnswered: false))
            return wants(place, flight.branches.count)
        }
        let share = free(of: slowest) / 2
        flights[slowest]?.size -= share
        var branch = Flight(task: task, attempt: flight.attempt, origin: origin, size: share, received: 0)
        branch.parent = place
        flights[place]?.branchCount += 1
        // A hop number of its own gives the branch a fate of its own.
        branch.hop = 1_000 + flight.branchCount
        let new = board(branch)
        flights[place]?.branches.append(new)
        ask(new)
    }

    private func free(of place: Int) -> Int64 {
        guard let flight = flights[place], flight.phase != .gathering else { return 0 }
        return flight.size - flight.received - flight.segment
    }

    private mutating func wants(_ place: Int, _ slots: Int) {
        guard let flight = flights[place], let origin = flight.origin, flight.branchesWanted != slots else { return }
        flights[place]?.branchesWanted = slots
        reports.append(.couldUse(flight.task, origin, slots: slots))
    }

    mutating func recalled(_ task: TaskIndex) {
        guard let place = place(of: task), let last = flights[place]?.branches.last else { return }
        endBranch(last, .recalled)
    }

    mutating func answeredBranch(_ place: Int) {
        guard let flight = flights[place], let origin = flight.origin else { return }
        let host = model.hosts[Int(origin.raw)]
        let time = now - beganAt
        if model.isOut(at: time) || host.refusals.contains(where: { $0.contains(time) }) {
            return endBranch(place, .failed)
        }
        switch flight.fate {
        case .silence, .hangUp: return endBranch(place, .failed)
        default: break
        }
        let (isOver, quota) = countRequest(origin, host)
        if isOver { return turnAway(place, 429, quota, host.faults.retryAfter) }
        if host.overloads.contains(where: { $0.contains(time) }) {
            return turnAway(place, 503, quota, host.faults.retryAfter)
        }
        switch flight.fate {
        case .answer(200, _), .cut, .doubted:
            answer(place, 206, quota)
            moveOn(place)
        case .answer(let status, let retryAfter):
            if status == 429 || status == 503 { return turnAway(place, status, quota, retryAfter) }
            answer(place, status, quota)
            endBranch(place, .failed)
        case .redirect, .silence, .hangUp:
            answer(place, 302, quota)
            endBranch(place, .failed)
        }
    }

    private mutating func answer(_ place: Int, _ status: Int, _ quota: RequestQuota?) {
        guard let flight = flights[place] else { return }
        flights[place]?.isAnswered = true
        reports.append(.answered(flight.task, Answer(status: status, quota: quota, isFurther: true)))
    }

    private mutating func turnAway(_ place: Int, _ status: Int, _ quota: RequestQuota?, _ retryAfter: TimeSpan?) {
        guard let flight = flights[place], let origin = flight.origin else { return }
        answer(place, status, quota)
        reports.append(.turnedAway(flight.task, origin, status: status, retryAfter: retryAfter))
        endBranch(place, .failed)
    }

    /// Ends a branch; what it did not bring becomes its parent's part again.
    mutating func endBranch(_ place: Int, _ end: BranchEnd) {
        stopMoving(place)
        guard let flight = flights[place], let origin = flight.origin, let parent = flight.parent else { return }
        leave(place)
        flights[parent]?.branches.removeAll { $0 == place }
        flights[parent]?.size += flight.size - flight.received
        reports.append(.gaveBack(flight.task, origin, wasAnswered: flight.isAnswered))
        switch end {
        case .done, .recalled: break
        case .failed: wants(parent, flights[parent]?.branches.count ?? 0)
        }
        if flights[parent]?.phase == .gathering {
            flights[parent]?.phase = .asking
            moveOn(parent)
        }
    }

    /// Handles the end of the flight's own part: waits for its branches, or delivers the body if there are none.
    mutating func gather(_ place: Int) {
        guard let flight = flights[place] else { return }
        guard flight.branches.isEmpty else {
            flights[place]?.phase = .gathering
            return
        }
        wants(place, 0)
        deliver(place)
    }

    mutating func dropBranches(of place: Int) {
        guard let flight = flights[place], flight.branchesWanted > 0 || !flight.branches.isEmpty else { return }
        wants(place, 0)
        for branch in flight.branches {
            stopMoving(branch)
            guard let lost = flights[branch], let origin = lost.origin else { continue }
            leave(branch)
            reports.append(.gaveBack(lost.task, origin, wasAnswered: lost.isAnswered))
        }
        flights[place]?.branches = []
    }
}
