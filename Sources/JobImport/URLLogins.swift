/// Takes the passwords out of the URLs in a text.
extension ImportedJob {
    /// How a URL is written in a text: the text after its scheme, the mark before its password and the one before its host, in
    /// lower case.
    private static let spellings = [("://", ":", "@"), (":\\/\\/", ":", "@"), ("%3a%2f%2f", "%3a", "%40")].map {
        (start: Array($0.utf8), colon: Array($1.utf8), at: Array($2.utf8))
    }

    /// The texts of a node without the passwords of the URLs in them.
    mutating func hideLogins(in node: YAMLNode, for host: String?) -> YAMLNode {
        switch node {
        case .text(let text): .text(hideLogins(in: text, for: host))
        case .plain: node
        case .list(let nodes): .list(nodes.map { hideLogins(in: $0, for: host) })
        case .map(let fields): .map(fields.map { YAMLField($0.key, hideLogins(in: $0.value, for: host)) })
        }
    }

    /// The text without the passwords of the URLs in it: each is a secret that is sent to `host`. A URL may be written as
    /// in JSON, or percent-encoded. `isURL`: a run encodes what is put into the text.
    mutating func hideLogins(in text: String, for host: String?, isURL: Bool = false) -> String {
        let text = hideDefaults(in: text, for: host)
        guard text.contains("@") || text.contains("%40") else { return text }
        var bytes = Array(text.utf8)
        // In a form a `&` ends the URL, in JSON a quote does.
        let isJSON = text.first { !$0.isWhitespace }.map { $0 == "{" || $0 == "[" } == true
        for (start, colon, at) in Self.spellings {
            var place = 0
            while let mark = Self.first(start, in: bytes[place...]) {
                place = mark + start.count
                var login = bytes[place...].prefix { !Self.ends.contains($0) && (isJSON || $0 != UInt8(ascii: "&")) }
                if colon.count > 1 {
                    for mark in Self.encodedEnds { if let end = Self.first(mark, in: login) { login = login[..<end] } }
                }
                guard let end = Self.last(at, in: login) else { continue }
                let split = Self.first(colon, in: login[..<end], outsideOfReferences: true) ?? end
                let second = min(split + colon.count, end)
                let user = String(decoding: bytes[place..<split], as: UTF8.self)
                let password = String(decoding: bytes[second..<end], as: UTF8.self)
                let isKey = URLText.looksRandom(user) || password.isEmpty && split < end
                let hidden =
                    (isKey ? shown(user, "KEY", host, isURL) : user)
                    + String(decoding: bytes[split..<second], as: UTF8.self) + shown(password, "PASSWORD", host, isURL)
                bytes.replaceSubrange(place..<end, with: Array(hidden.utf8))
                place += hidden.utf8.count
            }
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    /// The text without what variables of the environment whose names mean credentials are by default, `${TOKEN:-…}`.
    private mutating func hideDefaults(in text: String, for host: String?) -> String {
        guard text.contains(":-") else { return text }
        var text = text
        for name in Self.names(in: text) where name.hasPrefix("env.") && !name.hasSuffix(":-") {
            guard let mark = name.firstRange(of: ":-"), SecretNames.isField(name[..<mark.lowerBound].dropFirst(4))
            else {
                continue
            }
            let secret = hide("${\(name)}", "TOKEN", host)
            text = text.replacing("${\(name)}", with: secret).replacing("${raw:\(name)}", with: raw(secret: secret))
        }
        return text
    }

    /// A reference to a secret in the place of a text; an empty text, and one that is such a reference, stays.
    private mutating func shown(_ text: String, _ kind: String, _ host: String?, _ isURL: Bool) -> String {
        guard !text.isEmpty, !text.hasPrefix("${secret."), !text.hasPrefix("${raw:secret.") else { return text }
        let secret = hide(text, kind, host)
        return isURL && !text.utf8.allSatisfy(\.isUnreserved) ? raw(secret: secret) : secret
    }

    /// Bytes that end what stands before a URL's host.
    private static let ends = Set("/?#\\\"'<> \t\r\n".utf8)

    private static let encodedEnds = ["%2f", "%3f", "%23", "%22", "%20", "%26"].map { Array($0.utf8) }

    private static func first(
        _ mark: [UInt8], in bytes: ArraySlice<UInt8>, outsideOfReferences: Bool = false
    ) -> Int? {
        var depth = 0
        return bytes.indices.first { place in
            if bytes[place] == UInt8(ascii: "{") { depth += 1 }
            if bytes[place] == UInt8(ascii: "}") { depth -= 1 }
            return isThere(mark, at: place, bytes) && (depth <= 0 || !outsideOfReferences)
        }
    }

    private static func last(_ mark: [UInt8], in bytes: ArraySlice<UInt8>) -> Int? {
        bytes.indices.last { isThere(mark, at: $0, bytes) }
    }

    private static func isThere(_ mark: [UInt8], at place: Int, _ bytes: ArraySlice<UInt8>) -> Bool {
        let part = bytes[place...].prefix(mark.count)
        return part.count == mark.count
            && zip(part, mark).allSatisfy { $0 == $1 || (0x41...0x5A).contains($0) && $0 | 0x20 == $1 }
    }
}
