import TransferModel

/// The time that passes while an attempt waits for something, which may begin and end several times.
struct WaitClock {
    /// When the present wait began; `nil` while nothing is waited for.
    private(set) var since: Instant?
    /// The waits that have ended.
    private(set) var total = TimeSpan.zero

    /// Begins a wait, unless one is under way.
    mutating func start(at now: Instant) {
        if since == nil { since = now }
    }

    /// Ends the present wait. Returns whether there was one.
    @discardableResult
    mutating func stop(at now: Instant) -> Bool {
        guard let since else { return false }
        total += now - since
        self.since = nil
        return true
    }

    /// All waits up to `now`, the present one included.
    func elapsed(at now: Instant) -> TimeSpan { total + (since.map { now - $0 } ?? .zero) }
}

/// What an attempt under a `bandwidth` may still move, and how long it stood still for want of that.
struct BandwidthCredit {
    /// The lowest `bandwidth` that applies, in bytes a second; `nil` without one.
    let rate: Int64?
    /// Bytes that may still move; `nil` for any number. What was read at once may exceed it.
    private(set) var bytes: Int64?
    /// The time in which the attempt stood still.
    private(set) var pause = WaitClock()

    init(rate: Int64?) {
        self.rate = rate
        bytes = rate == nil ? nil : 0
    }

    /// Whether the attempt stands still.
    var isPaused: Bool { pause.since != nil }

    /// Adds credit. Returns whether the attempt can continue now and could not before.
    mutating func add(_ more: Int64, at now: Instant) -> Bool {
        guard let bytes else { return false }
        self.bytes = bytes + more
        return bytes + more > 0 && pause.stop(at: now)
    }

    /// Counts bytes that moved.
    mutating func spend(_ count: Int) {
        if let bytes { self.bytes = bytes - Int64(count) }
    }

    /// Ends a pause, if there is one, without new credit.
    mutating func stopPause(at now: Instant) { pause.stop(at: now) }

    /// Returns whether nothing may move; from then on the attempt counts as standing still.
    mutating func isUsedUp(at now: Instant) -> Bool {
        guard let bytes, bytes <= 0 else { return false }
        pause.start(at: now)
        return true
    }
}
