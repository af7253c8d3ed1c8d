import TransferModel

/// A path of elements in an XML text: `/rss/channel/item`. `*` stands for any name; prefixes count as they are written.
package struct ElementPath: Hashable, Sendable {
    let names: [String]

    /// Returns `nil` for a text that is no path.
    package init?(_ text: String) {
        guard text.hasPrefix("/") else { return nil }
        let names = text.dropFirst().split(separator: "/", omittingEmptySubsequences: false).map { String($0) }
        guard names.allSatisfy({ $0 == "*" || ElementPath.isName($0) }) else { return nil }
        self.names = names
    }

    private static func isName(_ text: String) -> Bool {
        guard let first = text.utf8.first, XMLText.beginsName(first) else { return false }
        return text.utf8.allSatisfy { XMLText.isInName($0) }
    }

    func matches(_ open: [String]) -> Bool {
        open.count == names.count && zip(names, open).allSatisfy { $0 == "*" || $0.utf8.elementsEqual($1.utf8) }
    }

    /// Whether the open elements are those in which the path's last one would be.
    func isParent(_ open: [String]) -> Bool {
        open.count == names.count - 1 && zip(names, open).allSatisfy { $0 == "*" || $0.utf8.elementsEqual($1.utf8) }
    }
}

/// Reads the elements at a path of an XML text as rows: attributes and the texts of child elements by name, those
/// further inside with dots (`enclosure.url`), the element's own text as the row's. Of several with one name the first
/// counts. A document type may not declare anything, and only XML's own entities are known.
enum XMLRows {
    static func rows(_ bytes: [UInt8], _ path: String, _ filter: FieldFilter) throws(RowProblem) -> RowTable {
        guard let path = ElementPath(path) else { throw RowProblem("`\(path)` is no path of elements") }
        try FieldFilter.checkUTF8(bytes)
        var text = XMLText(bytes)
        var collector = XMLCollector(path: path, filter: filter)
        while let token = try text.next() { try collector.take(token, text.line) }
        try collector.finish(text.line)
        return collector.table
    }
}

/// Collects rows from the tokens of an XML text.
private struct XMLCollector {
    private struct Row {
        let depth: Int
        var fields: [PlainValue.Entry] = []
        /// Texts of the open elements of the row, its own first.
        var texts: [String] = [""]
    }

    let path: ElementPath
    let filter: FieldFilter
    var table = RowTable()
    private var open: [String] = []
    private var row: Row?
    private var hasRoot = false
    private var metParent = false
    private static let deepest = 128

    init(path: ElementPath, filter: FieldFilter) {
        self.path = path
        self.filter = filter
        metParent = path.names.count == 1
    }

    mutating func take(_ token: XMLText.Token, _ line: Int) throws(RowProblem) {
        switch token {
        case .start(let name, let attributes, let isEmpty):
            try begin(name, attributes, line)
            if isEmpty { try end(name, line) }
        case .end(let name): try end(name, line)
        case .text(let text):
            if open.isEmpty, text.utf8.contains(where: { !XMLText.isSpace($0) }) {
                throw RowProblem("text outside of any element", line: line)
            }
            guard let last = row?.texts.indices.last else { return }
            let room = filter.limits.value.subtractingReportingOverflow(row?.texts[last].utf8.count ?? 0).partialValue
            guard text.utf8.count <= room else {
                // Blanks around a text are not part of it, but count here.
                throw RowProblem("a value is longer than \(filter.limits.value >> 10) KiB", line: line)
            }
            row?.texts[last] += text
        }
    }

    private mutating func begin(
        _ name: String, _ attributes: [(name: String, value: String)], _ line: Int
    ) throws(RowProblem) {
        guard !open.isEmpty || !hasRoot else { throw RowProblem("a second element after the first", line: line) }
        guard open.count < Self.deepest else {
            throw RowProblem("elements are nested more than \(Self.deepest) deep", line: line)
        }
        hasRoot = true
        open.append(name)
        if path.isParent(open) { metParent = true }
        if row != nil {
            row?.texts.append("")
        } else if path.matches(open) {
            row = Row(depth: open.count)
        }
        let prefix = prefix
        for attribute in attributes {
            try set(prefix.isEmpty ? attribute.name : "\(prefix).\(attribute.name)", attribute.value, line)
        }
    }

    /// The names of the open elements within the row, with dots.
    private var prefix: String { row.map { open[$0.depth...].joined(separator: ".") } ?? "" }

    private mutating func set(_ name: String, _ value: String, _ line: Int) throws(RowProblem) {
        guard row != nil, name == PlainValue.ownText || filter.keeps(name),
            row?.fields.contains(where: { $0.key.utf8.elementsEqual(name.utf8) }) == false
        else { return }
        row?.fields.append(PlainValue.Entry(key: name, value: .string(try filter.bounded(value, line: line))))
    }

    private mutating func end(_ name: String, _ line: Int) throws(RowProblem) {
        guard let last = open.last, last.utf8.elementsEqual(name.utf8) else {
            let what = open.last.map { "`<\(Excerpt.short($0))>` is not closed" } ?? "nothing is open"
            throw RowProblem("`</\(Excerpt.short(name))>`, but \(what)", line: line)
        }
        if let text = row?.texts.popLast().map({ Self.trimmed($0) }) {
            let isOwn = row?.depth == open.count
            // An element that only holds others has no text of its own.
            if !isOwn || !text.isEmpty || row?.fields.isEmpty == true { try set(prefix, text, line) }
        }
        if let done = row, done.depth == open.count {
            try filter.add(.map(done.fields), to: &table.rows, line: line)
            row = nil
        }
        open.removeLast()
    }

    private static func trimmed(_ text: String) -> String {
        let start = text.utf8.drop { XMLText.isSpace($0) }
        guard let last = start.lastIndex(where: { !XMLText.isSpace($0) }) else { return "" }
        return String(Substring(start[...last]))
    }

    func finish(_ line: Int) throws(RowProblem) {
        if let last = open.last { throw RowProblem("`<\(Excerpt.short(last))>` is not closed", line: line) }
        guard hasRoot else { throw RowProblem("no XML: there is no element", line: line) }
        guard !table.rows.isEmpty || metParent && path.names.count > 1 else {
            throw RowProblem("there is no element `/\(path.names.joined(separator: "/"))`")
        }
    }
}

/// Splits an XML text into tags and texts.
struct XMLText {
    enum Token {
        case start(String, [(name: String, value: String)], isEmpty: Bool)
        case end(String)
        /// Text between tags, or a CDATA section, with its references decoded.
        case text(String)
    }

    private let bytes: [UInt8]
    private var position = 0
    private var counted = 0
    private var lines = 1

    init(_ bytes: [UInt8]) {
        self.bytes = bytes
        if bytes.starts(with: [0xEF, 0xBB, 0xBF]) { position = 3 }
    }

    /// Line of what comes next, from 1.
    var line: Int {
        mutating get {
            lines += bytes[counted..<position].count { $0 == 0x0A }
            counted = position
            return lines
        }
    }

    static func isSpace(_ byte: UInt8) -> Bool { byte == 0x20 || byte == 0x09 || byte == 0x0A || byte == 0x0D }

    static func beginsName(_ byte: UInt8) -> Bool {
        (0x61...0x7A).contains(byte | 0x20) && byte < 0x80 || byte == 0x5F || byte == 0x3A || byte >= 0x80
    }

    static func isInName(_ byte: UInt8) -> Bool {
        beginsName(byte) || (0x30...0x39).contains(byte) || byte == 0x2D || byte == 0x2E
    }

    private var byte: UInt8? { position < bytes.count ? bytes[position] : nil }

    private func starts(with text: StaticString) -> Bool {
        bytes[position...].starts(with: UnsafeBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount))
    }

    private mutating func problem(_ message: String) -> RowProblem { RowProblem(message, line: line) }

    mutating func next() throws(RowProblem) -> Token? {
        while let byte {
            guard byte == UInt8(ascii: "<") else { return .text(try reference(text())) }
            if starts(with: "<!--") {
                _ = try passed("-->", "a comment is not closed")
            } else if starts(with: "<![CDATA[") {
                position += 9
                return .text(try passed("]]>", "a CDATA section is not closed"))
            } else if starts(with: "<?") {
                try checkEncoding(passed("?>", "an instruction is not closed"))
            } else if starts(with: "<!") {
                try skipType()
            } else if starts(with: "</") {
                position += 2
                return try endTag()
            } else {
                position += 1
                return try startTag()
            }
        }
        return nil
    }

    private mutating func text() -> String {
        let end = bytes[position...].firstIndex(of: UInt8(ascii: "<")) ?? bytes.count
        defer { position = end }
        return String(decoding: bytes[position..<end], as: UTF8.self)
    }

    private mutating func reference(_ text: String) throws(RowProblem) -> String {
        do {
            return try CharacterReferences.decoded(text)
        } catch {
            throw problem(error.message)
        }
    }

    /// Moves past the text and returns what stands before it.
    private mutating func passed(_ end: String, _ missing: String) throws(RowProblem) -> String {
        let wanted = Array(end.utf8)
        var place = position
        while let start = bytes[place...].firstIndex(of: wanted[0]) {
            if bytes[start...].starts(with: wanted) {
                defer { position = start + wanted.count }
                return String(decoding: bytes[position..<start], as: UTF8.self)
            }
            place = start + 1
        }
        throw problem(missing)
    }

    /// Refuses another encoding than UTF-8, which the instruction at the beginning may name.
    private mutating func checkEncoding(_ instruction: String) throws(RowProblem) {
        guard instruction.hasPrefix("<?xml "), let name = instruction.value(ofAttribute: "encoding") else { return }
        guard ["utf-8", "utf8", "us-ascii"].contains(name.lowercased()) else {
            throw problem("the text is in `\(Excerpt.short(name))`, and only UTF-8 is read")
        }
    }

    /// Skips a document type that declares nothing.
    private mutating func skipType() throws(RowProblem) {
        let type = try passed(">", "a document type is not closed")
        guard type.lowercased().hasPrefix("<!doctype"), !type.contains("["), !type.contains("<!ENTITY") else {
            throw problem("the document type declares something, which is not read")
        }
    }

    private mutating func name() throws(RowProblem) -> String {
        let start = position
        while let byte, position == start ? Self.beginsName(byte) : Self.isInName(byte) { position += 1 }
        guard position > start else { throw problem("a name is wanted after `<`") }
        return String(decoding: bytes[start..<position], as: UTF8.self)
    }

    private mutating func skipSpace() { while let byte, Self.isSpace(byte) { position += 1 } }

    private mutating func endTag() throws(RowProblem) -> Token {
        let name = try name()
        skipSpace()
        guard byte == UInt8(ascii: ">") else { throw problem("`</\(Excerpt.short(name))` is not closed by `>`") }
        position += 1
        return .end(name)
    }

    private mutating func startTag() throws(RowProblem) -> Token {
        let name = try name()
        var attributes: [(name: String, value: String)] = []
        while true {
            skipSpace()
            guard let byte else { throw problem("`<\(Excerpt.short(name))` is not closed by `>`") }
            if byte == UInt8(ascii: ">") {
                position += 1
                return .start(name, attributes, isEmpty: false)
            }
            if starts(with: "/>") {
                position += 2
                return .start(name, attributes, isEmpty: true)
            }
            attributes.append(try attribute(of: name))
        }
    }

    private mutating func attribute(of element: String) throws(RowProblem) -> (name: String, value: String) {
        let name = try name()
        skipSpace()
        guard byte == UInt8(ascii: "=") else {
            throw problem("the attribute `\(Excerpt.short(name))` of `<\(Excerpt.short(element))>` has no value")
        }
        position += 1
        skipSpace()
        guard let quote = byte, quote == 0x22 || quote == 0x27 else {
            throw problem("the value of `\(Excerpt.short(name))` stands in no quotes")
        }
        position += 1
        guard let end = bytes[position...].firstIndex(of: quote) else { throw problem("a quote is not closed") }
        let value = String(decoding: bytes[position..<end], as: UTF8.self)
        let decoded = try reference(value)
        position = end + 1
        return (name, decoded)
    }
}

extension String {
    /// Returns the value of an attribute in an instruction's text; `nil` if it has none.
    fileprivate func value(ofAttribute name: String) -> String? {
        for part in split(whereSeparator: { $0 == " " || $0 == "\t" || $0 == "\n" || $0 == "\r\n" }) {
            guard part.hasPrefix("\(name)=") else { continue }
            let value = part.dropFirst(name.utf8.count + 1)
            return String(value.filter { $0 != "\"" && $0 != "'" })
        }
        return nil
    }
}
