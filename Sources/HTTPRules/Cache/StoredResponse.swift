import TextFormats
package import TransferModel

/// The name of an entry, given by whoever keeps it.
package struct CacheEntryID: Hashable, Sendable {
    package let raw: Int64
    package init(raw: Int64) { self.raw = raw }
}

/// An answer that the cache holds, without its body.
package struct StoredResponse: Hashable, Sendable {
    package var id = CacheEntryID(raw: 0)
    /// What it answers to a GET of.
    package let url: String
    package let status: Int
    /// Less what belonged to the connection (RFC 9111, section 3.1).
    package var headers: HeaderBlock
    package var selecting: SelectingHeaders
    /// Whose credentials the request carried.
    package let credentials: CacheMark
    package var requestTime: WallTime
    package var responseTime: WallTime
    /// Of the body that is held: all of it, or of ``part`` only.
    package var bodyLength: Int64
    /// The part of a 206.
    package var part: ContentRange?
    /// It may be used only after asking, however fresh it looks: a HEAD showed that it changed.
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

    /// When the origin made it; when it came, if that is not said or makes no sense (RFC 9110, section 6.6.1).
    package var date: WallTime { headers.first("date").flatMap { CacheDate.parse($0) } ?? responseTime }

    /// Whether it came, by its own word, after `now`: the clock was ahead then, and is right now or was set back.
    func isAhead(of now: WallTime) -> Bool { max(requestTime, responseTime) > now + Self.slack }

    /// Times of one run are reckoned with two clocks, which need not go alike.
    private static let slack = TimeSpan.seconds(1)

    /// The header that asks whether it is still the same; `nil` when nothing in it would tell. An entity tag alone where
    /// there is one: a server that judged by the date beside it would miss a change in the same second.
    package var condition: HeaderField? {
        if let tag = entityTag { return HeaderField(name: "If-None-Match", value: SecretText(tag.text)) }
        guard let date = headers.first("last-modified"), HTTPDate.parse(date) != nil else { return nil }
        return HeaderField(name: "If-Modified-Since", value: SecretText(date))
    }

    /// As it may be written down: its cookies went to the jar when it came, and some of them end with the run.
    package var withoutCookies: StoredResponse {
        var stored = self
        stored.headers = CookieMask.masked(headers)
        return stored
    }

    var entityTag: EntityTag? { EntityTag(headers) }

    /// The headers of an answer made of it: its age set, and without what `no-cache="…"` keeps back.
    func answered(age: TimeSpan, _ control: CacheControl) -> HeaderBlock {
        let heldBack = control.noCacheFields
        return headers.keeping(
            { line in
                !headers.isNamed(line, "age") && (heldBack.isEmpty || !heldBack.contains(headers.lowerName(line)))
            }, adding: HeaderBlock([("Age", "\(age.nanoseconds / 1_000_000_000)")]), { _ in true })
    }

    /// The lines that may be kept. `Connection` can name any field; those that say how an answer may be reused stay, or an
    /// answer that forbids it would come out as one that says nothing.
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

/// An entity tag as RFC 9110, section 8.8.3, writes it; what looks otherwise identifies nothing.
struct EntityTag: Hashable, Sendable {
    private let tag: ExactText
    var text: String { tag.text }
    var isWeak: Bool { text.utf8.starts(with: "W/".utf8) }
    private var opaque: Substring.UTF8View { text.utf8.dropFirst(isWeak ? 2 : 0) }

    /// `nil` without one, or with several.
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
