package import TransferModel

/// Updates stored answers by the answer to a validation or to a HEAD (RFC 9111, sections 3.2, 4.3.3 to 4.3.5).
package enum CacheUpdate {
    /// Returns the stored answer updated by a 304; `nil` when the 304 is about another version.
    package static func confirmed(
        _ stored: StoredResponse, by answer: CacheAnswer, _ request: CacheRequest
    ) -> StoredResponse? {
        speaks(of: stored, answer.headers) ? refreshed(stored, by: answer, request) : nil
    }

    /// What the answer to a HEAD means for a stored answer.
    package enum HeadVerdict: Hashable, Sendable {
        /// The stored response is still valid; this is its updated form.
        case updated(StoredResponse)
        /// Its version has changed: this form must be validated before use.
        case stale(StoredResponse)
        /// Nothing in the two answers decides.
        case unrelated
    }

    /// Returns what the answer to a HEAD means for the stored answer to a GET. Section 4.3.5 takes any answer without
    /// validators for the same version; here something must prove it, because a wrong body is worse than a request.
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

    /// Whether a 304 is about the stored version (section 4.3.4): a strong validator must be the stored one, a weak one
    /// must agree with it, and a 304 without a validator is the answer to the condition.
    private static func speaks(of stored: StoredResponse, _ headers: HeaderBlock) -> Bool {
        guard let tag = EntityTag(headers) else {
            guard let new = headers.first("last-modified"), stored.entityTag == nil else { return true }
            return stored.headers.first("last-modified").isExactly(new)
        }
        guard let own = stored.entityTag else { return false }
        return tag.isWeak || own.isWeak ? tag.matchesWeakly(own) : tag.matchesStrongly(own)
    }

    /// The stored answer with the new headers; `nil` when these say that no request matches it any more.
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

    /// Merges headers (section 3.2): a new line replaces the stored lines of its name, except lines that describe the
    /// stored bytes. Age and date belong to the answer that they came with.
    private static func merged(_ stored: HeaderBlock, _ new: HeaderBlock) -> HeaderBlock {
        let new = StoredResponse.storable(new)
        let replaced = Set(new.lines.map { new.lowerName($0) }).union(["age", "date"]).subtracting(ofTheBody)
        return stored.keeping({ !replaced.contains(stored.lowerName($0)) }, adding: new) {
            !ofTheBody.contains(new.lowerName($0))
        }
    }

    /// Names of the headers that describe the stored bytes. A `Content-Digest` covers the bytes that came with it, and
    /// a 304 has none.
    private static let ofTheBody: Set<String> = [
        "content-length", "content-encoding", "content-range", "content-digest",
    ]
}

/// The facts about an answer from the network that the cache needs.
package struct CacheAnswer: Hashable, Sendable {
    /// Status of the answer.
    package var status: Int
    /// Headers of the answer.
    package var headers: HeaderBlock
    /// Time when the answered request was sent.
    package var requestTime: WallTime
    /// Time when the answer's headers arrived.
    package var responseTime: WallTime
    /// Bytes of the body; `nil` while unknown.
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
    /// What the answer to a validation means.
    package enum Outcome: Hashable, Sendable {
        /// The stored answer is still valid. `use` contains its updated form; `keeps` is false if the server now
        /// forbids storing it.
        case confirmed(CacheUse, keeps: Bool)
        /// This is the answer, to be stored or not like any other.
        case replaced
        /// The answer is of no use: send the request again, without a condition.
        case askAgain
        /// The server failed: `CacheDecision.instead` decides whether the stale answer is used, else this is the
        /// answer.
        case serverFailed
    }

    /// Returns what the answer to the validation means.
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
        // The server has just validated all of it, so the `no-cache` fields need not be left out.
        let age = Freshness.age(updated, now: answer.responseTime)
        let use = CacheUse(updated, .validated, part: nil, CacheControl(.empty), age: age)
        return .confirmed(use, keeps: !control.noStore && !request.control.noStore && updated.selecting.canMatch)
    }
}
