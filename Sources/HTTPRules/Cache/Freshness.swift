import TextFormats
package import TransferModel

/// How old a stored answer is, and how long it may be used without validation (RFC 9111, section 4.2).
package struct Freshness: Hashable, Sendable {
    /// Where the lifetime comes from.
    package enum Basis: Hashable, Sendable { case maxAge, expires, guess, nothing }

    /// Time since the origin made or validated the answer.
    package let age: TimeSpan
    /// Age up to which the answer is fresh.
    package let lifetime: TimeSpan
    /// Where the lifetime comes from.
    package let basis: Basis

    /// Whether the answer may be used without validation.
    package var isFresh: Bool { lifetime > age }
    /// How much longer the answer is fresh; negative for how long it has been stale.
    package var remaining: TimeSpan { lifetime - age }

    /// - Parameter guesses: whether an answer whose server named no lifetime gets a guessed one
    /// (`cache.guessLifetime`); else its lifetime is zero.
    package init(of stored: StoredResponse, control: CacheControl, guesses: Bool, now: WallTime) {
        age = Self.age(stored, now: now)
        (lifetime, basis) = Self.lifetime(stored, control, guesses)
    }

    package init(of stored: StoredResponse, guesses: Bool, now: WallTime) {
        self.init(of: stored, control: CacheControl(stored.headers), guesses: guesses, now: now)
    }

    /// A guessed lifetime is one tenth of the time since the last change, at most `longestGuess`.
    private static let guessedShare: Int64 = 10
    private static let longestGuess = TimeSpan.seconds(86_400)

    /// Returns the age (section 4.2.3). A clock that was set back makes no answer younger than it was on arrival; how
    /// it is then treated `CacheDecision` decides.
    static func age(_ stored: StoredResponse, now: WallTime) -> TimeSpan {
        let apparent = stored.date.span(to: stored.responseTime)
        let delay = stored.requestTime.span(to: stored.responseTime)
        let told = TimeSpan.seconds(ageHeader(stored.headers)) + delay
        return max(apparent, told) + stored.responseTime.span(to: now)
    }

    /// The `Age` header in seconds (section 5.1): the first member counts, 0 when it is no whole number.
    private static func ageHeader(_ headers: HeaderBlock) -> Int64 {
        headers.members("age").first.flatMap { DeltaSeconds.parse($0) } ?? 0
    }

    /// The lifetime for a private cache (section 4.2.1).
    private static func lifetime(
        _ stored: StoredResponse, _ control: CacheControl, _ guesses: Bool
    ) -> (TimeSpan, Basis) {
        if let span = control.maxAgeSpan { return (span, .maxAge) }
        if let expires = stored.headers.first("expires") {
            return (CacheDate.parse(expires).map { stored.date.span(to: $0) } ?? .zero, .expires)
        }
        return (guesses ? guess(stored, control) : nil) ?? (.zero, .nothing)
    }

    /// The lifetime guessed from the last change (section 4.2.2), or `nil`.
    private static func guess(_ stored: StoredResponse, _ control: CacheControl) -> (TimeSpan, Basis)? {
        guard CacheableStatus.isHeuristicallyCacheable(stored.status) || control.isPublic,
            let changed = stored.headers.first("last-modified").flatMap({ CacheDate.parse($0) })
        else { return nil }
        let unchanged = changed.span(to: stored.date)
        return (min(TimeSpan(nanoseconds: unchanged.nanoseconds / guessedShare), longestGuess), .guess)
    }
}

/// The rules of single statuses for caches (RFC 9110, section 15.1).
package enum CacheableStatus {
    /// Whether an answer of this status may be stored without an explicit lifetime.
    package static func isHeuristicallyCacheable(_ status: Int) -> Bool {
        switch status {
        case 200, 203, 204, 206, 300, 301, 308, 404, 405, 410, 414, 501: true
        default: false
        }
    }

    /// Whether this program knows every rule that the status has for caches, as `must-understand` requires.
    package static func isUnderstood(_ status: Int) -> Bool {
        switch status {
        case 302, 303, 307: true
        default: isHeuristicallyCacheable(status)
        }
    }
}

/// Parses dates as section 4.2 of RFC 9111 requires of caches: in any letter case.
enum CacheDate {
    static func parse(_ text: String) -> WallTime? { HTTPDate.parse(text) ?? HTTPDate.parse(proper(text)) }

    /// `THU, 18 aug 2050 … gMT` → `Thu, 18 Aug 2050 … GMT`
    private static func proper(_ text: String) -> String {
        var bytes = Array(text.utf8)
        var isInWord = false
        for place in bytes.indices {
            let lower = bytes[place] | 0x20
            guard (0x61...0x7A).contains(lower) else {
                isInWord = false
                continue
            }
            bytes[place] = isInWord ? lower : lower & 0xDF
            isInWord = true
        }
        let zone = Array("Gmt".utf8)
        if bytes.suffix(3).elementsEqual(zone) { bytes.replaceSubrange((bytes.count - 3)..., with: Array("GMT".utf8)) }
        return String(bytes)
    }
}

extension WallTime {
    /// The time to a later one; zero to an earlier one. Bounded as `delta-seconds` are, so that a few spans can be
    /// added: dates centuries apart would overflow.
    func span(to later: WallTime) -> TimeSpan {
        let most = TimeSpan.seconds(DeltaSeconds.most)
        guard later > self else { return .zero }
        let (nanoseconds, isTooFar) = later.nanoseconds.subtractingReportingOverflow(nanoseconds)
        return isTooFar ? most : min(TimeSpan(nanoseconds: nanoseconds), most)
    }
}
