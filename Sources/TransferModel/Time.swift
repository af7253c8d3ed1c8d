/// A length of time in whole nanoseconds. Job files hold no negative ones.
package struct TimeSpan: Hashable, Comparable, Sendable {
    /// The length in nanoseconds.
    package var nanoseconds: Int64

    package init(nanoseconds: Int64) { self.nanoseconds = nanoseconds }
    /// No time at all.
    package static let zero = TimeSpan(nanoseconds: 0)
    /// The longest span that a job can state; it stands for "without end". A quarter of the largest number, so that
    /// sums of spans do not overflow.
    package static let forever = TimeSpan(nanoseconds: .max / 4)
    /// Returns a span of that many seconds.
    package static func seconds(_ count: Int64) -> TimeSpan { TimeSpan(nanoseconds: count * 1_000_000_000) }
    /// Returns a span of that many milliseconds.
    package static func milliseconds(_ count: Int64) -> TimeSpan { TimeSpan(nanoseconds: count * 1_000_000) }
    /// Returns a span of that many microseconds.
    package static func microseconds(_ count: Int64) -> TimeSpan { TimeSpan(nanoseconds: count * 1_000) }

    /// The length in decimal seconds, the form that every duration has in the report.
    package var seconds: Double { Double(nanoseconds) / 1e9 }
    /// Orders spans by length.
    package static func < (left: TimeSpan, right: TimeSpan) -> Bool { left.nanoseconds < right.nanoseconds }
    /// Returns the sum; it wraps around on overflow.
    package static func + (left: TimeSpan, right: TimeSpan) -> TimeSpan {
        TimeSpan(nanoseconds: left.nanoseconds &+ right.nanoseconds)
    }
    /// Returns the difference, which may be negative; it wraps around on overflow.
    package static func - (left: TimeSpan, right: TimeSpan) -> TimeSpan {
        TimeSpan(nanoseconds: left.nanoseconds &- right.nanoseconds)
    }
    /// Makes the span longer by another.
    package static func += (left: inout TimeSpan, right: TimeSpan) { left = left + right }
}

/// A point on a monotonic clock, which timers and durations are measured on: jumps of the date do not move it.
package struct Instant: Hashable, Comparable, Sendable {
    /// Nanoseconds on that clock.
    package var nanoseconds: Int64

    package init(nanoseconds: Int64) { self.nanoseconds = nanoseconds }
    /// A point later than any timer; half of the largest number, so that spans can be added to it.
    package static let distantFuture = Instant(nanoseconds: .max / 2)
    /// Orders points by time.
    package static func < (left: Instant, right: Instant) -> Bool { left.nanoseconds < right.nanoseconds }
    /// Returns the point that lies a span later; it wraps around on overflow.
    package static func + (left: Instant, right: TimeSpan) -> Instant {
        Instant(nanoseconds: left.nanoseconds &+ right.nanoseconds)
    }
    /// Returns the span from the right point to the left one, negative if the left one is earlier.
    package static func - (left: Instant, right: Instant) -> TimeSpan {
        TimeSpan(nanoseconds: left.nanoseconds &- right.nanoseconds)
    }
}

/// A date: reports print it and `earliestBegin` is compared with it.
package struct WallTime: Hashable, Comparable, Sendable {
    /// Nanoseconds since 1970 in UTC.
    package var nanoseconds: Int64

    package init(nanoseconds: Int64) { self.nanoseconds = nanoseconds }
    /// Orders dates by time.
    package static func < (left: WallTime, right: WallTime) -> Bool { left.nanoseconds < right.nanoseconds }
    /// Returns the date that lies a span later; it wraps around on overflow.
    package static func + (left: WallTime, right: TimeSpan) -> WallTime {
        WallTime(nanoseconds: left.nanoseconds &+ right.nanoseconds)
    }
    /// Returns the span from the right date to the left one, negative if the left one is earlier.
    package static func - (left: WallTime, right: WallTime) -> TimeSpan {
        TimeSpan(nanoseconds: left.nanoseconds &- right.nanoseconds)
    }
}

/// All clocks, read together once per turn of the loop and passed down: no rule reads a clock itself.
package struct Now: Hashable, Sendable {
    /// The monotonic clock, for timers and durations.
    package var instant: Instant
    /// The monotonic clock that also runs while the machine sleeps: a growing gap to `instant` is a wake-up.
    package var boot: Instant
    /// The date, for reports and for moments that a job names by date.
    package var wall: WallTime

    package init(instant: Instant, boot: Instant, wall: WallTime) {
        self.instant = instant
        self.boot = boot
        self.wall = wall
    }
}
