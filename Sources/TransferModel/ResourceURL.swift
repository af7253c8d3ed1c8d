/// A URL, the only type for one (RFC 3986 with IDNA): parses, compares origins and serialises. libcurl only gets its
/// text.
///
/// The text is always normal: scheme and host in lower case and ASCII, the default port left out, dot segments
/// resolved, spaces and non-ASCII percent-encoded (never twice), no user information, no fragment.
package struct ResourceURL: Hashable, Sendable, CustomStringConvertible {
    /// The whole URL, as it is sent and reported; without user information.
    package let text: String
    /// Ends of the parts, as offsets in UTF-8 bytes of `text`.
    let schemeEnd: UInt16
    let hostEnd: UInt16
    let pathStart: UInt32
    let pathEnd: UInt32
    /// The port, written or by default; 0 for schemes without one.
    package let port: UInt16
    private let kind: Kind
    /// The scheme, as far as it is asked for often: read once, and not from the text each time.
    private enum Kind: UInt8 { case http, https, ftp, other }
    /// `user:password` as it stood before the host, not percent-decoded yet; `nil` if there was none. Never printed.
    package let userInformation: String?

    init(
        text: String, schemeEnd: UInt16, hostEnd: UInt16, pathStart: UInt32, pathEnd: UInt32, port: UInt16,
        userInformation: String?
    ) {
        self.text = text
        self.schemeEnd = schemeEnd
        self.hostEnd = hostEnd
        self.pathStart = pathStart
        self.pathEnd = pathEnd
        self.port = port
        self.userInformation = userInformation
        kind =
            switch text.utf8.prefix(Int(schemeEnd)) {
            case let scheme where scheme.elementsEqual("http".utf8): .http
            case let scheme where scheme.elementsEqual("https".utf8): .https
            case let scheme where scheme.elementsEqual("ftp".utf8): .ftp
            default: .other
            }
    }

    package var description: String { text }
    /// The scheme, in lower case.
    package var scheme: String { slice(0, Int(schemeEnd)) }
    /// The host; empty for `file:` and `data:`. An IPv6 address keeps its brackets.
    package var host: String {
        hasAuthority ? slice(Int(schemeEnd) + 3, Int(hostEnd)) : ""
    }
    /// The path, percent-encoded as it is sent; for `data:` everything after the colon.
    package var path: String { slice(Int(pathStart), Int(pathEnd)) }
    /// The query without its `?`; `nil` when there is none.
    package var query: String? {
        Int(pathEnd) < text.utf8.count ? slice(Int(pathEnd) + 1, text.utf8.count) : nil
    }
    /// Scheme, host and port.
    package var origin: Origin { Origin(scheme: scheme, host: host, port: port) }
    /// Whether the scheme is http or https.
    package var isHTTP: Bool { kind == .http || kind == .https }
    /// Whether the scheme is ftp.
    package var isFTP: Bool { kind == .ftp }
    /// Whether a request to it needs a connection, which the limits of its host count.
    package var needsConnection: Bool { isHTTP || isFTP }
    /// Whether the scheme is https.
    package var isSecure: Bool { kind == .https }
    private var hasAuthority: Bool { hostEnd > schemeEnd }

    /// Decides whether the scheme is `name`, given in lower case, without making a string of it.
    package func schemeIs(_ name: StaticString) -> Bool {
        guard Int(schemeEnd) == name.utf8CodeUnitCount else { return false }
        var text = text
        return text.withUTF8 { bytes in
            name.withUTF8Buffer { name in
                // Index by index costs a quarter of what comparing sequences does.
                for place in name.indices where bytes[place] != name[place] { return false }
                return true
            }
        }
    }

    /// Decides whether both have one scheme, host and port, without making strings of them.
    package func hasSameOrigin(as other: ResourceURL) -> Bool {
        guard hostEnd == other.hostEnd, port == other.port, schemeEnd == other.schemeEnd else { return false }
        var (left, right) = (text, other.text)
        return left.withUTF8 { left in
            right.withUTF8 { right in
                for place in 0..<Int(hostEnd) where left[place] != right[place] { return false }
                return true
            }
        }
    }

    /// Returns the URL with `encodedQuery` after its own query.
    package func adding(encodedQuery: String) -> ResourceURL {
        guard !encodedQuery.isEmpty else { return self }
        let separator = query == nil ? "?" : (query == "" ? "" : "&")
        return ResourceURL(
            text: text + separator + encodedQuery, schemeEnd: schemeEnd, hostEnd: hostEnd, pathStart: pathStart,
            pathEnd: pathEnd, port: port, userInformation: userInformation)
    }

    /// Returns the URL with one query parameter set to a value, at the place of the first parameter of that name, or
    /// else at the end; further ones of that name are taken out.
    package func setting(query name: String, to value: String) -> ResourceURL {
        let field = "\(PercentEncoding.encode(name))=\(PercentEncoding.encode(value))"
        var fields: [String] = []
        var isSet = false
        for part in (query ?? "").split(separator: "&", omittingEmptySubsequences: false) {
            guard PercentEncoding.decodeBytes(part.prefix { $0 != "=" }) == Array(name.utf8) else {
                if !part.isEmpty { fields.append(String(part)) }
                continue
            }
            if !isSet { fields.append(field) }
            isSet = true
        }
        if !isSet { fields.append(field) }
        let bare = ResourceURL(
            text: slice(0, Int(pathEnd)), schemeEnd: schemeEnd, hostEnd: hostEnd, pathStart: pathStart,
            pathEnd: pathEnd, port: port, userInformation: userInformation)
        return bare.adding(encodedQuery: fields.joined(separator: "&"))
    }

    /// Returns the URL with `suffix`, which must need no percent-encoding, at the end of its path.
    package func appending(toPath suffix: String) -> ResourceURL {
        ResourceURL(
            text: slice(0, Int(pathEnd)) + suffix + slice(Int(pathEnd), text.utf8.count), schemeEnd: schemeEnd,
            hostEnd: hostEnd, pathStart: pathStart, pathEnd: pathEnd + UInt32(suffix.utf8.count), port: port,
            userInformation: userInformation)
    }

    func with(userInformation: String) -> ResourceURL {
        ResourceURL(
            text: text, schemeEnd: schemeEnd, hostEnd: hostEnd, pathStart: pathStart, pathEnd: pathEnd, port: port,
            userInformation: userInformation)
    }

    /// The last path component, decoded, for naming a file; as it is written when decoding gives no UTF-8, and `nil`
    /// when there is none.
    package var lastPathComponent: String? {
        var text = text
        let found: String? = text.withUTF8 { bytes in
            let slash = UInt8(ascii: "/")
            let path = bytes[Int(pathStart)..<Int(pathEnd)]
            guard let end = path.lastIndex(where: { $0 != slash }) else { return nil }
            let start = path[...end].lastIndex(of: slash).map { $0 + 1 } ?? path.startIndex
            return String(decoding: path[start...end], as: UTF8.self)
        }
        guard let last = found else { return nil }
        return last.utf8.contains(UInt8(ascii: "%")) ? PercentEncoding.decode(last) ?? last : last
    }

    private func slice(_ start: Int, _ end: Int) -> String {
        let utf8 = text.utf8
        let from = utf8.index(utf8.startIndex, offsetBy: start)
        let to = utf8.index(utf8.startIndex, offsetBy: end)
        return String(text[from..<to])
    }
}

/// Why a text is no URL.
package struct URLProblem: Error, Hashable, Sendable {
    /// What is wrong, in words that follow the URL in a message.
    package let message: String
    /// The offset in UTF-8 bytes of the text where the problem shows.
    package let offset: Int
}

/// Percent-encoding by the character sets of RFC 3986.
package enum PercentEncoding {
    /// Returns the text with all but the unreserved characters encoded; `keepingSlash` is for values placed in a path.
    package static func encode(_ text: String, keepingSlash: Bool = false) -> String {
        encode(bytes: text.utf8, keepingSlash: keepingSlash)
    }

    /// Returns the bytes as text with all but the unreserved characters encoded.
    package static func encode(bytes source: some Collection<UInt8>, keepingSlash: Bool = false) -> String {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(source.count + 8)
        for byte in source {
            if isUnreserved(byte) || (keepingSlash && byte == UInt8(ascii: "/")) {
                bytes.append(byte)
            } else {
                append(byte, to: &bytes)
            }
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    /// Returns the text that the bytes are, encoding only those that are no UTF-8.
    static func encodingStrayBytes(_ source: ArraySlice<UInt8>) -> String {
        // Nearly all are ASCII, and to find that out takes a fraction of what the validation takes.
        if source.allSatisfy({ $0 < 0x80 }) { return String(decoding: source, as: UTF8.self) }
        if let text = String(validating: source, as: UTF8.self) { return text }
        var bytes: [UInt8] = []
        var parser = Unicode.UTF8.ForwardParser()
        var rest = source.makeIterator()
        var place = source.startIndex
        while true {
            switch parser.parseScalar(from: &rest) {
            case .valid(let scalar):
                bytes += scalar
                place += scalar.count
            case .error(let length):
                for byte in source[place..<place + length] { append(byte, to: &bytes) }
                place += length
            case .emptyInput: return String(decoding: bytes, as: UTF8.self)
            }
        }
    }

    /// Returns the text with its escapes undone, or `nil` when the result is not UTF-8; a `%` that begins no escape
    /// stays.
    package static func decode(_ text: String) -> String? {
        String(validating: decodeBytes(text), as: UTF8.self)
    }

    /// Returns the text's bytes with its escapes undone.
    package static func decodeBytes(_ text: some StringProtocol) -> [UInt8] {
        let source = Array(text.utf8)
        var bytes: [UInt8] = []
        bytes.reserveCapacity(source.count)
        var index = 0
        while index < source.count {
            if source[index] == UInt8(ascii: "%"), index + 2 < source.count,
                let high = hexValue(source[index + 1]), let low = hexValue(source[index + 2])
            {
                bytes.append(high << 4 | low)
                index += 3
            } else {
                bytes.append(source[index])
                index += 1
            }
        }
        return bytes
    }

    static func isUnreserved(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"),
            UInt8(ascii: "~"):
            true
        default: false
        }
    }

    static func append(_ byte: UInt8, to bytes: inout [UInt8]) {
        let digits: StaticString = "0123456789ABCDEF"
        bytes.append(UInt8(ascii: "%"))
        bytes.append(digits.utf8Start[Int(byte >> 4)])
        bytes.append(digits.utf8Start[Int(byte & 15)])
    }

    /// Returns the value of a hexadecimal digit in either case, or `nil` for another byte.
    package static func hexValue(_ byte: UInt8) -> UInt8? {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): byte - UInt8(ascii: "0")
        case UInt8(ascii: "a")...UInt8(ascii: "f"): byte - UInt8(ascii: "a") + 10
        case UInt8(ascii: "A")...UInt8(ascii: "F"): byte - UInt8(ascii: "A") + 10
        default: nil
        }
    }
}
