import TransferModel

/// The time as the shell told it last, and when the run began.
struct RunClock: Sendable {
    private(set) var now: Now
    let beganAt: Instant
    private var lastTurn: Now

    /// `elapsed`: for how long earlier processes carried the run.
    init(_ now: Now, elapsed: TimeSpan = .zero) {
        self.now = now
        lastTurn = now
        beganAt = now.instant + (.zero - elapsed)
    }

    mutating func set(_ now: Now) { self.now = now }

    /// Sets the time of a turn. Returns whether the date was set forth or back by more than a second since the last
    /// turn: windows may open or close out of their turn then.
    mutating func beginTurn(_ now: Now) -> Bool {
        let drift = (now.wall - lastTurn.wall) - (now.instant - lastTurn.instant)
        self.now = now
        lastTurn = now
        return abs(drift.nanoseconds) > 1_000_000_000
    }
}
