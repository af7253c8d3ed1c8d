package import TransferModel

/// `Cache-Control` of a request or an answer (RFC 9111, section 5.2), as a private cache reads it: `s-maxage`,
/// `proxy-revalidate` and unknown directives mean nothing to it.
///
/// Of a number that is given several times the first counts (section 4.2.1). A directive that forbids counts wherever
/// it stands and whatever its argument; one that allows counts only as it is defined.
package struct CacheControl: Hashable, Sendable {
    /// A number of seconds, or the mark of an unreadable one.
    package enum Seconds: Hashable, Sendable {
        case seconds(Int64)
        /// The directive has no readable number.
        case malformed
    }

    /// The request's `max-stale`: how stale an answer it accepts.
    package enum Staleness: Hashable, Sendable {
        /// Any answer, however stale.
        case any
        /// An answer stale for at most this time.
        case atMost(TimeSpan)
    }

    /// Nothing may be stored.
    package private(set) var noStore = false
    /// A stored answer must be revalidated before each use; for single fields see ``noCacheFields``.
    package private(set) var noCache = false
    /// Names in lower case of the fields that may not be reused without revalidation.
    package private(set) var noCacheFields: [String] = []
    /// A stale answer must not be used without revalidation.
    package private(set) var mustRevalidate = false
    /// The answer may be stored only by a cache that knows the rules of its status.
    package private(set) var mustUnderstand = false
    /// The answer may be stored by every cache, and is heuristically cacheable.
    package private(set) var isPublic = false
    /// The answer may be stored by a private cache.
    package private(set) var isPrivate = false
    /// A fresh answer needs no revalidation even at a reload (RFC 8246).
    package private(set) var isImmutable = false
    /// The request must be answered from the cache or fail.
    package private(set) var onlyIfCached = false
    /// The directive `max-age`; `nil` without one.
    package private(set) var maxAge: Seconds?
    /// The request's `min-fresh`; `nil` without one.
    package private(set) var minFresh: Seconds?
    /// The request's `max-stale`; `nil` without one, or where its number is unreadable.
    package private(set) var maxStale: Staleness?
    private var staleWhileRevalidateText: Seconds?
    private var staleIfErrorText: Seconds?

    package init(_ headers: HeaderBlock) {
        for member in headers.members("cache-control") { take(Directive(member)) }
    }

    /// Reads a request's headers: without `Cache-Control`, `Pragma: no-cache` has the meaning of `no-cache` (section
    /// 5.4).
    package init(request headers: HeaderBlock) {
        self.init(headers)
        guard headers.first("cache-control") == nil else { return }
        noCache = headers.members("pragma").contains { String($0).lowercased() == "no-cache" }
    }

    /// `max-age` as a span; zero for an unreadable number: such an answer is stale (section 4.2.1), and such a request
    /// wants a new one.
    package var maxAgeSpan: TimeSpan? { maxAge.map { Self.span($0) ?? .zero } }
    /// `min-fresh` as a span; longer than anything stays fresh for an unreadable number.
    package var minFreshSpan: TimeSpan? { minFresh.map { Self.span($0) ?? .forever } }
    /// Time after its lifetime in which a stale answer may be used while it is revalidated (RFC 5861); zero without the
    /// directive or with an unreadable number.
    package var staleWhileRevalidate: TimeSpan { staleWhileRevalidateText.flatMap { Self.span($0) } ?? .zero }
    /// Time after its lifetime in which a stale answer may replace an error (RFC 5861); zero without the directive or
    /// with an unreadable number.
    package var staleIfError: TimeSpan { staleIfErrorText.flatMap { Self.span($0) } ?? .zero }

    private static func span(_ seconds: Seconds) -> TimeSpan? {
        if case .seconds(let count) = seconds { .seconds(count) } else { nil }
    }

    private mutating func take(_ directive: Directive) {
        switch directive.name {
        case "no-store": noStore = true
        case "no-cache": takeNoCache(directive)
        case "must-revalidate": mustRevalidate = true
        case "must-understand": mustUnderstand = mustUnderstand || directive.argument == nil
        case "public": isPublic = isPublic || directive.argument == nil
        case "private": isPrivate = true
        case "immutable": isImmutable = isImmutable || directive.argument == nil
        case "only-if-cached": onlyIfCached = true
        case "max-age": maxAge = maxAge ?? directive.seconds
        case "min-fresh": minFresh = minFresh ?? directive.seconds
        case "max-stale": maxStale = maxStale ?? directive.staleness
        case "stale-while-revalidate": staleWhileRevalidateText = staleWhileRevalidateText ?? directive.seconds
        case "stale-if-error": staleIfErrorText = staleIfErrorText ?? directive.seconds
        default: break
        }
    }

    private mutating func takeNoCache(_ directive: Directive) {
        let fields = directive.argument.map { HeaderBlock.members(of: String($0)) } ?? []
        if fields.isEmpty { noCache = true }
        noCacheFields += fields.map { String($0).lowercased() }
    }
}

/// One directive: `name`, `name=token` or `name="quoted"`.
private struct Directive {
    /// Name in lower case.
    let name: String
    /// Argument without its quotes; `nil` without one.
    let argument: [UInt8]?
    /// Whether blanks surround the `=`, where none are allowed.
    private let isLoose: Bool

    init(_ member: [UInt8]) {
        guard let equals = member.firstIndex(of: UInt8(ascii: "=")) else {
            (name, argument, isLoose) = (String(member).lowercased(), nil, false)
            return
        }
        let left = Array(member[..<equals])
        let right = Array(member[(equals + 1)...])
        name = String(left.trimmed()).lowercased()
        argument = Self.unquoted(right.trimmed())
        isLoose = left != left.trimmed() || right != right.trimmed()
    }

    private static func unquoted(_ text: [UInt8]) -> [UInt8] {
        guard text.count >= 2, text.first == UInt8(ascii: "\""), text.last == UInt8(ascii: "\"") else { return text }
        var inner: [UInt8] = []
        var rest = text.dropFirst().dropLast()
        while let byte = rest.popFirst() { inner.append(byte == UInt8(ascii: "\\") ? rest.popFirst() ?? byte : byte) }
        return inner
    }

    /// The argument as a number, bounded as section 1.2.2 requires.
    var seconds: CacheControl.Seconds {
        guard !isLoose, let argument, let count = DeltaSeconds.parse(argument) else { return .malformed }
        return .seconds(count)
    }

    /// The argument of `max-stale`: any staleness without one, `nil` when the number is unreadable.
    var staleness: CacheControl.Staleness? {
        guard argument != nil else { return .any }
        if case .seconds(let count) = seconds { return .atMost(.seconds(count)) }
        return nil
    }
}

/// Parses `delta-seconds` (RFC 9111, section 1.2.2).
enum DeltaSeconds {
    /// Upper bound, 68 years, by which larger numbers are replaced.
    static let most: Int64 = 1 << 31

    static func parse(_ digits: [UInt8]) -> Int64? {
        guard !digits.isEmpty, digits.allSatisfy({ (0x30...0x39).contains($0) }) else { return nil }
        return min(Int64(String(digits)) ?? most, most)
    }
}
