package import TransferModel

/// Whether an answer is kept, and where: RFC 9111, section 3, then what the session wants.
package enum CacheStorage: Hashable, Sendable {
    /// `inMemoryOnly` is never written down.
    case store(StoredResponse, inMemoryOnly: Bool)
    case refuse(Refusal)

    /// Why an answer is not kept; the report prints ``description``.
    package enum Refusal: Hashable, Sendable, CustomStringConvertible {
        case disabled, notAllowed, scheme
        case method(String)
        case status(Int)
        case notUnderstood(Int)
        case requestNoStore, responseNoStore, variesByEverything, unmarked
        case notWhole, unproven, unexpected
        case unusableRange
        /// From ``CacheIndex``.
        case tooLarge(most: Int64)
    }

    /// - Parameter isDownload: `storage` and its rules are for data and upload tasks; a download follows the policy alone.
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

    /// What is no longer true since this answer came, whether it is kept or not. A server that fails or refuses for now says
    /// nothing of what is stored; a part only of other parts, and of a whole that it is not a part of.
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

    /// Section 3, in its order.
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

    /// A GET's answer; or a POST's that says how long it answers a GET of that URL (RFC 9110, section 9.3.3). A HEAD's has no
    /// body to keep.
    private static func isStorable(_ request: CacheRequest, _ answer: CacheAnswer, _ control: CacheControl) -> Bool {
        if request.method == "GET" { return !request.hasBody }
        guard request.method == "POST", answer.status == 200,
            control.maxAge != nil || answer.headers.first("expires") != nil,
            let place = answer.headers.firstReference("content-location")
        else { return false }
        return CacheInvalidation.url(place, from: request.url)?.text == request.url.text
    }

    /// One range of a known body: parts of several kinds, and of a body whose end nobody knows, are not put together.
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

    /// The first rule that fits, else what the session says.
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
