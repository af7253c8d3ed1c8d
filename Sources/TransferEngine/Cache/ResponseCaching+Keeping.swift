import AttemptLife
import CurlCore
import HTTPRules
import TransferModel

// Caching answers from the network.

extension ResponseCaching {
    /// Handles the end of an answer: outdated entries are deleted whether the task wanted the answer or not, and a
    /// redirect is cached here. An answer that becomes the task's is cached when it is delivered.
    func noteForCache(_ attempt: Attempt, _ step: NextStep, _ error: TransferError?) {
        if attempt.caching.isBypassed { return notePassing(attempt, step) }
        guard let turn = attempt.caching.turn, let head = attempt.exchange.head, let cache = attempt.session.cache
        else { return }
        if turn.request.method == "HEAD" { freshen(attempt, turn, head, cache) }
        switch step {
        case .deliver(let unverified, _):
            if attempt.specification.type == .download {
                noteOutdated(attempt)
            } else if unverified {
                keepInCache(attempt, refusing: .unproven)
            }
        case .send(_, let record):
            let isWhole = error == nil && !attempt.exchange.endedByUs && provesItsEnd(head, attempt)
            if record != nil, isWhole, let body = turn.copy {
                keepInCache(attempt, body)
            } else {
                noteOutdated(attempt)
            }
        case .fail:
            if attempt.specification.type == .download {
                noteOutdated(attempt)
            } else {
                keepInCache(attempt, refusing: .unexpected)
            }
        // These steps end no answer that could be cached.
        case .keep, .isThere, .judged, .ask, .cancel: break
        }
    }

    /// Deletes entries of URLs that the request may have changed.
    func forgetWhatChanged(_ attempt: Attempt) {
        guard let head = attempt.exchange.head, let cache = attempt.session.cache else { return }
        let request = attempt.life.request
        for url in CacheInvalidation.urls(after: request.method, request.url, status: head.status, head.headers) {
            cache.forget(url.text)
        }
    }

    /// Notes why an answer that bypassed the cache is not cached.
    private func notePassing(_ attempt: Attempt, _ step: NextStep) {
        guard attempt.exchange.head != nil, attempt.specification.type != .download else { return }
        switch step {
        case .deliver(let unverified, _):
            if unverified { attempt.caching.note = CacheRecord(refusal: CacheStorage.Refusal.unproven.description) }
        case .fail: attempt.caching.note = CacheRecord(refusal: CacheStorage.Refusal.unexpected.description)
        case .send, .keep, .isThere, .judged, .ask, .cancel: break
        }
    }

    private func provesItsEnd(_ head: ResponseHead, _ attempt: Attempt) -> Bool {
        let framing = try? BodyFraming.of(
            head.headers, status: head.status, method: attempt.life.request.method, version: head.version)
        return framing != .untilClose
    }

    /// Caches the task's answer, as it was received where a copy was kept, else decoded.
    func keepAnswer(_ attempt: Attempt) {
        if attempt.caching.isBypassed, !attempt.download.lengthUnverified {
            attempt.caching.note = attempt.session.cache?.refusal(toAnswersOf: attempt.life.request.method)
        }
        guard attempt.caching.turn != nil, !attempt.download.lengthUnverified else { return }
        keepInCache(attempt, attempt.caching.turn?.copy ?? attempt.exchange.body)
    }

    /// Caches an answer if allowed, in the place of the entries that it outdates.
    private func keepInCache(_ attempt: Attempt, _ body: [UInt8] = [], refusing: CacheStorage.Refusal? = nil) {
        guard let head = attempt.exchange.head, let cache = attempt.session.cache else { return }
        let outdated = noteOutdated(attempt)
        let verdict = refusing.map { .refuse($0) } ?? attempt.cacheVerdict(head, length: Int64(body.count))
        attempt.caching.turn?.copy = nil
        switch verdict {
        case .store(let stored, let inMemoryOnly):
            if let refusal = cache.refusal(of: stored.bodyLength, inMemoryOnly: inMemoryOnly) {
                attempt.caching.note = CacheRecord(refusal: refusal.description)
                return
            }
            let (entry, bytes) = Self.joined(stored, body, outdated)
            let isSecret =
                holdsSecret(entry, bytes)
                || body != attempt.exchange.body && core.secrets.are(in: attempt.exchange.body, entry.headers)
            cache.store(entry, bytes, inMemoryOnly: inMemoryOnly || isSecret)
            attempt.caching.note = CacheRecord(refusal: nil)
            core.emit(.cacheStored, attempt)
        case .refuse(let refusal): attempt.caching.note = CacheRecord(refusal: refusal.description)
        case nil: break
        }
    }

    /// Whether a response must not be written down: a server may repeat a secret that it was shown, or hand one out.
    func holdsSecret(_ stored: StoredResponse, _ body: [UInt8] = []) -> Bool {
        core.secrets.are(in: stored, body: body)
    }

    /// Deletes and returns the entries that this answer outdates.
    @discardableResult
    private func noteOutdated(_ attempt: Attempt) -> [(StoredResponse, body: [UInt8]?)] {
        guard let turn = attempt.caching.turn, let head = attempt.exchange.head, let cache = attempt.session.cache,
            let held = cache.held(turn.request.url.text), !held.isEmpty
        else { return [] }
        let answer = CacheAnswer(
            status: head.status, headers: head.headers, requestTime: attempt.exchange.startedAt,
            responseTime: turn.answeredAt ?? core.now.wall)
        let gone = CacheStorage.outdated(held, by: answer, to: turn.request)
        let outdated = held.filter { gone.contains($0.id) }.map { ($0, body: cache.body(of: $0.id)) }
        for id in gone { cache.remove(id) }
        return outdated
    }

    /// Joins the new part with the cached parts of the same version. Bodies that are with the store are not waited for.
    private static func joined(
        _ stored: StoredResponse, _ body: [UInt8], _ others: [(StoredResponse, body: [UInt8]?)]
    ) -> (StoredResponse, [UInt8]) {
        var (entry, bytes) = (stored, body)
        for (other, held) in others {
            guard let held, let joined = PartialContent.joined(other, entry), let old = other.part, let new = entry.part
            else { continue }
            bytes = PartialContent.join(held, at: old.first, bytes, at: new.first)
            entry = joined
        }
        return (entry, bytes)
    }

    /// Updates the cached answers to GET from the headers of a HEAD.
    private func freshen(_ attempt: Attempt, _ turn: CacheTurn, _ head: ResponseHead, _ cache: SessionCache) {
        let answer = CacheAnswer(
            status: head.status, headers: head.headers, requestTime: attempt.exchange.startedAt,
            responseTime: turn.answeredAt ?? core.now.wall)
        for stored in cache.held(turn.request.url.text) ?? [] where CacheDecision.fits(stored, turn.request) {
            switch CacheUpdate.headed(stored, by: answer, turn.request) {
            case .updated(let new), .stale(let new): cache.update(new, inMemoryOnly: holdsSecret(new))
            case .unrelated: break
            }
        }
    }
}
