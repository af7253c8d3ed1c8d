package import TransferModel

/// A request as the cache sees it: what is about to be sent, hop by hop.
package struct CacheRequest: Sendable {
    package let method: String
    package let url: ResourceURL
    /// All that goes out, in the clear.
    package let headers: HeaderBlock
    package let policy: CachePolicy
    package let hasBody: Bool
    /// The URL is made of a secret: an answer to it may stay in memory, never on the disk.
    package let holdsSecret: Bool
    /// Who asks, where `Authorization` does not say it (a client certificate, NTLM) or says it anew each time (Digest).
    private let identity: String?
    let marker: CacheMarker
    let control: CacheControl

    package init(
        _ method: String = "GET", _ url: ResourceURL, headers: HeaderBlock = .empty,
        policy: CachePolicy = .useProtocolCachePolicy, hasBody: Bool = false, holdsSecret: Bool = false,
        identity: String? = nil, marker: CacheMarker = .plain
    ) {
        self.method = method
        self.url = url
        self.headers = headers
        self.policy = policy
        self.hasBody = hasBody
        self.holdsSecret = holdsSecret
        self.identity = identity
        self.marker = marker
        control = CacheControl(request: headers)
    }

    /// Of whoever's credentials it carries: an answer is only reused for the same ones.
    var credentials: CacheMark {
        guard let text = identity ?? headers.first("authorization") else { return .absent }
        return marker.mark(text)
    }

    /// The task's own conditions are its own to judge.
    var isConditional: Bool {
        headers.lines.contains { line in Self.conditions.contains { headers.isNamed(line, $0) } }
    }
    private static let conditions: [StaticString] = [
        "if-none-match", "if-modified-since", "if-match", "if-unmodified-since", "if-range",
    ]
}

/// What is kept of something that a request said, to tell whether the next one says the same.
package enum CacheMark: Hashable, Sendable {
    case absent
    case value(String)
    /// It could not be marked: it is like nothing, itself included.
    case unknown

    func isSame(as other: CacheMark) -> Bool { self == other && self != .unknown }
}

/// Turns what a request said into what may be written down of it. Cookies and credentials are secrets, so a cache on disk
/// takes a keyed digest.
package struct CacheMarker: Sendable {
    private let digest: @Sendable (String) -> String?

    /// `digest` gives `nil` for what it cannot mark.
    package init(_ digest: @escaping @Sendable (String) -> String?) { self.digest = digest }

    /// For a cache that never leaves memory.
    package static let plain = CacheMarker { $0 }

    func mark(_ text: String) -> CacheMark { digest(text).map { .value($0) } ?? .unknown }
}
