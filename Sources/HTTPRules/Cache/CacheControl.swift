package import TransferModel

/// `Cache-Control` of a request or an answer (RFC 9111, section 5.2), as a private cache reads it: `s-maxage`,
/// `proxy-revalidate` and directives that nobody knows mean nothing to it.
///
/// Of a number that is given several times the first counts (section 4.2.1). A directive that forbids counts wherever it
/// stands and whatever is written behind it; one that allows counts only as it is defined.
package struct CacheControl: Hashable, Sendable {
    /// A number of seconds, or what stands where one should.
    package enum Seconds: Hashable, Sendable {
        case seconds(Int64)
        case malformed
    }

    /// How stale an answer the request would take.
    package enum Staleness: Hashable, Sendable {
        case any
        case atMost(TimeSpan)
    }

    package private(set) var noStore = false
    /// For the whole answer; for some of its fields see ``noCacheFields``.
    package private(set) var noCache = false
    /// In lower case: fields that may not be used again unasked.
    package private(set) var noCacheFields: [String] = []
    package private(set) var mustRevalidate = false
    package private(set) var mustUnderstand = false
    package private(set) var isPublic = false
    package private(set) var isPrivate = false
    package private(set) var isImmutable = false
    package private(set) var onlyIfCached = false
    package private(set) var maxAge: Seconds?
    package private(set) var minFresh: Seconds?
    package private(set) var maxStale: Staleness?
    private var staleWhileRevalidateText: Seconds?
    private var staleIfErrorText: Seconds?

    package init(_ headers: HeaderBlock) {
        for member in headers.members("cache-control") { take(Directive(member)) }
    }

    /// A request's: `Pragma: no-cache` says the same where there is no `Cache-Control` (section 5.4).
    package init(request headers: HeaderBlock) {
        self.init(headers)
        guard headers.first("cache-control") == nil else { return }
        noCache = headers.members("pragma").contains { String($0).lowercased() == "no-cache" }
    }

    /// Zero where what was sent is no number: such an answer is stale (section 4.2.1), and such a request wants a new one.
    package var maxAgeSpan: TimeSpan? { maxAge.map { Self.span($0) ?? .zero } }
    /// Longer than anything stays fresh where what was sent is no number.
    package var minFreshSpan: TimeSpan? { minFresh.map { Self.span($0) ?? .forever } }
    /// RFC 5861; zero, which is none, where what was sent is no number.
    package var staleWhileRevalidate: TimeSpan { staleWhileRevalidateText.flatMap { Self.span($0) } ?? .zero }
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

/// `name`, `name=token` or `name="quoted"`.
private struct Directive {
    /// In lower case.
    let name: String
    /// Without its quotes.
    let argument: [UInt8]?
    /// There are blanks around the `=`, where none may be.
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

    /// Digits, bounded as section 1.2.2 wants it.
    var seconds: CacheControl.Seconds {
        guard !isLoose, let argument, let count = DeltaSeconds.parse(argument) else { return .malformed }
        return .seconds(count)
    }

    /// `max-stale` alone takes any; a number that is none takes nothing.
    var staleness: CacheControl.Staleness? {
        guard argument != nil else { return .any }
        if case .seconds(let count) = seconds { return .atMost(.seconds(count)) }
        return nil
    }
}

/// `delta-seconds` (RFC 9111, section 1.2.2).
enum DeltaSeconds {
    /// What is larger is as good as this: 68 years.
    static let most: Int64 = 1 << 31

    static func parse(_ digits: [UInt8]) -> Int64? {
        guard !digits.isEmpty, digits.allSatisfy({ (0x30...0x39).contains($0) }) else { return nil }
        return min(Int64(String(digits)) ?? most, most)
    }
}
