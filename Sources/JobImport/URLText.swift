/// Parts of a URL that may have references to variables in it, which no parser of URLs takes.
struct URLText: Sendable {
    private(set) var scheme = ""
    /// `user:password`, still percent-encoded; `nil` without.
    private(set) var user: String?
    /// The URL without user and password.
    private(set) var text = ""
    /// Host and port as written; empty for `file:` and `data:`.
    private(set) var authority = ""
    private(set) var path = ""

    /// Takes a URL that begins with a variable of the script: where it leads is known from `filled`, in which that is
    /// filled in.
    init(_ typed: String, filled: String) {
        let whole = URLText(filled)
        guard typed != filled, typed.hasPrefix("${"), !filled.hasPrefix("${"), whole.user == nil else {
            self.init(typed)
            return
        }
        self.init("")
        // The scheme that a host without one is given.
        let added = whole.text.hasSuffix(filled) ? String(whole.text.dropLast(filled.count)) : ""
        (scheme, user, text, authority) = (whole.scheme, nil, added + typed, whole.authority)
        let own = Self.path(after: typed)
        path = own.isEmpty ? whole.path : own
    }

    /// The path that follows a variable at the beginning of a URL; empty where the variable holds it.
    private static func path(after typed: String) -> String {
        var depth = 0
        let end = typed.firstIndex { character in
            if character == "{" { depth += 1 }
            if character == "}" { depth -= 1 }
            return character == "}" && depth == 0
        }
        let rest = end.map { typed[typed.index(after: $0)...] } ?? ""
        return String(rest.drop { $0 != "/" }.prefix { $0 != "?" && $0 != "#" })
    }

    /// Takes a URL as people type it: without a scheme it is one of http, as for curl and wget.
    init(_ typed: String) {
        let typed = Self.withScheme(typed)
        let mark = typed.firstRange(of: "://")
        // The text of `${NAME:-https://…}` is only what the variable may be.
        let isHeld = typed.hasPrefix("${") && mark.map { !typed[..<$0.lowerBound].contains("}") } != false
        guard let mark, !isHeld else {
            scheme = String(typed.prefix { $0 != ":" }).lowercased()
            (user, text, authority) = (nil, typed, "")
            path = typed.hasPrefix("${") ? Self.path(after: typed) : ""
            return
        }
        scheme = String(typed.prefix { $0 != ":" }).lowercased()
        let rest = typed[mark.upperBound...]
        let end = rest.firstIndex { $0 == "/" || $0 == "?" || $0 == "#" } ?? rest.endIndex
        let place = rest[..<end]
        let at = place.lastIndex(of: "@")
        user = at.map { String(place[..<$0]) }
        authority = String(at.map { place[place.index(after: $0)...] } ?? place)
        text = typed[..<mark.upperBound] + authority + rest[end...]
        path = String(rest[end...].prefix { $0 != "?" && $0 != "#" })
    }

    /// The URL without query and fragment, up to the last `/` of its path.
    var folder: String {
        let bare = text.prefix { $0 != "?" && $0 != "#" }
        if path.isEmpty { return String(bare) + "/" }
        return bare.lastIndex(of: "/").map { String(bare[...$0]) } ?? String(bare)
    }

    /// The URL with a file's name, where its path ends in `/` or is empty.
    func adding(name: String) -> String {
        let end = text.firstIndex { $0 == "?" || $0 == "#" } ?? text.endIndex
        let bare = text[..<end]
        if bare.hasSuffix("/") { return bare + name + text[end...] }
        return path.isEmpty && !authority.isEmpty ? "\(bare)/\(name)\(text[end...])" : text
    }

    private static func withScheme(_ typed: String) -> String {
        if typed.contains("://") || typed.hasPrefix("data:") || typed.hasPrefix("${") { return typed }
        if typed.lowercased().hasPrefix("ftp.") { return "ftp://\(typed)" }
        return "http://\(typed)"
    }

    /// Whether transfers of this scheme exist here.
    var isKnown: Bool { ["http", "https", "ftp", "file", "data"].contains(scheme) || text.hasPrefix("${") }

    /// Whether the text could be a URL: a host of the characters that hosts have, and nothing that breaks a line.
    var isWellFormed: Bool {
        if text.unicodeScalars.contains(where: { $0.value < 0x20 || $0.value == 0x7F }) { return false }
        if text.hasPrefix("data:") || scheme == "file" || text.hasPrefix("${") { return true }
        if authority.contains("${") { return true }
        let isHost = authority.unicodeScalars.allSatisfy { scalar in
            scalar.properties.isAlphabetic || ("0"..."9").contains(scalar) || "-._~:[]%".unicodeScalars.contains(scalar)
        }
        let name = authority.prefix { $0 != ":" }
        let isName = !authority.contains("[") && !authority.contains("]") && name.last != "-" && name.first != "-"
        return isHost && !name.isEmpty && (isName || authority.hasPrefix("[") && authority.contains("]"))
    }

    /// The host without its port, in brackets if it is an IPv6 address; `nil` where a variable holds it.
    var host: String? {
        guard !authority.isEmpty, !authority.contains("$") else { return nil }
        if authority.hasPrefix("[") { return authority.firstIndex(of: "]").map { String(authority[...$0]) } }
        return String(authority.prefix { $0 != ":" }).lowercased()
    }

    /// The query, as typed; empty without one.
    var query: String {
        let bare = text.prefix { $0 != "#" }
        // A `?` in a reference, `${name:?message}`, begins no query.
        guard let mark = bare.firstIndex(of: "?"), !bare[..<mark].hasSuffix(":") else { return "" }
        return String(bare[bare.index(after: mark)...])
    }

    /// The last component of the path, decoded; `nil` where there is none.
    var fileName: String? {
        guard let last = path.split(separator: "/").last, !path.hasSuffix("/") else { return nil }
        let name = Percent.decoded(String(last))
        return name == "." || name == ".." || name.contains("/") || name.contains("\0") ? nil : name
    }

    /// The name that curl gives to the file: the last component of the path as it is typed, not decoded.
    var typedName: String? {
        guard let last = path.split(separator: "/").last, !path.hasSuffix("/"), last != ".", last != ".." else {
            return nil
        }
        return String(last)
    }

    /// The name that wget and aria2 give to the file: `index.html` where the URL is one of a folder.
    var storedName: String? {
        let isFolder = !authority.isEmpty && (path.isEmpty || path.hasSuffix("/"))
        // A `/` in a name stays encoded.
        let typed = path.split(separator: "/").last.map { Percent.decoded(String($0)) } ?? ""
        let encoded = typed.contains("/") && !path.hasSuffix("/") ? typed.replacing("/", with: "%2F") : nil
        return fileName ?? encoded ?? (isFolder ? "index.html" : nil)
    }

    /// What to know of a file that the URL names in a run only; `nil` where the URL is known.
    var nameNote: String? {
        guard text.hasPrefix("${"), authority.isEmpty, fileName == nil else { return nil }
        return
            "the variable must hold a whole URL, with `https://`: its last part, or the name that the server suggests, "
            + "names the file"
    }

    /// The text with a further query.
    func adding(query: String) -> String {
        guard !query.isEmpty else { return text }
        let mark = text.firstIndex(of: "#") ?? text.endIndex
        let base = text[..<mark]
        let joint = base.contains("?") ? (base.hasSuffix("?") || base.hasSuffix("&") ? "" : "&") : "?"
        return base + joint + query + text[mark...]
    }
}

/// Percent-encoding.
enum Percent {
    static func decoded(_ text: String) -> String {
        guard text.utf8.contains(UInt8(ascii: "%")) else { return text }
        var bytes: [UInt8] = []
        var rest = Array(text.utf8)[...]
        while let byte = rest.popFirst() {
            if byte == UInt8(ascii: "%"), rest.count >= 2,
                let value = UInt8(String(decoding: rest.prefix(2), as: UTF8.self), radix: 16),
                rest.prefix(2).allSatisfy({ $0 != UInt8(ascii: "+") && $0 != UInt8(ascii: "-") })
            {
                bytes.append(value)
                rest = rest.dropFirst(2)
            } else {
                bytes.append(byte)
            }
        }
        return String(validating: bytes, as: UTF8.self) ?? text
    }

    /// Encodes all but the unreserved characters, as for a form's value; references stay.
    static func encoded(_ text: String) -> String {
        var result = ""
        for byte in text.utf8 {
            let hex = String(byte, radix: 16, uppercase: true)
            result += byte.isUnreserved ? String(Unicode.Scalar(byte)) : hex.count == 1 ? "%0\(hex)" : "%\(hex)"
        }
        return result
    }
}
