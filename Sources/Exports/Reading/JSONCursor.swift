internal import TransferModel

/// Why a cursor stopped.
enum CursorStop: Error {
    /// The bytes end inside the value; more of the file may complete it.
    case incomplete
    case broken(String, at: Int)
}

/// Walks over the JSON text of a report byte by byte: decodes the members that its caller reads and skips the others.
///
/// A skipped value is checked only for its brackets and the ends of its strings. That keeps a report of 100,000 tasks
/// readable in about a second.
struct JSONCursor {
    let bytes: UnsafeBufferPointer<UInt8>
    var offset: Int

    /// The name of an object's member, as it is written. A name written with escapes equals no known name.
    struct Name {
        fileprivate let written: UnsafeBufferPointer<UInt8>
        fileprivate let isEscaped: Bool
        fileprivate let offset: Int

        @inline(__always)
        static func ~= (word: StaticString, name: Name) -> Bool { JSONCursor.equal(word, name.written) }

        func text() throws(CursorStop) -> String {
            isEscaped ? try JSONCursor.unescaped(written, at: offset) : String(decoding: written, as: UTF8.self)
        }
    }

    @inline(__always)
    fileprivate static func equal(_ word: StaticString, _ text: UnsafeBufferPointer<UInt8>) -> Bool {
        guard word.utf8CodeUnitCount == text.count, let start = text.baseAddress else { return false }
        let other = word.utf8Start
        // The last byte differs sooner than the first: many names begin alike.
        var index = text.count - 1
        while index >= 0 {
            if start[index] != other[index] { return false }
            index -= 1
        }
        return true
    }

    // MARK: Structure

    /// Skips white space and returns the byte that begins the next value or ends the enclosing one.
    @inline(__always)
    mutating func peek() throws(CursorStop) -> UInt8 {
        while offset < bytes.count {
            let byte = bytes[offset]
            if byte > 0x20 { return byte }
            guard byte == 0x20 || byte == 0x0A || byte == 0x0D || byte == 0x09 else {
                throw .broken("a control character stands between the values", at: offset)
            }
            offset += 1
        }
        throw .incomplete
    }

    @inline(__always)
    mutating func expect(_ byte: UInt8, _ what: StaticString) throws(CursorStop) {
        guard try peek() == byte else { throw .broken("\(what) is missing here", at: offset) }
        offset += 1
    }

    /// Calls `member` for each member of the object with its name; the closure decodes or skips the value.
    @inline(__always)
    mutating func object(
        _ member: (Name, inout JSONCursor) throws(CursorStop) -> Void
    ) throws(CursorStop) {
        guard try peek() == UInt8(ascii: "{") else { throw .broken("an object is needed here", at: offset) }
        offset += 1
        if try takeEnd(UInt8(ascii: "}")) { return }
        repeat { try member(try name(), &self) } while try goesOn(UInt8(ascii: "}"))
    }

    /// Calls `element` for each element of the array.
    @inline(__always)
    mutating func array(_ element: (inout JSONCursor) throws(CursorStop) -> Void) throws(CursorStop) {
        guard try peek() == UInt8(ascii: "[") else { throw .broken("a list is needed here", at: offset) }
        offset += 1
        if try takeEnd(UInt8(ascii: "]")) { return }
        repeat { try element(&self) } while try goesOn(UInt8(ascii: "]"))
    }

    @inline(__always)
    mutating func list<Element>(
        _ element: (inout JSONCursor) throws(CursorStop) -> Element
    ) throws(CursorStop) -> [Element] {
        var elements: [Element] = []
        try array { (cursor) throws(CursorStop) in elements.append(try element(&cursor)) }
        return elements
    }

    mutating func name() throws(CursorStop) -> Name {
        guard try peek() == UInt8(ascii: "\"") else { throw .broken("a name in quotes is needed here", at: offset) }
        let start = offset + 1
        let (text, isEscaped) = try quoted()
        try expect(UInt8(ascii: ":"), "`:`")
        return Name(written: text, isEscaped: isEscaped, offset: start)
    }

    /// Consumes `end` if it is the next byte: the enclosing object or array is empty. Returns whether it was.
    @inline(__always)
    mutating func takeEnd(_ end: UInt8) throws(CursorStop) -> Bool {
        guard try peek() == end else { return false }
        offset += 1
        return true
    }

    /// Consumes the comma or `end` after a value and returns whether another value follows.
    @inline(__always)
    mutating func goesOn(_ end: UInt8) throws(CursorStop) -> Bool {
        let byte = try peek()
        guard byte == UInt8(ascii: ",") || byte == end else {
            throw .broken("`,` or `\(Unicode.Scalar(end))` is needed here", at: offset)
        }
        offset += 1
        return byte != end
    }

    @inline(__always)
    mutating func takeNull() throws(CursorStop) -> Bool {
        guard try peek() == UInt8(ascii: "n") else { return false }
        try word("null")
        return true
    }

    /// Decodes a value with `value`, or returns `nil` for `null`.
    @inline(__always)
    mutating func optional<Value>(
        _ value: (inout JSONCursor) throws(CursorStop) -> Value
    ) throws(CursorStop) -> Value? {
        try takeNull() ? nil : try value(&self)
    }

    private mutating func word(_ word: StaticString) throws(CursorStop) {
        let count = word.utf8CodeUnitCount
        guard offset + count <= bytes.count else { throw .incomplete }
        guard Self.equal(word, UnsafeBufferPointer(rebasing: bytes[offset..<offset + count])) else {
            throw .broken("a value is needed here", at: offset)
        }
        offset += count
    }

    // MARK: Values that are stepped over

    mutating func skip() throws(CursorStop) {
        var depth = 0
        // One bit for each open bracket, set for an object. No report is nested deeper than 64.
        var objects: UInt64 = 0
        repeat {
            let byte = try peek()
            switch byte {
            case UInt8(ascii: "\""): _ = try quoted()
            case UInt8(ascii: "{"), UInt8(ascii: "["):
                guard depth < 64 else { throw .broken("nested more than 64 deep", at: offset) }
                depth += 1
                objects = objects << 1 | (byte == UInt8(ascii: "{") ? 1 : 0)
                offset += 1
            case UInt8(ascii: "}"), UInt8(ascii: "]"):
                guard depth > 0, objects & 1 == (byte == UInt8(ascii: "}") ? 1 : 0) else {
                    throw .broken("`\(Unicode.Scalar(byte))` closes nothing here", at: offset)
                }
                depth -= 1
                objects >>= 1
                offset += 1
            case UInt8(ascii: ","), UInt8(ascii: ":"):
                guard depth > 0 else { throw .broken("a value is needed here", at: offset) }
                offset += 1
            case UInt8(ascii: "t"): try word("true")
            case UInt8(ascii: "f"): try word("false")
            case UInt8(ascii: "n"): try word("null")
            default: _ = try numberText()
            }
        } while depth > 0
    }

    /// Skips the next value and returns its bytes as they are written.
    mutating func raw() throws(CursorStop) -> [UInt8] {
        _ = try peek()
        let start = offset
        try skip()
        return Array(bytes[start..<offset])
    }

    // MARK: Strings

    private static let ones: UInt64 = 0x0101_0101_0101_0101

    /// Returns the bytes between a string's quotes and whether any of them is part of an escape.
    private mutating func quoted() throws(CursorStop) -> (text: UnsafeBufferPointer<UInt8>, isEscaped: Bool) {
        let start = offset + 1
        var index = start
        var isEscaped = false
        guard let base = UnsafeRawPointer(bytes.baseAddress) else { throw .incomplete }
        while true {
            // Eight bytes at a time: the high bit of each byte that is below 0x20, `"` or `\`.
            while index + 8 <= bytes.count {
                let word = (base + index).loadUnaligned(as: UInt64.self)
                let quote = word ^ (Self.ones &* 0x22)
                let backslash = word ^ (Self.ones &* 0x5C)
                let found =
                    (((word &- Self.ones &* 0x20) & ~word) | ((quote &- Self.ones) & ~quote)
                        | ((backslash &- Self.ones) & ~backslash)) & (Self.ones &* 0x80)
                if found != 0 {
                    index += found.littleEndian.trailingZeroBitCount / 8
                    break
                }
                index += 8
            }
            guard index < bytes.count else { throw .incomplete }
            switch bytes[index] {
            case UInt8(ascii: "\""):
                offset = index + 1
                return (UnsafeBufferPointer(rebasing: bytes[start..<index]), isEscaped)
            case UInt8(ascii: "\\"):
                isEscaped = true
                index += 2
            case 0..<0x20: throw .broken("a string is not closed before a control character", at: index)
            default: index += 1
            }
        }
    }

    mutating func string() throws(CursorStop) -> String {
        guard try peek() == UInt8(ascii: "\"") else { throw .broken("a text is needed here", at: offset) }
        let start = offset + 1
        let (text, isEscaped) = try quoted()
        guard isEscaped else { return String(decoding: text, as: UTF8.self) }
        return try Self.unescaped(text, at: start)
    }

    /// Decodes a string that is a raw value of the enumeration `type`.
    mutating func choice<Value: RawRepresentable<String>>(_ type: Value.Type) throws(CursorStop) -> Value {
        _ = try peek()
        let start = offset
        let text = try string()
        guard let value = Value(rawValue: text) else {
            throw .broken("`\(text.prefix(40))` is no value that is known here", at: start)
        }
        return value
    }

    fileprivate static func unescaped(
        _ text: UnsafeBufferPointer<UInt8>, at start: Int
    ) throws(CursorStop) -> String {
        var result: [UInt8] = []
        result.reserveCapacity(text.count)
        var index = 0
        while index < text.count {
            let byte = text[index]
            index += 1
            guard byte == UInt8(ascii: "\\") else {
                result.append(byte)
                continue
            }
            let escape = text[index]
            index += 1
            switch escape {
            case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"): result.append(escape)
            case UInt8(ascii: "b"): result.append(0x08)
            case UInt8(ascii: "f"): result.append(0x0C)
            case UInt8(ascii: "n"): result.append(0x0A)
            case UInt8(ascii: "r"): result.append(0x0D)
            case UInt8(ascii: "t"): result.append(0x09)
            case UInt8(ascii: "u"):
                guard let scalar = scalar(text, &index) else {
                    throw .broken("`\\u` needs four hexadecimal digits", at: start + index)
                }
                result.append(contentsOf: String(scalar).utf8)
            default: throw .broken("no such escape", at: start + index - 1)
            }
        }
        return String(decoding: result, as: UTF8.self)
    }

    /// Decodes what follows `\u`; half of a surrogate pair alone becomes U+FFFD. Returns `nil` if four digits are
    /// missing.
    private static func scalar(_ text: UnsafeBufferPointer<UInt8>, _ index: inout Int) -> Unicode.Scalar? {
        guard let first = hexadecimal(text, index) else { return nil }
        index += 4
        if let scalar = Unicode.Scalar(first) { return scalar }
        guard first < 0xDC00, index + 6 <= text.count, text[index] == UInt8(ascii: "\\"),
            text[index + 1] == UInt8(ascii: "u"), let second = hexadecimal(text, index + 2),
            (0xDC00...0xDFFF).contains(second)
        else { return "\u{FFFD}" }
        index += 6
        return Unicode.Scalar(0x10000 + (first - 0xD800) << 10 + (second - 0xDC00))
    }

    private static func hexadecimal(_ text: UnsafeBufferPointer<UInt8>, _ start: Int) -> UInt32? {
        guard start + 4 <= text.count else { return nil }
        var value: UInt32 = 0
        for byte in text[start..<start + 4] {
            guard let digit = Character(Unicode.Scalar(byte)).hexDigitValue else { return nil }
            value = value << 4 | UInt32(digit)
        }
        return value
    }

    // MARK: Numbers, words and dates

    private mutating func numberText() throws(CursorStop) -> UnsafeBufferPointer<UInt8> {
        let start = offset
        while offset < bytes.count {
            switch bytes[offset] {
            case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "+"), UInt8(ascii: "."),
                UInt8(ascii: "e"), UInt8(ascii: "E"):
                offset += 1
            default:
                guard offset > start else { throw .broken("a value is needed here", at: offset) }
                return UnsafeBufferPointer(rebasing: bytes[start..<offset])
            }
        }
        throw .incomplete
    }

    mutating func integer<Value: FixedWidthInteger>() throws(CursorStop) -> Value {
        let first = try peek()
        let start = offset
        let text = try numberText()
        var magnitude: Int64 = 0
        for byte in text.dropFirst(first == UInt8(ascii: "-") ? 1 : 0) {
            guard byte >= 0x30, byte <= 0x39 else { throw .broken("a whole number is needed here", at: start) }
            let (product, isTooLarge) = magnitude.multipliedReportingOverflow(by: 10)
            let (sum, isLarger) = product.addingReportingOverflow(Int64(byte - 0x30))
            guard !isTooLarge, !isLarger else { throw .broken("the number is too large", at: start) }
            magnitude = sum
        }
        guard let value = Value(exactly: first == UInt8(ascii: "-") ? -magnitude : magnitude) else {
            throw .broken("the number is too large", at: start)
        }
        return value
    }

    mutating func bool() throws(CursorStop) -> Bool {
        switch try peek() {
        case UInt8(ascii: "t"):
            try word("true")
            return true
        case UInt8(ascii: "f"):
            try word("false")
            return false
        default: throw .broken("`true` or `false` is needed here", at: offset)
        }
    }

    /// Decodes a time span: decimal seconds.
    mutating func span() throws(CursorStop) -> TimeSpan {
        _ = try peek()
        let start = offset
        let text = try numberText()
        var (whole, fraction, digits) = (Int64(0), Int64(0), 0)
        var isFraction = false
        var isPlain = text.count <= 18
        for byte in text where isPlain {
            if byte == UInt8(ascii: "."), !isFraction {
                isFraction = true
            } else if byte < 0x30 || byte > 0x39 {
                isPlain = false
            } else if !isFraction {
                whole = whole * 10 + Int64(byte - 0x30)
            } else if digits < 9 {
                fraction = fraction * 10 + Int64(byte - 0x30)
                digits += 1
            }
        }
        if isPlain, whole < Int64.max / 2_000_000_000 {
            while digits < 9 {
                fraction *= 10
                digits += 1
            }
            return TimeSpan(nanoseconds: whole * 1_000_000_000 + fraction)
        }
        guard let seconds = Double(String(decoding: text, as: UTF8.self)), abs(seconds) < 4e9 else {
            throw .broken("a number of seconds is needed here", at: start)
        }
        return TimeSpan(nanoseconds: Int64((seconds * 1e9).rounded()))
    }
}
