/// A `bandwidth` as it is written: one rate, or rates by time of day.
package enum Bandwidth: Hashable, Sendable {
    /// Bytes a second.
    case steady(Int64)
    /// Rates by time of day: the first entry whose hours hold the present time applies, and outside all of them nothing
    /// is limited.
    case byTimeOfDay([Hours])

    /// One entry of a `bandwidth` by time of day.
    package struct Hours: Hashable, Sendable {
        /// The hours in which the rate applies.
        package var window: TimeWindow
        /// Bytes a second.
        package var rate: Int64
        package init(window: TimeWindow, rate: Int64) {
            self.window = window
            self.rate = rate
        }
    }

    /// The lowest rate that ever applies, in bytes a second: buffers are sized for it.
    package var lowest: Int64 {
        switch self {
        case .steady(let rate): rate
        case .byTimeOfDay(let hours): hours.map(\.rate).min() ?? .max
        }
    }
}

/// `minimumRate`: a transfer that is slower than `rate` over the time `over` fails with `timedOut`.
package struct MinimumRate: Hashable, Sendable {
    /// Bytes a second.
    package var rate: Int64
    /// The time over which the rate is taken.
    package var over: TimeSpan
    package init(rate: Int64, over: TimeSpan) {
        self.rate = rate
        self.over = over
    }
}
