import TextFormats
package import TransferModel

/// Identifies a cache entry; assigned by the owner of the entries.
package struct CacheEntryID: Hashable, Sendable {
    /// The number.
    package let raw: Int64
    package init(raw: Int64) { self.raw = raw }
}

/// An answer in the cache, without its body.
package struct StoredResponse: Hashable, Sendable {
    /// Id of the entry; 0 until the owner assigned one.
    package var id = CacheEntryID(raw: 0)
    /// URL whose GET it answers.
    package let url: String
    /// Status of the answer.
    package let status: Int
    /// Headers without those of the connection (RFC 9111, section 3.1).
    package var headers: HeaderBlock
    /// The request's values in the headers that `Vary` names.
    package var selecting: SelectingHeaders
    /// Mark of the credentials that the request carried.
    package let credentials: CacheMark
    /// Time when the request was sent.
    package var requestTime: WallTime
    /// Time when the answer's headers arrived.
    package var responseTime: WallTime
    /// Bytes of the stored body: the whole, or ``part`` only.
    package var bodyLength: Int64
    /// The range of a 206; `nil` for a whole body.
    package var part: ContentRange?
    /// Whether it must be validated before use, however fresh it looks: a HEAD showed that it changed.
    package var needsValidation = false

    package init(
        url: String, status: Int, headers: HeaderBlock, selecting: SelectingHeaders, credentials: CacheMark,
        requestTime: WallTime, responseTime: WallTime, bodyLength: Int64, part: ContentRange? = nil
    ) {
        self.url = url
        self.status = status
        self.headers = headers
        self.selecting = selecting
        self.credentials = credentials
        self.requestTime = requestTime
        self.responseTime = responseTime
        self.bodyLength = bodyLength
        self.part = part
    }

    /// Time when the origin made the answer; time of arrival, if `Date` is missing or unreadable (RFC 9110, section
    /// 6.6.1).
    package var date: WallTime { headers.first("date").flatMap { CacheDate.parse($0) } ?? responseTime }

    /// Whether the answer is dated after `now`: the clock was ahead then, or has been set back since.
    func isAhead(of now: WallTime) -> Bool { max(requestTime, responseTime) > now + Self.slack }

    /// Tolerance between the two clocks that measure one run, which may drift apart.
    private static let slack = TimeSpan.seconds(1)

    /// The condition that asks whether the answer is still valid; `nil` without a validator. An entity tag alone where
    /// there is one: a server that judged by the date beside it would miss a change in the same second.
    package var condition: HeaderField? {
        if let tag = entityTag { return HeaderField(name: "If-None-Match", value: SecretText(tag.text)) }
        guard let date = headers.first("last-modified"), HTTPDate.parse(date) != nil else { return nil }
        return HeaderField(name: "If-Modified-Since", value: SecretText(date))
    }

    /// The form to write to disk: its cookies went to the jar on arrival, and some of them end with the run.
    package var withoutCookies: StoredResponse {
        var stored = self
        stored.headers = CookieMask.masked(headers)
        return stored
    }

    var entityTag: EntityTag? { EntityTag(headers) }

    /// The headers of an answer made from this one: with its age, and without the fields that `no-cache="…"` keeps
    /// back.
    func answered(age: TimeSpan, _ control: CacheControl) -> HeaderBlock {
        let heldBack = control.noCacheFields
        return headers.keeping(
            { line in
                !headers.isNamed(line, "age") && (heldBack.isEmpty || !heldBack.contains(headers.lowerName(line)))
            }, adding: HeaderBlock([("Age", "\(age.nanoseconds / 1_000_000_000)")]), { _ in true })
    }

    /// The header lines that may be stored. `Connection` can name any field; those that say how an answer may be reused
    /// stay, or an answer that forbids reuse would look like one that says nothing.
    static func storable(_ headers: HeaderBlock) -> HeaderBlock {
        let named = Set(headers.members("connection").map { String($0).lowercased() }).subtracting(caching)
        return headers.keeping { line in
            let name = headers.lowerName(line)
            return !ofTheConnection.contains(name) && !named.contains(name)
        }
    }

    static let ofTheConnection: Set<String> = [
        "connection", "keep-alive", "proxy-authenticate", "proxy-authentication-info", "proxy-authorization",
        "proxy-connection", "te", "transfer-encoding", "upgrade",
    ]
    private static let caching: Set<String> = [
        "age", "cache-control", "content-encoding", "content-range", "date", "etag", "expires", "last-modified", "vary",
    ]
}

/// An entity tag as RFC 9110, section 8.8.3, writes it; any other text identifies nothing.
struct EntityTag: Hashable, Sendable {
    private let tag: ExactText
    var text: String { tag.text }
    var isWeak: Bool { text.utf8.starts(with: "W/".utf8) }
    private var opaque: Substring.UTF8View { text.utf8.dropFirst(isWeak ? 2 : 0) }

    /// `nil` without a tag, or with several.
    init?(_ headers: HeaderBlock) {
        let tags = headers.all("etag")
        guard tags.count == 1 else { return nil }
        tag = ExactText(tags[0])
        let bytes = opaque
        guard bytes.count >= 2, bytes.first == 0x22, bytes.last == 0x22,
            bytes.dropFirst().dropLast().allSatisfy({ $0 > 0x20 && $0 != 0x22 && $0 != 0x7F })
        else { return nil }
    }

    func matchesStrongly(_ other: EntityTag) -> Bool { !isWeak && tag == other.tag }
    func matchesWeakly(_ other: EntityTag) -> Bool { opaque.elementsEqual(other.opaque) }
}
