extension Redactor {
    /// The ways in which a text that holds a secret may have been escaped, as far as they can be undone byte by byte.
    enum Escape {
        case percent
        case form
        case backslash
        /// Character references of HTML or XML.
        case reference
        /// Base64 in lines, as mails, keys and `base64` write it: line breaks and the indentation after them mean
        /// nothing.
        case lines

        /// Returns the escapes whose mark stands in `text`.
        static func kinds(in text: Span<UInt8>) -> [Escape] {
            var hasPercent = false
            var hasPlus = false
            var hasBackslash = false
            var hasAmpersand = false
            var hasSemicolon = false
            var hasLines = false
            var run = 0
            for index in text.indices {
                let byte = text[index]
                hasPercent = hasPercent || byte == UInt8(ascii: "%")
                hasPlus = hasPlus || byte == UInt8(ascii: "+")
                hasBackslash = hasBackslash || byte == UInt8(ascii: "\\")
                hasAmpersand = hasAmpersand || byte == UInt8(ascii: "&")
                hasSemicolon = hasSemicolon || byte == UInt8(ascii: ";")
                hasLines = hasLines || run >= shortestLine && isBreak(byte)
                run = isBase64(byte) ? run + 1 : 0
            }
            var kinds: [Escape] = []
            if hasPercent { kinds.append(.percent) }
            if hasPlus { kinds.append(.form) }
            if hasBackslash { kinds.append(.backslash) }
            if hasAmpersand && hasSemicolon { kinds.append(.reference) }
            if hasLines { kinds.append(.lines) }
            return kinds
        }

        /// Least length of a line of base64; broken texts have longer lines.
        private static let shortestLine = 16

        private static func isBreak(_ byte: UInt8) -> Bool { byte == 0x0A || byte == 0x0D }

        private static func isBase64(_ byte: UInt8) -> Bool {
            let letter = byte | 0x20
            return letter >= 0x61 && letter <= 0x7A || byte >= 0x2F && byte <= 0x39 || byte == 0x2B || byte == 0x2D
                || byte == 0x5F
        }

        /// Returns the bytes that are meant and where each began; the places end with the length of `text`.
        func undone(in text: Span<UInt8>) -> (bytes: [UInt8], places: [Int32]) {
            var bytes: [UInt8] = []
            var places: [Int32] = []
            bytes.reserveCapacity(text.count)
            places.reserveCapacity(text.count + 1)
            var index = 0
            while index < text.count {
                let (length, meant) = unescape(text, at: index)
                for byte in meant {
                    bytes.append(byte)
                    places.append(Int32(index))
                }
                index += length
            }
            places.append(Int32(text.count))
            return (bytes, places)
        }

        /// Returns the bytes that are meant at `index`, and the length of what spells them.
        func unescape(_ text: Span<UInt8>, at index: Int) -> (length: Int, meant: FourAtMost) {
            let byte = text[index]
            switch self {
            case .form where byte == UInt8(ascii: "+"):
                return (1, .init(0x20))
            case .percent where byte == UInt8(ascii: "%"), .form where byte == UInt8(ascii: "%"):
                guard index + 2 < text.count, let high = PercentEncoding.hexValue(text[index + 1]),
                    let low = PercentEncoding.hexValue(text[index + 2])
                else { break }
                return (3, .init(high << 4 | low))
            case .backslash where byte == UInt8(ascii: "\\"):
                if let escaped = Self.jsonEscape(text, at: index) { return escaped }
            case .reference where byte == UInt8(ascii: "&"):
                if let escaped = Self.characterReference(text, at: index) { return escaped }
            case .lines where Self.isBreak(byte):
                var end = index + 1
                while end < text.count, Self.isBreak(text[end]) || text[end] == 0x20 || text[end] == 0x09 { end += 1 }
                return (end - index, .init())
            default: break
            }
            return (1, .init(byte))
        }

        private static func jsonEscape(
            _ text: Span<UInt8>, at index: Int
        ) -> (length: Int, meant: FourAtMost)? {
            guard index + 1 < text.count else { return nil }
            switch text[index + 1] {
            case UInt8(ascii: "n"): return (2, .init(0x0A))
            case UInt8(ascii: "r"): return (2, .init(0x0D))
            case UInt8(ascii: "t"): return (2, .init(0x09))
            case UInt8(ascii: "b"): return (2, .init(0x08))
            case UInt8(ascii: "f"): return (2, .init(0x0C))
            case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"): return (2, .init(text[index + 1]))
            case UInt8(ascii: "u"): return unicodeEscape(text, at: index)
            default: return nil
            }
        }

        private static func unicodeEscape(
            _ text: Span<UInt8>, at index: Int
        ) -> (length: Int, meant: FourAtMost)? {
            guard let first = codeUnit(text, at: index) else { return nil }
            if let scalar = Unicode.Scalar(first) { return (6, .init(scalar)) }
            guard (0xD800..<0xDC00).contains(first), let second = codeUnit(text, at: index + 6),
                (0xDC00..<0xE000).contains(second)
            else { return nil }
            let value = 0x10000 + (UInt32(first) - 0xD800) << 10 + (UInt32(second) - 0xDC00)
            return Unicode.Scalar(value).map { (12, .init($0)) }
        }

        /// Returns the number in `\uXXXX`, or `nil` when there is none at `index`.
        private static func codeUnit(_ text: Span<UInt8>, at index: Int) -> UInt16? {
            guard index + 5 < text.count, text[index] == UInt8(ascii: "\\"), text[index + 1] == UInt8(ascii: "u")
            else { return nil }
            var value: UInt16 = 0
            for offset in 2..<6 {
                guard let digit = PercentEncoding.hexValue(text[index + offset]) else { return nil }
                value = value << 4 | UInt16(digit)
            }
            return value
        }

        private static let namedReferences: [(name: StaticString, byte: UInt8)] = [
            ("amp;", UInt8(ascii: "&")), ("lt;", UInt8(ascii: "<")), ("gt;", UInt8(ascii: ">")),
            ("quot;", UInt8(ascii: "\"")), ("apos;", UInt8(ascii: "'")),
        ]

        private static func characterReference(
            _ text: Span<UInt8>, at index: Int
        ) -> (length: Int, meant: FourAtMost)? {
            if index + 1 < text.count, text[index + 1] == UInt8(ascii: "#") {
                return numericReference(text, at: index)
            }
            for (name, byte) in namedReferences where isThere(name, in: text, at: index + 1) {
                return (1 + name.utf8CodeUnitCount, .init(byte))
            }
            return nil
        }

        /// Reads `&#38;` or `&#x26;`.
        private static func numericReference(
            _ text: Span<UInt8>, at index: Int
        ) -> (length: Int, meant: FourAtMost)? {
            var place = index + 2
            let isHexadecimal = place < text.count && text[place] | 0x20 == UInt8(ascii: "x")
            if isHexadecimal { place += 1 }
            let first = place
            var value: UInt32 = 0
            while place < text.count, value <= 0x10FFFF, let digit = PercentEncoding.hexValue(text[place]),
                isHexadecimal || digit < 10
            {
                value = value * (isHexadecimal ? 16 : 10) + UInt32(digit)
                place += 1
            }
            guard place > first, place < text.count, text[place] == UInt8(ascii: ";") else { return nil }
            return Unicode.Scalar(value).map { (place + 1 - index, .init($0)) }
        }

        private static func isThere(_ name: StaticString, in text: Span<UInt8>, at index: Int) -> Bool {
            guard index + name.utf8CodeUnitCount <= text.count else { return false }
            return name.withUTF8Buffer { name in
                for offset in name.indices where name[offset] != text[index + offset] { return false }
                return true
            }
        }
    }

    /// The bytes that one escape stands for, at most four, without an array for each.
    struct FourAtMost: Sequence, IteratorProtocol {
        private var packed: UInt32
        private var left: UInt8

        /// No bytes.
        init() {
            packed = 0
            left = 0
        }

        init(_ byte: UInt8) {
            packed = UInt32(byte)
            left = 1
        }

        init(_ scalar: Unicode.Scalar) {
            packed = 0
            left = 0
            for byte in UTF8.encode(scalar)! {
                packed |= UInt32(byte) << (8 * UInt32(left))
                left += 1
            }
        }

        mutating func next() -> UInt8? {
            guard left > 0 else { return nil }
            left -= 1
            defer { packed >>= 8 }
            return UInt8(truncatingIfNeeded: packed)
        }
    }
}
