import TextFormats
import TransferModel

/// Reads the links of an HTML page: the `href` of each `a` and `area`, resolved against the page's URL or its `base`,
/// each URL once. Only links to http and https count, and none to the page itself.
enum LinkRows {
    static func rows(
        _ bytes: [UInt8], _ match: String?, _ page: ResourceURL?, _ filter: FieldFilter
    ) throws(RowProblem) -> RowTable {
        try FieldFilter.checkUTF8(bytes)
        let wanted: TextFormats.Regex?
        do {
            wanted = try match.map { pattern throws(TextFormats.Regex.Problem) in try TextFormats.Regex(pattern) }
        } catch {
            throw RowProblem("`\(match ?? "")` is no regular expression: \(error.message)")
        }
        var collector = Collector(page: page, filter: filter, wanted: wanted)
        var tags = HTMLTags(bytes)
        while let tag = tags.next() { try collector.take(tag) }
        guard !collector.table.rows.isEmpty else {
            throw RowProblem(match.map { "no link of the page matches `\($0)`" } ?? "the page has no link")
        }
        return collector.table
    }

    private struct Collector {
        let page: ResourceURL?
        let filter: FieldFilter
        let wanted: TextFormats.Regex?
        var base: ResourceURL?
        var seen: Set<String> = []
        var table = RowTable()

        init(page: ResourceURL?, filter: FieldFilter, wanted: TextFormats.Regex?) {
            (self.page, self.filter, self.wanted, base) = (page, filter, wanted, page)
        }

        mutating func take(_ tag: HTMLTags.Tag) throws(RowProblem) {
            guard let href = tag.href else { return }
            if tag.name == "base" {
                base = resolved(href) ?? base
                return
            }
            guard let url = resolved(href), url.isHTTP, url != page, try fits(href, tag.line) else { return }
            guard seen.insert(url.text).inserted else { return }
            let text = try filter.bounded(url.text, line: tag.line)
            let row = filter.row(text, [(key: "url", value: text), (key: "name", value: url.lastPathComponent ?? "")])
            try filter.add(row, to: &table.rows, line: tag.line)
        }

        private func resolved(_ href: String) -> ResourceURL? {
            guard let base else { return try? ResourceURL.parse(href) }
            return try? base.resolving(href)
        }

        private func fits(_ href: String, _ line: Int) throws(RowProblem) -> Bool {
            guard let wanted else { return true }
            do {
                return try wanted.firstMatch(in: Array(href.utf8)) != nil
            } catch {
                throw RowProblem("`\(wanted.pattern)`: \(error.message)", line: line)
            }
        }
    }
}

/// Finds the tags of an HTML text that may have an `href`. Comments, scripts and other raw text are passed over.
struct HTMLTags {
    struct Tag {
        /// `a`, `area` or `base`.
        let name: String
        /// The value without blanks around it; character references are decoded.
        let href: String?
        let line: Int
    }

    private let bytes: [UInt8]
    private var position = 0
    private var line = 1
    private var counted = 0
    private static let raw = ["script", "style", "textarea", "title", "xmp", "noembed", "noframes", "iframe"]

    init(_ bytes: [UInt8]) { self.bytes = bytes }

    mutating func next() -> Tag? {
        while let open = bytes[position...].firstIndex(of: UInt8(ascii: "<")) {
            position = open + 1
            if starts(with: "!--") {
                skip(past: "-->")
                continue
            }
            guard let first = byte, Self.isLetter(first) else { continue }
            let line = lineNumber(at: open)
            let name = word { $0 == 0x2F || $0 == 0x3E || Self.isSpace($0) }.lowercased()
            let href = attributes()
            if Self.raw.contains(name) { skip(past: "</\(name)") }
            if ["a", "area", "base"].contains(name) { return Tag(name: name, href: href, line: line) }
        }
        return nil
    }

    private var byte: UInt8? { position < bytes.count ? bytes[position] : nil }

    private static func isLetter(_ byte: UInt8) -> Bool { (0x61...0x7A).contains(byte | 0x20) && byte < 0x80 }
    private static func isSpace(_ byte: UInt8) -> Bool { [0x20, 0x09, 0x0A, 0x0C, 0x0D].contains(byte) }

    private mutating func lineNumber(at place: Int) -> Int {
        line += bytes[counted..<place].count { $0 == 0x0A }
        counted = place
        return line
    }

    private func starts(with text: String) -> Bool { bytes[position...].starts(with: Array(text.utf8)) }

    /// Moves past the text, whatever the case of its letters; to the end if it does not come.
    private mutating func skip(past text: String) {
        let wanted = Array(text.utf8)
        while position < bytes.count {
            guard position + wanted.count <= bytes.count else { break }
            let isHere = zip(bytes[position...], wanted).allSatisfy { byte, want in
                byte == want || Self.isLetter(byte) && byte | 0x20 == want
            }
            if isHere {
                position += wanted.count
                return
            }
            position += 1
        }
        position = bytes.count
    }

    private mutating func word(_ isEnd: (UInt8) -> Bool) -> String {
        let start = position
        while let byte, !isEnd(byte) { position += 1 }
        return String(decoding: bytes[start..<position], as: UTF8.self)
    }

    /// Reads the tag's attributes up to its end and returns the first `href`.
    private mutating func attributes() -> String? {
        var href: String?
        while let byte, byte != 0x3E {
            if Self.isSpace(byte) || byte == 0x2F {
                position += 1
                continue
            }
            let start = position
            let name = word { $0 == 0x3D || $0 == 0x2F || $0 == 0x3E || Self.isSpace($0) }
            skipSpace()
            let value = self.byte == 0x3D ? value() : nil
            if name.lowercased() == "href", href == nil { href = value }
            // A stray `=` begins no name.
            if position == start { position += 1 }
        }
        if byte != nil { position += 1 }
        return href
    }

    private mutating func skipSpace() { while let byte, Self.isSpace(byte) { position += 1 } }

    private mutating func value() -> String {
        position += 1
        skipSpace()
        guard let quote = byte, quote == 0x22 || quote == 0x27 else {
            return Self.cleaned(word { $0 == 0x3E || Self.isSpace($0) })
        }
        position += 1
        let text = word { $0 == quote }
        if byte != nil { position += 1 }
        return Self.cleaned(text)
    }

    /// Decodes character references and drops what browsers drop from a URL: blanks around it, line breaks within.
    private static func cleaned(_ text: String) -> String {
        let decoded = CharacterReferences.decodedLoosely(text)
        let bytes = decoded.utf8.filter { $0 != 0x09 && $0 != 0x0A && $0 != 0x0D }
        let start = bytes.drop { $0 <= 0x20 }
        let end = start.lastIndex { $0 > 0x20 }.map { $0 + 1 } ?? start.startIndex
        return String(decoding: start[..<end], as: UTF8.self)
    }
}

/// Decodes `&amp;`, `&#38;` and `&#x26;`.
enum CharacterReferences {
    private static let named: [String: String] = [
        "amp": "&", "lt": "<", "gt": ">", "quot": "\"", "apos": "'",
    ]
    private static let longest = 12

    /// Decodes the references of XML's own names and of numbers; throws at another one.
    static func decoded(_ text: String) throws(RowProblem) -> String {
        var stray: String?
        let result = replaced(text) { name in
            let value = value(of: name)
            if value == nil { stray = stray ?? name }
            return value
        } onBare: {
            stray = stray ?? ""
        }
        guard let stray else { return result }
        throw RowProblem(
            stray.isEmpty ? "a `&` that begins no reference" : "the entity `&\(Excerpt.short(stray));` is not known")
    }

    /// Decodes the references that are known, and leaves others as they are.
    static func decodedLoosely(_ text: String) -> String {
        replaced(text) { name in
            name == "nbsp" ? "\u{A0}" : value(of: name)
        } onBare: {
        }
    }

    private static func replaced(
        _ text: String, _ value: (String) -> String?, onBare: () -> Void
    ) -> String {
        guard text.utf8.contains(UInt8(ascii: "&")) else { return text }
        var result = ""
        var rest = text[...]
        while let mark = rest.firstIndex(of: "&") {
            result += rest[..<mark]
            rest = rest[mark...]
            let end = rest.prefix(longest).firstIndex(of: ";")
            if let end, end > rest.index(after: mark) {
                let name = String(rest[rest.index(after: mark)..<end])
                if let value = value(name) {
                    result += value
                    rest = rest[rest.index(after: end)...]
                    continue
                }
            } else {
                onBare()
            }
            result += "&"
            rest = rest.dropFirst()
        }
        return result + rest
    }

    private static func value(of name: String) -> String? {
        guard name.hasPrefix("#") else { return named[name] }
        let digits = name.dropFirst()
        let isHex = digits.first == "x" || digits.first == "X"
        guard let number = UInt32(isHex ? digits.dropFirst() : digits, radix: isHex ? 16 : 10), number != 0,
            let scalar = Unicode.Scalar(number)
        else { return nil }
        return String(Character(scalar))
    }
}
