internal import Scheduling
internal import Simulation
internal import TransferModel

// `when`: tasks that run on what became of those they need.

extension WorldAudit {
    /// Whether the task ended so that what needs it is skipped as a failure.
    func isBad(_ task: Int) -> Bool {
        pages[task].conclusion.map { $0.outcome != .succeeded && !$0.tolerated && !Self.isPassedOver($0) } ?? false
    }

    private static func isPassedOver(_ conclusion: Conclusion) -> Bool {
        conclusion.outcome == .skipped && conclusion.error == nil
    }

    private func wasPassedOver(_ task: Int) -> Bool { pages[task].conclusion.map(Self.isPassedOver) ?? false }

    private func hasLost(_ group: GroupIndex) -> Bool {
        let page = groups[Int(group.raw)]
        return page.outcome == false
            || page.members.contains {
                pages[$0].conclusion.map { $0.outcome != .succeeded && !$0.tolerated } ?? false
            }
    }

    private func hasEnded(_ group: GroupIndex) -> Bool { groups[Int(group.raw)].isThere || hasLost(group) }

    /// Whether all that a task with `when: failed` or `finished` needs has ended, and as it says.
    func isConditionMet(_ task: TaskIndex) -> Bool {
        let facts = facts(task)
        guard facts.needs.allSatisfy({ pages[Int($0.raw)].conclusion != nil }),
            facts.neededGroups.allSatisfy(hasEnded), !hasPutOffNeed(task)
        else { return false }
        return policy(task).when == .finished || hasBadNeed(task)
    }

    private func hasBadNeed(_ task: TaskIndex) -> Bool {
        facts(task).needs.contains { isBad(Int($0.raw)) } || facts(task).neededGroups.contains(where: hasLost)
    }

    private func hasPutOffNeed(_ task: TaskIndex) -> Bool {
        facts(task).needs.contains { pages[Int($0.raw)].conclusion?.outcome == .deferred }
    }

    /// Checks that a `when` says why the task was skipped without harm.
    mutating func checkPassedOver(_ task: TaskIndex, _ now: Now) {
        let facts = facts(task)
        hold(pages[Int(task.raw)].attempts == 0, now, "task \(task.raw) began, and was skipped without harm")
        let isRight =
            switch policy(task).when {
            case nil: facts.needs.contains { wasPassedOver(Int($0.raw)) }
            case .finished: false
            case .failed:
                facts.needs.allSatisfy { pages[Int($0.raw)].conclusion != nil } && !hasBadNeed(task)
                    && facts.neededGroups.allSatisfy(hasEnded)
            case .succeeded: hasBadNeed(task) || facts.needs.contains { wasPassedOver(Int($0.raw)) }
            }
        hold(isRight, now, "task \(task.raw) was skipped without harm, and no `when` says so")
    }
}
