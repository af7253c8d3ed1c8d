import TransferModel

/// Keeps what all sessions share about an origin: its protocol, limits and quota, its connections, and its health.
struct OriginState: Sendable {
    /// Numbers of the lanes that lead to the origin.
    var lanes: [Int] = []
    var version: HTTPProtocol?
    var health = HostHealth()
    /// What the last request failed by that failed there.
    var failure: TransferError?

    // `limits.hosts`
    var maximumConnections: Int?
    var rate: RateGate?

    /// Connections of all sessions together: streams that share one count once.
    var connections = 0
    /// Requests granted and not yet answered.
    var unanswered = 0
    /// How many requests the server still takes until `quotaEnds`.
    var quota: Int?
    var quotaEnds = Instant(nanoseconds: 0)
    private var nextQuota: (limit: Int, window: TimeSpan)?
    /// A timer is set for this moment, at which rate or quota let the next one through.
    var gateTimer: Instant?

    /// Whether a change here concerns lanes other than the one that it came from.
    var isShared: Bool {
        if maximumConnections != nil || rate != nil || quota != nil { return true }
        return !health.isOpen
    }

    /// When rate and quota let the next request through.
    var gateOpensAt: Instant {
        var due = rate?.opensAt ?? Instant(nanoseconds: 0)
        if let quota, quota <= 0 { due = max(due, quotaEnds) }
        return due
    }

    /// The longest time for which a quota may close the host; after it one request shows what the quota is by then.
    static let longestQuota = TimeSpan.seconds(600)

    mutating func learn(_ stated: RequestQuota, _ now: Instant) {
        // The server may not have counted the requests that are on their way.
        quota = max(0, stated.remaining - unanswered)
        quotaEnds = now + min(max(.zero, stated.resetsAfter), Self.longestQuota)
        nextQuota = nil
        if let limit = stated.limit, let window = stated.window, window > .zero, limit > 0 {
            nextQuota = (limit, min(window, Self.longestQuota))
        }
    }

    /// Replaces a quota whose time is over by the next one, if the server told it.
    mutating func renewQuota(_ now: Instant) {
        guard quota != nil, quotaEnds <= now else { return }
        guard let nextQuota else { return quota = nil }
        quota = max(0, nextQuota.limit - unanswered)
        let over = (now - quotaEnds).nanoseconds / nextQuota.window.nanoseconds
        quotaEnds = quotaEnds + TimeSpan(nanoseconds: (over + 1) * nextQuota.window.nanoseconds)
    }

    /// Counts a request against the rate and the quota.
    mutating func spend(_ now: Instant, by task: TaskIndex?) {
        // A quota whose window is over must not be charged in place of the present one.
        renewQuota(now)
        unanswered += 1
        rate?.requestPassed(at: now, by: task)
        if let left = quota { quota = left - 1 }
    }

    /// Takes back what `spend` counted for the task's request, which was not sent.
    mutating func giveBack(_ task: TaskIndex) {
        rate?.giveBack(task)
        if let left = quota { quota = left + 1 }
    }

    mutating func apply(_ limits: OriginLimits) {
        maximumConnections = limits.maximumConnections
        rate = limits.requestsPerSecond.map { RateGate($0) }
    }
}
