/// Reads XML as events: enough for Metalink, without entities that a file declares itself, and without recursion.
struct XMLScanner {
    enum Event {
        case start(name: String, attributes: [String: String], line: Int)
        case end(name: String)
        case text(String)
    }

    /// Why a text is no XML that can be read.
    struct Problem: Error {
        let line: Int
        let message: String
    }

    private let bytes: [UInt8]
    private var index = 0
    private var line = 1
    private var open: [String] = []
    /// The end of an element that was empty.
    private var pendingEnd: String?

    private static let deepest = 64

    init(_ text: String) {
        bytes = Array(text.utf8)
        if bytes.starts(with: [0xEF, 0xBB, 0xBF]) { index = 3 }
    }

    /// Returns the next event; `nil` at the end of the text.
    mutating func next() throws(Problem) -> Event? {
        if let name = pendingEnd {
            pendingEnd = nil
            return .end(name: name)
        }
        while index < bytes.count {
            guard bytes[index] == UInt8(ascii: "<") else { return .text(try readText()) }
            if starts("<!--") {
                try skip(to: "-->")
            } else if starts("<![CDATA[") {
                return .text(try readCDATA())
            } else if starts("<?") {
                try skip(to: "?>")
            } else if starts("<!") {
                throw problem("a document type is not read: entities of its own have no place here")
            } else if starts("</") {
                return try readEnd()
            } else {
                return try readStart()
            }
        }
        guard open.isEmpty else { throw problem("`<\(open[open.count - 1])>` has no end") }
        return nil
    }

    private func problem(_ message: String) -> Problem { Problem(line: line, message: message) }

    private func starts(_ text: StaticString) -> Bool {
        let count = text.utf8CodeUnitCount
        guard index + count <= bytes.count else { return false }
        return text.withUTF8Buffer { $0.elementsEqual(bytes[index..<(index + count)]) }
    }

    private mutating func skip(to end: StaticString) throws(Problem) {
        while index < bytes.count {
            if starts(end) {
                index += end.utf8CodeUnitCount
                return
            }
            advance()
        }
        throw problem("a part that begins with `<` has no end")
    }

    private mutating func advance() {
        if bytes[index] == 0x0A { line += 1 }
        index += 1
    }

    private mutating func readText() throws(Problem) -> String {
        let start = index
        while index < bytes.count, bytes[index] != UInt8(ascii: "<") { advance() }
        return try resolved(bytes[start..<index])
    }

    private mutating func readCDATA() throws(Problem) -> String {
        index += 9
        let start = index
        try skip(to: "]]>")
        return String(decoding: bytes[start..<(index - 3)], as: UTF8.self)
    }

    private mutating func readName() throws(Problem) -> String {
        let start = index
        while index < bytes.count {
            switch bytes[index] {
            case 0x30...0x39, 0x41...0x5A, 0x61...0x7A, 0x80...0xFF: index += 1
            case let byte where "-_.:".utf8.contains(byte): index += 1
            default:
                guard index > start else { throw problem("a name is missing") }
                return String(decoding: bytes[start..<index], as: UTF8.self)
            }
        }
        throw problem("the text ends in a name")
    }

    private mutating func skipBlanks() {
        while index < bytes.count, [0x20, 0x09, 0x0A, 0x0D].contains(bytes[index]) { advance() }
    }

    private mutating func readEnd() throws(Problem) -> Event {
        index += 2
        let name = try readName()
        skipBlanks()
        guard index < bytes.count, bytes[index] == UInt8(ascii: ">") else { throw problem("`</\(name)` lacks its `>`") }
        index += 1
        guard open.last == name else { throw problem("`</\(name)>` ends nothing that has begun") }
        open.removeLast()
        return .end(name: Self.local(name))
    }

    private mutating func readStart() throws(Problem) -> Event {
        let first = line
        index += 1
        let name = try readName()
        var attributes: [String: String] = [:]
        while true {
            skipBlanks()
            guard index < bytes.count else { throw problem("`<\(name)` lacks its `>`") }
            if bytes[index] == UInt8(ascii: ">") {
                index += 1
                open.append(name)
                guard open.count <= Self.deepest else { throw problem("elements are nested too deep") }
                return .start(name: Self.local(name), attributes: attributes, line: first)
            }
            if starts("/>") {
                index += 2
                pendingEnd = Self.local(name)
                return .start(name: Self.local(name), attributes: attributes, line: first)
            }
            let (key, value) = try readAttribute()
            guard attributes.updateValue(value, forKey: Self.local(key)) == nil || key.contains(":") else {
                throw problem("the attribute `\(key)` is there twice")
            }
        }
    }

    private mutating func readAttribute() throws(Problem) -> (String, String) {
        let key = try readName()
        skipBlanks()
        guard index < bytes.count, bytes[index] == UInt8(ascii: "=") else { throw problem("`\(key)` lacks its value") }
        index += 1
        skipBlanks()
        guard index < bytes.count, bytes[index] == UInt8(ascii: "\"") || bytes[index] == UInt8(ascii: "'") else {
            throw problem("the value of `\(key)` needs quotes")
        }
        let quote = bytes[index]
        index += 1
        let start = index
        while index < bytes.count, bytes[index] != quote { advance() }
        guard index < bytes.count else { throw problem("the value of `\(key)` has no end") }
        defer { index += 1 }
        return (key, try resolved(bytes[start..<index]))
    }

    /// The name without its prefix: namespaces are told by the element around.
    private static func local(_ name: String) -> String {
        name.lastIndex(of: ":").map { String(name[name.index(after: $0)...]) } ?? name
    }

    private func resolved(_ bytes: ArraySlice<UInt8>) throws(Problem) -> String {
        guard bytes.contains(UInt8(ascii: "&")) else { return String(decoding: bytes, as: UTF8.self) }
        var result: [UInt8] = []
        var rest = bytes
        while let byte = rest.popFirst() {
            guard byte == UInt8(ascii: "&") else {
                result.append(byte)
                continue
            }
            guard let end = rest.prefix(12).firstIndex(of: UInt8(ascii: ";")) else {
                throw problem("`&` begins an entity that has no end")
            }
            let name = String(decoding: rest[..<end], as: UTF8.self)
            guard let text = Self.entity(name) else { throw problem("the entity `&\(name);` is unknown") }
            result += Array(text.utf8)
            rest = rest[(end + 1)...]
        }
        return String(decoding: result, as: UTF8.self)
    }

    private static func entity(_ name: String) -> String? {
        switch name {
        case "amp": return "&"
        case "lt": return "<"
        case "gt": return ">"
        case "quot": return "\""
        case "apos": return "'"
        default:
            guard name.hasPrefix("#") else { return nil }
            let digits = name.dropFirst()
            let number = digits.hasPrefix("x") ? UInt32(digits.dropFirst(), radix: 16) : UInt32(digits)
            return number.flatMap { Unicode.Scalar($0) }.map { String($0) }
        }
    }
}
