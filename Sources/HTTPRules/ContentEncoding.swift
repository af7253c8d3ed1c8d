package import TransferModel

/// Reads `Content-Encoding` (RFC 9110, section 8.4).
package enum ContentEncoding {
    /// Largest number of codings that are undone; no server applies more on purpose.
    package static let mostCodings = 4

    /// Returns the codings in the order in which they were applied, so the last is undone first; without `identity`,
    /// which changes nothing. Throws on an unknown coding and on more than `mostCodings`.
    package static func codings(_ headers: HeaderBlock) throws(TransferError) -> [ContentCoding] {
        var codings: [ContentCoding] = []
        for line in headers.lines where headers.isNamed(line, "content-encoding") {
            for part in headers.value(line).utf8.split(separator: UInt8(ascii: ",")) {
                let name = String(part.trimmed()).lowercased()
                if name.isEmpty || name == "identity" { continue }
                codings.append(try coding(name))
            }
        }
        guard codings.count <= mostCodings else {
            throw TransferError(
                .cannotDecodeContentData,
                "the server packed the body \(codings.count) times; at most \(mostCodings) are undone")
        }
        return codings
    }

    private static func coding(_ name: String) throws(TransferError) -> ContentCoding {
        // The name that HTTP/1.0 gave gzip.
        if name == "x-gzip" { return .gzip }
        if let known = ContentCoding(named: name) { return known }
        throw TransferError(
            .cannotDecodeContentData,
            "the server sent a `Content-Encoding` of \(ForeignText.quoted(name)); known are gzip, br, zstd and deflate")
    }

    /// The header's values in one line, as the report shows them; `nil` without the header.
    package static func text(_ headers: HeaderBlock) -> String? {
        guard let first = headers.first("content-encoding") else { return nil }
        let all = headers.all("content-encoding")
        return all.count == 1 ? first : all.joined(separator: ", ")
    }
}
