import TransferModel

/// Decides when the listener reads the board again; does no I/O.
struct NewsPace {
    private let limits: ServiceLimits
    /// When the board has, or may have, something to pass on. Earlier the listener need not look; at `.distantFuture`
    /// the board wakes it.
    private(set) var due = Instant.distantFuture
    private var notBefore = Instant(nanoseconds: 0)
    private var nextProgress = Instant(nanoseconds: 0)

    init(_ limits: ServiceLimits) { self.limits = limits }

    func isDue(_ now: Instant) -> Bool { now >= notBefore }
    func isProgressDue(_ now: Instant) -> Bool { now >= nextProgress }

    mutating func newsSent(_ content: NewsBoard.Content, followers: Int, _ now: Instant) {
        if !content.progress.isEmpty { nextProgress = now + limits.progressPace }
        if !content.isEmpty {
            let share = TimeSpan(nanoseconds: limits.newsPacePerFollower.nanoseconds * Int64(followers))
            notBefore = now + max(limits.newsPace, share)
        }
        due = content.events.isEmpty ? .distantFuture : notBefore
        if !content.progress.isEmpty || content.hasMore { due = min(due, max(nextProgress, notBefore)) }
    }

    /// Notes that something may be new before its time.
    mutating func postpone() { due = min(due, notBefore) }
}

/// Decides when the process checks on itself; does no I/O.
struct ServiceRounds {
    private let limits: ServiceLimits
    private let watchdog: TimeSpan?
    private var nextTick: Instant
    private var nextWatchdog: Instant
    private var idleSince: Instant?
    private var lastStatus = ""
    private var lastTrouble = ""

    init(_ limits: ServiceLimits, watchdog: TimeSpan?, _ now: Instant) {
        self.limits = limits
        self.watchdog = watchdog
        nextTick = now + limits.ownTick
        nextWatchdog = watchdog == nil ? .distantFuture : now
    }

    var due: Instant { min(nextTick, nextWatchdog) }
    func areDue(_ now: Instant) -> Bool { now >= due }

    mutating func isWatchdogDue(_ now: Instant) -> Bool {
        guard let watchdog, now >= nextWatchdog else { return false }
        nextWatchdog = now + watchdog
        return true
    }

    mutating func made(_ now: Instant, isIdle: Bool) {
        nextTick = now + limits.ownTick
        idleSince = isIdle ? idleSince ?? now : nil
    }

    /// Restarts the idle time, even for a connection that is closed again before the next round.
    mutating func somebodyCame() { idleSince = nil }

    func wasIdleLongEnough(_ now: Instant) -> Bool {
        idleSince.map { now - $0 >= limits.idle } ?? false
    }

    /// Returns the text for the service manager if it differs from the last.
    mutating func status(runs: Int, connections: Int) -> String? {
        let text = "\(runs) \(runs == 1 ? "run" : "runs"), \(connections) connected"
        defer { lastStatus = text }
        return text == lastStatus ? nil : text
    }

    mutating func isNew(trouble: String) -> Bool {
        defer { lastTrouble = trouble }
        return trouble != lastTrouble
    }
}
