/// The bounds of `maximumConnectionsPerHost` where the number is found by what a host bears.
package struct ConnectionRange: Hashable, Sendable {
    /// The least connections to a host that are always allowed.
    package var minimum: Int
    /// The most connections to a host.
    package var maximum: Int
    package init(minimum: Int, maximum: Int) {
        self.minimum = minimum
        self.maximum = maximum
    }

    /// The bounds of `auto`.
    package static let standard = ConnectionRange(minimum: 2, maximum: 16)

    /// The number with which a session begins at each host: four, where the bounds let it.
    package var first: Int { min(maximum, max(minimum, 4)) }
}

/// A change of how many connections a session may have to one host, where that number is found by what the host bears.
package final class ConnectionStep: Sendable {
    /// Why the number changes.
    package enum Reason: String, CaseIterable, Sendable {
        /// The last raise brought more, so another is tried.
        case moreThroughput
        /// The last raise brought nothing and is taken back.
        case noGain
        /// A higher number was last tried long ago.
        case triedAgain
        /// Answers take longer, and less comes.
        case slower
        /// The host answered 429.
        case tooManyRequests
        /// The host answered 503.
        case unavailable
        /// The host refused or cut connections.
        case noAnswer
    }

    /// The host.
    package let origin: Origin
    /// The number before.
    package let from: Int
    /// The number from now on.
    package let to: Int
    /// Why it changes.
    package let reason: Reason
    package init(origin: Origin, from: Int, to: Int, reason: Reason) {
        self.origin = origin
        self.from = from
        self.to = to
        self.reason = reason
    }
}
