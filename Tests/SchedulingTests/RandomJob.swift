import Scheduling
import TestSupport
import TransferModel

/// A random job and the world it meets.
struct RandomJob {
    var plan = SchedulingPlan()
    /// By origin.
    let versions: [HTTPProtocol]
    /// When a signal comes, if one does.
    let stopAfter: TimeSpan?

    init(_ random: inout Seeded) {
        versions = (0..<(1 + random.below(4))).map { _ in random.oneIn(3) ? .http2 : .http1 }
        stopAfter = random.oneIn(6) ? .milliseconds(Int64(random.below(20_000))) : nil
        plan.timeout = random.oneIn(8) ? .milliseconds(Int64(random.below(20_000))) : nil
        plan.seed = random.next()
        plan.failFast = random.oneIn(5)
        plan.maximumConcurrentTasks = 1 + random.below(8)
        for _ in 0..<(1 + random.below(3)) { plan.sessions.append(Self.session(&random)) }
        let retries = (0..<3).map { _ in Self.retry(&random) }
        let count = random.below(40)
        // Needs lead to what comes earlier in a shuffled order, so that they go both ways in the file.
        let order = (0..<count).shuffled(using: &random)
        var rank = Array(repeating: 0, count: count)
        for (place, task) in order.enumerated() { rank[task] = place }
        for index in 0..<count { addTask(index, rank, retries, &random) }
    }

    private static func session(_ random: inout Seeded) -> SchedulingPlan.Session {
        SchedulingPlan.Session(
            maximumConnectionsPerHost: 1 + random.below(4),
            maximumConcurrentTasks: random.oneIn(2) ? 1 + random.below(5) : nil,
            streamsPerConnection: 1 + random.below(10), cancelsOnInvalidation: random.oneIn(2))
    }

    private static func retry(_ random: inout Seeded) -> RetryPolicy {
        var policy = RetryPolicy()
        policy.attempts = 1 + random.below(4)
        policy.initialBackoff = .milliseconds(Int64(random.below(2_000)))
        policy.maximumBackoff = .milliseconds(Int64(1 + random.below(4_000)))
        policy.multiplier = random.pick([0.5, 1, 2, 10])
        policy.jitter = random.oneIn(2) ? .full : .none
        policy.honorsRetryAfter = !random.oneIn(4)
        policy.maximumRetryAfter = .milliseconds(Int64(random.below(5_000)))
        policy.nonIdempotent = random.oneIn(4)
        return policy
    }

    private mutating func addTask(_ index: Int, _ rank: [Int], _ retries: [RetryPolicy], _ random: inout Seeded) {
        var needs: Set<Int> = []
        let earlier = rank.indices.filter { rank[$0] < rank[index] }
        while !earlier.isEmpty, random.oneIn(2), needs.count < 3 { needs.insert(random.pick(earlier)) }
        var policy = SchedulingPlan.TaskPolicy()
        switch random.below(5) {
        case 0: policy.allowFailure = .any
        case 1: policy.allowFailure = .statuses(StatusSet(404, 503))
        default: break
        }
        policy.priority = random.oneIn(3) ? random.pick([0, 0.25, 0.75, 1]) : 0.5
        policy.retry = random.pick(retries)
        if random.oneIn(5) { policy.timeoutForResource = .milliseconds(Int64(1 + random.below(8_000))) }
        plan.policies.append(policy)
        plan.tasks.append(
            SchedulingPlan.Task(
                session: SessionIndex(raw: UInt16(random.below(plan.sessions.count))),
                origin: random.oneIn(10) ? nil : OriginID(raw: UInt32(random.below(versions.count))), policy: index,
                needs: needs.sorted().map { TaskIndex(raw: UInt32($0)) }))
    }
}
