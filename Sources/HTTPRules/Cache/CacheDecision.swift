package import TransferModel

/// How a request is answered: RFC 9111, section 4, for a private cache, after the four policies of `URLSession`.
package enum CacheDecision: Hashable, Sendable {
    /// Answer from the cache, without a request.
    case use(CacheUse)
    /// Ask the server whether a stored answer is still valid.
    case validate(CacheValidation)
    /// Send the request as if nothing were stored.
    case fetch(FetchReason)
    /// Fail: the cache has no answer, and the network may not be used.
    case fail(FailReason)

    /// What forbids the use of the network.
    package enum FailReason: Hashable, Sendable {
        /// The policy `returnCacheDataDontLoad`.
        case policy
        /// The request's `Cache-Control: only-if-cached`.
        case onlyIfCached
    }

    /// Decides how a request is answered. For a request that is not the first of its task (a retry after an answer that
    /// failed the expectations) `policy` must be `reloadIgnoringCacheData`: errors are stored too where the server says
    /// for how long.
    ///
    /// - Parameter stored: all answers that are stored under the request's URL.
    package static func of(
        _ request: CacheRequest, stored: [StoredResponse], _ configuration: CacheConfiguration, now: WallTime
    ) -> CacheDecision {
        let decision = decide(request, stored, configuration, now)
        switch decision {
        case .use, .fail: return decision
        case .validate, .fetch:
            if request.policy == .returnCacheDataDontLoad { return .fail(.policy) }
            return request.control.onlyIfCached && request.policy != .reloadIgnoringCacheData
                ? .fail(.onlyIfCached) : decision
        }
    }

    /// Returns the stale answer to use instead of one that could not be fetched or validated, because the network
    /// failed (`status` is `nil`) or the server answered 500, 502, 503 or 504 (RFC 5861, section 4); `nil` when none
    /// may be used.
    package static func instead(
        of request: CacheRequest, stored: [StoredResponse], _ configuration: CacheConfiguration, status: Int?,
        now: WallTime
    ) -> CacheUse? {
        guard request.policy != .reloadIgnoringCacheData, [nil, 500, 502, 503, 504].contains(status),
            refusal(to: request) == nil, !request.control.noCache,
            let found = Candidate(request, stored, configuration, now)
        else { return nil }
        let allowed = max(found.control.staleIfError, request.control.staleIfError)
        guard allowed > .zero, !found.control.mustRevalidate, !found.mustAsk,
            found.freshness.remaining + allowed >= .zero
        else { return nil }
        return found.use(.staleIfError)
    }

    private static func decide(
        _ request: CacheRequest, _ stored: [StoredResponse], _ configuration: CacheConfiguration, _ now: WallTime
    ) -> CacheDecision {
        if let refusal = refusal(to: request) { return .fetch(refusal) }
        guard let found = Candidate(request, stored, configuration, now) else {
            return .fetch(missing(request, stored))
        }
        switch request.policy {
        case .returnCacheDataElseLoad, .returnCacheDataDontLoad: return .use(found.use(.policy))
        case .useProtocolCachePolicy, .reloadIgnoringCacheData: break
        }
        if let reason = found.reasonToAsk(request.control) { return found.ask(request, reason) }
        if found.freshness.isFresh { return .use(found.use(.fresh)) }
        return stale(found, request)
    }

    /// Why no stored answer can answer the request, or `nil`.
    private static func refusal(to request: CacheRequest) -> FetchReason? {
        if !request.url.isHTTP { return .scheme }
        if request.method != "GET" && request.method != "HEAD" || request.hasBody { return .method }
        if request.policy == .reloadIgnoringCacheData { return .policy }
        if request.isConditional { return .ownCondition }
        // The two other policies state explicitly how they use the cache.
        return request.policy == .useProtocolCachePolicy && request.control.noStore ? .requestNoStore : nil
    }

    /// Whether a stored answer answers the request, regardless of its age: same URL, credentials and selected headers.
    package static func fits(_ stored: StoredResponse, _ request: CacheRequest) -> Bool {
        stored.url == request.url.text && stored.credentials.isSame(as: request.credentials)
            && stored.selecting.matches(request)
    }

    private static func missing(_ request: CacheRequest, _ stored: [StoredResponse]) -> FetchReason {
        let own = stored.filter { $0.url == request.url.text }
        if own.isEmpty { return .nothingStored }
        return own.contains { fits($0, request) && $0.isReadable(by: request) } ? .partNotHeld : .otherVariant
    }

    /// Decides about a stale answer, which may be used only if the server or the request allows it (section 4.2.4). An
    /// answer whose server named no lifetime is one from the start.
    private static func stale(_ found: Candidate, _ request: CacheRequest) -> CacheDecision {
        guard !found.control.mustRevalidate else { return found.ask(request, .stale) }
        let stale = TimeSpan.zero - found.freshness.remaining
        switch request.control.maxStale {
        case .any: return .use(found.use(.maxStale))
        case .atMost(let most) where stale <= most: return .use(found.use(.maxStale))
        case .atMost, nil: break
        }
        if request.control.maxAge == nil, stale < found.control.staleWhileRevalidate {
            return .use(found.use(.staleWhileRevalidate))
        }
        return found.ask(request, .stale)
    }
}

/// Why a request goes to the server as if nothing were stored.
package enum FetchReason: Hashable, Sendable {
    /// The URL's scheme, the method, the policy, a condition of the job's own, or the request's `no-store`.
    case scheme, method, policy, ownCondition, requestNoStore
    /// No answer is stored under the URL.
    case nothingStored
    /// The stored answers belong to other values of the `Vary` headers, or to other credentials.
    case otherVariant
    /// The wanted bytes are not stored.
    case partNotHeld
    /// The stored answer needs validation and has no validator.
    case unvalidatable(ValidationReason)
}

/// Why a stored answer may not be used without validation.
package enum ValidationReason: Hashable, Sendable {
    case stale, requestNoCache, requestMaxAge, requestMinFresh, responseNoCache, changed
}

/// An answer from the cache.
package struct CacheUse: Hashable, Sendable {
    /// Why the stored answer may be used.
    package enum Reason: Hashable, Sendable {
        /// The stored response is fresh.
        case fresh
        /// The policies `returnCacheDataElseLoad` and `returnCacheDataDontLoad` accept any.
        case policy
        /// The stored response is stale, and the request's `max-stale` accepts that.
        case maxStale
        /// The stored response is stale and to be revalidated afterwards (``CacheUse/refresh``), so that the next request
        /// finds it fresh.
        case staleWhileRevalidate
        /// The stored response is stale and replaces an error.
        case staleIfError
        /// The server was asked and confirmed it.
        case validated
    }
    /// The stored answer.
    package let stored: StoredResponse
    /// Why it may be used.
    package let reason: Reason
    /// Status of the answer: 206 where ``part`` is set, else the stored one.
    package let status: Int
    /// Headers of the answer with its `Age`. Their cookies were set when the answer was received.
    package let headers: HeaderBlock
    /// The bytes of the stored body that answer the request; `nil` for all of them. A HEAD takes none.
    package let part: HeldPart?

    /// The validation to perform afterwards; without one the whole answer is fetched again.
    package var refresh: CacheValidation? {
        stored.condition.map { CacheValidation(stored: stored, question: .conditional($0), reason: .stale) }
    }
}

/// A validation of a stored answer, whose result ``outcome(_:to:)`` reads.
package struct CacheValidation: Hashable, Sendable {
    /// The request that validates.
    package enum Question: Hashable, Sendable {
        /// The request itself, with this condition.
        case conditional(HeaderField)
        /// A HEAD in place of a GET, as `cache.revalidation: head` requires.
        case head
    }
    /// The stored answer to validate.
    package let stored: StoredResponse
    /// The request that validates.
    package let question: Question
    /// Why validation is needed.
    package let reason: ValidationReason
}

/// The stored answer that fits a request best, and its freshness.
private struct Candidate {
    let stored: StoredResponse
    let control: CacheControl
    let freshness: Freshness
    /// Whether the answer is dated in the future, so that its age is unknown.
    private let isAhead: Bool
    private let part: HeldPart?
    private let revalidation: CacheConfiguration.Revalidation

    /// Chooses the answer that was made last (section 4); an answer dated in the future comes after any other.
    init?(
        _ request: CacheRequest, _ stored: [StoredResponse], _ configuration: CacheConfiguration, _ now: WallTime
    ) {
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
        freshness = Freshness(
            of: best.stored, control: control, guesses: configuration.guessesLifetime, now: now)
        revalidation = configuration.revalidation
        isAhead = best.stored.isAhead(of: now)
    }

    /// Whether `one` was made no later than `other`.
    private static func precedes(_ one: StoredResponse, _ other: StoredResponse, _ now: WallTime) -> Bool {
        guard one.isAhead(of: now) == other.isAhead(of: now) else { return one.isAhead(of: now) }
        return (one.date, one.responseTime) <= (other.date, other.responseTime)
    }

    /// Whether the stored answer has the wanted bytes. Only a 200 has parts; other statuses answer as they are.
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

    /// Whether the answer is older than the request accepts. `max-age=0` is a reload, which `immutable` makes
    /// unnecessary (RFC 8246).
    private func isOlder(than most: TimeSpan) -> Bool {
        most > .zero ? freshness.age > most : !(control.isImmutable && freshness.isFresh)
    }

    func use(_ reason: CacheUse.Reason) -> CacheUse {
        CacheUse(stored, reason, part: part, control, age: freshness.age)
    }

    func ask(_ request: CacheRequest, _ reason: ValidationReason) -> CacheDecision {
        // A part that may have changed is fetched again: a 304 would save little, and mixing versions costs much.
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
