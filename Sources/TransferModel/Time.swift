/// A length of time in whole nanoseconds: cheap to add and compare, never negative in a job file.
package struct TimeSpan: Hashable, Comparable, Sendable {
    package var nanoseconds: Int64

    package init(nanoseconds: Int64) { self.nanoseconds = nanoseconds }
    package static let zero = TimeSpan(nanoseconds: 0)
    /// The longest span a job can state, used where "for ever" is meant.
    package static let forever = TimeSpan(nanoseconds: .max / 4)
    package static func seconds(_ count: Int64) -> TimeSpan { TimeSpan(nanoseconds: count * 1_000_000_000) }
    package static func milliseconds(_ count: Int64) -> TimeSpan { TimeSpan(nanoseconds: count * 1_000_000) }
    package static func microseconds(_ count: Int64) -> TimeSpan { TimeSpan(nanoseconds: count * 1_000) }

    /// As decimal seconds, the form every duration has in the report.
    package var seconds: Double { Double(nanoseconds) / 1e9 }
    package static func < (left: TimeSpan, right: TimeSpan) -> Bool { left.nanoseconds < right.nanoseconds }
    package static func + (left: TimeSpan, right: TimeSpan) -> TimeSpan {
        TimeSpan(nanoseconds: left.nanoseconds &+ right.nanoseconds)
    }
    package static func - (left: TimeSpan, right: TimeSpan) -> TimeSpan {
        TimeSpan(nanoseconds: left.nanoseconds &- right.nanoseconds)
    }
    package static func += (left: inout TimeSpan, right: TimeSpan) { left = left + right }
}

/// A point on the monotonic clock: what timers and durations are made of, untouched by clock jumps.
package struct Instant: Hashable, Comparable, Sendable {
    package var nanoseconds: Int64

    package init(nanoseconds: Int64) { self.nanoseconds = nanoseconds }
    package static let distantFuture = Instant(nanoseconds: .max / 2)
    package static func < (left: Instant, right: Instant) -> Bool { left.nanoseconds < right.nanoseconds }
    package static func + (left: Instant, right: TimeSpan) -> Instant {
        Instant(nanoseconds: left.nanoseconds &+ right.nanoseconds)
    }
    package static func - (left: Instant, right: Instant) -> TimeSpan {
        TimeSpan(nanoseconds: left.nanoseconds &- right.nanoseconds)
    }
}

/// A date: nanoseconds since 1970 in UTC, what reports print and `earliestBegin` compares with.
package struct WallTime: Hashable, Comparable, Sendable {
    package var nanoseconds: Int64

    package init(nanoseconds: Int64) { self.nanoseconds = nanoseconds }
    package static func < (left: WallTime, right: WallTime) -> Bool { left.nanoseconds < right.nanoseconds }
    package static func + (left: WallTime, right: TimeSpan) -> WallTime {
        WallTime(nanoseconds: left.nanoseconds &+ right.nanoseconds)
    }
    package static func - (left: WallTime, right: WallTime) -> TimeSpan {
        TimeSpan(nanoseconds: left.nanoseconds &- right.nanoseconds)
    }
}

/// All clocks, read together once per turn of the loop and passed down: no rule reads a clock itself.
package struct Now: Hashable, Sendable {
    /// For timers and durations.
    package var instant: Instant
    /// The monotonic clock that also runs while the machine sleeps: a gap between the two is a wake-up.
    package var boot: Instant
    /// For dates.
    package var wall: WallTime

    package init(instant: Instant, boot: Instant, wall: WallTime) {
        self.instant = instant
        self.boot = boot
        self.wall = wall
    }
}
