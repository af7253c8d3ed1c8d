package import TransferModel

/// How a request is answered: RFC 9111, section 4, for a private cache, and the four policies of `URLSession` before it.
package enum CacheDecision: Hashable, Sendable {
    case use(CacheUse)
    case validate(CacheValidation)
    case fetch(FetchReason)
    /// The cache has no answer, and the network may not be asked.
    case fail(FailReason)

    package enum FailReason: Hashable, Sendable {
        /// `returnCacheDataDontLoad`
        case policy
        /// `Cache-Control: only-if-cached`
        case onlyIfCached
    }

    /// Of a request that is not the first of its task (a retry after an answer that did not do) `policy` must be
    /// `reloadIgnoringCacheData`: errors are kept too where the server says for how long.
    ///
    /// - Parameter stored: all that is held under the request's URL.
    package static func of(
        _ request: CacheRequest, stored: [StoredResponse], revalidation: CacheConfiguration.Revalidation = .conditional,
        now: WallTime
    ) -> CacheDecision {
        let decision = decide(request, stored, revalidation, now)
        switch decision {
        case .use, .fail: return decision
        case .validate, .fetch:
            if request.policy == .returnCacheDataDontLoad { return .fail(.policy) }
            return request.control.onlyIfCached && request.policy != .reloadIgnoringCacheData
                ? .fail(.onlyIfCached) : decision
        }
    }

    /// Of an answer that could not be fetched or validated, because the network failed or the server said 500, 502, 503 or
    /// 504: the stale one that may be used instead (RFC 5861, section 4), if there is one.
    package static func instead(
        of request: CacheRequest, stored: [StoredResponse], status: Int?, now: WallTime
    ) -> CacheUse? {
        guard request.policy != .reloadIgnoringCacheData, [nil, 500, 502, 503, 504].contains(status),
            refusal(to: request) == nil, !request.control.noCache, let found = Candidate(request, stored, now)
        else { return nil }
        let allowed = max(found.control.staleIfError, request.control.staleIfError)
        guard allowed > .zero, !found.control.mustRevalidate, !found.mustAsk,
            found.freshness.remaining + allowed >= .zero
        else { return nil }
        return found.use(.staleIfError)
    }

    private static func decide(
        _ request: CacheRequest, _ stored: [StoredResponse], _ revalidation: CacheConfiguration.Revalidation,
        _ now: WallTime
    ) -> CacheDecision {
        if let refusal = refusal(to: request) { return .fetch(refusal) }
        guard let found = Candidate(request, stored, now) else {
            return .fetch(missing(request, stored))
        }
        switch request.policy {
        case .returnCacheDataElseLoad, .returnCacheDataDontLoad: return .use(found.use(.policy))
        case .useProtocolCachePolicy, .reloadIgnoringCacheData: break
        }
        if let reason = found.reasonToAsk(request.control) { return found.ask(request, reason, revalidation) }
        if found.freshness.isFresh { return .use(found.use(.fresh)) }
        return stale(found, request, revalidation)
    }

    /// Requests that no stored answer can answer.
    private static func refusal(to request: CacheRequest) -> FetchReason? {
        if !request.url.isHTTP { return .scheme }
        if request.method != "GET" && request.method != "HEAD" || request.hasBody { return .method }
        if request.policy == .reloadIgnoringCacheData { return .policy }
        if request.isConditional { return .ownCondition }
        // The two other policies say what they want of the cache in so many words.
        return request.policy == .useProtocolCachePolicy && request.control.noStore ? .requestNoStore : nil
    }

    /// Whether it is an answer to this request, leaving its age aside.
    package static func fits(_ stored: StoredResponse, _ request: CacheRequest) -> Bool {
        stored.url == request.url.text && stored.credentials.isSame(as: request.credentials)
            && stored.selecting.matches(request)
    }

    private static func missing(_ request: CacheRequest, _ stored: [StoredResponse]) -> FetchReason {
        let own = stored.filter { $0.url == request.url.text }
        if own.isEmpty { return .nothingStored }
        return own.contains { fits($0, request) && $0.isReadable(by: request) } ? .partNotHeld : .otherVariant
    }

    /// Section 4.2.4: only what the server or the request allows.
    private static func stale(
        _ found: Candidate, _ request: CacheRequest, _ revalidation: CacheConfiguration.Revalidation
    ) -> CacheDecision {
        guard !found.control.mustRevalidate else { return found.ask(request, .stale, revalidation) }
        let stale = TimeSpan.zero - found.freshness.remaining
        switch request.control.maxStale {
        case .any: return .use(found.use(.maxStale))
        case .atMost(let most) where stale <= most: return .use(found.use(.maxStale))
        case .atMost, nil: break
        }
        if request.control.maxAge == nil, stale < found.control.staleWhileRevalidate {
            return .use(found.use(.staleWhileRevalidate))
        }
        return found.ask(request, .stale, revalidation)
    }
}

/// Why a request goes to the server as if nothing were stored.
package enum FetchReason: Hashable, Sendable {
    case scheme, method, policy, ownCondition, requestNoStore
    case nothingStored
    /// What is stored was asked for otherwise: `Vary`, or other credentials.
    case otherVariant
    case partNotHeld
    /// What is stored may not be used unasked, and nothing in it could be asked with.
    case unvalidatable(ValidationReason)
}

/// Why what is stored may not be used unasked.
package enum ValidationReason: Hashable, Sendable {
    case stale, requestNoCache, requestMaxAge, requestMinFresh, responseNoCache, changed
}

/// An answer made of what is stored.
package struct CacheUse: Hashable, Sendable {
    package enum Reason: Hashable, Sendable {
        case fresh
        /// `returnCacheDataElseLoad` and `returnCacheDataDontLoad` take any.
        case policy
        case maxStale
        /// It is to be asked about afterwards (``CacheUse/refresh``), so that the next request finds it fresh.
        case staleWhileRevalidate
        case staleIfError
        /// A server was asked: it has not changed.
        case validated
    }
    package let stored: StoredResponse
    package let reason: Reason
    /// 206 where ``part`` is set.
    package let status: Int
    /// Its age in them. Cookies that they set were set when it came.
    package let headers: HeaderBlock
    /// `nil` is all that is held. A HEAD takes nothing of it.
    package let part: HeldPart?

    /// The question to ask afterwards; without one the whole is fetched anew.
    package var refresh: CacheValidation? {
        stored.condition.map { CacheValidation(stored: stored, question: .conditional($0), reason: .stale) }
    }
}

/// A question to the server, whose answer ``outcome(status:_:requestTime:responseTime:request:)`` reads.
package struct CacheValidation: Hashable, Sendable {
    package enum Question: Hashable, Sendable {
        /// The request itself, with this header.
        case conditional(HeaderField)
        /// A HEAD for what is a GET, as `cache.revalidation: head` wants it.
        case head
    }
    package let stored: StoredResponse
    package let question: Question
    package let reason: ValidationReason
}

/// The stored answer that a request is held against, and what is known of it.
private struct Candidate {
    let stored: StoredResponse
    let control: CacheControl
    let freshness: Freshness
    /// How old it is nobody knows: neither that it is fresh nor for how long it has been stale.
    private let isAhead: Bool
    private let part: HeldPart?

    /// Of several the one that was made last (section 4); one whose date cannot be true gives way to any other.
    init?(_ request: CacheRequest, _ stored: [StoredResponse], _ now: WallTime) {
        let wanted = PartialContent.wanted(by: request)
        var best: (stored: StoredResponse, part: HeldPart?)?
        for one in stored where CacheDecision.fits(one, request) && one.isReadable(by: request) {
            let part = PartialContent.held(wanted, by: one)
            guard Self.answers(one, wanted, part) else { continue }
            if let best, Self.precedes(one, best.stored, now) { continue }
            best = (one, part)
        }
        guard let best else { return nil }
        self.stored = best.stored
        part = best.stored.status == 200 || best.stored.status == 206 ? best.part : nil
        control = CacheControl(best.stored.headers)
        freshness = Freshness(of: best.stored, control: control, now: now)
        isAhead = best.stored.isAhead(of: now)
    }

    /// Whether it was made no later.
    private static func precedes(_ one: StoredResponse, _ other: StoredResponse, _ now: WallTime) -> Bool {
        guard one.isAhead(of: now) == other.isAhead(of: now) else { return one.isAhead(of: now) }
        return (one.date, one.responseTime) <= (other.date, other.responseTime)
    }

    /// Whether the bytes are there. Only a 200 has parts; another status answers as it is.
    private static func answers(_ stored: StoredResponse, _ wanted: PartialContent.Wanted, _ part: HeldPart?) -> Bool {
        switch wanted {
        case .whole: stored.part == nil
        case .from, .last: part != nil || stored.part == nil && stored.status != 200
        case .other: false
        }
    }

    var mustAsk: Bool { control.noCache || stored.needsValidation || isAhead }

    func reasonToAsk(_ request: CacheControl) -> ValidationReason? {
        if request.noCache { return .requestNoCache }
        if control.noCache { return .responseNoCache }
        if stored.needsValidation { return .changed }
        if isAhead { return .stale }
        if let most = request.maxAgeSpan, isOlder(than: most) { return .requestMaxAge }
        if let least = request.minFreshSpan, freshness.remaining < least { return .requestMinFresh }
        return nil
    }

    /// `max-age=0` is a reload, and a reload is what `immutable` makes needless (RFC 8246).
    private func isOlder(than most: TimeSpan) -> Bool {
        most > .zero ? freshness.age > most : !(control.isImmutable && freshness.isFresh)
    }

    func use(_ reason: CacheUse.Reason) -> CacheUse {
        CacheUse(stored, reason, part: part, control, age: freshness.age)
    }

    func ask(
        _ request: CacheRequest, _ reason: ValidationReason, _ revalidation: CacheConfiguration.Revalidation
    ) -> CacheDecision {
        // A part that may have changed is asked for as it is: a 304 would save little, and mixing versions costs much.
        guard part == nil, let condition = stored.condition else { return .fetch(.unvalidatable(reason)) }
        let asksWithHead = revalidation == .head && request.method == "GET"
        return .validate(
            CacheValidation(stored: stored, question: asksWithHead ? .head : .conditional(condition), reason: reason))
    }
}

extension CacheUse {
    init(_ stored: StoredResponse, _ reason: Reason, part: HeldPart?, _ control: CacheControl, age: TimeSpan) {
        self.stored = stored
        self.reason = reason
        self.part = part
        let headers = stored.answered(age: age, control)
        guard let part else {
            (status, self.headers) = (stored.status, headers)
            return
        }
        status = 206
        self.headers = headers.describing(length: part.length, range: part.contentRange)
    }
}
