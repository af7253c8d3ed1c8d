import TransferModel

/// What all sessions know of an origin.
struct OriginState: Sendable {
    /// Whether the host may be asked.
    enum Quiet: Sendable {
        case no
        /// It asked for quiet, or did not answer again and again.
        case until(Instant)
        /// The quiet is over: one request goes ahead of all others, and shows whether it lasts.
        case probing(TaskIndex?)
    }

    /// A host that takes connections and hangs up may do so at what it is asked. When each that waits would have given up
    /// by what others found out, those that were never tried find out for themselves.
    enum OwnTries: Hashable, Sendable {
        case notYet
        /// So many more may end without an answer.
        case left(Int)
        /// It was not about what it was asked.
        case spent
    }

    var lanes: [Int] = []
    var version: HTTPProtocol?
    var quiet = Quiet.no
    /// How often it was parked without an answer in between.
    var parks = 0
    /// Rounds of failures without an answer. Those that were under way together are one round.
    var failedRounds = 0
    var lastFailureAt: Instant?
    /// Counts up; a task that waits compares it with what it was when its wait began.
    var failedProbes: UInt32 = 0
    /// Of those, how many had failed when it answered last: they count for nobody any more.
    var forgivenProbes: UInt32 = 0
    var ownTries = OwnTries.notYet
    /// It answered in this run, whatever it said.
    var hasAnswered = false
    /// When a task that has other places to try failed here last.
    var mirrorFailedAt: Instant?

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

    var isQuiet: Bool {
        switch quiet {
        case .no, .probing(nil): false
        case .until, .probing: true
        }
    }

    /// Its pause is over, whether or not a timer said so by now: the next good answer opens it.
    func mayBeProbed(at now: Instant) -> Bool {
        switch quiet {
        case .no: false
        case .until(let due): due <= now
        case .probing: true
        }
    }

    /// Whatever it says, the host is there.
    mutating func isThere() {
        hasAnswered = true
        failedRounds = 0
        forgivenProbes = failedProbes
        ownTries = .notYet
    }

    /// Whether a change here concerns lanes other than the one that it came from.
    var isShared: Bool {
        if maximumConnections != nil || rate != nil || quota != nil { return true }
        if case .no = quiet { return false }
        return true
    }

    /// When rate and quota let the next request through.
    var gateOpensAt: Instant {
        var due = rate?.opensAt ?? Instant(nanoseconds: 0)
        if let quota, quota <= 0 { due = max(due, quotaEnds) }
        return due
    }

    /// The longest that a quota may close the host; then one request asks how things are.
    static let longestQuota = TimeSpan.seconds(600)

    mutating func learn(_ told: RequestQuota, _ now: Instant) {
        // What is on the way may or may not be in the server's count.
        quota = max(0, told.remaining - unanswered)
        quotaEnds = now + min(max(.zero, told.resetsAfter), Self.longestQuota)
        nextQuota = nil
        if let limit = told.limit, let window = told.window, window > .zero, limit > 0 {
            nextQuota = (limit, min(window, Self.longestQuota))
        }
    }

    /// A quota that is over is the next one, or none.
    mutating func renewQuota(_ now: Instant) {
        guard quota != nil, quotaEnds <= now else { return }
        guard let nextQuota else { return quota = nil }
        quota = max(0, nextQuota.limit - unanswered)
        let over = (now - quotaEnds).nanoseconds / nextQuota.window.nanoseconds
        quotaEnds = quotaEnds + TimeSpan(nanoseconds: (over + 1) * nextQuota.window.nanoseconds)
    }

    mutating func spend(_ now: Instant, by task: TaskIndex?) {
        // Or it would be spent from a window that is over, and the present one would be whole.
        renewQuota(now)
        unanswered += 1
        rate?.take(at: now, by: task)
        if let left = quota { quota = left - 1 }
    }

    /// The request for which that was spent was not sent.
    mutating func giveBack(_ task: TaskIndex) {
        rate?.giveBack(task)
        if let left = quota { quota = left + 1 }
    }
}
