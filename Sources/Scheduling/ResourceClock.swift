import TransferModel

/// The clock of a task's `timeoutForResource`. It runs while nothing but the network holds the task back, and keeps
/// what is left while it stands.
struct ResourceClock: Sendable {
    private enum State: Sendable {
        case notBegun
        case standing(left: TimeSpan)
        case running(until: Instant)
    }
    private var state = State.notBegun

    var hasBegun: Bool { if case .notBegun = state { false } else { true } }
    var isRunning: Bool { if case .running = state { true } else { false } }

    /// Sets the time that is left. It does not run yet.
    mutating func begin(left: TimeSpan) { state = .standing(left: left) }

    /// Lets it run. Returns when it is over, or `nil` where nothing changes: it runs, or has not begun.
    mutating func start(at now: Instant) -> Instant? {
        guard case .standing(let left) = state else { return nil }
        state = .running(until: now + left)
        return now + left
    }

    /// Stops it. Returns whether it ran: the timer of its end is void then.
    mutating func stop(at now: Instant) -> Bool {
        guard case .running(let end) = state else { return false }
        state = .standing(left: end - now)
        return true
    }

    /// Whether it runs and is over at this moment.
    func ends(at due: Instant) -> Bool { if case .running(due) = state { true } else { false } }
}
