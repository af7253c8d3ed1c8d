import Scheduling
import TransferModel

/// Counts the bytes that a `bandwidth` allows, independently of the scheduler.
struct AuditBytes {
    private let rule: RateRule
    /// Bytes that reading at once may go beyond the rate.
    private let debt: Double
    private var level: Double
    private var last: Now

    /// How much later bytes that moved while nothing was limited may be reported.
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

    /// Returns the bytes of one second, of a quarter of a second that no transfer was given yet, and the debt.
    private func burst(_ rate: Int64?) -> Double { Double(rate ?? 0) * 1.25 + debt + 1_000 }

    /// Returns whether the rate allowed `amount` more bytes by `now`. `underWay` are the bytes that transfers may have
    /// been given while nothing was limited, and report when they have moved, however slowly.
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
        // Bytes saved up at a higher rate are not lost.
        let full = max(burst(highest), level)
        level = min(full, level + (now.instant - last.instant).seconds * Double(highest)) - Double(amount)
        guard now.instant >= graceEnds else {
            level = max(level, burst(rate))
            return true
        }
        return level >= -1e-3
    }

    /// Returns each rate in force since the last `take`; `nil` where nothing was limited.
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
