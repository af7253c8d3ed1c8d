/// A `bandwidth` as it is written: one rate, or rates by time of day.
package enum Bandwidth: Hashable, Sendable {
    /// Bytes a second.
    case steady(Int64)
    /// The first entry whose hours hold the present time applies. Outside all of them nothing is limited.
    case byTimeOfDay([Hours])

    package struct Hours: Hashable, Sendable {
        package var window: TimeWindow
        /// Bytes a second.
        package var rate: Int64
        package init(window: TimeWindow, rate: Int64) {
            self.window = window
            self.rate = rate
        }
    }

    /// The lowest rate that ever applies: buffers are sized for it.
    package var lowest: Int64 {
        switch self {
        case .steady(let rate): rate
        case .byTimeOfDay(let hours): hours.map(\.rate).min() ?? .max
        }
    }
}

/// `minimumRate`: a transfer that is slower over this time fails.
package struct MinimumRate: Hashable, Sendable {
    /// Bytes a second.
    package var rate: Int64
    package var over: TimeSpan
    package init(rate: Int64, over: TimeSpan) {
        self.rate = rate
        self.over = over
    }
}
