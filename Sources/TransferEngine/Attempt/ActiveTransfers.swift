import TransferModel

/// The attempts whose request is under way in libcurl, and when the next of them may have stood still for too long.
struct ActiveTransfers {
    /// The attempts, in no order.
    private(set) var attempts: [Attempt] = []
    /// The attempts to which libcurl reported something in this turn.
    let news = News()
    /// When the engine looks next for transfers on which nothing moves.
    private(set) var nextCheck = Instant.distantFuture

    var isEmpty: Bool { attempts.isEmpty }

    mutating func add(_ attempt: Attempt) {
        attempt.transport.index = attempts.count
        attempts.append(attempt)
    }

    /// Removes an attempt; the last one takes its place.
    mutating func remove(_ attempt: Attempt) {
        let last = attempts.removeLast()
        guard last !== attempt else { return }
        attempts[attempt.transport.index] = last
        last.transport.index = attempt.transport.index
    }

    /// Brings the next look forward to `instant`, if that is earlier.
    mutating func check(by instant: Instant) { nextCheck = min(nextCheck, instant) }

    /// Begins a look at `now`, if one is due. What begins meanwhile asks for the next.
    mutating func takeCheck(at now: Instant) -> Bool {
        guard nextCheck <= now else { return false }
        nextCheck = .distantFuture
        return true
    }
}
