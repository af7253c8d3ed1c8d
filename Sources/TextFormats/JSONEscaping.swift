/// Escapes the content of a JSON string (RFC 8259), from bytes that may or may not be UTF-8.
enum JSONEscaping {
    /// Appends the text, escaped. Runs without escapes are copied whole; only the bytes between them are handled one by
    /// one.
    static func append(_ text: UnsafeBufferPointer<UInt8>, to bytes: inout [UInt8]) {
        var runStart = 0
        var index = 0
        while true {
            index = skipPlain(text, from: index)
            guard index < text.count else { break }
            let byte = text[index]
            if byte >= 0x80 {
                let length = UTF8Sequence.length(in: text, at: index)
                if length > 0 {
                    index += length
                    continue
                }
                bytes.append(contentsOf: UnsafeBufferPointer(rebasing: text[runStart..<index]))
                replacement.withUTF8Buffer { bytes.append(contentsOf: $0) }
                index += -length
            } else {
                bytes.append(contentsOf: UnsafeBufferPointer(rebasing: text[runStart..<index]))
                escape(byte, to: &bytes)
                index += 1
            }
            runStart = index
        }
        if runStart < text.count { bytes.append(contentsOf: UnsafeBufferPointer(rebasing: text[runStart...])) }
    }

    /// Returns whether the text can stand between quotes as it is.
    @inline(__always)
    static func isPlain(_ text: UnsafeBufferPointer<UInt8>) -> Bool { skipPlain(text, from: 0) == text.count }

    private static let replacement: StaticString = "\u{FFFD}"

    /// Returns the index of the next byte that is not plain ASCII text: a control character, `"`, `\`, or part of a
    /// longer UTF-8 sequence. Looks at eight bytes at a time: a byte's high bit is set if the byte is below 0x20, one
    /// of the two, or at least 0x80.
    @inline(__always)
    private static func skipPlain(_ text: UnsafeBufferPointer<UInt8>, from start: Int) -> Int {
        var index = start
        let ones: UInt64 = 0x0101_0101_0101_0101
        let highs: UInt64 = 0x8080_8080_8080_8080
        if let base = UnsafeRawPointer(text.baseAddress) {
            while index + 8 <= text.count {
                let word = (base + index).loadUnaligned(as: UInt64.self)
                let quote = word ^ (ones &* 0x22)
                let backslash = word ^ (ones &* 0x5C)
                let found = (word &- ones &* 0x20) | (quote &- ones) | (backslash &- ones) | word
                // Borrows can mark a byte too many, but only above a byte that is rightly marked.
                let marked = found & highs
                if marked != 0 { return index + marked.littleEndian.trailingZeroBitCount / 8 }
                index += 8
            }
        }
        while index < text.count {
            let byte = text[index]
            if byte < 0x20 || byte == 0x22 || byte == 0x5C || byte >= 0x80 { break }
            index += 1
        }
        return index
    }

    private static func escape(_ byte: UInt8, to bytes: inout [UInt8]) {
        bytes.append(UInt8(ascii: "\\"))
        switch byte {
        case 0x22, 0x5C: bytes.append(byte)
        case 0x08: bytes.append(UInt8(ascii: "b"))
        case 0x09: bytes.append(UInt8(ascii: "t"))
        case 0x0A: bytes.append(UInt8(ascii: "n"))
        case 0x0C: bytes.append(UInt8(ascii: "f"))
        case 0x0D: bytes.append(UInt8(ascii: "r"))
        default:
            bytes.append(contentsOf: [0x75, 0x30, 0x30, 0x30 + byte >> 4])
            bytes.append(byte & 15 < 10 ? 0x30 + byte & 15 : 0x61 + byte & 15 - 10)
        }
    }
}

/// UTF-8 as in Unicode's table 3-7: no overlong forms, no surrogates, nothing past U+10FFFF.
package enum UTF8Sequence {
    /// Returns the length of the well-formed sequence at `index`, or minus the number of bytes that one U+FFFD replaces
    /// (the longest piece that could have become a character, as Unicode recommends and `String` does).
    package static func length(in text: UnsafeBufferPointer<UInt8>, at index: Int) -> Int {
        let (length, second) = shape(text[index])
        guard length > 1 else { return length == 1 ? 1 : -1 }
        guard index + 1 < text.count, second.contains(text[index + 1]) else { return -1 }
        for place in stride(from: 2, to: length, by: 1) {
            guard index + place < text.count, text[index + place] & 0xC0 == 0x80 else { return -place }
        }
        return length
    }

    /// Returns the length that a first byte announces (0: it cannot be first) and the allowed second bytes.
    private static func shape(_ first: UInt8) -> (length: Int, second: ClosedRange<UInt8>) {
        switch first {
        case 0...0x7F: (1, 0x80...0xBF)
        case 0xC2...0xDF: (2, 0x80...0xBF)
        case 0xE0: (3, 0xA0...0xBF)
        case 0xED: (3, 0x80...0x9F)
        case 0xE1...0xEF: (3, 0x80...0xBF)
        case 0xF0: (4, 0x90...0xBF)
        case 0xF4: (4, 0x80...0x8F)
        case 0xF1...0xF3: (4, 0x80...0xBF)
        default: (0, 0x80...0xBF)
        }
    }
}
