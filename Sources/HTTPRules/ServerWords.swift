import TextFormats
package import TransferModel

/// Extracts the error message in the body of a server's answer, for one line of a message.
package enum ServerWords {
    /// Bytes of the body that are looked at, at most.
    private static let longest = 16 << 10

    /// Returns the message on one line; `nil` where the body has none for people. It is not yet shortened: secrets are
    /// redacted first.
    package static func of(_ body: [UInt8], _ headers: HeaderBlock) -> String? {
        guard !body.isEmpty, let type = headers.first("content-type").flatMap({ MediaType($0) }) else { return nil }
        let bytes = Array(body.prefix(longest))
        let words: String?
        if type.type.contains("json") {
            words = (try? JSONParser.parse(bytes)).map { JSONMessages.text($0) } ?? text(bytes, type)
        } else if WebPage.isType(type.type) {
            words = text(bytes, type).flatMap { plainHTTPReason($0) ?? title($0) }
        } else if type.type.hasPrefix("text/") || type.type.hasSuffix("/xml") || type.type.hasSuffix("+xml") {
            words = text(bytes, type).map { storeError($0) ?? $0 }
        } else {
            words = nil
        }
        return words.flatMap { onOneLine($0) }
    }

    private static func text(_ bytes: [UInt8], _ type: MediaType) -> String? {
        (try? BodyText(bytes, charset: type.charset)).map { String(decoding: $0.told, as: UTF8.self) }
    }

    /// Returns what Apache says to plain HTTP on a port for HTTPS, below a title that tells nothing.
    private static func plainHTTPReason(_ page: String) -> String? {
        page.firstRange(of: "You're speaking plain HTTP to an SSL-enabled server port").map { String(page[$0]) }
    }

    /// Returns code and message of an object store's error: `<Error><Code>…</Code><Message>…</Message>…`.
    private static func storeError(_ text: String) -> String? {
        guard text.utf8.first == UInt8(ascii: "<"), let message = element("message", text) else { return nil }
        let known = [("&lt;", "<"), ("&gt;", ">"), ("&quot;", "\""), ("&apos;", "'"), ("&amp;", "&")]
        let said = known.reduce(message) {
            $0.split(separator: $1.0, omittingEmptySubsequences: false).joined(separator: $1.1)
        }
        return element("code", text).map { "\($0): \(said)" } ?? said
    }

    private static func title(_ page: String) -> String? { element("title", page) }

    /// Returns the text of the first element of that name.
    private static func element(_ name: String, _ page: String) -> String? {
        let lower = page.lowercased()
        guard lower.utf8.count == page.utf8.count, let start = lower.firstRange(of: "<\(name)"),
            let open = lower[start.upperBound...].firstIndex(of: ">"),
            let end = lower[open...].firstRange(of: "</\(name)")
        else { return nil }
        let from = lower.utf8.distance(from: lower.startIndex, to: lower.index(after: open))
        let to = lower.utf8.distance(from: lower.startIndex, to: end.lowerBound)
        return String(decoding: Array(page.utf8)[from..<to], as: UTF8.self)
    }

    /// The text with blanks and line ends as one space each, and without control characters.
    static func onOneLine(_ text: String) -> String? {
        var line = String.UnicodeScalarView()
        for scalar in text.unicodeScalars {
            if scalar.properties.isWhitespace {
                if line.last != " ", !line.isEmpty { line.append(" ") }
            } else if scalar.properties.generalCategory != .control, scalar.properties.generalCategory != .format {
                line.append(scalar)
            }
        }
        while line.last == " " { line.removeLast() }
        return line.isEmpty ? nil : String(line)
    }
}
