internal import Scheduling
internal import Simulation
internal import TransferModel

// `retry.for`: no task is tried after its time, and none is given up before.

extension WorldAudit {
    /// Notes the failure with which a task's time begins, where it has not begun. In a wait for a network, a suspension or a
    /// closed window it stands still, which is not followed here: tasks that may have such are not held to its end.
    mutating func noteFailure(_ task: TaskIndex, _ verdict: Verdict, _ now: Now) {
        let index = Int(task.raw)
        guard case .failed = verdict.outcome else { return }
        if waitsForNetwork(task), let loss = networks[index].loss, loss == .gone || pages[index].mirrors == nil {
            return
        }
        if verdict.wentFurther {
            (pages[index].failingSince, pages[index].chargedSince, pages[index].mayFailSince) = (nil, nil, nil)
        }
        if pages[index].failingSince == nil {
            pages[index].failingSince = now.instant
            pages[index].mayFailSince = pages[index].chargedSince
        }
    }

    /// Whether the task's time may have stood still.
    private func mayStand(_ index: Int) -> Bool {
        setting.hasOrders || plan.sessions[Int(plan.tasks[index].session.raw)].window != nil
            || plan.policies[plan.tasks[index].policy].isDiscretionary
            || waitsForNetwork(TaskIndex(raw: UInt32(index)))
    }

    /// The latest moment at which an attempt of the task may begin; `nil` for any.
    private func latest(_ index: Int) -> Instant? {
        let policy = plan.policies[plan.tasks[index].policy].retry
        guard let patience = policy.patience, !mayStand(index), let since = pages[index].failingSince else {
            return nil
        }
        return since + patience + slack
    }

    /// Checks that the next attempt begins in time.
    func checkPatience(_ index: Int, _ backoff: TimeSpan, _ now: Now) {
        guard let latest = latest(index) else { return }
        hold(now.instant < latest, now, "task \(index) is tried on after its `retry.for`")
        hold(now.instant + backoff <= latest, now, "task \(index) pauses beyond its `retry.for`")
        guard pages[index].mirrors == nil, let origin = pages[index].origin, !origins[Int(origin.raw)].hasAnswered,
            let since = pages[index].failingSince
        else { return }
        hold(
            now.instant + backoff <= since + .seconds(60) + slack, now,
            "task \(index) is tried for longer than a minute at a host that never answered")
    }

    /// The least time that may be left for pauses.
    func patienceLeft(_ index: Int, _ now: Now) -> TimeSpan {
        guard let end = earliestEnd(index, now) else { return .forever }
        return mayStand(index) ? .zero : max(.zero, end - now.instant)
    }

    /// The earliest moment at which the task's time may be over; `nil` where no time bounds it.
    private func earliestEnd(_ index: Int, _ now: Now) -> Instant? {
        guard var patience = plan.policies[plan.tasks[index].policy].retry.patience else { return nil }
        let places = pages[index].mirrors?.origins ?? [pages[index].origin ?? plan.tasks[index].origin]
        // The task may have been given up before the host answered in the same moment.
        let isUnanswered = places.contains { origin in
            guard let origin else { return false }
            return origins[Int(origin.raw)].firstAnsweredAt.map { $0 >= now.instant } ?? true
        }
        if isUnanswered { patience = min(patience, .seconds(60)) }
        let since =
            [pages[index].failingSince, pages[index].chargedSince, pages[index].mayFailSince].compactMap { $0 }.min()
            ?? now.instant
        return since + patience + (.zero - slack)
    }

    /// Whether the task's time is over, or will be when the wait that its server asked for is.
    func isOutOfPatience(_ index: Int, after asked: TimeSpan, _ now: Now) -> Bool {
        guard let end = earliestEnd(index, now) else { return false }
        return end <= now.instant || asked > .zero && end < now.instant + asked
    }
}
