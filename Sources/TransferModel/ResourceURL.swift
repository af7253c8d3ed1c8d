/// The one URL type (RFC 3986 with IDNA): parses, compares origins and serialises. libcurl gets only its output.
///
/// The text is always normal: scheme and host in lower case and ASCII, the default port left out, dot segments
/// resolved, spaces and non-ASCII percent-encoded (never twice), no user information, no fragment.
package struct ResourceURL: Hashable, Sendable, CustomStringConvertible {
    /// The whole URL, as it is sent and reported. User information is not in it.
    package let text: String
    /// Where the parts end, in UTF-8 bytes of `text`.
    let schemeEnd: UInt16
    let hostEnd: UInt16
    let pathStart: UInt32
    let pathEnd: UInt32
    /// The port, written or by default; 0 for schemes without one.
    package let port: UInt16
    private let kind: Kind
    /// What is asked of each URL again and again, and need not be read from its text.
    private enum Kind: UInt8 { case http, https, ftp, other }
    /// `user:password` as it stood before the host, percent-decoding left to who uses it. Never printed.
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
    package var scheme: String { slice(0, Int(schemeEnd)) }
    /// Empty for `file:` and `data:`; an IPv6 address keeps its brackets.
    package var host: String {
        hasAuthority ? slice(Int(schemeEnd) + 3, Int(hostEnd)) : ""
    }
    /// Percent-encoded as sent; for `data:` everything after the colon.
    package var path: String { slice(Int(pathStart), Int(pathEnd)) }
    /// Without the `?`; `nil` when there is none.
    package var query: String? {
        Int(pathEnd) < text.utf8.count ? slice(Int(pathEnd) + 1, text.utf8.count) : nil
    }
    package var origin: Origin { Origin(scheme: scheme, host: host, port: port) }
    package var isHTTP: Bool { kind == .http || kind == .https }
    package var isFTP: Bool { kind == .ftp }
    /// Whether it is asked for over a connection, which its host's limits count.
    package var needsConnection: Bool { isHTTP || isFTP }
    package var isSecure: Bool { kind == .https }
    private var hasAuthority: Bool { hostEnd > schemeEnd }

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

    /// Whether both lead to one scheme, host and port, without making strings of them.
    package func hasSameOrigin(as other: ResourceURL) -> Bool {
        guard hostEnd == other.hostEnd, port == other.port, schemeEnd == other.schemeEnd else { return false }
        var (left, right) = (text, other.text)
        return left.withUTF8 { left in
            right.withUTF8 { left.prefix(Int(hostEnd)).elementsEqual($0.prefix(Int(hostEnd))) }
        }
    }

    /// The same URL with `query` after what it has already; the text must be encoded.
    package func adding(encodedQuery: String) -> ResourceURL {
        guard !encodedQuery.isEmpty else { return self }
        let separator = query == nil ? "?" : (query == "" ? "" : "&")
        return ResourceURL(
            text: text + separator + encodedQuery, schemeEnd: schemeEnd, hostEnd: hostEnd, pathStart: pathStart,
            pathEnd: pathEnd, port: port, userInformation: userInformation)
    }

    func with(userInformation: String) -> ResourceURL {
        ResourceURL(
            text: text, schemeEnd: schemeEnd, hostEnd: hostEnd, pathStart: pathStart, pathEnd: pathEnd, port: port,
            userInformation: userInformation)
    }

    /// The last path component, decoded, for naming a file; as it is written when that gives no UTF-8, and `nil` when
    /// there is none.
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

/// Why a text is no URL, with the place in it (in UTF-8 bytes) where that shows.
package struct URLProblem: Error, Hashable, Sendable {
    package let message: String
    package let offset: Int
}

/// RFC 3986's sets, and nothing else: what may stand unencoded where.
package enum PercentEncoding {
    /// Encodes all but the unreserved characters; `keepingSlash` for values placed in a path.
    package static func encode(_ text: String, keepingSlash: Bool = false) -> String {
        encode(bytes: text.utf8, keepingSlash: keepingSlash)
    }

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

    /// The text that the bytes are; only those of it that are no UTF-8 are encoded, each as it is.
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

    /// `nil` when what comes out is not UTF-8; a `%` that begins no escape stays as it is.
    package static func decode(_ text: String) -> String? {
        String(validating: decodeBytes(text), as: UTF8.self)
    }

    /// The bytes that the escapes stand for.
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

    package static func hexValue(_ byte: UInt8) -> UInt8? {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): byte - UInt8(ascii: "0")
        case UInt8(ascii: "a")...UInt8(ascii: "f"): byte - UInt8(ascii: "a") + 10
        case UInt8(ascii: "A")...UInt8(ascii: "F"): byte - UInt8(ascii: "A") + 10
        default: nil
        }
    }
}
