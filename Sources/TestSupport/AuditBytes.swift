import Scheduling
import TransferModel

/// The bytes that a `bandwidth` lets through, counted beside the scheduler.
struct AuditBytes {
    private let rule: RateRule
    /// What is read at once may go beyond the rate.
    private let debt: Double
    private var level: Double
    private var last: Now

    /// Bytes moved while nothing was limited may be reported this much later.
    private static let lateness = TimeSpan.seconds(2)
    private var graceEnds: Instant

    init(_ rule: RateRule, _ debt: Double, _ now: Now) {
        self.rule = rule
        self.debt = debt
        last = now
        graceEnds = now.instant
        level = 0
        level = burst(rule.state(at: now.wall).rate)
    }

    /// A second's bytes, and a quarter of a second's that no transfer was given yet.
    private func burst(_ rate: Int64?) -> Double { Double(rate ?? 0) * 1.25 + debt + 1_000 }

    /// Whether the rate allowed so many bytes by now. `underWay` are the bytes that transfers may have been given while nothing
    /// was limited, and report when they have moved, however slowly.
    mutating func take(_ amount: Int64, _ now: Now, underWay: Int64) -> Bool {
        defer { last = now }
        let rates = rates(until: now)
        let rate = rates.last ?? nil
        guard let highest = rates.reduce(0, { most, rate in most.flatMap { most in rate.map { max(most, $0) } } })
        else {
            level = burst(rate) + Double(underWay)
            graceEnds = now.instant + Self.lateness
            return true
        }
        // What was saved up at a higher rate is not lost.
        let full = max(burst(highest), level)
        level = min(full, level + (now.instant - last.instant).seconds * Double(highest)) - Double(amount)
        guard now.instant >= graceEnds else {
            level = max(level, burst(rate))
            return true
        }
        return level >= -1e-3
    }

    /// Each rate that was in force since it was last asked; `nil` where nothing was limited.
    private func rates(until now: Now) -> [Int64?] {
        var state = rule.state(at: last.wall)
        var rates = [state.rate]
        while let change = state.changesAt, change <= now.wall {
            state = rule.state(at: change)
            rates.append(state.rate)
        }
        if now.wall < last.wall { rates.append(rule.state(at: now.wall).rate) }
        return rates
    }
}
