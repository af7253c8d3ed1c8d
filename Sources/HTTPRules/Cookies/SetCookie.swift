import TransferModel

/// One parsed `Set-Cookie` line (RFC 6265bis, section 5.6), not yet checked against the URL that sent it.
struct SetCookie {
    var name: String
    var value: String
    /// Domain in lower case, without a dot in front; empty for none.
    var domain = ""
    /// Path; `nil` for the default path of the URL.
    var path: String?
    /// Whether the line has a `Path`, even an empty one: `__Host-` requires one.
    var namesPath = false
    var isSecure = false
    var isHTTPOnly = false
    var sameSite = Cookie.SameSite.unset
    private var maxAge: WallTime?
    private var date: WallTime?

    /// Time of expiry; `nil` for the end of the session. `Max-Age` wins over `Expires`, wherever it stands.
    var expires: WallTime? { maxAge ?? date }

    static let longestPair = 4096
    static let longestAttribute = 1024
    static let longestAge = TimeSpan.seconds(400 * 86_400)
    /// Expiry of a cookie that has already expired, whenever that was.
    static let longAgo = WallTime(nanoseconds: .min)

    init(_ line: [UInt8], at now: WallTime) throws(CookieRefusal) {
        if line.contains(where: Self.isControl) { throw .controlCharacter }
        let parts = line.split(separator: UInt8(ascii: ";"), omittingEmptySubsequences: false)
        let pair = Self.pair(parts.first ?? [])
        // Without `=` the text is a value alone.
        (name, value) = try Self.checked(name: pair.value == nil ? [] : pair.name, value: pair.value ?? pair.name)
        for part in parts.dropFirst() {
            let (name, value) = Self.pair(part)
            if let value, value.count > Self.longestAttribute { continue }
            if let attribute = Attribute.named(name) { take(attribute, value ?? [], at: now) }
        }
    }

    /// Checks names and values by the rules that hold wherever they come from.
    static func checked(
        name: ArraySlice<UInt8>, value: ArraySlice<UInt8>
    ) throws(CookieRefusal) -> (String, String) {
        if name.isEmpty, value.isEmpty { throw .empty }
        if name.contains(where: isControl) || value.contains(where: isControl) { throw .controlCharacter }
        if name.count + value.count > longestPair { throw .tooLong }
        // Texts are UTF-8 here. With other bytes replaced, a different cookie would be sent back.
        guard let name = String(validating: name, as: UTF8.self), let value = String(validating: value, as: UTF8.self)
        else { throw .notUTF8 }
        return (name, value)
    }

    /// Whether a byte is a control character other than the tab.
    private static func isControl(_ byte: UInt8) -> Bool { (byte < 0x20 && byte != 0x09) || byte == 0x7F }

    /// The text before the first `=` and the text after it, without the blanks around them.
    private static func pair(_ text: ArraySlice<UInt8>) -> (name: ArraySlice<UInt8>, value: ArraySlice<UInt8>?) {
        guard let equals = text.firstIndex(of: UInt8(ascii: "=")) else { return (bare(text), nil) }
        return (bare(text[..<equals]), bare(text[(equals + 1)...]))
    }

    private static func bare(_ text: ArraySlice<UInt8>) -> ArraySlice<UInt8> {
        var text = text.drop { $0 == 0x20 || $0 == 0x09 }
        while let last = text.last, last == 0x20 || last == 0x09 { text.removeLast() }
        return text
    }

    /// The known attributes; others are ignored.
    private enum Attribute: CaseIterable {
        case expires, maxAge, domain, path, secure, httpOnly, sameSite

        private var name: StaticString {
            switch self {
            case .expires: "expires"
            case .maxAge: "max-age"
            case .domain: "domain"
            case .path: "path"
            case .secure: "secure"
            case .httpOnly: "httponly"
            case .sameSite: "samesite"
            }
        }

        static func named(_ text: ArraySlice<UInt8>) -> Attribute? {
            allCases.first { text.isWord($0.name) }
        }
    }

    /// Sets an attribute; of several with one name the last readable one counts.
    private mutating func take(_ attribute: Attribute, _ value: ArraySlice<UInt8>, at now: WallTime) {
        switch attribute {
        case .expires: date = CookieDate.parse(value).map { min($0, now + Self.longestAge) } ?? date
        case .maxAge: maxAge = Self.end(maxAge: value, at: now) ?? maxAge
        case .domain: domain = Self.domain(value)
        case .path:
            namesPath = true
            path = value.first == UInt8(ascii: "/") ? String(decoding: value, as: UTF8.self) : nil
        case .secure: isSecure = true
        case .httpOnly: isHTTPOnly = true
        case .sameSite: sameSite = Self.sameSite(value)
        }
    }

    /// Parses `Max-Age`: digits, with or without a minus in front.
    private static func end(maxAge text: ArraySlice<UInt8>, at now: WallTime) -> WallTime? {
        let isNegative = text.first == UInt8(ascii: "-")
        let digits = isNegative ? text.dropFirst() : text
        guard !digits.isEmpty, digits.allSatisfy({ (0x30...0x39).contains($0) }) else { return nil }
        let limit = longestAge.nanoseconds / 1_000_000_000
        let seconds = digits.reduce(Int64(0)) { min($0 * 10 + Int64($1 - 0x30), limit) }
        return isNegative || seconds == 0 ? longAgo : now + .seconds(seconds)
    }

    /// Lowers ASCII letters alone: a character that Unicode lowers to one of them belongs to another name.
    private static func domain(_ text: ArraySlice<UInt8>) -> String {
        let name = text.first == UInt8(ascii: ".") ? text.dropFirst() : text
        return String(name.map { (0x41...0x5A).contains($0) ? $0 | 0x20 : $0 })
    }

    private static func sameSite(_ text: ArraySlice<UInt8>) -> Cookie.SameSite {
        if text.isWord("none") { return .none }
        if text.isWord("lax") { return .lax }
        return text.isWord("strict") ? .strict : .unset
    }
}

extension Collection<UInt8> {
    /// Whether the bytes are `word`, which must be given in lower case, in any case of its ASCII letters.
    func isWord(_ word: StaticString) -> Bool {
        count == word.utf8CodeUnitCount && beginsWithWord(word)
    }

    func beginsWithWord(_ word: StaticString) -> Bool {
        let start = prefix(word.utf8CodeUnitCount).lazy.map { (0x41...0x5A).contains($0) ? $0 | 0x20 : $0 }
        return word.withUTF8Buffer { $0.elementsEqual(start) }
    }
}
