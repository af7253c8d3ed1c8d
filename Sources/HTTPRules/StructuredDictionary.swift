import TextFormats

/// Parses a structured field's dictionary (RFC 9651, section 3.2). Only some kinds of values are returned, but the
/// whole grammar is checked: a field that breaks it anywhere counts for nothing.
struct StructuredDictionary {
    enum Value: Hashable {
        case bytes([UInt8])
        case integer(Int64)
        case boolean(Bool)
        case other
    }
    private struct Malformed: Error {}
    private var rest: ArraySlice<UInt8>

    /// Returns the byte sequences in the order in which their keys first occur, with the last value of each; `nil` when
    /// the field is malformed.
    static func byteSequences(_ text: String) -> [(key: String, bytes: [UInt8])]? {
        members(text)?.compactMap { if case .bytes(let bytes) = $0.value { ($0.key, bytes) } else { nil } }
    }

    /// Returns all members in the order in which their keys first occur, with the last value of each; `nil` when the
    /// field is malformed.
    static func members(_ text: String) -> [(key: String, value: Value)]? {
        var reader = StructuredDictionary(rest: Array(text.utf8)[...])
        return try? reader.members()
    }

    /// Returns the value of a field that is one item (section 3.3), whatever parameters it has; `nil` when it is
    /// malformed or a list.
    static func item(_ text: String) -> Value? {
        // As a dictionary's only member an item has the same grammar, but for lists.
        guard let members = members("a=\(text)"), members.count == 1, members[0].key == "a",
            text.drop(while: { $0 == " " }).first != "("
        else { return nil }
        return members[0].value
    }

    private mutating func members() throws(Malformed) -> [(key: String, value: Value)] {
        var keys: [String] = []
        var values: [String: Value] = [:]
        skip { $0 == 0x20 }
        while let byte = rest.last, byte == 0x20 { rest.removeLast() }
        while !rest.isEmpty {
            let key = try key()
            if !keys.contains(key) { keys.append(key) }
            values[key] = take("=") ? try value() : .boolean(true)
            try parameters()
            skip { $0 == 0x20 || $0 == 0x09 }
            if rest.isEmpty { break }
            try expect(",")
            skip { $0 == 0x20 || $0 == 0x09 }
            // A comma promises another member.
            if rest.isEmpty { throw Malformed() }
        }
        return keys.compactMap { key in values[key].map { (key, $0) } }
    }

    private mutating func value() throws(Malformed) -> Value {
        guard take("(") else { return try item() }
        while true {
            skip { $0 == 0x20 }
            if take(")") { return .other }
            _ = try item()
            try parameters()
            guard rest.first == 0x20 || rest.first == UInt8(ascii: ")") else { throw Malformed() }
        }
    }

    private mutating func parameters() throws(Malformed) {
        while take(";") {
            skip { $0 == 0x20 }
            _ = try key()
            if take("=") { _ = try item() }
        }
    }

    private mutating func key() throws(Malformed) -> String {
        guard let first = rest.first, Self.isLower(first) || first == UInt8(ascii: "*") else { throw Malformed() }
        return String(taken { Self.isLower($0) || Self.isDigit($0) || "_-.*".utf8.contains($0) })
    }

    // MARK: Items

    private mutating func item() throws(Malformed) -> Value {
        guard let first = rest.first else { throw Malformed() }
        if Self.isDigit(first) { return try number().map { .integer($0) } ?? .other }
        rest.removeFirst()
        switch first {
        case UInt8(ascii: ":"): return .bytes(try byteSequence())
        case UInt8(ascii: "\""): try string()
        case UInt8(ascii: "%"): try displayString()
        case UInt8(ascii: "?"):
            if take("1") { return .boolean(true) }
            guard take("0") else { throw Malformed() }
            return .boolean(false)
        case UInt8(ascii: "@"):
            _ = take("-")
            guard try number() != nil else { throw Malformed() }
        case UInt8(ascii: "-"): return try number().map { .integer(-$0) } ?? .other
        case UInt8(ascii: "*"), UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"):
            skip(while: Self.isTokenByte)
        default: throw Malformed()
        }
        return .other
    }

    private mutating func byteSequence() throws(Malformed) -> [UInt8] {
        let text = taken { $0 != UInt8(ascii: ":") }
        try expect(":")
        // Padding may be missing.
        var letters = Array(text)
        while letters.last == UInt8(ascii: "=") { letters.removeLast() }
        guard text.count - letters.count <= 2 else { throw Malformed() }
        letters += Array(repeating: UInt8(ascii: "="), count: (4 - letters.count % 4) % 4)
        guard let bytes = Base64.decode(String(letters)) else { throw Malformed() }
        return bytes
    }

    private mutating func string() throws(Malformed) {
        while let byte = rest.popFirst() {
            switch byte {
            case UInt8(ascii: "\""): return
            case UInt8(ascii: "\\"):
                guard take("\"") || take("\\") else { throw Malformed() }
            case 0x20...0x7E: continue
            default: throw Malformed()
            }
        }
        throw Malformed()
    }

    private mutating func displayString() throws(Malformed) {
        try expect("\"")
        while let byte = rest.popFirst() {
            switch byte {
            case UInt8(ascii: "\""): return
            case UInt8(ascii: "%"):
                for _ in 0..<2 {
                    guard let digit = rest.popFirst(), Self.isDigit(digit) || (0x61...0x66).contains(digit) else {
                        throw Malformed()
                    }
                }
            case 0x20...0x7E: continue
            default: throw Malformed()
            }
        }
        throw Malformed()
    }

    /// A number without its sign; `nil` when it has a decimal point.
    private mutating func number() throws(Malformed) -> Int64? {
        let whole = taken(Self.isDigit)
        guard take(".") else {
            guard (1...15).contains(whole.count) else { throw Malformed() }
            return whole.reduce(0) { $0 * 10 + Int64($1 - 0x30) }
        }
        let places = taken(Self.isDigit).count
        guard (1...12).contains(whole.count), (1...3).contains(places) else { throw Malformed() }
        return nil
    }

    // MARK: Bytes

    private mutating func take(_ wanted: Unicode.Scalar) -> Bool {
        guard rest.first == UInt8(ascii: wanted) else { return false }
        rest.removeFirst()
        return true
    }

    private mutating func expect(_ wanted: Unicode.Scalar) throws(Malformed) {
        guard take(wanted) else { throw Malformed() }
    }

    private mutating func taken(_ isMeant: (UInt8) -> Bool) -> [UInt8] {
        let taken = Array(rest.prefix(while: isMeant))
        rest.removeFirst(taken.count)
        return taken
    }

    private mutating func skip(while isMeant: (UInt8) -> Bool) { _ = taken(isMeant) }

    private static func isLower(_ byte: UInt8) -> Bool { (0x61...0x7A).contains(byte) }
    private static func isDigit(_ byte: UInt8) -> Bool { (0x30...0x39).contains(byte) }
    private static func isTokenByte(_ byte: UInt8) -> Bool {
        isLower(byte | 0x20) || isDigit(byte) || "!#$%&'*+-.^_`|~:/".utf8.contains(byte)
    }
}
