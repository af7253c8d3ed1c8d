import Scheduling
import TransferModel

/// The bytes that a `bandwidth` lets through, counted beside the scheduler.
struct AuditBytes {
    private let rule: RateRule
    /// What is read at once may go beyond the rate.
    private let debt: Double
    private var rate: Double?
    private var level: Double
    private var at: Instant
    /// Until then transfers may report what they moved while nothing was limited.
    private var graceEnds: Instant

    /// Slow transfers report late: a second's bytes may come at once.
    private static let lateness = TimeSpan.seconds(2)

    init(_ rule: RateRule, _ debt: Double, _ now: Now) {
        self.rule = rule
        self.debt = debt
        rate = rule.state(at: now.wall).rate.map { Double($0) }
        at = now.instant
        graceEnds = now.instant
        level = 0
        level = burst(rate ?? 0)
    }

    /// A second's bytes, and a quarter of a second's that no transfer was given yet.
    private func burst(_ rate: Double) -> Double { rate * 1.25 + debt + 1_000 }

    /// Whether the rate allowed so many bytes by now.
    mutating func take(_ amount: Double, _ now: Now) -> Bool {
        let rate = rule.state(at: now.wall).rate.map { Double($0) }
        defer { (self.rate, at) = (rate, now.instant) }
        guard let rate, let before = self.rate else {
            level = burst(rate ?? 0)
            graceEnds = now.instant + Self.lateness
            return true
        }
        // Between two looks either rate may have been in force; what was saved up at the higher one is not lost.
        let highest = max(rate, before)
        let full = rate == before ? burst(rate) : max(burst(highest), level)
        level = min(max(full, level), level + (now.instant - at).seconds * highest) - amount
        guard now.instant >= graceEnds else {
            level = max(level, burst(rate))
            return true
        }
        return level >= -1e-3
    }
}
