internal import TextFormats

/// An answer's body as the report shows it: text where it is text, base64 where it is not, the beginning of both.
enum TaskBody {
    static let shown = 64 << 10

    static func write(_ body: [UInt8], to writer: inout JSONWriter) {
        let isCut = body.count > shown
        writer.beginObject()
        if let text = try? UTF8Span(validating: body.span) {
            let end = isCut ? characterBoundary(text, before: shown) : body.count
            writer.key("text")
            body.withUnsafeBufferPointer { writer.string(utf8: UnsafeBufferPointer(rebasing: $0[..<end])) }
        } else {
            writer.key("base64")
            writer.string(Base64Text.encode(body.prefix(shown)))
        }
        if isCut { writer.member("truncated", true) }
        writer.endObject()
    }

    private static func characterBoundary(_ text: borrowing UTF8Span, before limit: Int) -> Int {
        var end = limit
        while end > 0, text.span[end] & 0xC0 == 0x80 { end -= 1 }
        return end
    }
}

/// With padding, as RFC 4648 has it.
enum Base64Text {
    static func encode(_ bytes: ArraySlice<UInt8>) -> String {
        let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".utf8)
        var text: [UInt8] = []
        text.reserveCapacity((bytes.count + 2) / 3 * 4)
        var index = bytes.startIndex
        while index < bytes.endIndex {
            let group = bytes[index..<min(index + 3, bytes.endIndex)]
            let bits = group.reduce(0) { $0 << 8 | Int($1) } << (8 * (3 - group.count))
            for place in 0..<4 {
                text.append(place <= group.count ? alphabet[bits >> (18 - 6 * place) & 63] : UInt8(ascii: "="))
            }
            index += group.count
        }
        return String(decoding: text, as: UTF8.self)
    }
}
