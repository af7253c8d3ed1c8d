import AttemptLife
import Codecs
import CurlCore
import HTTPRules
import TransferModel

extension Attempt {
    /// Whether the cache handles the answer whose headers came, because it sent the condition or has a better answer
    /// than a failure. The body is then discarded.
    func isForTheCache(_ head: ResponseHead, at answeredAt: WallTime) -> Bool {
        guard let turn = caching.turn, case .sent(let question) = turn.state else { return false }
        caching.turn?.answeredAt = answeredAt
        let answer = CacheAnswer(
            status: head.status, headers: head.headers, requestTime: exchange.startedAt, responseTime: answeredAt)
        switch question?.outcome(answer, to: turn.request) {
        case .confirmed(let use, let keeps):
            caching.turn?.keeps = keeps
            caching.turn?.state = .answered(use)
        case .askAgain: caching.turn?.state = .askAgain
        case .replaced, .serverFailed, nil:
            guard let use = cacheInstead(of: turn, status: head.status, at: answeredAt) else { return false }
            caching.turn?.state = .answered(use)
        }
        return true
    }

    /// Returns the entry that may be used instead of a failed answer.
    func cacheInstead(of turn: CacheTurn, status: Int?, at now: WallTime) -> CacheUse? {
        guard let cache = session.cache, let stored = cache.held(turn.request.url.text) else { return nil }
        return CacheDecision.instead(of: turn.request, stored: stored, cache.configuration, status: status, now: now)
    }

    /// Keeps the received bytes of this answer for the cache, beside what the task makes of them.
    func prepareCacheCopy(_ head: ResponseHead) {
        guard caching.turn != nil, life.type != .download, exchange.decision == .discard || exchange.decoder != nil,
            case .store(_, let inMemoryOnly)? = cacheVerdict(head, length: nil),
            session.cache?.refusal(of: life.announcedLength ?? 0, inMemoryOnly: inMemoryOnly) == nil
        else { return }
        caching.turn?.copy = []
    }

    /// Whether the answer may be cached, as far as its headers decide; `nil` without a cache.
    func cacheVerdict(_ head: ResponseHead, length: Int64?) -> CacheStorage? {
        guard let turn = caching.turn, let cache = session.cache else { return nil }
        var answer = CacheAnswer(
            status: head.status, headers: head.headers, requestTime: exchange.startedAt,
            responseTime: turn.answeredAt ?? exchange.startedAt)
        answer.bodyLength = length
        return CacheStorage.of(answer, to: turn.request, cache.configuration)
    }

    // MARK: An answer out of the cache

    /// Delivers a cached answer through the same calls as libcurl, so that all checks apply to it.
    func receive(_ use: CacheUse, _ body: [UInt8]) {
        exchange.isFromCache = true
        exchange.heldLength = use.part?.length ?? Int64(body.count)
        let head = ResponseHead(status: use.status, version: .http1, headers: use.headers)
        guard received(head: head), life.request.method != "HEAD" else { return }
        let range = use.part.map { Int($0.offset)..<Int($0.offset + $0.length) } ?? 0..<body.count
        body.withUnsafeBytes { bytes in
            var rest = UnsafeRawBufferPointer(rebasing: bytes[range])
            while !rest.isEmpty {
                let piece = UnsafeRawBufferPointer(rebasing: rest.prefix(BodyBufferSize.most))
                guard case .taken = received(body: piece) else { return }
                rest = UnsafeRawBufferPointer(rebasing: rest.dropFirst(piece.count))
            }
        }
    }

    /// Records the transaction of an answer without a connection.
    func noteCached(_ use: CacheUse, at now: WallTime) {
        var transaction = TransactionMetrics(
            method: life.request.method, url: life.request.url.text, fetchStart: exchange.startedAt)
        transaction.fetchType = .localCache
        transaction.status = use.status
        transaction.responseStart = now
        transaction.responseEnd = now
        transaction.responseBodyBytesAfterDecoding = exchange.decoder?.written ?? exchange.received
        transactions.append(transaction)
    }
}

private enum BodyBufferSize {
    /// Bytes of the pieces in which a cached body is delivered; no more than a buffer of the pool holds.
    static let most = 64 << 10
}
