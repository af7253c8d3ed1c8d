package import Scheduling
package import TransferModel

/// What a simulated run is, beside its world.
package struct SimulatedSetting: Sendable {
    package var plan: SchedulingPlan
    /// `limits.hosts`.
    package var hostLimits: [(origin: OriginID, limits: OriginLimits)] = []
    /// Told when so much time has passed, in this order.
    package var commands: [(after: TimeSpan, command: RunCommand)] = []
    /// The longest time by which a turn comes late, as turns of a real loop do.
    package var lateness = TimeSpan.zero
    /// What the clocks show at the beginning.
    package var start = Now(
        instant: Instant(nanoseconds: 1_000_000_000_000), boot: Instant(nanoseconds: 1_000_000_000_000),
        wall: WallTime(nanoseconds: 1_795_244_400_000_000_000))
    package init(_ plan: SchedulingPlan) { self.plan = plan }
}

/// What a simulated run came to.
package struct SimulationResult: Hashable, Sendable {
    package enum Ending: Hashable, Sendable {
        case finished
        /// Nothing was under way or due, and tasks were left: the scheduler forgot them.
        case stuck
        /// More turns or time than it was given.
        case endless
        /// The process that carried it ended.
        case interrupted
    }
    package var ending = Ending.finished
    /// In the world's time.
    package var duration = TimeSpan.zero
    package var turns = 0
    package var attempts = 0
    package var trace = TraceHash()
    /// By outcome, the tolerated failures among the failed.
    package var outcomes: [TaskOutcome: Int] = [:]
    package init() {}
}

/// The real scheduler before a modelled world, on a virtual clock, as fast as both can think.
package struct SimulatedRun<Observer: SimulationObserver> {
    private var scheduler: Scheduler
    private var world: SimulatedWorld
    private var setting: SimulatedSetting
    private var nextCommand = 0
    private var now: Now
    private var lateness: RandomBits
    private let tape: EventTape?
    /// Of the processes before.
    private var history: RunHistory?
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
        goingOn run: SimulatedRun, _ history: RunHistory, after gap: TimeSpan, hasCrashed: Bool, keepingPartials: Bool,
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

    /// Runs to the end, or until somebody ends the process after a turn. The bounds are for a scheduler that goes wrong.
    package mutating func run(
        mostTurns: Int = .max, mostTime: TimeSpan = .forever, until isInterrupted: () -> Bool = { false }
    ) -> SimulationResult {
        tape?.begin(setting.plan, now, history)
        return goOn(mostTurns: mostTurns, mostTime: mostTime, until: isInterrupted)
    }

    /// The process is not ended after all where it stands: it makes way first.
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

    /// Since the beginning of the run.
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
            case .waiting, .resumed, .expand, .attemptEnded, .groupFinished: tape?.takes(action, now)
            }
        }
        observer.turnEnded(at: now)
        tape?.handOver()
    }

    /// When something is to happen next, in the world, in the scheduler or by a command.
    private func nextMoment() -> Instant? {
        // What is to come from outside keeps nobody waiting: commands alone are no reason to go on.
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
            scheduler.take(report, now: now)
        }
        // What that ends is told a moment later, as a client has to end it first.
        for conditions in news { world.change(to: conditions) }
    }
}
