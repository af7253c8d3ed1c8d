package import Scheduling
package import TransferModel

/// What defines a simulated run, apart from its world.
package struct SimulatedSetting: Sendable {
    /// The plan that the scheduler is given.
    package var plan: SchedulingPlan
    /// The job's `limits.hosts`, by origin.
    package var hostLimits: [(origin: OriginID, limits: OriginLimits)] = []
    /// Commands to the run, each with the time since its beginning at which it comes; ascending by that time.
    package var commands: [(after: TimeSpan, command: RunCommand)] = []
    /// The longest time by which a turn comes late, as turns of a real loop do.
    package var lateness = TimeSpan.zero
    /// What the clocks show at the beginning.
    package var start = Now(
        instant: Instant(nanoseconds: 1_000_000_000_000), boot: Instant(nanoseconds: 1_000_000_000_000),
        wall: WallTime(nanoseconds: 1_795_244_400_000_000_000))
    /// With a `tape` the run produces events as a real one does; without it, it is faster.
    package init(_ plan: SchedulingPlan) { self.plan = plan }
}

/// The outcome and the counts of a simulated run.
package struct SimulationResult: Hashable, Sendable {
    /// Why the simulation ended.
    package enum Ending: Hashable, Sendable {
        /// The scheduler reported that the run is finished.
        case finished
        /// Nothing was under way or due, and tasks were left: the scheduler forgot them.
        case stuck
        /// The run took more turns or time than it was allowed.
        case endless
        /// The simulated process ended before the run did.
        case interrupted
    }
    /// Why the simulation ended.
    package var ending = Ending.finished
    /// Simulated time from the beginning of the run to its end.
    package var duration = TimeSpan.zero
    /// Turns of the scheduler in this process.
    package var turns = 0
    /// Attempts that the scheduler started in this process.
    package var attempts = 0
    /// Hash over all actions of the scheduler, with their times.
    package var trace = TraceHash()
    /// Number of tasks per outcome; tolerated failures count as failed.
    package var outcomes: [TaskOutcome: Int] = [:]
    /// Continues an interrupted run in another process: what was under way is lost, and the new scheduler knows only
    /// the `history`. Commands that fell into the `gap` come late; changes of networks in it are already in effect.
    package init() {}
}

/// Runs the real scheduler against a modelled world on a virtual clock, as fast as both can compute.
package struct SimulatedRun<Observer: SimulationObserver>: ~Copyable {
    private var scheduler: Scheduler
    private var world: SimulatedWorld
    private var setting: SimulatedSetting
    private var nextCommand = 0
    private var now: Now
    private var lateness: RandomBits
    private let tape: EventTape?
    /// What the events of earlier processes say of the run; `nil` in a run's first process.
    private var history: RunHistory?
    /// Receives every report, command and action of the run.
    package var observer: Observer
    private var result = SimulationResult()

    /// With a `tape` the run tells its events as a real one does; without it, it is faster.
    package init(
        _ setting: SimulatedSetting, in model: WorldModel, script: RecordedRun? = nil, observer: Observer,
        tape: EventTape? = nil
    ) {
        self.setting = setting
        self.observer = observer
        self.tape = tape
        now = setting.start
        lateness = RandomBits(seed: setting.plan.seed ^ model.seed)
        world = SimulatedWorld(model, plan: setting.plan, script: script, now: now.instant)
        scheduler = Scheduler(setting.plan, now: now)
        for (origin, limits) in setting.hostLimits { scheduler.limit(origin, to: limits) }
    }

    /// Another process goes on with a run that was interrupted: what was under way is lost, and all it knows is the
    /// `history`. Commands of the time between come late; networks are as they are by now.
    package init(
        goingOn run: borrowing SimulatedRun, _ history: RunHistory, after gap: TimeSpan, hasCrashed: Bool,
        keepingPartials: Bool,
        commands: [(after: TimeSpan, command: RunCommand)] = [], observer: (SimulatedSetting, Now) -> Observer,
        tape: EventTape?
    ) {
        var setting = run.setting
        now = Now(instant: run.now.instant + gap, boot: run.now.boot + gap, wall: run.now.wall + gap)
        let time = now.instant - setting.start.instant
        let left = setting.commands.dropFirst(run.nextCommand)
        for (after, command) in left where after <= time {
            if case .conditions(let conditions) = command { setting.plan.conditions = conditions }
        }
        let late = left.filter { after, command in
            if case .conditions = command { after > time } else { true }
        }
        setting.commands = (late + commands).sorted { $0.after < $1.after }
        setting.plan.seed &+= 1
        self.setting = setting
        self.tape = tape
        self.observer = observer(setting, now)
        lateness = run.lateness
        world = run.world
        world.lose(keepingPartials: keepingPartials, until: now.instant, setting.plan.conditions)
        scheduler = Scheduler(setting.plan, now: now, history: history, hasCrashed: hasCrashed)
        for (origin, limits) in setting.hostLimits { scheduler.limit(origin, to: limits) }
        self.history = history
    }

    /// Runs to the end, or until `isInterrupted` returns true after a turn, which ends the process. The bounds stop a
    /// scheduler that goes wrong.
    package mutating func run(
        mostTurns: Int = .max, mostTime: TimeSpan = .forever, until isInterrupted: () -> Bool = { false }
    ) -> SimulationResult {
        tape?.begin(setting.plan, now, history)
        return goOn(mostTurns: mostTurns, mostTime: mostTime, until: isInterrupted)
    }

    /// Hands the run over instead of ending the process at once: attempts of `tasks` come to their end first, the
    /// others are interrupted then. Returns once no attempt is under way or the run is finished.
    package mutating func makeWay(
        awaiting tasks: Set<TaskIndex>, mostTurns: Int = .max, mostTime: TimeSpan = .forever
    ) -> SimulationResult {
        let command = RunCommand.makeWay(awaiting: tasks)
        observer.sees(command, affected: scheduler.command(command, now: now), at: now)
        return goOn(mostTurns: mostTurns, mostTime: mostTime, until: { false })
    }

    private mutating func goOn(
        mostTurns: Int, mostTime: TimeSpan, until isInterrupted: () -> Bool
    ) -> SimulationResult {
        while true {
            turn()
            if isInterrupted() || scheduler.hasMadeWay && !scheduler.isFinished {
                result.ending = .interrupted
                result.duration = now.instant - setting.start.instant
                return result
            }
            result.ending = .finished
            if scheduler.isFinished { break }
            guard let next = nextMoment() else {
                result.ending = .stuck
                break
            }
            guard result.turns < mostTurns, now.instant - setting.start.instant <= mostTime else {
                result.ending = .endless
                break
            }
            go(to: next)
        }
        result.duration = now.instant - setting.start.instant
        tape?.end(scheduler, now)
        return result
    }

    /// Time since the beginning of the run.
    package var time: TimeSpan { now.instant - setting.start.instant }

    private mutating func turn() {
        result.turns += 1
        for action in scheduler.turn(now: now) {
            result.trace.mix(action, at: now.instant)
            observer.sees(action, at: now)
            switch action {
            case .perform(let command):
                if case .start = command { result.attempts += 1 }
                tape?.performs(command, now)
                world.perform(command, now: now.instant)
            case .finished(let task, let conclusion):
                result.outcomes[conclusion.outcome, default: 0] += 1
                tape?.finished(task, conclusion, now)
            case .waiting, .resumed, .expand, .attemptEnded, .groupFinished, .connectionsChanged:
                tape?.takes(action, now)
            }
        }
        observer.turnEnded(at: now)
        tape?.handOver()
    }

    /// Returns when something happens next in the world, in the scheduler or by a command; `nil` if nothing will.
    private func nextMoment() -> Instant? {
        // Commands count here as well: a command can be what the run waits for.
        var next: Instant?
        if let world = world.next { next = world }
        if let deadline = scheduler.nextDeadline(now: now) { next = min(next ?? deadline, deadline) }
        guard nextCommand < setting.commands.count else { return next }
        let command = setting.start.instant + setting.commands[nextCommand].after
        return min(next ?? command, command)
    }

    private mutating func go(to next: Instant) {
        var due = max(now.instant, next)
        if setting.lateness > .zero, lateness.next() % 4 == 0 {
            due = due + TimeSpan(nanoseconds: Int64(lateness.next() % UInt64(setting.lateness.nanoseconds)))
        }
        let passed = due - now.instant
        now = Now(instant: due, boot: now.boot + passed, wall: now.wall + passed)
        var news: [Conditions] = []
        while nextCommand < setting.commands.count,
            setting.start.instant + setting.commands[nextCommand].after <= now.instant
        {
            let command = setting.commands[nextCommand].command
            nextCommand += 1
            let affected = scheduler.command(command, now: now)
            observer.sees(command, affected: affected, at: now)
            tape?.takes(command)
            if case .conditions(let conditions) = command {
                news.append(conditions)
                setting.plan.conditions = conditions
            }
        }
        for report in world.advance(to: now.instant) {
            observer.sees(report, at: now)
            tape?.takes(report, now)
            scheduler.receive(report, now: now)
        }
        // Attempts that the change ends are reported a moment later, as a client has to end them first.
        for conditions in news { world.change(to: conditions) }
    }
}
