package import TransferModel

/// Whether an answer is stored, and where: RFC 9111, section 3, then the session's configuration.
package enum CacheStorage: Hashable, Sendable {
    /// Store it; `inMemoryOnly` keeps it off the disk.
    case store(StoredResponse, inMemoryOnly: Bool)
    /// Do not store it.
    case refuse(Refusal)

    /// Why an answer is not stored; the report prints ``description``.
    package enum Refusal: Hashable, Sendable, CustomStringConvertible {
        /// The session has no cache, its `storage` forbids it, or the URL is not http or https.
        case disabled, notAllowed, scheme
        /// The answer to this method answers no later GET.
        case method(String)
        /// This status is stored only if the server says for how long.
        case status(Int)
        /// The server sent `must-understand` with a status whose rules are unknown here.
        case notUnderstood(Int)
        /// Request or answer says `no-store`, the answer says `Vary: *`, or a value it depends on could not be marked.
        case requestNoStore, responseNoStore, variesByEverything, unmarked
        /// The body has the wrong length, its end is unproven, or it fails the task's expectations.
        case notWhole, unproven, unexpected
        /// The part does not say where in the whole it belongs.
        case unusableRange
        /// The entry exceeds this many bytes; from ``CacheIndex``.
        case tooLarge(most: Int64)
    }

    /// Decides whether and where an answer is stored.
    ///
    /// - Parameter isDownload: `storage` and its rules are for data and upload tasks; a download follows the policy
    /// alone.
    package static func of(
        _ answer: CacheAnswer, to request: CacheRequest, _ configuration: CacheConfiguration, isDownload: Bool = false
    ) -> CacheStorage {
        let control = CacheControl(answer.headers)
        if let refusal = refusal(answer, request, control) { return .refuse(refusal) }
        let place = storage(configuration, request.url, answer.headers, isDownload: isDownload)
        if !configuration.isEnabled { return .refuse(.disabled) }
        if place == .notAllowed { return .refuse(.notAllowed) }
        guard let selecting = SelectingHeaders(answer.headers, request: request) else {
            return .refuse(.variesByEverything)
        }
        guard selecting.canMatch, request.credentials != .unknown else { return .refuse(.unmarked) }
        let part = answer.status == 206 ? self.part(answer) : nil
        if answer.status == 206, part == nil { return .refuse(.unusableRange) }
        let stored = StoredResponse(
            url: request.url.text, status: answer.status, headers: StoredResponse.storable(answer.headers),
            selecting: selecting, credentials: request.credentials, requestTime: answer.requestTime,
            responseTime: answer.responseTime, bodyLength: answer.bodyLength ?? 0, part: part)
        if let refusal = lengthRefusal(stored, answer) { return .refuse(refusal) }
        return .store(stored, inMemoryOnly: place == .memoryOnly || request.holdsSecret)
    }

    /// Returns the stored answers that are outdated by this answer, whether it is stored or not. A server that fails or
    /// refuses temporarily says nothing about stored answers; a part only outdates other parts, and a whole that it is
    /// not a part of.
    package static func outdated(
        _ stored: [StoredResponse], by answer: CacheAnswer, to request: CacheRequest
    ) -> [CacheEntryID] {
        guard request.method == "GET", !request.hasBody, answer.status < 500,
            ![304, 401, 407, 408, 412, 416, 425, 429].contains(answer.status)
        else { return [] }
        let tag = EntityTag(answer.headers)
        return stored.filter { old in
            guard CacheDecision.fits(old, request) else { return false }
            guard answer.status == 206, old.part == nil else { return true }
            return old.entityTag != tag
        }.map(\.id)
    }

    /// Checks the conditions of section 3, in its order.
    private static func refusal(_ answer: CacheAnswer, _ request: CacheRequest, _ control: CacheControl) -> Refusal? {
        if !request.url.isHTTP { return .scheme }
        if !isStorable(request, answer, control) { return .method(request.method) }
        if answer.status < 200 || answer.status == 304 { return .status(answer.status) }
        if control.mustUnderstand, !CacheableStatus.isUnderstood(answer.status) { return .notUnderstood(answer.status) }
        if request.control.noStore { return .requestNoStore }
        if control.noStore, !control.mustUnderstand { return .responseNoStore }
        let isExplicit =
            control.isPublic || control.isPrivate || control.maxAge != nil || answer.headers.first("expires") != nil
        return isExplicit || CacheableStatus.isHeuristicallyCacheable(answer.status) ? nil : .status(answer.status)
    }

    /// Whether the answer can answer a GET: a GET's; or a POST's that says how long it answers a GET of that URL (RFC
    /// 9110, section 9.3.3). A HEAD's has no body to store.
    private static func isStorable(_ request: CacheRequest, _ answer: CacheAnswer, _ control: CacheControl) -> Bool {
        if request.method == "GET" { return !request.hasBody }
        guard request.method == "POST", answer.status == 200,
            control.maxAge != nil || answer.headers.first("expires") != nil,
            let place = answer.headers.firstReference("content-location")
        else { return false }
        return CacheInvalidation.url(place, from: request.url)?.text == request.url.text
    }

    /// The range of a part of a known body; parts of several ranges, and of a body of unknown length, are not joined.
    private static func part(_ answer: CacheAnswer) -> ContentRange? {
        let ranges = answer.headers.all("content-range")
        guard ranges.count == 1, let range = ContentRange(ranges[0]), range.total != nil,
            answer.headers.first("content-type")?.lowercased().hasPrefix("multipart/byteranges") != true
        else { return nil }
        return range
    }

    private static func lengthRefusal(_ stored: StoredResponse, _ answer: CacheAnswer) -> Refusal? {
        guard let length = answer.bodyLength, let part = stored.part else { return nil }
        return length == part.length ? nil : .notWhole
    }

    /// Returns the first rule that fits, else the session's `storage`.
    private static func storage(
        _ configuration: CacheConfiguration, _ url: ResourceURL, _ headers: HeaderBlock, isDownload: Bool
    ) -> CacheConfiguration.Storage {
        if isDownload { return .allowed }
        let type = headers.first("content-type").flatMap { MediaType($0) }
        let rule = configuration.rules.first { rule in
            if let scheme = rule.scheme, scheme.lowercased() != url.scheme { return false }
            if let host = rule.host, !host.matches(url.origin) { return false }
            if let pattern = rule.mimeType { return type?.matches(pattern) ?? false }
            return true
        }
        return rule?.storage ?? configuration.storage
    }
}

extension CacheStorage.Refusal {
    package var description: String {
        switch self {
        case .disabled: "the session has no cache"
        case .notAllowed: "`storage` does not allow it"
        case .scheme: "only answers over http and https are kept"
        case .method(let method): "the answer to this \(method) answers no later GET"
        case .status(let status): "a \(status) is kept only if the server says for how long"
        case .notUnderstood(let status): "the server wants a \(status) kept only by those who know what it means"
        case .requestNoStore: "the request says `no-store`"
        case .responseNoStore: "the server says `no-store`"
        case .variesByEverything: "the server says `Vary: *`: it answers no other request"
        case .unmarked: "what it depends on in the request could not be noted without writing a secret down"
        case .notWhole: "the body has another length than the server announced"
        case .unproven: "nothing the server sent proves where the body ends"
        case .unexpected: "it is not what the task expects"
        case .unusableRange: "the part does not say where in the whole it belongs"
        case .tooLarge(let most): "it is larger than the \(most) bytes that one entry may have"
        }
    }
}
