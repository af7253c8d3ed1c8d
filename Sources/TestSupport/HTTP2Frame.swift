/// The frames of HTTP/2 (RFC 9113) that a script says, wrong ones too.
package enum HTTP2Frame {
    private static let endStream: UInt8 = 1
    private static let endHeaders: UInt8 = 4

    /// The server's settings, and that it took the client's.
    package static let beginning = frame(4, flags: 0, stream: 0, []) + frame(4, flags: 1, stream: 0, [])

    /// Status 200, and no more than a length.
    package static func head(_ stream: UInt32 = 1, length: Int? = nil) -> [UInt8] {
        // `:status: 200` stands in HPACK's static table, as does the name `content-length`.
        var block: [UInt8] = [0x88]
        if let length {
            let text = Array("\(length)".utf8)
            block += [0x0F, 0x0D, UInt8(text.count)] + text
        }
        return frame(1, flags: endHeaders, stream: stream, block)
    }

    /// Another status, and a length.
    package static func head(_ stream: UInt32 = 1, status: Int, length: Int) -> [UInt8] {
        let text = Array("\(length)".utf8)
        let block = [0x08, 0x03] + Array("\(status)".utf8) + [0x0F, 0x0D, UInt8(text.count)] + text
        return frame(1, flags: endHeaders, stream: stream, block)
    }

    package static func data(_ text: String, _ stream: UInt32 = 1, isLast: Bool = false) -> [UInt8] {
        frame(0, flags: isLast ? endStream : 0, stream: stream, Array(text.utf8))
    }

    package static func reset(_ stream: UInt32 = 1, error: UInt32) -> [UInt8] {
        frame(3, flags: 0, stream: stream, number(error))
    }

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
