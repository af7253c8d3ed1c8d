/// Measures how fast a host's bodies came, by the times of an earlier run's report.
struct MeasuredRates {
    /// Rates in bytes per second.
    struct Rates: Equatable {
        /// Highest rate of one connection.
        var connection: Int64
        /// Highest rate of all connections together at one moment.
        var all: Int64
        /// Number of requests that moved bytes at that moment.
        var requests: Int
    }

    private struct Body {
        var from: Int64
        var to: Int64
        var bytes: Int64
        var time: Int64 { to - from }
        var rate: Double { Double(bytes) * 1e9 / Double(time) }
    }

    private struct Span {
        var rate: Double
        var requests: Int
        var time: Double
    }

    private var bodies: [Body] = []

    /// Least time in nanoseconds and least bytes from which a rate is computed. A report's dates are whole
    /// milliseconds, and a body of a few kilobytes comes with its head.
    private static let enough = (time: Int64(10_000_000), bytes: Int64(64 << 10))

    /// Adds a body that moved from one time to another, in nanoseconds.
    mutating func add(from: Int64, to: Int64, bytes: Int64) {
        guard to >= from, bytes > 0 else { return }
        bodies.append(Body(from: from, to: to, bytes: bytes))
    }

    /// The rates of bodies that each had enough time and bytes, else the mean of all bodies if they have enough
    /// together, else `nil`.
    var rates: Rates? {
        let telling = bodies.filter { $0.time >= Self.enough.time && $0.bytes >= Self.enough.bytes }
        return telling.isEmpty ? mean : Self.highest(of: telling)
    }

    private var mean: Rates? {
        let (time, bytes) = (bodies.reduce(0) { $0 + $1.time }, bodies.reduce(0) { $0 + $1.bytes })
        guard time >= Self.enough.time, bytes >= Self.enough.bytes else { return nil }
        let spans = Self.spans(of: bodies.filter { $0.time > 0 })
        let busy = spans.reduce(0) { $0 + $1.time }
        return Rates(
            connection: Self.whole(Double(bytes) * 1e9 / Double(time)), all: Self.whole(Double(bytes) * 1e9 / busy),
            requests: spans.map(\.requests).max() ?? 1)
    }

    /// Returns the rates that were reached in the fastest tenth of the time.
    private static func highest(of bodies: [Body]) -> Rates? {
        let one = fastTenth(bodies.map { ($0.rate, Double($0.time), 1) })
        let all = fastTenth(spans(of: bodies).map { ($0.rate, $0.time, $0.requests) })
        guard let one, let all else { return nil }
        return Rates(connection: whole(one.rate), all: whole(all.rate), requests: all.requests)
    }

    private static func fastTenth(
        _ parts: [(rate: Double, time: Double, requests: Int)]
    ) -> (rate: Double, requests: Int)? {
        let total = parts.reduce(0) { $0 + $1.time }
        var passed = 0.0
        for part in parts.sorted(by: { $0.rate < $1.rate }) {
            passed += part.time
            if passed >= 0.9 * total { return (part.rate, part.requests) }
        }
        return nil
    }

    /// Returns the spans of time in which the same bodies moved. Time in which none moved is left out.
    private static func spans(of bodies: [Body]) -> [Span] {
        var edges = bodies.flatMap { [(at: $0.from, by: $0.rate), (at: $0.to, by: -$0.rate)] }
        edges.sort { ($0.at, $0.by) < ($1.at, $1.by) }
        guard var last = edges.first?.at else { return [] }
        var spans: [Span] = []
        var (rate, requests) = (0.0, 0)
        for edge in edges {
            if edge.at > last, requests > 0 {
                spans.append(Span(rate: rate, requests: requests, time: Double(edge.at - last)))
            }
            rate += edge.by
            requests += edge.by > 0 ? 1 : -1
            last = edge.at
        }
        return spans
    }

    private static func whole(_ rate: Double) -> Int64 { Int64(min(max(1, rate), 1e18)) }
}
