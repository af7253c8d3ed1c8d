import TransferModel

// Whether a failed attempt may be repeated, and after which pause: pure rules over a policy and a verdict.

extension RetryPolicy {
    /// Whether the same request may do better later.
    func canHeal(_ error: TransferError, _ verdict: Verdict) -> Bool {
        if verdict.mayBeIncomplete || verdict.mayBeOfACache, error.name.isOfContent { return true }
        if error.name == .unexpectedResponse { return verdict.status.map { statuses.contains($0) } ?? false }
        return error.name.canHeal
    }

    /// Whether only the very next attempt can help, which asks past all caches.
    func canHealOnce(_ error: TransferError, _ verdict: Verdict) -> Bool {
        var later = verdict
        later.mayBeOfACache = false
        return canHeal(error, verdict) && !canHeal(error, later)
    }

    /// Whether the request may be sent again. A POST is only when nothing was sent, it was answered 429 or 503, or the
    /// job says so.
    func mayRepeat(_ verdict: Verdict) -> Bool {
        if nonIdempotent { return true }
        return !verdict.tookEffect && (verdict.isIdempotent || !verdict.sentSomething || verdict.saysBusy)
    }

    /// The pause after so many failures in a row, at least one, before a random part of it is taken.
    func longestPause(after failures: UInt32) -> TimeSpan {
        let maximum = Double(maximumBackoff.nanoseconds)
        var pause = Double(initialBackoff.nanoseconds)
        var left = multiplier == 1 ? 0 : failures - 1
        while left > 0, pause > 0, pause < maximum || multiplier < 1 {
            pause *= multiplier
            left -= 1
        }
        return TimeSpan(nanoseconds: Int64(min(pause, maximum)))
    }

    /// Returns the pause of a task after so many failures.
    func pause(after failures: UInt32, _ random: inout RandomBits) -> TimeSpan {
        let longest = longestPause(after: failures)
        return jitter == .full ? random.part(of: longest) : park(after: failures, &random)
    }

    /// Returns for how long a host is parked after so many failures: as in `pause`, but never so short that it is none.
    func park(after failures: UInt32, _ random: inout RandomBits) -> TimeSpan {
        let longest = longestPause(after: failures)
        let half = TimeSpan(nanoseconds: longest.nanoseconds / 2)
        return jitter == .none ? longest : half + random.part(of: half)
    }
}

extension RandomBits {
    /// Returns anything from zero to `most`.
    mutating func part(of most: TimeSpan) -> TimeSpan {
        TimeSpan(nanoseconds: Int64(Double.random(in: 0...1, using: &self) * Double(most.nanoseconds)))
    }
}

extension Verdict {
    /// The server has more to do than it can.
    var saysBusy: Bool { status == 429 || status == 503 }

    /// The server answered with a failure of its own.
    var isServerError: Bool { status.map { Answer(status: $0).isServerError } ?? false }
}

extension Answer {
    var isServerError: Bool { (500...599).contains(status) }
}

extension TransferError {
    /// Returns the same error, saying that the server asks for a longer wait than a key of the job allows, as `key`
    /// says with the words around it.
    func adding(retryAfter: TimeSpan, beyond key: String) -> TransferError {
        var error = self
        let seconds = retryAfter.nanoseconds / 1_000_000_000
        error.message += "; it asks to wait \(seconds) s, longer than \(key)"
        return error
    }
}

extension AllowFailure {
    /// Whether a failure is tolerated after an answer with the status; `nil` where none came.
    func tolerates(_ status: Int?) -> Bool {
        switch self {
        case .no: false
        case .any: true
        case .statuses(let statuses): status.map { statuses.contains($0) } ?? false
        }
    }
}
