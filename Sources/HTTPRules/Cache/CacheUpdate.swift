package import TransferModel

/// What an answer to a question, or to a HEAD, does to what is stored (RFC 9111, sections 3.2, 4.3.3 to 4.3.5).
package enum CacheUpdate {
    /// `nil` when the 304 speaks of something else than what is stored.
    package static func confirmed(
        _ stored: StoredResponse, by answer: CacheAnswer, _ request: CacheRequest
    ) -> StoredResponse? {
        speaks(of: stored, answer.headers) ? refreshed(stored, by: answer, request) : nil
    }

    package enum HeadVerdict: Hashable, Sendable {
        case updated(StoredResponse)
        /// It is another one now: to be asked about before it is used.
        case stale(StoredResponse)
        /// Nothing in the two tells.
        case unrelated
    }

    /// What a HEAD's answer says of the stored answer to a GET. Section 4.3.5 takes any answer without validators for the
    /// same; here something must prove it, because a wrong body is worse than a request.
    package static func headed(
        _ stored: StoredResponse, by answer: CacheAnswer, _ request: CacheRequest
    ) -> HeadVerdict {
        var changed = stored
        changed.needsValidation = true
        guard answer.status == stored.status else { return answer.status < 500 ? .stale(changed) : .unrelated }
        if let length = answer.headers.first("content-length"), stored.part == nil, Int64(length) != stored.bodyLength {
            return .stale(changed)
        }
        switch isSame(stored, answer.headers) {
        case true?: return refreshed(stored, by: answer, request).map { .updated($0) } ?? .stale(changed)
        case false?: return .stale(changed)
        case nil: return .unrelated
        }
    }

    /// Whether the validators agree; `nil` when there are not two to compare.
    private static func isSame(_ stored: StoredResponse, _ headers: HeaderBlock) -> Bool? {
        if let old = stored.entityTag, let new = EntityTag(headers) { return old.matchesWeakly(new) }
        guard let old = stored.headers.first("last-modified"), let new = headers.first("last-modified") else {
            return nil
        }
        return old.isExactly(new)
    }

    /// Section 4.3.4: a strong validator must be the stored one, a weak one must agree with it, and none at all is an answer
    /// to what was asked.
    private static func speaks(of stored: StoredResponse, _ headers: HeaderBlock) -> Bool {
        guard let tag = EntityTag(headers) else {
            guard let new = headers.first("last-modified"), stored.entityTag == nil else { return true }
            return stored.headers.first("last-modified").isExactly(new)
        }
        guard let own = stored.entityTag else { return false }
        return tag.isWeak || own.isWeak ? tag.matchesWeakly(own) : tag.matchesStrongly(own)
    }

    /// `nil` when the new headers say that no request matches it any more.
    private static func refreshed(
        _ stored: StoredResponse, by answer: CacheAnswer, _ request: CacheRequest
    ) -> StoredResponse? {
        var refreshed = stored
        refreshed.headers = merged(stored.headers, answer.headers)
        guard let selecting = SelectingHeaders(refreshed.headers, request: request) else { return nil }
        refreshed.selecting = selecting
        refreshed.requestTime = answer.requestTime
        refreshed.responseTime = answer.responseTime
        refreshed.needsValidation = false
        return refreshed
    }

    /// Section 3.2: what comes replaces what is there of that name, but for what describes the bytes that are held. An age
    /// and a date belong to the answer that they came with.
    private static func merged(_ stored: HeaderBlock, _ new: HeaderBlock) -> HeaderBlock {
        let new = StoredResponse.storable(new)
        let replaced = Set(new.lines.map { new.lowerName($0) }).union(["age", "date"]).subtracting(ofTheBody)
        return stored.keeping({ !replaced.contains(stored.lowerName($0)) }, adding: new) {
            !ofTheBody.contains(new.lowerName($0))
        }
    }

    /// A `Content-Digest` is of the bytes that came with it, and of a 304 there are none.
    private static let ofTheBody: Set<String> = [
        "content-length", "content-encoding", "content-range", "content-digest",
    ]
}

/// An answer from the network, as far as the cache looks at it.
package struct CacheAnswer: Hashable, Sendable {
    package var status: Int
    package var headers: HeaderBlock
    /// When the request that it answers was sent, and when its headers came.
    package var requestTime: WallTime
    package var responseTime: WallTime
    /// `nil` while it is not known.
    package var bodyLength: Int64?

    package init(
        status: Int, headers: HeaderBlock, requestTime: WallTime, responseTime: WallTime, bodyLength: Int64? = nil
    ) {
        self.status = status
        self.headers = headers
        self.requestTime = requestTime
        self.responseTime = responseTime
        self.bodyLength = bodyLength
    }
}

extension CacheValidation {
    package enum Outcome: Hashable, Sendable {
        /// It is still the same. What is kept is the updated answer; `keeps` is false if the server wants none kept now.
        case confirmed(CacheUse, keeps: Bool)
        /// This is the answer, to be stored or not like any other.
        case replaced
        /// The answer is of no use: the request goes out once more, without a condition.
        case askAgain
        /// The server failed: `CacheDecision.instead` says whether the stale one may do, else this is the answer.
        case serverFailed
    }

    /// What the answer to the question means.
    package func outcome(_ answer: CacheAnswer, to request: CacheRequest) -> Outcome {
        switch question {
        case .conditional: conditional(answer, request)
        case .head: headed(answer, request)
        }
    }

    private func conditional(_ answer: CacheAnswer, _ request: CacheRequest) -> Outcome {
        if answer.status >= 500 { return .serverFailed }
        guard answer.status == 304 else { return .replaced }
        return CacheUpdate.confirmed(stored, by: answer, request).map { confirmed($0, answer, request) } ?? .askAgain
    }

    private func headed(_ answer: CacheAnswer, _ request: CacheRequest) -> Outcome {
        guard case .updated(let updated) = CacheUpdate.headed(stored, by: answer, request) else { return .askAgain }
        return confirmed(updated, answer, request)
    }

    private func confirmed(_ updated: StoredResponse, _ answer: CacheAnswer, _ request: CacheRequest) -> Outcome {
        let control = CacheControl(updated.headers)
        // The server has just answered for all of it, so nothing is kept back.
        let age = Freshness.age(updated, now: answer.responseTime)
        let use = CacheUse(updated, .validated, part: nil, CacheControl(.empty), age: age)
        return .confirmed(use, keeps: !control.noStore && !request.control.noStore && updated.selecting.canMatch)
    }
}
