import Scheduling
import Simulation
import TestSupport
import TransferModel

/// Tells one run line by line, for whoever wants to know how it came to break a rule.
struct RunNarrator: SimulationObserver {
    private let start: Instant

    static func tell(seed: UInt64) {
        let world = RandomWorld(seed: seed)
        let plan = world.setting.plan
        print(
            "run: \(plan.maximumConcurrentTasks) tasks at once, timeout \(text(plan.timeout)), finishBy "
                + "\(plan.finishBy.map { "\($0)" } ?? "none"), most bytes \(plan.maximumBytes ?? -1), "
                + "failFast \(plan.failFast), own tries \(plan.ownTries)"
        )
        for (index, session) in plan.sessions.enumerated() { print("session \(index): \(session)") }
        for (index, policy) in plan.policies.enumerated() { print("policy \(index): \(policy)") }
        for (index, host) in world.model.hosts.enumerated() { print("host \(index): \(host)") }
        for (origin, limits) in world.setting.hostLimits { print("limits of host \(origin.raw): \(limits)") }
        for (index, task) in plan.tasks.enumerated() {
            let needs = (task.needs.map { "\($0.raw)" } + task.neededGroups.map { "group \($0.raw)" })
            let places = plan.mirrors[TaskIndex(raw: UInt32(index))] ?? [task.origin]
            let hosts = places.map { $0.map { "\($0.raw)" } ?? "none" }.joined(separator: ", then ")
            print(
                "task \(index): session \(task.session.raw), host \(hosts), policy "
                    + "\(task.policy), group \(task.group.map { "\($0.raw)" } ?? "none"), needs \(needs)")
        }
        var run = SimulatedRun(
            world.setting, in: world.model, observer: RunNarrator(start: world.setting.start.instant))
        print("\(run.run(mostTurns: RandomRun.mostTurns, mostTime: RandomRun.mostTime))")
    }

    private static func text(_ span: TimeSpan?) -> String { span.map { "\($0.seconds) s" } ?? "none" }

    private func line(_ now: Now, _ mark: String, _ what: Any) {
        print("\((now.instant - start).seconds) \(mark) \(Self.short("\(what)"))")
    }

    /// Without the names of modules and types that say nothing here.
    static func short(_ text: String) -> String {
        var text = text
        for word in [
            "TransferModel.", "Scheduling.", "TaskIndex(raw: ", "OriginID(raw: ", "SchedulerAction.",
            "ExecutorCommand.", "TestSupport.",
        ] {
            while let place = text.firstRange(of: word) { text.removeSubrange(place) }
        }
        return text
    }

    mutating func sees(_ report: ExecutorReport, at now: Now) { line(now, "  <-", report) }
    mutating func sees(_ command: RunCommand, affected: [TaskIndex], at now: Now) {
        line(now, "  !!", "\(command) took effect on \(affected.map(\.raw))")
    }
    mutating func sees(_ action: SchedulerAction, at now: Now) { line(now, "->", action) }
    mutating func turnEnded(at now: Now) {}
}
