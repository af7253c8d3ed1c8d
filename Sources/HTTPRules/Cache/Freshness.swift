import TextFormats
package import TransferModel

/// How old a stored answer is, and how long it may be used unasked (RFC 9111, section 4.2).
package struct Freshness: Hashable, Sendable {
    /// What the lifetime was read off.
    package enum Basis: Hashable, Sendable { case maxAge, expires, heuristic, nothing }

    package let age: TimeSpan
    package let lifetime: TimeSpan
    package let basis: Basis

    package var isFresh: Bool { lifetime > age }
    /// How much longer it is fresh; negative for how long it has been stale.
    package var remaining: TimeSpan { lifetime - age }

    package init(of stored: StoredResponse, control: CacheControl, now: WallTime) {
        age = Self.age(stored, now: now)
        (lifetime, basis) = Self.lifetime(stored, control)
    }

    package init(of stored: StoredResponse, now: WallTime) {
        self.init(of: stored, control: CacheControl(stored.headers), now: now)
    }

    /// A share of the time since the last change is guessed for an answer that says nothing, and never more than
    /// `longestGuess`: a batch is run again and again, and a wrong guess costs more than a 304.
    private static let guessedShare: Int64 = 10
    private static let longestGuess = TimeSpan.seconds(86_400)

    /// Section 4.2.3. A clock that was set back makes nothing younger than it was when it came; what it is worth then
    /// `CacheDecision` says.
    static func age(_ stored: StoredResponse, now: WallTime) -> TimeSpan {
        let apparent = stored.date.span(to: stored.responseTime)
        let delay = stored.requestTime.span(to: stored.responseTime)
        let told = TimeSpan.seconds(ageHeader(stored.headers)) + delay
        return max(apparent, told) + stored.responseTime.span(to: now)
    }

    /// Section 5.1: the first member counts, and none that is no whole number.
    private static func ageHeader(_ headers: HeaderBlock) -> Int64 {
        headers.members("age").first.flatMap { DeltaSeconds.parse($0) } ?? 0
    }

    /// Section 4.2.1, for a private cache.
    private static func lifetime(_ stored: StoredResponse, _ control: CacheControl) -> (TimeSpan, Basis) {
        if let span = control.maxAgeSpan { return (span, .maxAge) }
        if let expires = stored.headers.first("expires") {
            return (CacheDate.parse(expires).map { stored.date.span(to: $0) } ?? .zero, .expires)
        }
        return heuristic(stored, control) ?? (.zero, .nothing)
    }

    /// Section 4.2.2.
    private static func heuristic(_ stored: StoredResponse, _ control: CacheControl) -> (TimeSpan, Basis)? {
        guard CacheableStatus.isHeuristicallyCacheable(stored.status) || control.isPublic,
            let changed = stored.headers.first("last-modified").flatMap({ CacheDate.parse($0) })
        else { return nil }
        let unchanged = changed.span(to: stored.date)
        return (min(TimeSpan(nanoseconds: unchanged.nanoseconds / guessedShare), longestGuess), .heuristic)
    }
}

/// What statuses mean to a cache (RFC 9110, section 15.1).
package enum CacheableStatus {
    package static func isHeuristicallyCacheable(_ status: Int) -> Bool {
        switch status {
        case 200, 203, 204, 206, 300, 301, 308, 404, 405, 410, 414, 501: true
        default: false
        }
    }

    /// Whether `must-understand` may count on us: we know all that the status asks of a cache.
    package static func isUnderstood(_ status: Int) -> Bool {
        switch status {
        case 302, 303, 307: true
        default: isHeuristicallyCacheable(status)
        }
    }
}

/// Dates as section 4.2 of RFC 9111 wants caches to read them: whatever their letter case.
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
    /// From this time to a later one; zero to an earlier one. Bounded as `delta-seconds` are, so that a few of them can be
    /// added up: dates that lie centuries apart would overflow.
    func span(to later: WallTime) -> TimeSpan {
        let most = TimeSpan.seconds(DeltaSeconds.most)
        guard later > self else { return .zero }
        let (nanoseconds, isTooFar) = later.nanoseconds.subtractingReportingOverflow(nanoseconds)
        return isTooFar ? most : min(TimeSpan(nanoseconds: nanoseconds), most)
    }
}
