import Scheduling
import Simulation
import TestSupport
import Testing
import TransferModel

/// Bodies in segments, in the world and in the books of who watches it.
@Suite struct SegmentedWorldTests {
    private static let first = TaskIndex(raw: 0)
    private static let second = TaskIndex(raw: 1)
    private static let origin = OriginID(raw: 0)

    private struct Counter: SimulationObserver {
        var lent = 0
        var recalled = 0
        var givenBack = 0
        mutating func sees(_ report: ExecutorReport, at now: Now) {
            if case .gaveBack = report { givenBack += 1 }
        }
        mutating func sees(_ command: RunCommand, affected: [TaskIndex], at now: Now) {}
        mutating func sees(_ action: SchedulerAction, at now: Now) {
            if case .perform(.lend) = action { lent += 1 }
            if case .perform(.recall) = action { recalled += 1 }
        }
        mutating func turnEnded(at now: Now) {}
    }

    /// One long body at a host that gives each transfer an even share, and a short one after a while.
    private static func setting(_ sessions: Int = 1) -> (SimulatedSetting, WorldModel) {
        var plan = SchedulingPlan()
        plan.policies = [SchedulingPlan.TaskPolicy(), SchedulingPlan.TaskPolicy()]
        plan.policies[1].earliestBegin = .afterStart(.seconds(2))
        plan.sessions = [
            SchedulingPlan.Session(
                maximumConnectionsPerHost: 3, maximumConcurrentTasks: nil, streamsPerConnection: 100,
                cancelsOnInvalidation: false)
        ]
        plan.tasks = (0..<2).map { SchedulingPlan.Task(session: SessionIndex(raw: 0), origin: origin, policy: $0) }
        var model = WorldModel()
        var host = WorldModel.Host()
        host.bandwidth = 10 << 20
        model.hosts = [host]
        model.sizes = .listed([100 << 20, 1 << 20])
        model.segments = 8
        return (SimulatedSetting(plan), model)
    }

    @Test func aLongBodyIsLentSlotsAndGivesThemUpForATask() {
        var (setting, model) = Self.setting()
        // A seed with which the first task wants several.
        var counter = Counter()
        for seed in 1...20 where counter.recalled == 0 {
            model.seed = UInt64(seed)
            setting.plan.seed = UInt64(seed)
            var run = SimulatedRun(setting, in: model, observer: Counter())
            let result = run.run()
            #expect(result.ending == .finished && result.outcomes[.succeeded] == 2)
            counter = run.observer
        }
        #expect(counter.lent >= 3 && counter.recalled >= 1 && counter.givenBack > 0)
    }

    /// The random worlds are no proof of anything if nothing is lent in them.
    @Test func randomWorldsLendAndRecall() {
        var (lent, recalled) = (0, 0)
        for seed in 0..<300 as Range<UInt64> {
            let world = RandomWorld(seed: seed)
            var run = SimulatedRun(world.setting, in: world.model, observer: Counter())
            _ = run.run(mostTurns: RandomRun.mostTurns, mostTime: RandomRun.mostTime)
            lent += run.observer.lent
            recalled += run.observer.recalled
        }
        #expect(lent > 300 && recalled > 0, "\(lent) lent, \(recalled) recalled")
    }

    // MARK: A scheduler that lies

    private static func violations(
        _ change: (inout SimulatedSetting) -> Void = { _ in }, _ story: (inout WorldAudit, Now) -> Void
    ) -> String {
        var (setting, model) = setting()
        setting.plan.policies[1].earliestBegin = nil
        change(&setting)
        model.seed = 1
        var audit = WorldAudit(setting, model)
        audit.sees(.perform(.start(first, attempt: 1, mirror: 0)), at: setting.start)
        audit.sees(.answered(first, Answer(status: 200)), at: setting.start)
        story(&audit, setting.start)
        return audit.violations.joined(separator: "; ")
    }

    @Test func onlyWhatCouldBeUsedIsLent() {
        let none = Self.violations { audit, now in audit.sees(.perform(.lend(Self.first, Self.origin)), at: now) }
        #expect(none.contains("lent more than it could use"))
        let idle = Self.violations { audit, now in audit.sees(.perform(.lend(Self.second, Self.origin)), at: now) }
        #expect(idle.contains("has none of its own"))
    }

    @Test func whatIsLentCountsAgainstTheHostsLimit() {
        let found = Self.violations { audit, now in
            audit.sees(.couldUse(Self.first, Self.origin, slots: 9), at: now)
            for _ in 0..<3 { audit.sees(.perform(.lend(Self.first, Self.origin)), at: now) }
        }
        #expect(found.contains("4 requests at host 0"))
    }

    @Test func aTaskThatCouldBeginIsNotKeptWaiting() {
        func story(_ recalls: Int) -> String {
            Self.violations { audit, now in
                audit.sees(.couldUse(Self.first, Self.origin, slots: 9), at: now)
                for _ in 0..<2 { audit.sees(.perform(.lend(Self.first, Self.origin)), at: now) }
                for _ in 0..<recalls { audit.sees(.perform(.recall(Self.first, Self.origin)), at: now) }
                audit.turnEnded(at: now)
            }
        }
        #expect(story(0).contains("keeps a slot that it was lent"))
        #expect(story(1).isEmpty)
    }

    @Test func nothingIsAskedBackForNobody() {
        let found = Self.violations {
            $0.plan.tasks[1].origin = nil
        } _: { audit, now in
            audit.sees(.couldUse(Self.first, Self.origin, slots: 9), at: now)
            audit.sees(.perform(.lend(Self.first, Self.origin)), at: now)
            audit.sees(.perform(.recall(Self.first, Self.origin)), at: now)
            audit.sees(.perform(.recall(Self.first, Self.origin)), at: now)
        }
        #expect(found.contains("nobody waits for it") && found.contains("nothing lent to give back"))
    }
}
