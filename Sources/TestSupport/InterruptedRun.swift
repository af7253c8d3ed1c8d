internal import Scheduling
package import Simulation
internal import TransferModel

/// Runs one random job in one random world whose process ends again and again: each time another process continues from
/// the events that were reported until then. The whole is checked against every rule.
package struct InterruptedRun {
    private let world: RandomWorld
    private var random: Seeded
    private var history: RunHistory
    private let checker: CheckingConsumer
    private var crashes: CrashRows
    private var problems: [String] = []
    private var commands: [(after: TimeSpan, command: RunCommand)]
    private let cuts: Int
    private var tell: ((String) -> Void)?

    /// Collects all events of one process.
    private final class Reel: EventConsumer {
        var events: [Event] = []
        func consume(_ events: ArraySlice<Event>) { self.events += events }
    }

    /// Returns what was wrong, if anything, how often the process ended, and the result of the last process. `tell`
    /// receives a line for each event that is kept, to show how a rule came to be broken.
    package static func check(
        seed: UInt64, tell: ((String) -> Void)? = nil
    ) -> (problems: [String], cuts: Int, result: SimulationResult) {
        var run = InterruptedRun(seed: seed)
        run.tell = tell
        let (cuts, result) = run.run()
        return (run.problems, cuts, result)
    }

    private init(seed: UInt64) {
        world = RandomWorld(seed: seed)
        random = Seeded(seed: seed ^ 0x51A7_7E12_0DD5)
        let plan = world.setting.plan
        history = RunHistory(taskCount: plan.tasks.count, sessionCount: plan.sessions.count)
        crashes = CrashRows(tasks: plan.tasks.count)
        cuts = 1 + random.below(5)
        commands = world.setting.commands
        var facts = TraceFacts(world.setting)
        facts.interruptions = cuts
        checker = CheckingConsumer(facts)
    }

    private mutating func run() -> (cuts: Int, SimulationResult) {
        var reel = Reel()
        var run = SimulatedRun(
            world.setting, in: world.model, observer: WorldAudit(world.setting, world.model), tape: EventTape(reel))
        var number = 0
        while true {
            let isLast = number == cuts
            let told = isLast ? Int.max : random.below(8 * world.setting.plan.tasks.count + 8)
            // The journal may lag behind what has happened.
            let lag = random.oneIn(2) ? 0 : random.below(20)
            var result = run.run(mostTurns: RandomRun.mostTurns, mostTime: RandomRun.mostTime) { [reel] in
                !isLast && reel.events.count >= told + lag
            }
            let makesWay = result.ending == .interrupted && random.oneIn(3)
            if makesWay { result = makeWay(&run) }
            if result.ending != .interrupted { run.observer.close(result) }
            problems += run.observer.violations.map { "process \(number): \($0)" }
            let kept = keep(reel.events, isLast || makesWay ? .max : told, hasEnded: result.ending != .interrupted)
            for event in kept { history.apply(event) }
            tellOf(kept, of: number)
            if makesWay, result.ending == .interrupted, run.observer.seesAttempts {
                problems.append("process \(number) made way with an attempt under way")
            }
            checker.consume(kept)
            for event in kept { if let wrong = crashes.take(event) { problems.append(wrong) } }
            let isWhole = result.ending != .interrupted && kept.count == reel.events.count
            guard problems.isEmpty, !isWhole else {
                if result.ending == .finished, problems.isEmpty { problems += checker.finish().map { "\($0)" } }
                return (number, result)
            }
            reel = Reel()
            run = goOn(run, EventTape(reel), hasCrashed: !makesWay && random.oneIn(2))
            number += 1
        }
    }

    private func tellOf(_ events: ArraySlice<Event>, of process: Int) {
        guard let tell else { return }
        for event in events {
            let seconds = (event.time - world.setting.start.wall).seconds
            tell("process \(process) \(seconds) task \(event.task?.raw ?? .max) \(TraceStep(event).kind)")
        }
    }

    /// Hands the run over instead of cutting it off: attempts that cannot be repeated come to their end.
    private mutating func makeWay(_ run: inout SimulatedRun<WorldAudit>) -> SimulationResult {
        let awaited = world.setting.plan.tasks.indices.filter { _ in random.oneIn(3) }
        return run.makeWay(
            awaiting: Set(awaited.map { TaskIndex(raw: UInt32($0)) }), mostTurns: RandomRun.mostTurns,
            mostTime: RandomRun.mostTime)
    }

    /// Returns the events that the next process finds.
    private mutating func keep(_ events: [Event], _ most: Int, hasEnded: Bool) -> ArraySlice<Event> {
        guard most != .max else { return events[...] }
        guard hasEnded else { return events.prefix(most) }
        // Now and then the process ends with everything done and not everything reported.
        return random.oneIn(3) ? events.dropLast(random.below(8)) : events[...]
    }

    private mutating func goOn(
        _ run: borrowing SimulatedRun<WorldAudit>, _ tape: EventTape, hasCrashed: Bool
    ) -> SimulatedRun<WorldAudit> {
        let gap: TimeSpan =
            switch random.below(4) {
            case 0: .zero
            case 1: .milliseconds(Int64(random.below(200)))
            case 2: .milliseconds(Int64(random.below(4_000)))
            default: .milliseconds(Int64(random.below(20_000)))
            }
        // Tasks that a command suspended are resumed in the end, even if the first resume was lost.
        let all = world.setting.plan.tasks.indices.map { TaskIndex(raw: UInt32($0)) }
        let late = run.time + gap + .seconds(5)
        let further: [(after: TimeSpan, command: RunCommand)] = commands.isEmpty ? [] : [(late, .resume(all))]
        commands += further
        let (told, commands) = (history, commands)
        return SimulatedRun(
            goingOn: run, history, after: gap, hasCrashed: hasCrashed, keepingPartials: random.oneIn(2),
            commands: further,
            observer: { setting, now in
                var setting = setting
                // A run whose events were all lost begins later.
                let late = (told.beganAt ?? now.wall) - setting.start.wall
                setting.commands = commands.map { ($0.after - late, $0.command) }
                let start = setting.start
                setting.start = Now(instant: start.instant + late, boot: start.boot + late, wall: start.wall + late)
                return WorldAudit(setting, world.model, goingOn: told, at: now)
            }, tape: tape)
    }
}

/// Checks that a task fails as the cause of crashes after three crashes in a row, and only then.
private struct CrashRows {
    private var rows: [Int]
    init(tasks: Int) { rows = Array(repeating: 0, count: tasks) }

    /// Returns what is wrong with the event; `nil` if nothing is.
    mutating func take(_ event: Event) -> String? {
        guard let task = event.task.map({ Int($0.raw) }) else { return nil }
        switch event.kind {
        case .attemptFinished(let record):
            rows[task] = record.error == .processCrashed ? rows[task] + 1 : 0
            if rows[task] > 3 { return "task \(task) was under way in \(rows[task]) crashes" }
        case .attemptStarted where rows[task] >= 3: return "task \(task) begins again after three crashes"
        case .taskFinished(let record) where record.error?.name == .taskCrashedRunner && rows[task] != 3:
            return "task \(task) is blamed for crashes, of which it saw \(rows[task])"
        default: break
        }
        return nil
    }
}
