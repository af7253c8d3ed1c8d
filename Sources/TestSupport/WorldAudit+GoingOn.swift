internal import Scheduling
package import Simulation
package import TransferModel

// The audit's state of a run that another process continues, rebuilt from its reported events.

extension WorldAudit {
    /// Opens the state for a run that another process continues, from its reported events. `now` is the new beginning.
    package init(_ setting: SimulatedSetting, _ model: WorldModel, goingOn history: RunHistory, at now: Now) {
        self.init(setting, model)
        slack = .milliseconds(2)
        bytesMoved = history.bytesMoved
        hasFailedFast = plan.failFast && history.tasks.contains { $0.ending.map(Self.isFailure) ?? false }
        for ending in history.tasks.compactMap(\.ending) { countEnd(ending.outcome, ending.isTolerated) }
        judgeShare(now)
        if history.tasks.contains(where: { $0.ending?.error?.isByStopWhen == true }) { hasFailedFast = true }
        for (index, past) in history.tasks.enumerated() {
            pages[index].attempts = past.attempts
            let policy = plan.policies[plan.tasks[index].policy]
            pages[index].tries =
                pages[index].mirrors == nil
                ? past.tries
                : past.rounds(of: policy.retry.attempts ?? .max, waitsForConnectivity: policy.waitsForConnectivity)
            if let ending = past.ending { close(index, past, ending) } else { open(index, past, now) }
        }
        for (group, page) in groups.enumerated()
        where page.members.contains(where: { pages[$0].conclusion?.outcome == .succeeded }) {
            groups[group].outcome = true
            // The other members were published with it.
            for member in page.members where pages[member].phase == .waiting { pages[member].phase = .staged }
        }
    }

    private static func isFailure(_ ending: TaskPast.Ending) -> Bool {
        ending.outcome == .failed && !ending.isTolerated
    }

    private mutating func close(_ index: Int, _ past: TaskPast, _ ending: TaskPast.Ending) {
        pages[index].phase = .finished
        pages[index].conclusion = Conclusion(
            outcome: ending.outcome, error: ending.error, tolerated: ending.isTolerated, waits: [],
            attempts: past.attempts, duration: .zero, held: .zero, staged: .zero, deferral: ending.deferral)
    }

    private mutating func open(_ index: Int, _ past: TaskPast, _ now: Now) {
        let facts = plan.tasks[index]
        let policy = plan.policies[facts.policy]
        let elapsed = now.instant - setting.start.instant
        let waited = past.waits.reduce(past.untoldWait) { $0 + $1.duration }
        pages[index].createdAfter = past.createdAfter ?? elapsed
        pages[index].attemptTime = past.explained - (past.createdAfter ?? past.explained) - waited
        if let attempt = past.open {
            pages[index].isLost = true
            pages[index].attemptTime += elapsed - attempt.beganAfter
        }
        pages[index].isSuspended = past.isSuspended || policy.isSuspended && !past.wasResumed
        pages[index].backoffUntil = past.retryAt.map { setting.start.instant + $0 }
        pages[index].failingSince = past.failing.map { setting.start.instant + $0.since }
        pages[index].isPatient = facts.needs.contains {
            facts.group != nil && plan.tasks[Int($0.raw)].group == facts.group
        }
        if past.hasBegun { pages[index].begunAt = now.instant + (.zero - past.resourceTime(at: elapsed)) }
        if past.hostAskedForQuiet, let until = pages[index].backoffUntil, pages[index].mirrors == nil {
            rest(index, until, now)
        }
        let outside = past.waits.filter { $0.reason == .network || $0.reason == .power }
        networks[index].barred = outside.reduce(.zero) { $0 + $1.duration }
        if past.open == nil, past.waiting == .network || past.waiting == .power {
            networks[index].barred += elapsed - past.explained
        }
        networks[index].barredSince = networks[index].barredSince.map { _ in now.instant }
        guard past.open == nil else { return }
        switch past.lastEnd {
        case .succeeded: if facts.group == nil { pages[index].phase = .staged }
        case .failed(let error): owe(index, policy, error, past.status)
        case .cancelled, nil: break
        }
    }

    /// Notes that the task's host asked for no requests until `until`.
    private mutating func rest(_ index: Int, _ until: Instant, _ now: Now) {
        guard let origin = plan.tasks[index].origin.map({ Int($0.raw) }), until > now.instant else { return }
        origins[origin].isParked = true
        origins[origin].isExact = false
        origins[origin].quietUntil = max(origins[origin].quietUntil, until)
        origins[origin].restUntil = max(origins[origin].restUntil, until)
    }

    /// Notes that the failure ends the task, which was not reported yet and has to be now.
    private mutating func owe(
        _ index: Int, _ policy: SchedulingPlan.TaskPolicy, _ error: TransferError, _ status: Int?
    ) {
        let isNetworks =
            Self.deadNames.contains(error.name) || error.name == .notConnectedToInternet
            || error.name == .noPermittedRoute
        guard pages[index].mirrors == nil, !(policy.waitsForConnectivity && isNetworks) else { return }
        pages[index].verdict = Verdict(.failed(error), status: status)
        pages[index].isOwed = true
    }

    /// Checks the end of an attempt that ended with its process.
    mutating func lostAttemptEnded(_ index: Int, _ end: AttemptEnd, _ now: Now) {
        pages[index].isLost = false
        let isRight =
            end.outcome == .cancelled && end.error?.name == .backgroundSessionWasDisconnected && end.backoff == nil
            && end.held == .zero
        hold(isRight, now, "task \(index)'s attempt ended with its process, and that is not told: \(end)")
    }
}
