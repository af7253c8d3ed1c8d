import TransferModel

/// Lets requests through at the rate of `requestsPerSecond`, evenly spaced but for a burst (the generic cell rate
/// algorithm).
struct RateGate: Sendable {
    /// A request that went through.
    private struct Passage: Sendable {
        let task: TaskIndex?
        let time: Instant
    }
    private let interval: Int64
    /// How much sooner than evenly spaced one may come.
    private let tolerance: Int64
    /// When the next one would come if all were evenly spaced.
    private var expected = Instant(nanoseconds: .min / 4)
    /// The value of `expected` before the first of `recent`.
    private var expectedBefore = Instant(nanoseconds: .min / 4)
    /// The last passages that still hold back others, at most `mostRecent`: one that led to no request is removed
    /// again.
    private var recent: [Passage] = []
    private static let mostRecent = 256

    init(_ rate: RequestRate) {
        interval = Int64((1e9 / rate.perSecond).rounded(.up))
        tolerance = interval * Int64(max(0, rate.burst - 1))
    }

    var opensAt: Instant { expected + TimeSpan(nanoseconds: -tolerance) }

    /// A request of the task goes out.
    mutating func requestPassed(at now: Instant, by task: TaskIndex?) {
        if expected <= now {
            recent.removeAll(keepingCapacity: true)
        } else if recent.count == Self.mostRecent {
            expectedBefore = after(recent.removeFirst(), expectedBefore)
        }
        if recent.isEmpty { expectedBefore = expected }
        let passage = Passage(task: task, time: now)
        recent.append(passage)
        expected = after(passage, expected)
    }

    /// The task's last passage led to no request: as if it had never been.
    mutating func giveBack(_ task: TaskIndex) {
        guard let place = recent.lastIndex(where: { $0.task == task }) else { return }
        recent.remove(at: place)
        expected = recent.reduce(expectedBefore) { after($1, $0) }
    }

    private func after(_ passage: Passage, _ expected: Instant) -> Instant {
        max(expected, passage.time) + TimeSpan(nanoseconds: interval)
    }
}
