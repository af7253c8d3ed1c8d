/// Parses JSON (RFC 8259) strictly and within limits: text from a server is not trusted.
package struct JSONParser {
    /// Bounds on the size of a text and of the tree that is made of it.
    package struct Limits: Sendable {
        /// Largest length of the text in bytes.
        package var bytes: Int
        /// Largest number of objects and arrays inside one another.
        package var depth: Int
        /// Largest number of values: the tree of a small text may cost much, too.
        package var values: Int

        package init(bytes: Int = 64 << 20, depth: Int = 128, values: Int = 10_000_000) {
            self.bytes = bytes
            self.depth = depth
            self.values = values
        }

        /// The limits that apply if the caller gives none.
        package static let standard = Limits()
    }

    private let bytes: UnsafeBufferPointer<UInt8>
    private let limits: Limits
    private let keepsHalves: Bool
    /// Whether the last string that was parsed has half of a surrogate pair.
    private var isBroken = false
    private var offset = 0
    private var depth = 0
    private var values = 0

    /// Parses one value with nothing but white space around it. A byte-order mark before it is skipped. Half of a
    /// surrogate pair in an escape is a fault, or with `keepsHalves` makes the string a `broken` one, whatever else the
    /// text holds.
    package static func parse(
        _ bytes: [UInt8], limits: Limits = .standard, keepsHalves: Bool = false
    ) throws(JSONProblem) -> JSONValue {
        let result = bytes.withUnsafeBufferPointer { bytes -> Result<JSONValue, JSONProblem> in
            var parser = JSONParser(bytes: bytes, limits: limits, keepsHalves: keepsHalves)
            do throws(JSONProblem) { return .success(try parser.document()) } catch { return .failure(error) }
        }
        return try result.get()
    }

    private init(bytes: UnsafeBufferPointer<UInt8>, limits: Limits, keepsHalves: Bool) {
        self.bytes = bytes
        self.limits = limits
        self.keepsHalves = keepsHalves
    }

    // MARK: Values

    private mutating func document() throws(JSONProblem) -> JSONValue {
        if bytes.count > limits.bytes { throw problem("the text is larger than \(limits.bytes) bytes") }
        if bytes.starts(with: [0xEF, 0xBB, 0xBF]) { offset = 3 }
        skipSpace()
        let value = try value()
        skipSpace()
        guard offset == bytes.count else { throw problem("more text after the value") }
        return value
    }

    /// Recursive; the limit of depth bounds the stack.
    private mutating func value() throws(JSONProblem) -> JSONValue {
        values += 1
        guard values <= limits.values else { throw problem("more than \(limits.values) values") }
        guard let next else { throw problem("the text ends where a value is wanted") }
        switch next {
        case UInt8(ascii: "{"): return try object()
        case UInt8(ascii: "["): return try array()
        case UInt8(ascii: "\""):
            let text = try string()
            return isBroken ? .broken(text) : .string(text)
        case UInt8(ascii: "t"): return try word("true", .boolean(true))
        case UInt8(ascii: "f"): return try word("false", .boolean(false))
        case UInt8(ascii: "n"): return try word("null", .null)
        case UInt8(ascii: "-"), UInt8(ascii: "0")...UInt8(ascii: "9"): return try number()
        default: throw problem("a value is wanted here")
        }
    }

    private mutating func object() throws(JSONProblem) -> JSONValue {
        try enter()
        defer { depth -= 1 }
        var members: [JSONValue.Member] = []
        if take("}") { return .object(members) }
        while true {
            guard next == UInt8(ascii: "\"") else { throw problem("a name in double quotes is wanted here") }
            let name = try string()
            skipSpace()
            guard take(":") else { throw problem("`:` is wanted after a name") }
            skipSpace()
            members.append(JSONValue.Member(name: name, value: try value()))
            skipSpace()
            if take("}") { return .object(members) }
            guard take(",") else { throw problem("`,` or `}` is wanted here") }
            skipSpace()
        }
    }

    private mutating func array() throws(JSONProblem) -> JSONValue {
        try enter()
        defer { depth -= 1 }
        var elements: [JSONValue] = []
        if take("]") { return .array(elements) }
        while true {
            elements.append(try value())
            skipSpace()
            if take("]") { return .array(elements) }
            guard take(",") else { throw problem("`,` or `]` is wanted here") }
            skipSpace()
        }
    }

    private mutating func enter() throws(JSONProblem) {
        depth += 1
        guard depth <= limits.depth else { throw problem("nested more than \(limits.depth) deep") }
        offset += 1
        skipSpace()
    }

    private mutating func word(_ word: StaticString, _ value: JSONValue) throws(JSONProblem) -> JSONValue {
        let length = word.utf8CodeUnitCount
        let matches = word.withUTF8Buffer { word in
            offset + length <= bytes.count && bytes[offset..<offset + length].elementsEqual(word)
        }
        guard matches else { throw problem("a value is wanted here") }
        offset += length
        return value
    }

    private mutating func number() throws(JSONProblem) -> JSONValue {
        let start = offset
        _ = take("-")
        if !take("0") { try digits() }
        if take(".") { try digits() }
        if take("e") || take("E") {
            _ = take("+") || take("-")
            try digits()
        }
        return .number(String(decoding: bytes[start..<offset], as: UTF8.self))
    }

    private mutating func digits() throws(JSONProblem) {
        guard let first = next, first >= 0x30, first <= 0x39 else { throw problem("a digit is wanted here") }
        while let byte = next, byte >= 0x30, byte <= 0x39 { offset += 1 }
    }

    // MARK: Strings

    private mutating func string() throws(JSONProblem) -> String {
        offset += 1
        isBroken = false
        let start = offset
        try skipPlain()
        if take("\"") { return String(decoding: bytes[start..<offset - 1], as: UTF8.self) }
        var text = Array(bytes[start..<offset])
        while !take("\"") {
            if take("\\") {
                try escape(into: &text)
            } else {
                let runStart = offset
                try skipPlain()
                text.append(contentsOf: bytes[runStart..<offset])
            }
        }
        return String(decoding: text, as: UTF8.self)
    }

    /// Skips the characters up to a quote or a backslash.
    private mutating func skipPlain() throws(JSONProblem) {
        while let byte = next {
            if byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "\\") { return }
            if byte < 0x20 { throw problem("a control character in a string must be written as an escape") }
            let length = byte < 0x80 ? 1 : UTF8Sequence.length(in: bytes, at: offset)
            guard length > 0 else { throw problem("bytes that are no UTF-8") }
            offset += length
        }
        throw problem("a string is never closed")
    }

    private mutating func escape(into text: inout [UInt8]) throws(JSONProblem) {
        guard let byte = next else { throw problem("a string is never closed") }
        offset += 1
        switch byte {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"): text.append(byte)
        case UInt8(ascii: "b"): text.append(0x08)
        case UInt8(ascii: "f"): text.append(0x0C)
        case UInt8(ascii: "n"): text.append(0x0A)
        case UInt8(ascii: "r"): text.append(0x0D)
        case UInt8(ascii: "t"): text.append(0x09)
        case UInt8(ascii: "u"): text.append(contentsOf: String(try unicodeEscape()).utf8)
        default:
            offset -= 1
            throw problem("no such escape")
        }
    }

    private mutating func unicodeEscape() throws(JSONProblem) -> Unicode.Scalar {
        let first = try fourHexDigits()
        if let scalar = Unicode.Scalar(first) { return scalar }
        let afterFirst = offset
        guard first < 0xDC00, take("\\"), take("u") else { return try half(endingAt: afterFirst) }
        let second = try fourHexDigits()
        guard (0xDC00...0xDFFF).contains(second) else { return try half(endingAt: afterFirst) }
        return Unicode.Scalar(0x10000 + (first - 0xD800) << 10 + (second - 0xDC00)) ?? "\u{FFFD}"
    }

    /// Handles half of a surrogate pair, which no `String` can hold: throws, or with `keepsHalves` returns U+FFFD.
    private mutating func half(endingAt end: Int) throws(JSONProblem) -> Unicode.Scalar {
        offset = end
        guard keepsHalves else {
            offset -= 6
            throw problem("half of a character: `\\u` and a surrogate without the other one")
        }
        isBroken = true
        return "\u{FFFD}"
    }

    private mutating func fourHexDigits() throws(JSONProblem) -> UInt32 {
        var value: UInt32 = 0
        for _ in 0..<4 {
            guard let byte = next, let digit = Character(Unicode.Scalar(byte)).hexDigitValue else {
                throw problem("four hexadecimal digits are wanted after `\\u`")
            }
            value = value << 4 | UInt32(digit)
            offset += 1
        }
        return value
    }

    // MARK: Pieces

    private var next: UInt8? { offset < bytes.count ? bytes[offset] : nil }

    private mutating func take(_ character: Unicode.Scalar) -> Bool {
        guard next == UInt8(ascii: character) else { return false }
        offset += 1
        return true
    }

    private mutating func skipSpace() {
        while let byte = next, byte == 0x20 || byte == 0x0A || byte == 0x0D || byte == 0x09 { offset += 1 }
    }

    private func problem(_ message: String) -> JSONProblem { JSONProblem(message, at: offset, in: bytes) }
}
