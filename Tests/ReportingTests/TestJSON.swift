/// A strict reader of RFC 8259 for tests: what it takes, everybody takes.
indirect enum TestJSON: Equatable {
    case null
    case bool(Bool)
    case number(String)
    case string(String)
    case array([TestJSON])
    case object([(String, TestJSON)])

    struct Problem: Error { let offset: Int }

    static func == (left: TestJSON, right: TestJSON) -> Bool {
        switch (left, right) {
        case (.null, .null): true
        case (.bool(let a), .bool(let b)): a == b
        case (.number(let a), .number(let b)): a == b
        case (.string(let a), .string(let b)): a == b
        case (.array(let a), .array(let b)): a == b
        case (.object(let a), .object(let b)):
            a.count == b.count && zip(a, b).allSatisfy { $0.0 == $1.0 && $0.1 == $1.1 }
        default: false
        }
    }

    static func parse(_ bytes: some Sequence<UInt8>) throws -> TestJSON {
        var reader = Reader(bytes: Array(bytes))
        let value = try reader.value()
        reader.skipSpace()
        guard reader.index == reader.bytes.count else { throw Problem(offset: reader.index) }
        return value
    }

    subscript(key: String) -> TestJSON? {
        guard case .object(let members) = self else { return nil }
        return members.first { $0.0 == key }?.1
    }
    subscript(index: Int) -> TestJSON? {
        guard case .array(let values) = self, index < values.count else { return nil }
        return values[index]
    }
    var keys: [String] { if case .object(let members) = self { members.map { $0.0 } } else { [] } }
    var text: String? { if case .string(let text) = self { text } else { nil } }
    var int: Int? { if case .number(let text) = self { Int(text) } else { nil } }
    var values: [TestJSON] { if case .array(let values) = self { values } else { [] } }

    /// Every string in it, keys too.
    var strings: [String] {
        switch self {
        case .string(let text): [text]
        case .array(let values): values.flatMap { $0.strings }
        case .object(let members): members.flatMap { [$0.0] + $0.1.strings }
        case .null, .bool, .number: []
        }
    }
}

private struct Reader {
    let bytes: [UInt8]
    var index = 0

    var problem: TestJSON.Problem { TestJSON.Problem(offset: index) }
    var next: UInt8? { index < bytes.count ? bytes[index] : nil }

    mutating func skipSpace() {
        while let byte = next, byte == 0x20 || byte == 0x0A || byte == 0x0D || byte == 0x09 { index += 1 }
    }

    mutating func take(_ character: Unicode.Scalar) throws {
        guard next == UInt8(ascii: character) else { throw problem }
        index += 1
    }

    mutating func value() throws -> TestJSON {
        skipSpace()
        switch next {
        case UInt8(ascii: "{"): return try object()
        case UInt8(ascii: "["): return try array()
        case UInt8(ascii: "\""): return .string(try string())
        case UInt8(ascii: "t"): return try word("true", .bool(true))
        case UInt8(ascii: "f"): return try word("false", .bool(false))
        case UInt8(ascii: "n"): return try word("null", .null)
        default: return try number()
        }
    }

    mutating func word(_ word: String, _ value: TestJSON) throws -> TestJSON {
        guard bytes[index...].starts(with: word.utf8) else { throw problem }
        index += word.utf8.count
        return value
    }

    mutating func number() throws -> TestJSON {
        let start = index
        while let byte = next, (0x30...0x39).contains(byte) || [0x2B, 0x2D, 0x2E, 0x45, 0x65].contains(byte) {
            index += 1
        }
        let text = String(decoding: bytes[start..<index], as: UTF8.self)
        let pattern = /-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?/
        guard text.wholeMatch(of: pattern) != nil else { throw problem }
        return .number(text)
    }

    mutating func array() throws -> TestJSON {
        try take("[")
        skipSpace()
        var values: [TestJSON] = []
        if next == UInt8(ascii: "]") {
            index += 1
            return .array([])
        }
        while true {
            values.append(try value())
            skipSpace()
            if next == UInt8(ascii: "]") { break }
            try take(",")
        }
        index += 1
        return .array(values)
    }

    mutating func object() throws -> TestJSON {
        try take("{")
        skipSpace()
        var members: [(String, TestJSON)] = []
        if next == UInt8(ascii: "}") {
            index += 1
            return .object([])
        }
        while true {
            skipSpace()
            let key = try string()
            guard !members.contains(where: { $0.0 == key }) else { throw problem }
            skipSpace()
            try take(":")
            members.append((key, try value()))
            skipSpace()
            if next == UInt8(ascii: "}") { break }
            try take(",")
        }
        index += 1
        return .object(members)
    }

    mutating func string() throws -> String {
        try take("\"")
        var text: [UInt8] = []
        while true {
            guard let byte = next, byte >= 0x20 else { throw problem }
            index += 1
            if byte == UInt8(ascii: "\"") { break }
            if byte == UInt8(ascii: "\\") { text += try escape() } else { text.append(byte) }
        }
        guard let string = String(validating: text, as: UTF8.self) else { throw problem }
        return string
    }

    mutating func escape() throws -> [UInt8] {
        guard let byte = next else { throw problem }
        index += 1
        switch byte {
        case UInt8(ascii: "n"): return [0x0A]
        case UInt8(ascii: "r"): return [0x0D]
        case UInt8(ascii: "t"): return [0x09]
        case UInt8(ascii: "b"): return [0x08]
        case UInt8(ascii: "f"): return [0x0C]
        case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"): return [byte]
        case UInt8(ascii: "u"):
            guard index + 4 <= bytes.count,
                let value = UInt32(String(decoding: bytes[index..<(index + 4)], as: UTF8.self), radix: 16),
                let scalar = Unicode.Scalar(value)
            else { throw problem }
            index += 4
            return Array(String(scalar).utf8)
        default: throw problem
        }
    }
}
