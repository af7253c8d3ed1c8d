/// Base64 with the standard alphabet and padding (RFC 4648, section 4).
package enum Base64 {
    private static let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".utf8)
    private static let padding = UInt8(ascii: "=")

    /// Returns the base64 text of the bytes, without line breaks.
    package static func encode(_ bytes: some Sequence<UInt8>) -> String {
        bytes.withContiguousStorageIfAvailable { encode($0) } ?? Array(bytes).withUnsafeBufferPointer { encode($0) }
    }

    /// Encodes contiguous bytes: bodies of reports are encoded here, and an unspecialized sequence costs a call for
    /// each byte.
    private static func encode(_ bytes: UnsafeBufferPointer<UInt8>) -> String {
        String(unsafeUninitializedCapacity: (bytes.count + 2) / 3 * 4) { text in
            alphabet.withUnsafeBufferPointer { alphabet in
                var place = 0
                for start in stride(from: 0, to: bytes.count, by: 3) {
                    let left = bytes.count - start
                    let second = left > 1 ? Int(bytes[start + 1]) : 0
                    let third = left > 2 ? Int(bytes[start + 2]) : 0
                    let group = Int(bytes[start]) << 16 | second << 8 | third
                    text[place] = alphabet[group >> 18]
                    text[place + 1] = alphabet[group >> 12 & 63]
                    text[place + 2] = left > 1 ? alphabet[group >> 6 & 63] : padding
                    text[place + 3] = left > 2 ? alphabet[group & 63] : padding
                    place += 4
                }
                return place
            }
        }
    }

    /// Returns the bytes of a base64 text, or `nil` if it is malformed. Strict: no white space, all padding, and no
    /// bits left over, so that each array has one text only.
    package static func decode(_ text: String) -> [UInt8]? {
        let text = Array(text.utf8)
        guard text.count % 4 == 0 else { return nil }
        let padded = text.suffix(2).reduce(0) { $0 + ($1 == padding ? 1 : 0) }
        var bytes: [UInt8] = []
        bytes.reserveCapacity(text.count / 4 * 3)
        var group: UInt32 = 0
        for (index, character) in text.dropLast(padded).enumerated() {
            guard let value = value(of: character) else { return nil }
            group = group << 6 | value
            if index % 4 == 3 {
                bytes.append(UInt8(truncatingIfNeeded: group >> 16))
                bytes.append(UInt8(truncatingIfNeeded: group >> 8))
                bytes.append(UInt8(truncatingIfNeeded: group))
                group = 0
            }
        }
        switch padded {
        case 1:
            guard group & 3 == 0 else { return nil }
            bytes.append(UInt8(truncatingIfNeeded: group >> 10))
            bytes.append(UInt8(truncatingIfNeeded: group >> 2))
        case 2:
            guard group & 15 == 0 else { return nil }
            bytes.append(UInt8(truncatingIfNeeded: group >> 4))
        default: break
        }
        return bytes
    }

    private static func value(of character: UInt8) -> UInt32? {
        switch character {
        case UInt8(ascii: "A")...UInt8(ascii: "Z"): UInt32(character) - 65
        case UInt8(ascii: "a")...UInt8(ascii: "z"): UInt32(character) - 97 + 26
        case UInt8(ascii: "0")...UInt8(ascii: "9"): UInt32(character) - 48 + 52
        case UInt8(ascii: "+"): 62
        case UInt8(ascii: "/"): 63
        default: nil
        }
    }
}
