import TransferModel

/// `requestsPerSecond`: lets so many through, evenly spaced but for a burst (the generic cell rate algorithm).
struct RateGate: Sendable {
    private let interval: Int64
    /// How much sooner than evenly spaced one may come.
    private let tolerance: Int64
    /// When the next one would come if all were evenly spaced.
    private var expected = Instant(nanoseconds: .min / 4)

    init(_ rate: RequestRate) {
        interval = Int64((1e9 / rate.perSecond).rounded(.up))
        tolerance = interval * Int64(max(0, rate.burst - 1))
    }

    var opensAt: Instant { expected + TimeSpan(nanoseconds: -tolerance) }

    mutating func take(at now: Instant) { expected = max(expected, now) + TimeSpan(nanoseconds: interval) }
}
