import TransferModel

/// Shares bytes a second between the transfers of a run, its sessions and single tasks: whoever wants less than its
/// share leaves the rest to the others.
///
/// Every tick gives out what has come together since the last as credit. What a transfer reads beyond its credit is a
/// debt that it works off first, so that over any longer time the rate is exact.
struct BandwidthShare: Sendable {
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

    private struct Flow: Sendable {
        let task: TaskIndex
        let session: Int
        var own: Bucket?
        /// What it may still move; negative is a debt.
        var credit: Int64 = 0
        var movedSinceTick: Int64 = 0
    }

    static let interval = TimeSpan.milliseconds(20)
    private static let longestGap = TimeSpan.milliseconds(250)

    private var run: Bucket?
    private var sessions: [Bucket?]
    private var flows: [Flow] = []
    private var places: [TaskIndex: Int] = [:]
    private var lastTick: Instant

    init(run: Int64?, sessions: [Int64?], now: Instant) {
        self.run = run.map { Bucket(rate: $0) }
        self.sessions = sessions.map { $0.map { Bucket(rate: $0) } }
        lastTick = now
    }

    /// When `tick` is due.
    var nextTick: Instant? { flows.isEmpty ? nil : lastTick + Self.interval }

    /// Whether a limit is on the session's tasks.
    func limits(_ session: Int) -> Bool { run != nil || sessions[session] != nil }

    mutating func add(_ task: TaskIndex, session: Int, rate: Int64?, _ now: Instant) {
        if flows.isEmpty { lastTick = max(lastTick, now + TimeSpan(nanoseconds: -Self.interval.nanoseconds)) }
        places[task] = flows.count
        flows.append(Flow(task: task, session: session, own: rate.map { Bucket(rate: $0) }))
    }

    mutating func remove(_ task: TaskIndex) {
        guard let place = places.removeValue(forKey: task), let last = flows.popLast() else { return }
        guard place < flows.count else { return give(back: last.credit, last.session) }
        give(back: flows[place].credit, flows[place].session)
        flows[place] = last
        places[last.task] = place
    }

    /// What a transfer that ended did not use, or moved too much, is the others'.
    private mutating func give(back credit: Int64, _ session: Int) {
        run?.tokens += credit
        sessions[session]?.tokens += credit
    }

    mutating func moved(_ task: TaskIndex, _ bytes: Int64) {
        guard let place = places[task] else { return }
        flows[place].credit -= bytes
        flows[place].movedSinceTick += bytes
    }

    /// Gives out what came together: the tasks that get something, and how much.
    mutating func tick(_ now: Instant) -> [(task: TaskIndex, bytes: Int64)] {
        let elapsed = now - lastTick
        guard elapsed >= Self.interval, !flows.isEmpty else { return [] }
        lastTick = now
        run?.refill(elapsed)
        for session in sessions.indices { sessions[session]?.refill(elapsed) }
        var shares = flows.indices.map { want(of: $0, elapsed) }
        for session in sessions.indices {
            guard let bucket = sessions[session] else { continue }
            let members = flows.indices.filter { flows[$0].session == session }
            Self.level(&shares, members, bucket.tokens)
        }
        if let run { Self.level(&shares, Array(flows.indices), run.tokens) }
        return flows.indices.compactMap { give($0, shares[$0]) }
    }

    /// Enough for what it moved lately twice over, and never less than a fair share.
    private mutating func want(of place: Int, _ elapsed: TimeSpan) -> Int64 {
        flows[place].own?.refill(elapsed)
        let moved = flows[place].movedSinceTick
        flows[place].movedSinceTick = 0
        let most =
            [run?.rate, sessions[flows[place].session]?.rate, flows[place].own?.rate].compactMap { $0 }.min() ?? 0
        let fair = most / 25 / Int64(flows.count)
        let target = min(max(fair, 2 * moved, 1), max(1, most / 5))
        return min(max(0, target - flows[place].credit), max(0, flows[place].own?.tokens ?? .max))
    }

    /// Cuts the shares of `members` down so that they come to no more than `total`, the largest first.
    private static func level(_ shares: inout [Int64], _ members: [Int], _ total: Int64) {
        var left = max(0, total)
        let order = members.sorted { (shares[$0], $0) < (shares[$1], $1) }
        for (done, member) in order.enumerated() {
            shares[member] = min(shares[member], left / Int64(order.count - done))
            left -= shares[member]
        }
    }

    private mutating func give(_ place: Int, _ bytes: Int64) -> (task: TaskIndex, bytes: Int64)? {
        guard bytes > 0 else { return nil }
        flows[place].credit += bytes
        flows[place].own?.tokens -= bytes
        sessions[flows[place].session]?.tokens -= bytes
        run?.tokens -= bytes
        return (flows[place].task, bytes)
    }
}
