import Scheduling
import TransferEngine
package import TransferModel

/// How a run takes its turn among others of one process, of which only so many start tasks at a time.
package struct TurnSettings: Sendable {
    /// Whether the run may start tasks from the beginning.
    package var isGiven: Bool
    /// Called on the loop with what the run says of its turn.
    package var tell: @Sendable (TurnNews) -> Void

    package init(isGiven: Bool, tell: @escaping @Sendable (TurnNews) -> Void) {
        self.isGiven = isGiven
        self.tell = tell
    }
}

/// What a run says of its turn.
package enum TurnNews: Hashable, Sendable {
    /// The run has something to do and waits for its turn, which comes with `RunInput.turnGiven`.
    case wanted
    /// The run has nothing to do and starts nothing before its next turn.
    case givenUp(RunRest)
    /// The run was asked to rest and does not: it has something to do by now.
    case stays
}

/// What a run without anything to do waits for.
package enum RunRest: Hashable, Sendable {
    /// Something that only a run under way sees: networks, power, a command of its own.
    case watching
    /// A date or a request: until something falls due after this time, or, with `nil`, for a request alone. Another process
    /// or thread may begin the run anew then.
    case plain(TimeSpan?)
}

/// Decides when a run asks for its turn and when it gives it up. A run that only waits, for a date, a network, a pause or a
/// person, keeps no other from starting.
package struct RunTurn: Sendable {
    /// What the run does about its turn.
    package enum Step: Hashable, Sendable { case ask, giveUp }
    private enum State { case given, notGiven, resting, asked }
    private var state = State.given
    /// Whether the process asked the run to rest, which was not answered yet.
    var isAskedToRest = false

    /// A rest of this length or less keeps the turn: the run is about to start something.
    static let shortRest = TimeSpan.seconds(1)

    package init() {}

    /// Returns what to do now. `hasWork`: a task runs or could start. `rest`: the time until something falls due; `nil` if
    /// nothing will.
    package mutating func step(hasWork: Bool, rest: @autoclosure () -> TimeSpan?) -> Step? {
        switch state {
        case .given, .notGiven:
            if hasWork {
                guard state == .notGiven else { return nil }
                state = .asked
                return .ask
            }
            guard (rest() ?? .seconds(3600)) > Self.shortRest else { return nil }
            state = .resting
            return .giveUp
        case .resting where hasWork:
            state = .asked
            return .ask
        case .resting, .asked: return nil
        }
    }

    /// Whether the run gave its turn up and has not asked for another.
    var isResting: Bool { state == .resting }

    /// The run may start tasks.
    package mutating func wasGiven() { state = .given }
    /// The run has to ask before it starts its first task.
    package mutating func wasNotGiven() { state = .notGiven }
}

extension JobRun {
    /// Starts nothing before the run's turn, if that is not given yet.
    func awaitFirstTurn(_ now: Now) {
        guard settings.turn?.isGiven == false else { return }
        turn.wasNotGiven()
        scheduler.command(.pauseStarts(.awaitsTurn, true), now: now)
    }

    /// Asks for the run's turn when it has something to do, and gives it up when it has nothing.
    func settleTurn(_ now: Now) {
        guard let settings = settings.turn else { return }
        let due = scheduler.nextDeadline(now: now).map { $0 - now.instant }
        switch turn.step(hasWork: scheduler.hasWork, rest: due) {
        case .ask: settings.tell(.wanted)
        case .giveUp:
            scheduler.command(.pauseStarts(.awaitsTurn, true), now: now)
            settings.tell(.givenUp(isPlain ? .plain(due) : .watching))
        case nil: break
        }
    }

    /// Whether the run leaves its process until it has something to do; says so where it does not.
    func mayRest() -> Bool {
        if turn.isResting, isPlain, owed.isEmpty { return true }
        settings.turn?.tell(.stays)
        return false
    }

    /// Whether all that the run waits for is in its events and its job.
    private var isPlain: Bool {
        hooks.isEmpty && templates.isIdle && engine.isUntouched && !scheduler.awaitsConditions
            && !scheduler.isMakingWay && !scheduler.isFinished
    }

    func takeTurn(_ now: Now) {
        turn.wasGiven()
        scheduler.command(.pauseStarts(.awaitsTurn, false), now: now)
    }
}
