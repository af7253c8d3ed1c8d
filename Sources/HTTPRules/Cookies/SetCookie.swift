import TransferModel

/// One `Set-Cookie` line, read (RFC 6265bis, section 5.6): what it says, not yet whether it may.
struct SetCookie {
    var name: String
    var value: String
    /// In lower case, without the dot it may begin with; empty is as good as none.
    var domain = ""
    /// `nil`: the standard one of the URL.
    var path: String?
    /// There is a `Path`, even if it says nothing: `__Host-` asks for one.
    var namesPath = false
    var isSecure = false
    var isHTTPOnly = false
    var sameSite = Cookie.SameSite.unset
    private var maxAge: WallTime?
    private var date: WallTime?

    /// When it ends; `nil` is with the session. `Max-Age` wins over `Expires`, wherever it stands.
    var expires: WallTime? { maxAge ?? date }

    static let longestPair = 4096
    static let longestAttribute = 1024
    static let longestAge = TimeSpan.seconds(400 * 86_400)
    /// For what ended already, whenever that was.
    static let longAgo = WallTime(nanoseconds: .min)

    init(_ line: some Collection<UInt8>, at now: WallTime) throws(CookieRefusal) {
        if line.contains(where: Self.isControl) { throw .controlCharacter }
        let parts = line.split(separator: UInt8(ascii: ";"), omittingEmptySubsequences: false)
        let pair = Self.pair(parts.first.map { Array($0) } ?? [])
        // Without `=` it is a value alone.
        (name, value) = try Self.checked(name: pair.value == nil ? [] : pair.name, value: pair.value ?? pair.name)
        for part in parts.dropFirst() {
            let (name, value) = Self.pair(Array(part))
            if let value, value.count > Self.longestAttribute { continue }
            take(String(name).lowercased(), value ?? [], at: now)
        }
    }

    /// The rules that hold for names and values wherever they come from.
    static func checked(name: [UInt8], value: [UInt8]) throws(CookieRefusal) -> (String, String) {
        if name.isEmpty, value.isEmpty { throw .empty }
        if name.contains(where: isControl) || value.contains(where: isControl) { throw .controlCharacter }
        if name.count + value.count > longestPair { throw .tooLong }
        // Texts are UTF-8 here. With other bytes put in their place it would be another cookie that is sent back.
        guard let name = String(validating: name, as: UTF8.self), let value = String(validating: value, as: UTF8.self)
        else { throw .notUTF8 }
        return (name, value)
    }

    /// All but the tab.
    private static func isControl(_ byte: UInt8) -> Bool { (byte < 0x20 && byte != 0x09) || byte == 0x7F }

    /// What stands before the first `=` and what after it, without the blanks around them.
    private static func pair(_ text: [UInt8]) -> (name: [UInt8], value: [UInt8]?) {
        guard let equals = text.firstIndex(of: UInt8(ascii: "=")) else { return (text.trimmed(), nil) }
        return (text[..<equals].trimmed(), text[(equals + 1)...].trimmed())
    }

    /// Of several of one name the last that can be read counts. Names that are not known say nothing.
    private mutating func take(_ name: String, _ value: [UInt8], at now: WallTime) {
        switch name {
        case "expires": date = CookieDate.parse(value).map { min($0, now + Self.longestAge) } ?? date
        case "max-age": maxAge = Self.end(maxAge: value, at: now) ?? maxAge
        case "domain": domain = Self.domain(value)
        case "path":
            namesPath = true
            path = value.first == UInt8(ascii: "/") ? String(value) : nil
        case "secure": isSecure = true
        case "httponly": isHTTPOnly = true
        case "samesite": sameSite = Self.sameSite(value)
        default: break
        }
    }

    /// Digits, perhaps after a minus.
    private static func end(maxAge text: [UInt8], at now: WallTime) -> WallTime? {
        let isNegative = text.first == UInt8(ascii: "-")
        let digits = isNegative ? text.dropFirst() : text[...]
        guard !digits.isEmpty, digits.allSatisfy({ (0x30...0x39).contains($0) }) else { return nil }
        let limit = longestAge.nanoseconds / 1_000_000_000
        let seconds = digits.reduce(Int64(0)) { min($0 * 10 + Int64($1 - 0x30), limit) }
        return isNegative || seconds == 0 ? longAgo : now + .seconds(seconds)
    }

    /// Only ASCII letters change: a character that Unicode lowers to one of them is another name.
    private static func domain(_ text: [UInt8]) -> String {
        let name = text.first == UInt8(ascii: ".") ? text.dropFirst() : text[...]
        return String(name.map { (0x41...0x5A).contains($0) ? $0 | 0x20 : $0 })
    }

    private static func sameSite(_ text: [UInt8]) -> Cookie.SameSite {
        switch String(text).lowercased() {
        case "none": .none
        case "lax": .lax
        case "strict": .strict
        default: .unset
        }
    }
}
