package import TransferModel

/// A clock that stands still until the test moves it.
package struct ManualClock: Sendable {
    /// Current readings of all three clocks.
    package private(set) var now: Now

    /// Starts away from zero, so that a rule which confuses "unset" with "0" shows, on 2026-11-21 at 07:00 UTC.
    package init(
        instant: Instant = Instant(nanoseconds: 1_000_000_000_000),
        wall: WallTime = WallTime(nanoseconds: 1_795_244_400_000_000_000)
    ) {
        now = Now(instant: instant, boot: instant, wall: wall)
    }

    /// Current reading of the monotonic clock.
    package var instant: Instant { now.instant }
    /// Current date.
    package var wall: WallTime { now.wall }

    /// Lets time pass on every clock.
    @discardableResult
    package mutating func advance(_ span: TimeSpan) -> Now {
        now.instant = now.instant + span
        now.boot = now.boot + span
        now.wall = now.wall + span
        return now
    }

    /// Lets time pass until `instant`; does nothing if that is not ahead.
    @discardableResult
    package mutating func advance(to instant: Instant) -> Now {
        instant > now.instant ? advance(instant - now.instant) : now
    }

    /// Suspends the machine: the monotonic clock stops, the boot clock and the date advance.
    @discardableResult
    package mutating func suspendMachine(_ span: TimeSpan) -> Now {
        now.boot = now.boot + span
        now.wall = now.wall + span
        return now
    }

    /// Sets the date, forwards or back; no other clock moves.
    @discardableResult
    package mutating func setWall(_ wall: WallTime) -> Now {
        now.wall = wall
        return now
    }
}
