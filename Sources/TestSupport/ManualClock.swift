package import TransferModel

/// A clock that stands still until the test moves it.
package struct ManualClock: Sendable {
    package private(set) var now: Now

    /// Starts away from zero, so that a rule which confuses "unset" with "0" shows, on 2026-11-21 at 07:00 UTC.
    package init(
        instant: Instant = Instant(nanoseconds: 1_000_000_000_000),
        wall: WallTime = WallTime(nanoseconds: 1_795_244_400_000_000_000)
    ) {
        now = Now(instant: instant, boot: instant, wall: wall)
    }

    package var instant: Instant { now.instant }
    package var wall: WallTime { now.wall }

    /// Time passes on every clock.
    @discardableResult
    package mutating func advance(_ span: TimeSpan) -> Now {
        now.instant = now.instant + span
        now.boot = now.boot + span
        now.wall = now.wall + span
        return now
    }

    /// Moves to `instant` when that lies ahead.
    @discardableResult
    package mutating func advance(to instant: Instant) -> Now {
        instant > now.instant ? advance(instant - now.instant) : now
    }

    /// The machine is suspended: timers do not see it, the boot clock and the date do.
    @discardableResult
    package mutating func suspendMachine(_ span: TimeSpan) -> Now {
        now.boot = now.boot + span
        now.wall = now.wall + span
        return now
    }

    /// Somebody sets the date, forwards or back; no other clock moves.
    @discardableResult
    package mutating func setWall(_ wall: WallTime) -> Now {
        now.wall = wall
        return now
    }
}
