package import TransferModel

/// A network to simulate a job in: what each host is like.
package struct NetworkModel: Hashable, Sendable {
    /// What one host is like.
    package struct Host: Hashable, Sendable {
        /// Time from a request to the head of its response.
        package var latency = TimeSpan.milliseconds(50)
        /// Largest random addition to the latency, as a share of it.
        package var spread = 0.25
        /// Time to make a connection.
        package var connect = TimeSpan.milliseconds(100)
        /// Bytes per second over all connections; `nil` for no limit.
        package var bandwidth: Int64?
        /// How many requests moved bytes at a time when `bandwidth` was measured; `nil` where it was not measured.
        package var mostSeen: Int?
        /// Bytes per second of one connection; `nil` for no limit.
        package var connectionBandwidth: Int64?
        /// Requests at a time; one more is answered 503. `nil` for no limit.
        package var maximumConnections: Int?
        /// Whether connections are shared, as over HTTP/2.
        package var isShared = false
        /// Bounds of the sizes of its files in bytes, for tasks whose size neither job nor report tells.
        package var size: ClosedRange<Int64> = (1 << 20)...(1 << 20)
        /// Requests in a thousand that get a status.
        package var statuses: [Int: Int] = [:]
        /// Requests in a thousand whose body is cut.
        package var cuts = 0
        /// Requests in a thousand that are hung up on.
        package var hangUps = 0
        /// Requests in a thousand that are never answered.
        package var timeouts = 0
        /// `Retry-After` of its responses 429 and 503.
        package var retryAfter: TimeSpan?

        package init() {}

        /// Requests in a thousand that go wrong.
        package var faults: Int { statuses.values.reduce(0, +) + cuts + hangUps + timeouts }
    }

    /// A host, or hosts, and what they are like.
    package struct Rule: Hashable, Sendable {
        /// The hosts that are meant.
        package var pattern: HostPattern
        /// What they are like.
        package var host: Host
        package init(_ pattern: HostPattern, _ host: Host) { (self.pattern, self.host) = (pattern, host) }
    }

    /// The first rule that matches a host says what it is like.
    package var rules: [Rule] = []
    /// Sizes of files in bytes by task id, where they are known.
    package var sizes: [String: Int64] = [:]
    /// Time that a task's local work takes after its last byte.
    package var delivery = TimeSpan.zero
    /// Where the numbers are from, for people.
    package var source: String

    package init(source: String) { self.source = source }

    /// Returns what a host is like.
    package func host(_ origin: Origin) -> Host { rules.first { $0.pattern.matches(origin) }?.host ?? Host() }
}
