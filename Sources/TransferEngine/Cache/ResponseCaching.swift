import AttemptLife
import CurlCore
import HTTPRules
import Stores
import SystemIO
import TransferModel

/// Answers requests from the session's cache, and keeps answers in it.
final class ResponseCaching: Participant {
    let core: EngineCore

    init(_ core: EngineCore) { self.core = core }

    /// An attempt begins whose task had one before.
    func attemptBegins(_ attempt: Attempt) {
        guard let fault = core.retryStates[attempt.task]?.faultOfBody(at: attempt.mirror) else { return }
        attempt.life.passCaches(because: "\(fault): asked for once more past all caches")
    }

    /// The attempt is over: after a response that did not do, the next one asks past the caches.
    func attemptEnded(_ attempt: Attempt, _ verdict: Verdict) {
        if case .failed = verdict.outcome, attempt.exchange.head != nil {
            core.retryStates[attempt.task, default: RetryState()].hadFailedResponse = true
        }
    }

    /// Whether the cache answers the request, or must be waited for. Called with the complete request.
    func asksCache(_ request: OutgoingRequest, _ attempt: Attempt) -> Bool {
        attempt.caching.restart()
        guard let cache = attempt.session.cache, attempt.streams.segmented == nil else { return false }
        let policy = cachePolicy(attempt)
        // Checksum files and other schemes are not cached; but under `returnCacheDataDontLoad` no request may connect.
        let isTheTasks = !attempt.isLookingUp && !attempt.life.asksAboutPart && !attempt.life.asksWhetherNeeded
        guard request.url.isHTTP && isTheTasks || policy == .returnCacheDataDontLoad else { return false }
        // A request that changes something gets no cached answer, and its answer is not reused.
        if !["GET", "HEAD", "POST"].contains(request.method), policy != .returnCacheDataDontLoad,
            !request.headers.contains(where: { $0.name.utf8.count == 13 && $0.name.lowercased() == "cache-control" })
        {
            attempt.caching.isBypassed = true
            return false
        }
        // Fast path of ten thousand downloads with an empty cache.
        let isIndifferent =
            attempt.specification.type == .download && request.method == "GET" && policy != .returnCacheDataDontLoad
        if isIndifferent, cache.isEmpty { return false }
        let held = cache.held(request.url.text)
        if isIndifferent, held?.isEmpty == true { return false }
        attempt.caching.turn = CacheTurn(request: cacheRequest(request, attempt, policy, cache))
        guard let held else {
            attempt.phase = .askingCache(request)
            cache.order(.find(attempt.task, url: request.url.text))
            return true
        }
        return decide(held, request, attempt, cache)
    }

    /// The policy of the request: a retry bypasses the cache, whose answer was rejected, unless it must never connect.
    private func cachePolicy(_ attempt: Attempt) -> CachePolicy {
        let policy = attempt.specification.options.values.policies.cachePolicy
        let isRetry =
            attempt.caching.isDisabled || attempt.life.isAtUploadPlace
            || core.retryStates[attempt.task]?.hadFailedResponse == true
        return isRetry && policy != .returnCacheDataDontLoad ? .reloadIgnoringCacheData : policy
    }

    /// Whether the attempt begins anew, past the cache: a redirect out of the cache led to an address inside, and whether
    /// its server may lead there only the server's own address shows.
    func asksLeadAgain(_ attempt: Attempt, _ error: TransferError) -> Bool {
        guard error.name == .redirectRefused, error.message.contains(AddressObjection.ledWords),
            attempt.caching.gaveRedirect
        else { return false }
        core.retryStates[attempt.task, default: RetryState()].hadFailedResponse = true
        participants.renewals.tryAgain(attempt, isRenewed: false)
        return true
    }

    /// Whether the body was not wholly sent by the server just now, or its end was not proven: the next attempt then
    /// requests all of it.
    func mayBeIncomplete(_ attempt: Attempt, _ error: TransferError) -> Bool {
        if attempt.exchange.isFromCache {
            return attempt.specification.options.values.policies.cachePolicy != .returnCacheDataDontLoad
        }
        if error.name == .cannotDecodeRawData { return attempt.life.endIsUnproven }
        if error.name == .checksumMismatch, attempt.streams.wereSeveral || attempt.life.endIsUnproven {
            return attempt.isDownload
        }
        return attempt.isDownload && attempt.life.offset > 0
    }

    /// Whether a cache on the way may have sent the file that misses the job's checksum, or the damaged body, and the
    /// server can be asked past it: once for each place. Of several `urls` the scheduler asks so at the last.
    func mayBeOfACache(_ attempt: Attempt, _ error: TransferError) -> Bool {
        let isWrongFile = error.name == .checksumMismatch && attempt.isDownload && attempt.rules.hasChecksum
        guard isWrongFile || error.name == .cannotDecodeRawData, attempt.life.request.url.isHTTP,
            core.retryStates[attempt.task]?.placesWithWrongBody[attempt.mirror] == nil
        else { return false }
        core.retryStates[attempt.task, default: RetryState()].placesWithWrongBody[attempt.mirror] = error.name
        return true
    }

    private func cacheRequest(
        _ request: OutgoingRequest, _ attempt: Attempt, _ policy: CachePolicy, _ cache: SessionCache
    ) -> CacheRequest {
        let headers = cacheHeaders(request, attempt, cache)
        let own = attempt.specification.options.values.policies.challenges
        let shown = attempt.session.pools.shownIdentity(for: request.url, own)
        return CacheRequest(
            request.method, request.url, headers: headers, policy: policy, hasBody: request.sendsBody,
            // An answer that the job captures secrets from is a secret itself.
            holdsSecret: attempt.rules.answer?.capturesSecrets == true
                || core.secrets.are(in: request.url),
            identity: identity(shown.map { "\($0)" }, headers, presets(request, attempt), attempt),
            marker: cache.marker)
    }

    /// The identity with which a request is answered, beyond its `Authorization`: a certificate, a connection that
    /// libcurl authenticated, or headers and preset cookies that the job writes. Servers that use a cookie as an
    /// identity rarely send `Vary: Cookie`; the cookies that the session collected are the same for all of its tasks.
    private func identity(
        _ certificate: String?, _ headers: HeaderBlock, _ presets: [String], _ attempt: Attempt
    ) -> String? {
        let owner = tokenOwner(attempt)
        let keys = RequestMark.keys(attempt.life.request.headers, attempt.session.credentialNames) + presets + owner
        guard certificate != nil || attempt.life.connectionProof != nil || !keys.isEmpty else { return nil }
        let authorization = owner.isEmpty ? headers.first("authorization") : nil
        let shown = identity(certificate, authorization: authorization, attempt)
        return ([shown] + keys).joined(separator: "\n")
    }

    /// The identity with which a request is answered, but for its `Authorization`.
    func proof(of request: OutgoingRequest, _ attempt: Attempt) -> String? {
        let own = attempt.specification.options.values.policies.challenges
        let certificate = attempt.session.pools.shownIdentity(for: request.url, own)
        let others = presets(request, attempt) + tokenOwner(attempt)
        guard certificate != nil || attempt.life.connectionProof != nil || !others.isEmpty else { return nil }
        return ([identity(certificate, authorization: nil, attempt)] + others).joined(separator: "\n")
    }

    /// Whose access token the request carries, which the next token says as well.
    private func tokenOwner(_ attempt: Attempt) -> [String] {
        attempt.life.shownClient.map { [participants.tokens.owner($0)] } ?? []
    }

    /// The preset cookies of the request, which count like headers that the job writes.
    private func presets(_ request: OutgoingRequest, _ attempt: Attempt) -> [String] {
        attempt.life.presets(to: request.url, of: attempt.session.state, at: core.now.wall)
    }

    private func identity(_ certificate: String?, authorization: String?, _ attempt: Attempt) -> String {
        var parts = [certificate ?? "", authorization ?? ""]
        if let proof = attempt.life.connectionProof {
            parts.append("\(proof.method)")
            switch proof.secret {
            case .password(let user, let password): parts += [user.revealed, password.revealed]
            case .token(let token): parts.append(token.revealed)
            }
        }
        return parts.joined(separator: "\n")
    }

    /// The request's headers without the conditions about the existing file, which are sent when the cache has no
    /// answer. First requests of tasks without headers of their own share one block.
    private func cacheHeaders(_ request: OutgoingRequest, _ attempt: Attempt, _ cache: SessionCache) -> HeaderBlock {
        let isPlain =
            !request.hasSessionHeaders && !request.isConditional && attempt.transactions.isEmpty
            && attempt.life.resume == nil
        if isPlain, let last = cache.lastHeaders, last.rules === attempt.rules { return last.headers }
        let fields = request.isConditional ? request.headers.filter { !$0.isCondition } : request.headers
        let headers = HeaderBlock(fields.map { ($0.name, $0.value.revealed) })
        if isPlain { cache.lastHeaders = (attempt.rules, headers) }
        return headers
    }

    /// Decides with the known entries whether one answers the request.
    private func decide(
        _ held: [StoredResponse], _ request: OutgoingRequest, _ attempt: Attempt, _ cache: SessionCache
    ) -> Bool {
        guard let turn = attempt.caching.turn else { return false }
        switch CacheDecision.of(turn.request, stored: held, cache.configuration, now: core.now.wall) {
        // A batch run need not answer quickly: a conditional request costs a 304, and the file is current.
        case .use(let use) where use.reason == .staleWhileRevalidate && !request.isConditional:
            attempt.caching.turn?.state = .sent(use.refresh)
            return false
        case .use(let use):
            answer(use, attempt, cache)
            return true
        case .validate(let question):
            // An existing file has its own conditions.
            attempt.caching.turn?.state = .sent(request.isConditional ? nil : question)
            return false
        case .fetch:
            attempt.caching.turn?.state = .sent(nil)
            return false
        case .fail(let reason):
            let why = reason == .policy ? "`returnCacheDataDontLoad`" : "`Cache-Control: only-if-cached`"
            engine.fail(
                attempt,
                TransferError(
                    .resourceUnavailable,
                    "the cache has no answer for \(request.url.text), and \(why) asks nobody else"))
            return true
        }
    }

    /// Adds the cache's condition to the request, if it has one.
    func questioned(_ request: OutgoingRequest, _ attempt: Attempt) -> OutgoingRequest {
        guard case .sent(let question?)? = attempt.caching.turn?.state else { return request }
        var request = request
        switch question.question {
        case .conditional(let header): request.headers.append(header)
        case .head: request.method = "HEAD"
        }
        request.isConditional = true
        return attempt.life.signedAnew(request, at: core.now.wall)
    }

    /// Passes the caches' orders to the store, once a turn.
    func handOverCacheOrders(_ memory: StoreClient) {
        for (number, session) in core.sessions.enumerated() where session.cache?.orders.isEmpty == false {
            memory.add(session.cache?.takeOrders() ?? [], SessionIndex(raw: UInt16(number)), at: core.now.instant)
        }
    }

    // MARK: What the store says

    /// Takes the caches' stored contents, once.
    func openCaches(_ caches: [SessionIndex: OpenedCache]) {
        for (number, session) in core.sessions.enumerated() {
            session.cache?.open(caches[SessionIndex(raw: UInt16(number))])
        }
    }

    /// Entries, or a body, that the store was asked for.
    func takeCached(_ report: MemoryReport) {
        switch report {
        case .cached(let task, let found):
            guard let attempt = core.attempt(of: task), case .askingCache(let request) = attempt.phase,
                case .asking? = attempt.caching.turn?.state, let cache = attempt.session.cache
            else { return }
            let held = cache.entriesFound(found, under: request.url.text)
            attempt.phase = .transferring
            if !decide(held, request, attempt, cache) { engine.transmit(request, attempt) }
        case .cachedBody(let task, let id, let body):
            guard let attempt = core.attempt(of: task), case .askingCache(let request) = attempt.phase,
                case .reading(let use)? = attempt.caching.turn?.state, use.stored.id == id,
                let cache = attempt.session.cache
            else { return }
            attempt.phase = .transferring
            if let body {
                cache.bodyRead(body, of: id)
                return deliverCached(use, body, attempt, cache)
            }
            cache.remove(id)
            askWithoutBody(request, attempt, cache)
        case .opened, .found, .known, .foundSent, .useless: break
        }
    }

    /// Continues without an entry whose body is damaged or gone. An attempt that has asked the server already holds no
    /// slot and must request one.
    private func askWithoutBody(_ request: OutgoingRequest, _ attempt: Attempt, _ cache: SessionCache) {
        guard attempt.origin != nil else { return engine.requestSlot(attempt, attempt.life.request) }
        if !decide(cache.held(request.url.text) ?? [], request, attempt, cache) { engine.transmit(request, attempt) }
    }

    // MARK: An answer out of the cache

    private func answer(_ use: CacheUse, _ attempt: Attempt, _ cache: SessionCache) {
        if attempt.life.request.method == "HEAD" { return deliverCached(use, [], attempt, cache) }
        if let body = cache.body(of: use.stored.id) { return deliverCached(use, body, attempt, cache) }
        attempt.caching.turn?.state = .reading(use)
        attempt.phase = .askingCache(attempt.life.request)
        cache.order(.read(attempt.task, use.stored.id, url: use.stored.url))
    }

    /// Delivers the cached answer like one from the network; it needs no connection.
    private func deliverCached(_ use: CacheUse, _ body: [UInt8], _ attempt: Attempt, _ cache: SessionCache) {
        noteUse(use, keeps: attempt.caching.turn?.keeps, attempt, cache)
        // A slot under which something was sent is reported when it is finally given back.
        if let origin = attempt.origin {
            attempt.origin = nil
            core.reports.append(.unused(attempt.task, origin))
        }
        attempt.beginRequest(at: core.now)
        attempt.exchange.source = use.reason == .validated ? .revalidated : .cache
        attempt.receive(use, body)
        if attempt.exchange.hasNewHead { participants.announcements.announce(attempt) }
        if use.reason != .validated { attempt.noteCached(use, at: core.now.wall) }
        attempt.caching.turn = nil
        engine.ended(attempt, attempt.exchange.bodyFailure, sawCloseNotify: true)
    }

    private func noteUse(_ use: CacheUse, keeps: Bool?, _ attempt: Attempt, _ cache: SessionCache) {
        switch keeps {
        case nil: cache.noteUse(of: use.stored.id, at: core.now.wall)
        case true?:
            cache.update(use.stored, inMemoryOnly: holdsSecret(use.stored))
            attempt.caching.note = CacheRecord(refusal: nil)
        case false?:
            cache.remove(use.stored.id)
            attempt.caching.note = CacheRecord(refusal: CacheStorage.Refusal.responseNoStore.description)
        }
    }

    // MARK: A request has ended

    /// Whether the cache has the answer, or sends another request. `error` is the transport's.
    func endedForCache(_ attempt: Attempt, _ error: TransferError?) -> Bool {
        guard let turn = attempt.caching.turn, let cache = attempt.session.cache else { return false }
        switch turn.state {
        case .answered(let use):
            core.releaseSlot(attempt)
            answer(use, attempt, cache)
            return true
        case .askAgain:
            attempt.caching.isDisabled = true
            engine.requestSlot(attempt, attempt.life.request)
            return true
        case .sent:
            guard error != nil, attempt.exchange.head == nil,
                let use = attempt.cacheInstead(of: turn, status: nil, at: core.now.wall)
            else { return false }
            core.releaseSlot(attempt)
            answer(use, attempt, cache)
            return true
        case .asking, .reading: return false
        }
    }
}

extension HeaderField {
    /// Whether the field is one of the two that ask whether a file has changed.
    fileprivate var isCondition: Bool {
        let name = name.lowercased()
        return name == "if-none-match" || name == "if-modified-since"
    }
}
