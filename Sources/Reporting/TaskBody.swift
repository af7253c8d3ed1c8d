internal import TextFormats
internal import TransferModel

/// An answer's body as the report shows it: text where it is text, base64 where it is not, the beginning of both.
enum TaskBody {
    static let shown = Redactor.shownOfBody

    static func write(_ body: [UInt8], isCut: Bool = false, to writer: inout JSONWriter) {
        writer.beginObject()
        writeMembers(body, isCut: isCut, to: &writer)
        writer.endObject()
    }

    /// `wasCut`: the body is the beginning of a longer one already.
    static func writeMembers(_ body: [UInt8], isCut wasCut: Bool = false, to writer: inout JSONWriter) {
        let isCut = body.count > shown
        if let text = try? UTF8Span(validating: body.span) {
            let end = isCut ? characterBoundary(text, before: shown) : body.count
            writer.key("text")
            body.withUnsafeBufferPointer { writer.string(utf8: UnsafeBufferPointer(rebasing: $0[..<end])) }
        } else {
            writer.key("base64")
            writer.string(Base64.encode(body.prefix(shown)))
        }
        if isCut || wasCut { writer.member("truncated", true) }
    }

    private static func characterBoundary(_ text: borrowing UTF8Span, before limit: Int) -> Int {
        var end = limit
        while end > 0, text.span[end] & 0xC0 == 0x80 { end -= 1 }
        return end
    }
}
