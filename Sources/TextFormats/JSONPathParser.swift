/// Parses a JSON path into its segments; every fault is reported with its position.
struct JSONPathParser {
    private let bytes: [UInt8]
    private var offset = 0
    private var depth = 0

    /// Largest nesting of filters, which may hold queries with filters.
    private static let deepest = 32

    /// Returns the segments, and for each the offset in bytes at which it ends.
    static func parse(_ text: String) throws(JSONPath.Problem) -> (segments: [JSONPath.Segment], ends: [Int]) {
        var parser = JSONPathParser(bytes: Array(text.utf8))
        guard parser.take("$") else { throw parser.problem("a path begins with `$`") }
        var ends: [Int] = []
        let segments = try parser.segments { ends.append($0) }
        guard parser.offset == parser.bytes.count else {
            if parser.next == UInt8(ascii: "(") {
                throw parser.problem("a function stands in a filter: `[?length(@.a) > 1]`")
            }
            throw parser.problem("`.` or `[` is wanted here")
        }
        return (segments, ends)
    }

    private init(bytes: [UInt8]) { self.bytes = bytes }

    // MARK: Segments

    /// Calls `ended` with the offset at which each segment ends.
    private mutating func segments(ended: (Int) -> Void = { _ in }) throws(JSONPath.Problem) -> [JSONPath.Segment] {
        var segments: [JSONPath.Segment] = []
        while true {
            let before = offset
            skipSpace()
            if take("..") {
                let selectors = next == UInt8(ascii: "[") ? try bracket() : [try shorthand()]
                segments.append(JSONPath.Segment(selectors: selectors, isDescendant: true))
            } else if take(".") {
                segments.append(JSONPath.Segment(selectors: [try shorthand()], isDescendant: false))
            } else if next == UInt8(ascii: "[") {
                segments.append(JSONPath.Segment(selectors: try bracket(), isDescendant: false))
            } else {
                offset = before
                return segments
            }
            ended(offset)
        }
    }

    private mutating func shorthand() throws(JSONPath.Problem) -> JSONPath.Selector {
        if take("*") { return .wildcard }
        let start = offset
        while let byte = next, isNameByte(byte, isFirst: offset == start) { offset += 1 }
        guard offset > start else { throw problem("a name or `*` is wanted here") }
        return .name(String(decoding: bytes[start..<offset], as: UTF8.self))
    }

    private func isNameByte(_ byte: UInt8, isFirst: Bool) -> Bool {
        let isLetter = (0x61...0x7A).contains(byte | 0x20) || byte == UInt8(ascii: "_") || byte >= 0x80
        return isLetter || (!isFirst && (0x30...0x39).contains(byte))
    }

    private mutating func bracket() throws(JSONPath.Problem) -> [JSONPath.Selector] {
        offset += 1
        var selectors: [JSONPath.Selector] = []
        while true {
            skipSpace()
            selectors.append(try selector())
            skipSpace()
            if take("]") { return selectors }
            guard take(",") else { throw problem("`,` or `]` is wanted here") }
        }
    }

    private mutating func selector() throws(JSONPath.Problem) -> JSONPath.Selector {
        switch next {
        case UInt8(ascii: "*")?:
            offset += 1
            return .wildcard
        case UInt8(ascii: "'")?, UInt8(ascii: "\"")?: return .name(try string())
        case UInt8(ascii: "?")?:
            offset += 1
            skipSpace()
            return .filter(try condition())
        default: return try indexOrSlice()
        }
    }

    private mutating func indexOrSlice() throws(JSONPath.Problem) -> JSONPath.Selector {
        let start = try integer()
        skipSpace()
        guard take(":") else {
            guard let start else { throw problem("a name in quotes, an index, a slice, `*` or `?` is wanted here") }
            return .index(start)
        }
        skipSpace()
        let end = try integer()
        skipSpace()
        guard take(":") else { return .slice(start: start, end: end, step: 1) }
        skipSpace()
        return .slice(start: start, end: end, step: try integer() ?? 1)
    }

    /// Parses an integer that JSON numbers hold exactly, without `-0` and leading zeros.
    private mutating func integer() throws(JSONPath.Problem) -> Int? {
        let start = offset
        let isNegative = take("-")
        let digits = offset
        while let byte = next, (0x30...0x39).contains(byte) { offset += 1 }
        if offset == start { return nil }
        let text = String(decoding: bytes[digits..<offset], as: UTF8.self)
        guard let value = Int(text), value < 1 << 53, text.utf8.first != 0x30 || (text == "0" && !isNegative) else {
            offset = start
            throw problem("no valid index")
        }
        return isNegative ? -value : value
    }

    // MARK: Filters

    private mutating func condition() throws(JSONPath.Problem) -> JSONPath.Condition {
        depth += 1
        defer { depth -= 1 }
        guard depth <= JSONPathParser.deepest else { throw problem("filters nested too deep") }
        var alternatives = [try conjunction()]
        while takeOperator("||") { alternatives.append(try conjunction()) }
        return alternatives.count == 1 ? alternatives[0] : .any(alternatives)
    }

    private mutating func conjunction() throws(JSONPath.Problem) -> JSONPath.Condition {
        var parts = [try basic()]
        while takeOperator("&&") { parts.append(try basic()) }
        return parts.count == 1 ? parts[0] : .all(parts)
    }

    private mutating func basic() throws(JSONPath.Problem) -> JSONPath.Condition {
        skipSpace()
        let isNegated = take("!")
        skipSpace()
        if take("(") {
            let inner = try condition()
            skipSpace()
            guard take(")") else { throw problem("`)` is wanted here") }
            return isNegated ? .not(inner) : inner
        }
        let start = offset
        let left = try operand()
        skipSpace()
        if !isNegated, let comparison = takeComparison() {
            skipSpace()
            try requireComparable(left, from: start)
            let rightStart = offset
            let right = try operand()
            try requireComparable(right, from: rightStart)
            return .compare(left, comparison, right)
        }
        let test: JSONPath.Condition
        switch left {
        case .query(let query): test = .exists(query)
        case .function(let function) where function.isTest: test = .test(function)
        case .function: throw problem("a comparison is wanted after what this function gives")
        case .literal: throw problem("a comparison is wanted after a literal")
        }
        return isNegated ? .not(test) : test
    }

    private mutating func operand() throws(JSONPath.Problem) -> JSONPath.Operand {
        if take("@") { return .query(JSONPath.Query(isRelative: true, segments: try segments())) }
        if take("$") { return .query(JSONPath.Query(isRelative: false, segments: try segments())) }
        if next == UInt8(ascii: "'") || next == UInt8(ascii: "\"") { return .literal(.string(try string())) }
        if let function = try function() { return .function(function) }
        for (word, value) in [("true", JSONValue.boolean(true)), ("false", .boolean(false)), ("null", .null)]
        where take(word) { return .literal(value) }
        let start = offset
        while let byte = next, "+-.eE0123456789".utf8.contains(byte) { offset += 1 }
        guard offset > start, case .number(let text)? = try? JSONParser.parse(Array(bytes[start..<offset])) else {
            offset = start
            throw problem("`@`, `$`, a string, a number, `true`, `false` or `null` is wanted here")
        }
        return .literal(.number(text))
    }

    /// Parses a function's name and arguments, if one follows; else returns `nil`.
    private mutating func function() throws(JSONPath.Problem) -> JSONPath.Function? {
        let start = offset
        let name = bytes[offset...].prefix { isNameByte($0, isFirst: false) }
        guard !name.isEmpty, name.endIndex < bytes.count, bytes[name.endIndex] == UInt8(ascii: "(") else { return nil }
        depth += 1
        defer { depth -= 1 }
        guard depth <= JSONPathParser.deepest else { throw problem("functions nested too deep") }
        offset = name.endIndex + 1
        let word = String(decoding: name, as: UTF8.self)
        let arguments = try arguments()
        func fault(_ what: String) -> JSONPath.Problem { JSONPath.Problem(message: what, offset: start) }
        let counts = ["length": 1, "count": 1, "value": 1, "match": 2, "search": 2]
        guard let count = counts[word] else {
            throw fault("`\(word)` is no function: there are `length`, `count`, `match`, `search` and `value`")
        }
        guard arguments.count == count else {
            throw fault("`\(word)` takes \(count) \(count == 1 ? "argument" : "arguments"), not \(arguments.count)")
        }
        switch word {
        case "count", "value":
            guard case .query(let query) = arguments[0].operand else { throw fault("`\(word)` takes a path") }
            return word == "count" ? .count(query) : .value(query)
        default:
            for argument in arguments { try requireComparable(argument.operand, from: argument.start) }
            let operands = arguments.map(\.operand)
            if word == "length" { return .length(operands[0]) }
            return word == "match" ? .match(operands[0], operands[1]) : .search(operands[0], operands[1])
        }
    }

    /// Parses a function's arguments up to the closing parenthesis.
    private mutating func arguments() throws(JSONPath.Problem) -> [(operand: JSONPath.Operand, start: Int)] {
        skipSpace()
        if take(")") { return [] }
        var arguments: [(operand: JSONPath.Operand, start: Int)] = []
        while true {
            skipSpace()
            let start = offset
            arguments.append((try operand(), start))
            skipSpace()
            if take(")") { return arguments }
            guard take(",") else { throw problem("`,` or `)` is wanted here") }
        }
    }

    /// Throws unless the operand is a single value: a path that may select several, and functions that are true or
    /// false by themselves, cannot be compared.
    private func requireComparable(_ operand: JSONPath.Operand, from start: Int) throws(JSONPath.Problem) {
        if case .function(let function) = operand, function.isTest {
            throw JSONPath.Problem(message: "`match` and `search` are true or false by themselves", offset: start)
        }
        guard case .query(let query) = operand else { return }
        let isSingular = query.segments.allSatisfy { segment in
            guard !segment.isDescendant, segment.selectors.count == 1 else { return false }
            switch segment.selectors[0] {
            case .name, .index: return true
            case .wildcard, .slice, .filter: return false
            }
        }
        guard isSingular else {
            throw JSONPath.Problem(message: "a path that may give several values cannot be compared", offset: start)
        }
    }

    private mutating func takeOperator(_ word: String) -> Bool {
        let before = offset
        skipSpace()
        if take(word) { return true }
        offset = before
        return false
    }

    private mutating func takeComparison() -> JSONPath.Comparison? {
        let all: [JSONPath.Comparison] = [.equal, .notEqual, .lessOrEqual, .greaterOrEqual, .less, .greater]
        return all.first { take($0.rawValue) }
    }

    // MARK: Strings

    /// Parses a string in single or double quotes, with JSON's escapes and `\'` between single quotes.
    private mutating func string() throws(JSONPath.Problem) -> String {
        let start = offset
        let quote = bytes[offset]
        offset += 1
        var json: [UInt8] = [UInt8(ascii: "\"")]
        while let byte = next, byte != quote {
            offset += 1
            if byte == UInt8(ascii: "\""), quote != byte { json.append(UInt8(ascii: "\\")) }
            guard byte == UInt8(ascii: "\\"), let escaped = next else {
                json.append(byte)
                continue
            }
            offset += 1
            if escaped == UInt8(ascii: "'"), quote == escaped {
                json.append(escaped)
            } else if escaped == UInt8(ascii: "\""), quote != escaped {
                throw problem("`\\\"` is no escape between single quotes")
            } else {
                json += [byte, escaped]
            }
        }
        guard take(quote == UInt8(ascii: "'") ? "'" : "\"") else { throw problem("a string is never closed") }
        json.append(UInt8(ascii: "\""))
        guard case .string(let text)? = try? JSONParser.parse(json) else {
            throw JSONPath.Problem(message: "no valid string", offset: start)
        }
        return text
    }

    // MARK: Pieces

    private var next: UInt8? { offset < bytes.count ? bytes[offset] : nil }

    private mutating func take(_ word: String) -> Bool {
        guard bytes[offset...].starts(with: word.utf8) else { return false }
        offset += word.utf8.count
        return true
    }

    private mutating func skipSpace() {
        while let byte = next, byte == 0x20 || byte == 0x0A || byte == 0x0D || byte == 0x09 { offset += 1 }
    }

    private func problem(_ message: String) -> JSONPath.Problem { JSONPath.Problem(message: message, offset: offset) }
}
