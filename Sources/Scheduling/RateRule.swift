package import TransferModel

/// A `bandwidth` as the scheduler asks for it: a pure function of the date, so that the scheduler knows no time zones.
package struct RateRule: Sendable {
    /// The rate at a date, and until when it holds.
    package struct State: Hashable, Sendable {
        /// Bytes a second; `nil` while nothing is limited.
        package var rate: Int64?
        /// `nil`: it stays so.
        package var changesAt: WallTime?
        package init(rate: Int64?, changesAt: WallTime?) {
            self.rate = rate
            self.changesAt = changesAt
        }
    }

    private let rule: @Sendable (WallTime) -> State
    /// The rate of a rule that never changes.
    package let steadyRate: Int64?

    package init(_ rule: @escaping @Sendable (WallTime) -> State) {
        self.rule = rule
        steadyRate = nil
    }

    private init(steady rate: Int64) {
        rule = { _ in State(rate: rate, changesAt: nil) }
        steadyRate = rate
    }

    /// Returns a rule with one rate, in bytes a second, at all times.
    package static func steady(_ rate: Int64) -> RateRule { RateRule(steady: rate) }

    /// Returns the rate at the date, and until when it holds.
    package func state(at date: WallTime) -> State { rule(date) }
}
