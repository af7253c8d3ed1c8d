/// Frames of HTTP/2 (RFC 9113) for scripts, including wrong ones.
package enum HTTP2Frame {
    private static let endStream: UInt8 = 1
    private static let endHeaders: UInt8 = 4

    /// The server's SETTINGS, and the acknowledgement of the client's.
    package static let beginning = frame(4, flags: 0, stream: 0, []) + frame(4, flags: 1, stream: 0, [])

    /// HEADERS with status 200 and, if given, a content length.
    package static func head(_ stream: UInt32 = 1, length: Int? = nil) -> [UInt8] {
        // `:status: 200` is in HPACK's static table, as is the name `content-length`.
        var block: [UInt8] = [0x88]
        if let length {
            let text = Array("\(length)".utf8)
            block += [0x0F, 0x0D, UInt8(text.count)] + text
        }
        return frame(1, flags: endHeaders, stream: stream, block)
    }

    /// HEADERS with any three-digit status and a content length.
    package static func head(_ stream: UInt32 = 1, status: Int, length: Int) -> [UInt8] {
        let text = Array("\(length)".utf8)
        let block = [0x08, 0x03] + Array("\(status)".utf8) + [0x0F, 0x0D, UInt8(text.count)] + text
        return frame(1, flags: endHeaders, stream: stream, block)
    }

    /// DATA with `text`; `isLast` ends the stream.
    package static func data(_ text: String, _ stream: UInt32 = 1, isLast: Bool = false) -> [UInt8] {
        frame(0, flags: isLast ? endStream : 0, stream: stream, Array(text.utf8))
    }

    /// RST_STREAM with an error code.
    package static func reset(_ stream: UInt32 = 1, error: UInt32) -> [UInt8] {
        frame(3, flags: 0, stream: stream, number(error))
    }

    /// GOAWAY with an error code; `stream` is the last one that the server handled.
    package static func goAway(last stream: UInt32 = 1, error: UInt32) -> [UInt8] {
        frame(7, flags: 0, stream: 0, number(stream) + number(error))
    }

    private static func frame(_ type: UInt8, flags: UInt8, stream: UInt32, _ payload: [UInt8]) -> [UInt8] {
        number(UInt32(payload.count)).dropFirst() + [type, flags] + number(stream) + payload
    }

    private static func number(_ value: UInt32) -> [UInt8] {
        [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: value >> $0) }
    }
}
