import TransferModel

/// Shares bytes a second between the transfers of a run, its sessions and single tasks: a transfer that wants less than
/// its share leaves the rest to the others.
///
/// Every tick gives out what has come together since the last as credit. What a transfer reads beyond its credit is a
/// debt that it works off first, so that over any longer time the rate is exact. A rate may change by the time of day:
/// the first tick after the change uses the new one, and takes back what credit is too much for it.
struct BandwidthShare: Sendable {
    private struct Flow: Sendable {
        let task: TaskIndex
        let session: Int
        var own: Limit?
        /// Bytes that the transfer may still move; negative is a debt.
        var credit: Int64 = 0
        var movedSinceTick: Int64 = 0
    }

    static let interval = TimeSpan.milliseconds(20)
    fileprivate static let longestGap = TimeSpan.milliseconds(250)
    /// The credit of a transfer while no limit is in force.
    private static let plenty: Int64 = 1 << 40

    private var run: Limit?
    private var sessions: [Limit?]
    private var flows: [Flow] = []
    private var places: [TaskIndex: Int] = [:]
    private var lastTick: Instant

    /// `nil` where the plan limits no rate.
    init?(_ plan: SchedulingPlan, now: Instant) {
        guard
            plan.bandwidth != nil || plan.sessions.contains(where: { $0.bandwidth != nil })
                || plan.policies.contains(where: { $0.bandwidth != nil })
        else { return nil }
        run = plan.bandwidth.map { Limit($0) }
        sessions = plan.sessions.map { $0.bandwidth.map { Limit($0) } }
        lastTick = now
    }

    /// When `tick` is due.
    var nextTick: Instant? { flows.isEmpty ? nil : lastTick + Self.interval }

    /// Whether a limit is on the session's tasks, now or at another time of day.
    func limits(_ session: Int) -> Bool { run != nil || sessions[session] != nil }

    mutating func add(_ task: TaskIndex, session: Int, rule: RateRule?, _ now: Instant) {
        if flows.isEmpty { lastTick = max(lastTick, now + TimeSpan(nanoseconds: -Self.interval.nanoseconds)) }
        places[task] = flows.count
        flows.append(Flow(task: task, session: session, own: rule.map { Limit($0) }))
    }

    mutating func remove(_ task: TaskIndex) {
        guard let place = places.removeValue(forKey: task), let last = flows.popLast() else { return }
        guard place < flows.count else { return give(back: last.credit, last.session) }
        give(back: flows[place].credit, flows[place].session)
        flows[place] = last
        places[last.task] = place
    }

    /// Returns to the limits what a transfer that ended did not use, or takes from them what it moved too much.
    private mutating func give(back credit: Int64, _ session: Int) {
        run?.spend(-credit)
        sessions[session]?.spend(-credit)
    }

    mutating func moved(_ task: TaskIndex, _ bytes: Int64) {
        guard let place = places[task] else { return }
        flows[place].credit -= bytes
        flows[place].movedSinceTick += bytes
    }

    /// Gives out what came together: the tasks that get something, and how much. A negative number takes credit back.
    mutating func tick(_ now: Now) -> [(task: TaskIndex, bytes: Int64)] {
        let elapsed = now.instant - lastTick
        guard elapsed >= Self.interval, !flows.isEmpty else { return [] }
        lastTick = now.instant
        run?.refill(elapsed, now.wall)
        for session in sessions.indices { sessions[session]?.refill(elapsed, now.wall) }
        var shares = flows.indices.map { want(of: $0, elapsed, now.wall) }
        for session in sessions.indices {
            guard let tokens = sessions[session]?.tokens else { continue }
            let members = flows.indices.filter { flows[$0].session == session }
            Self.level(&shares, members, tokens)
        }
        if let tokens = run?.tokens { Self.level(&shares, Array(flows.indices), tokens) }
        return flows.indices.compactMap { give($0, shares[$0]) }
    }

    /// Enough for what it moved lately twice over, and never less than a fair share. Negative where the rate has fallen
    /// since it was given more than it may now hold.
    private mutating func want(of place: Int, _ elapsed: TimeSpan, _ date: WallTime) -> Int64 {
        flows[place].own?.refill(elapsed, date)
        let moved = flows[place].movedSinceTick
        flows[place].movedSinceTick = 0
        let rates = [run?.rate, sessions[flows[place].session]?.rate, flows[place].own?.rate].compactMap { $0 }
        guard let lowest = rates.min() else { return max(0, Self.plenty - flows[place].credit) }
        let most = max(1, lowest / 5)
        if flows[place].credit > most { return most - flows[place].credit }
        let fair = lowest / 25 / Int64(flows.count)
        let target = min(max(fair, 2 * moved, 1), most)
        return min(max(0, target - flows[place].credit), max(0, flows[place].own?.tokens ?? .max))
    }

    /// Cuts the shares of `members` down so that they come to no more than `total`, the largest first.
    private static func level(_ shares: inout [Int64], _ members: [Int], _ total: Int64) {
        var left = max(0, total)
        let order = members.filter { shares[$0] > 0 }.sorted { (shares[$0], $0) < (shares[$1], $1) }
        for (done, member) in order.enumerated() {
            shares[member] = min(shares[member], left / Int64(order.count - done))
            left -= shares[member]
        }
    }

    private mutating func give(_ place: Int, _ bytes: Int64) -> (task: TaskIndex, bytes: Int64)? {
        guard bytes != 0 else { return nil }
        flows[place].credit += bytes
        // Credit that is taken back was given under another limit, or none: the present limits do not get it.
        if bytes > 0 {
            flows[place].own?.spend(bytes)
            sessions[flows[place].session]?.spend(bytes)
            run?.spend(bytes)
        }
        return (flows[place].task, bytes)
    }
}

/// A rule, the rate that it gives now, and what has come together of that.
private struct Limit: Sendable {
    private let rule: RateRule
    private var bucket: Bucket?
    /// The time for which `bucket` holds: since it was looked up, until the rate changes.
    private var since: WallTime?
    private var until: WallTime?

    init(_ rule: RateRule) { self.rule = rule }

    /// Bytes a second; `nil` while nothing is limited.
    var rate: Int64? { bucket?.rate }
    var tokens: Int64? { bucket?.tokens }

    mutating func spend(_ bytes: Int64) { bucket?.tokens -= bytes }

    mutating func refill(_ elapsed: TimeSpan, _ date: WallTime) {
        if !isKnown(at: date) {
            let state = rule.state(at: date)
            (since, until) = (date, state.changesAt)
            if state.rate != bucket?.rate { bucket = state.rate.map { Bucket(rate: $0) } }
        }
        bucket?.refill(elapsed)
    }

    /// Not where the clock was set back: then other hours may apply.
    private func isKnown(at date: WallTime) -> Bool {
        guard let since else { return false }
        return rule.steadyRate != nil || date >= since && date < until ?? WallTime(nanoseconds: .max)
    }
}

private struct Bucket: Sendable {
    let rate: Int64
    var tokens: Int64 = 0
    /// The part of a byte that came together beside them, in billionths.
    private var rest: Int128 = 0

    init(rate: Int64) { self.rate = rate }

    mutating func refill(_ elapsed: TimeSpan) {
        // A tick that comes late is made up for; an idle time is not.
        let time = min(elapsed.nanoseconds, BandwidthShare.longestGap.nanoseconds)
        let sum = rest + Int128(time) * Int128(rate)
        tokens = min(tokens + Int64(sum / 1_000_000_000), max(1, rate / 4))
        rest = sum % 1_000_000_000
    }
}
