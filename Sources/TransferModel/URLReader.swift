import Glibc

/// Parses many URLs of few origins quickly: where a URL begins with the same `scheme://host:port` as the one before and
/// holds nothing to encode or resolve, its text is taken as its normal form. The result is always that of
/// `ResourceURL.parse`.
package struct URLReader: Sendable {
    /// `scheme://host:port` of the last URL whose text was already its normal form; empty before the first.
    private var prefix: [UInt8] = []
    private var schemeEnd: UInt16 = 0
    private var hostEnd: UInt16 = 0
    private var port: UInt16 = 0

    package init() {}

    /// Returns the URL that `text` spells; throws where `ResourceURL.parse` throws.
    package mutating func parse(_ text: String) throws(URLProblem) -> ResourceURL {
        if let pathEnd = text.utf8.withContiguousStorageIfAvailable({ quickPathEnd($0) }), let pathEnd {
            return ResourceURL(
                text: text, schemeEnd: schemeEnd, hostEnd: hostEnd, pathStart: UInt32(prefix.count),
                pathEnd: UInt32(pathEnd), port: port, userInformation: nil)
        }
        let url = try ResourceURL.parse(text)
        remember(url, written: text)
        return url
    }

    /// Returns the offset in bytes where the path ends, or `nil` when the full parser must read the text.
    private func quickPathEnd(_ text: UnsafeBufferPointer<UInt8>) -> Int? {
        guard !prefix.isEmpty, text.count > prefix.count, text.count < 60_000, let start = text.baseAddress,
            text[prefix.count] == UInt8(ascii: "/"),
            prefix.withUnsafeBytes({ $0.baseAddress.map { memcmp($0, start, prefix.count) == 0 } ?? false })
        else { return nil }
        var index = prefix.count + 1
        var afterSlash = true
        while index < text.count {
            let byte = text[index]
            let kind = URLByte.kinds[Int(byte)]
            if kind == .other || (afterSlash && byte == UInt8(ascii: ".")) { return nil }
            if kind == .question { return isPlainQuery(text, index + 1) ? index : nil }
            afterSlash = byte == UInt8(ascii: "/")
            index += 1
        }
        return index
    }

    /// Decides whether every byte from `start` on may stand in a query as it is.
    private func isPlainQuery(_ text: UnsafeBufferPointer<UInt8>, _ start: Int) -> Bool {
        var index = start
        while index < text.count {
            if URLByte.kinds[Int(text[index])] == .other { return false }
            index += 1
        }
        return true
    }

    /// Stores the origin of `url` for the next text, unless the text spelled it in another way than the normal form.
    private mutating func remember(_ url: ResourceURL, written text: String) {
        let length = Int(url.pathStart)
        guard url.hostEnd > url.schemeEnd, url.userInformation == nil, !url.schemeIs("file"), length > 0,
            text.utf8.count > length, text.utf8.prefix(length).elementsEqual(url.text.utf8.prefix(length))
        else { return }
        prefix = Array(url.text.utf8.prefix(length))
        (schemeEnd, hostEnd, port) = (url.schemeEnd, url.hostEnd, url.port)
    }
}

/// The role of a byte in a path or query that is its own normal form.
private enum URLByte: UInt8 {
    case plain
    case question
    /// A byte to encode, an escape, or the end of the query: left to the full parser.
    case other

    static let kinds: [URLByte] = (0...255).map { (byte: Int) in
        let byte = UInt8(byte)
        if byte == UInt8(ascii: "?") { return .question }
        let isPunctuation = "!$&'()*+,;=:@/".utf8.contains(byte)
        return PercentEncoding.isUnreserved(byte) || isPunctuation ? .plain : .other
    }
}
