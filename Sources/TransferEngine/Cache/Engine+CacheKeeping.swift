import AttemptLife
import CurlCore
import HTTPRules
import TransferModel

// What an answer from the network means for a session's cache.

extension Engine {
    /// An answer ended. What it puts an end to goes, whether the task wanted it or not; a redirect is kept here, and what
    /// becomes the task's answer when it is delivered.
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
        // One that asks who one is is put off, and none of these is kept.
        case .keep, .isThere, .judged, .ask, .cancel: break
        }
    }

    /// What the cache holds of a place is no longer to be believed after a request that may have changed it.
    func forgetWhatChanged(_ attempt: Attempt) {
        guard let head = attempt.exchange.head, let cache = attempt.session.cache else { return }
        let request = attempt.life.request
        for url in CacheInvalidation.urls(after: request.method, request.url, status: head.status, head.headers) {
            cache.forget(url.text)
        }
    }

    /// Why its answer is not kept either.
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

    /// The task has its answer. It was kept as it came, or is packed no more.
    func keepAnswer(_ attempt: Attempt) {
        if attempt.caching.isBypassed, !attempt.download.lengthUnverified {
            attempt.caching.note = attempt.session.cache?.refusal(toAnswersOf: attempt.life.request.method)
        }
        guard attempt.caching.turn != nil, !attempt.download.lengthUnverified else { return }
        keepInCache(attempt, attempt.caching.turn?.copy ?? attempt.exchange.body)
    }

    /// Takes an answer in if it may be, in the place of what it makes outdated.
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
                || body != attempt.exchange.body && secrets.are(in: attempt.exchange.body, entry.headers)
            cache.store(entry, bytes, inMemoryOnly: inMemoryOnly || isSecret)
            attempt.caching.note = CacheRecord(refusal: nil)
            emit(.cacheStored, attempt)
        case .refuse(let refusal): attempt.caching.note = CacheRecord(refusal: refusal.description)
        case nil: break
        }
    }

    /// Whether a response must not be written down: a server may repeat a secret that it was shown, or hand one out.
    func holdsSecret(_ stored: StoredResponse, _ body: [UInt8] = []) -> Bool { secrets.are(in: stored, body: body) }

    /// Takes out what is no longer true since this answer came.
    @discardableResult
    private func noteOutdated(_ attempt: Attempt) -> [(StoredResponse, body: [UInt8]?)] {
        guard let turn = attempt.caching.turn, let head = attempt.exchange.head, let cache = attempt.session.cache,
            let held = cache.held(turn.request.url.text), !held.isEmpty
        else { return [] }
        let answer = CacheAnswer(
            status: head.status, headers: head.headers, requestTime: attempt.exchange.startedAt,
            responseTime: turn.answeredAt ?? now.wall)
        let gone = CacheStorage.outdated(held, by: answer, to: turn.request)
        let outdated = held.filter { gone.contains($0.id) }.map { ($0, body: cache.body(of: $0.id)) }
        for id in gone { cache.remove(id) }
        return outdated
    }

    /// The new part with those that were held of the same thing. What lies with the store is not waited for.
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

    /// What a HEAD says of the answers to a GET.
    private func freshen(_ attempt: Attempt, _ turn: CacheTurn, _ head: ResponseHead, _ cache: SessionCache) {
        let answer = CacheAnswer(
            status: head.status, headers: head.headers, requestTime: attempt.exchange.startedAt,
            responseTime: turn.answeredAt ?? now.wall)
        for stored in cache.held(turn.request.url.text) ?? [] where CacheDecision.fits(stored, turn.request) {
            switch CacheUpdate.headed(stored, by: answer, turn.request) {
            case .updated(let new), .stale(let new): cache.update(new, inMemoryOnly: holdsSecret(new))
            case .unrelated: break
            }
        }
    }
}
