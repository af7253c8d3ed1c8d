package import TransferModel

/// A request as the cache sees it: about to be sent, hop by hop.
package struct CacheRequest: Sendable {
    /// Method of the request.
    package let method: String
    /// URL of this hop.
    package let url: ResourceURL
    /// All header fields that are sent, unredacted.
    package let headers: HeaderBlock
    /// Policy of the task for the cache.
    package let policy: CachePolicy
    /// Whether the request has a body.
    package let hasBody: Bool
    /// Whether the URL contains a secret: an answer to it may be stored in memory, never on disk.
    package let holdsSecret: Bool
    /// The user's identity, where `Authorization` does not state it (a client certificate, NTLM) or changes with each
    /// request (Digest).
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

    /// Mark of the credentials in the request: an answer is reused only for the same credentials.
    var credentials: CacheMark {
        guard let text = identity ?? headers.first("authorization") else { return .absent }
        return marker.mark(text)
    }

    /// Whether the job itself sends a condition, whose answer it then judges itself.
    var isConditional: Bool {
        headers.lines.contains { line in Self.conditions.contains { headers.isNamed(line, $0) } }
    }
    private static let conditions: [StaticString] = [
        "if-none-match", "if-modified-since", "if-match", "if-unmodified-since", "if-range",
    ]
}

/// The recorded form of a value in a request, for comparison with the next request's.
package enum CacheMark: Hashable, Sendable {
    /// The request has no such value.
    case absent
    /// The value, or its digest.
    case value(String)
    /// The value could not be marked; equal to nothing, itself included.
    case unknown

    func isSame(as other: CacheMark) -> Bool { self == other && self != .unknown }
}

/// Turns values of a request into their recorded form. Cookies and credentials are secrets, so a cache on disk uses a
/// keyed digest.
package struct CacheMarker: Sendable {
    private let digest: @Sendable (String) -> String?

    /// `digest` returns `nil` for a value that it cannot mark.
    package init(_ digest: @escaping @Sendable (String) -> String?) { self.digest = digest }

    /// Records values as they are, for a cache that is never written to disk.
    package static let plain = CacheMarker { $0 }

    func mark(_ text: String) -> CacheMark { digest(text).map { .value($0) } ?? .unknown }
}
