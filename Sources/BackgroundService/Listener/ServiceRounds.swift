import TransferModel

/// When the listener comes by the board again; pure.
struct NewsPace {
    private let limits: ServiceLimits
    /// The board has something, or may have, from then on; before nobody looks, and afterwards it wakes the listener.
    private(set) var due = Instant.distantFuture
    private var notBefore = Instant(nanoseconds: 0)
    private var nextProgress = Instant(nanoseconds: 0)

    init(_ limits: ServiceLimits) { self.limits = limits }

    func isDue(_ now: Instant) -> Bool { now >= notBefore }
    func isProgressDue(_ now: Instant) -> Bool { now >= nextProgress }

    mutating func told(_ content: NewsBoard.Content, followers: Int, _ now: Instant) {
        if !content.progress.isEmpty { nextProgress = now + limits.progressPace }
        if !content.isEmpty {
            let share = TimeSpan(nanoseconds: limits.newsPacePerFollower.nanoseconds * Int64(followers))
            notBefore = now + max(limits.newsPace, share)
        }
        due = content.events.isEmpty ? .distantFuture : notBefore
        if !content.progress.isEmpty || content.hasMore { due = min(due, max(nextProgress, notBefore)) }
    }

    /// Something may be new, before its time.
    mutating func postpone() { due = min(due, notBefore) }
}

/// What the process does for itself now and then; pure.
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

    /// Even of one who has left again before the next round.
    mutating func somebodyCame() { idleSince = nil }

    func wasIdleLongEnough(_ now: Instant) -> Bool {
        idleSince.map { now - $0 >= limits.idle } ?? false
    }

    /// A text for the service manager, when it is another than the last.
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
