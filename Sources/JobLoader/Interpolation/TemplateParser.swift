/// Splits a text at its `${…}`. `$$` is a `$`; a `$` before anything else stays as it is.
struct TemplateParser {
    struct Problem: Error {
        let message: String
        let hint: String?
        let ordinal: Int
    }

    /// Largest nesting of fallbacks, so that no file can exhaust the stack.
    private static let maximumDepth = 16

    private let bytes: [UInt8]
    private var position = 0
    /// Number of `${` passed so far, escaped ones included.
    private var opened = 0

    static func parse(_ bytes: [UInt8]) throws(Problem) -> Template {
        var parser = TemplateParser(bytes: bytes)
        return try parser.template(depth: 0)
    }

    private init(bytes: [UInt8]) { self.bytes = bytes }

    private var next: UInt8? { position < bytes.count ? bytes[position] : nil }
    private func byte(after distance: Int) -> UInt8? {
        position + distance < bytes.count ? bytes[position + distance] : nil
    }

    private func problem(_ message: String, hint: String? = nil, _ ordinal: Int) -> Problem {
        Problem(message: message, hint: hint, ordinal: ordinal)
    }

    /// Parses up to the end, or within a reference up to its `}`.
    private mutating func template(depth: Int) throws(Problem) -> Template {
        var segments: [Template.Segment] = []
        var literal: [UInt8] = []
        func flush() {
            if !literal.isEmpty { segments.append(.literal(String(decoding: literal, as: UTF8.self))) }
            literal = []
        }
        while let byte = next, depth == 0 || byte != UInt8(ascii: "}") {
            guard byte == UInt8(ascii: "$"), let following = self.byte(after: 1) else {
                literal.append(byte)
                position += 1
                continue
            }
            if following == UInt8(ascii: "$") {
                if self.byte(after: 2) == UInt8(ascii: "{") { opened += 1 }
                literal.append(byte)
                position += 2
            } else if following == UInt8(ascii: "{") {
                flush()
                segments.append(.reference(try reference(depth: depth)))
            } else {
                literal.append(byte)
                position += 1
            }
        }
        flush()
        return Template(segments: segments)
    }

    private mutating func reference(depth: Int) throws(Problem) -> Template.Reference {
        let ordinal = opened
        opened += 1
        position += 2
        guard depth < Self.maximumDepth else {
            throw problem("`${…}` is nested more than \(Self.maximumDepth) deep", ordinal)
        }
        var isRaw = false
        if bytes[position...].starts(with: Array("raw:".utf8)), let after = byte(after: 4),
            after != UInt8(ascii: "-"), after != UInt8(ascii: "?")
        {
            isRaw = true
            position += 4
        }
        let start = position
        let name = try name(ordinal)
        let fallback = try fallback(after: String(decoding: bytes[start..<position], as: UTF8.self), ordinal, depth)
        guard next == UInt8(ascii: "}") else { throw problem("`${` is not closed", hint: "write `${name}`", ordinal) }
        position += 1
        return Template.Reference(name: name, fallback: fallback, isRaw: isRaw, ordinal: ordinal)
    }

    private mutating func name(_ ordinal: Int) throws(Problem) -> Template.Name {
        let start = position
        while let byte = next, byte != UInt8(ascii: "}"), byte != UInt8(ascii: ":") { position += 1 }
        guard next != nil else {
            throw problem("`${` is not closed", hint: "write `${name}`, or `$${` for a literal `${`", ordinal)
        }
        let text = String(decoding: bytes[start..<position], as: UTF8.self)
        guard !text.isEmpty else { throw problem("`${}` names nothing", ordinal) }
        guard let name = Self.name(text) else {
            throw problem(
                "`\(Reader.short(text))` is no name",
                hint: Self.meant(text) ?? "names hold letters, digits, `_` and `-`; for a literal `${` write `$${`",
                ordinal)
        }
        return name
    }

    /// Returns what to write for `${{ name }}`, as other tools have it, for a name with blanks around it or one that is put
    /// together; else `nil`.
    private static func meant(_ text: String) -> String? {
        if text.contains("${") { return "a name holds no other `${…}`: it must be known when the job is read" }
        let bare = text.drop { $0 == "{" || $0 == " " }.reversed().drop { $0 == " " }.reversed()
        return name(String(bare)).map { _ in
            "write `${\(String(bare))}`: one brace and no blanks; for a literal `${` write `$${`"
        }
    }

    private static func name(_ text: String) -> Template.Name? {
        if text.hasPrefix("env.") { return word(text.dropFirst(4)).map { .environment($0) } }
        if text.hasPrefix("secret.") { return word(text.dropFirst(7)).map { .secret($0) } }
        if text.hasPrefix("tasks.") {
            let rest = text.dropFirst(6)
            guard let dot = rest.lastIndex(of: "."), let name = word(rest[rest.index(after: dot)...]),
                TaskName.isWellFormed(rest[..<dot])
            else { return nil }
            return .capture(task: String(rest[..<dot]), name: name)
        }
        guard let dot = text.firstIndex(of: ".") else { return word(text[...]).map { .local($0, field: nil) } }
        let field = text[text.index(after: dot)...]
        guard let name = word(text[..<dot]), !field.isEmpty, !field.contains("$"), !field.contains("{") else {
            return nil
        }
        return .local(name, field: String(field))
    }

    private static func word(_ text: Substring) -> String? { Names.isWellFormed(text) ? String(text) : nil }

    private mutating func fallback(
        after named: String, _ ordinal: Int, _ depth: Int
    ) throws(Problem) -> Template.Fallback? {
        guard next == UInt8(ascii: ":") else { return nil }
        position += 1
        let kind = next
        guard kind == UInt8(ascii: "-") || kind == UInt8(ascii: "?") else {
            let isPlace = ["env", "secret", "tasks"].contains(named)
            throw problem(
                "after `:` in `${…}` comes `-` and a default, or `?` and a message",
                hint: isPlace ? "write `${\(named).NAME}`, with a dot" : "write `${name:-default}`", ordinal)
        }
        position += 1
        let inner = try template(depth: depth + 1)
        return kind == UInt8(ascii: "-") ? .standard(inner) : .message(inner)
    }
}

/// The rule for names of variables, of secrets and of `forEach`.
enum Names {
    static let pattern = "^[A-Za-z_][A-Za-z0-9_-]*$"

    static func isWellFormed(_ text: some StringProtocol) -> Bool {
        guard let first = text.utf8.first, first == UInt8(ascii: "_") || isLetter(first) else { return false }
        return text.utf8.allSatisfy {
            isLetter($0) || (0x30...0x39).contains($0) || $0 == UInt8(ascii: "_") || $0 == UInt8(ascii: "-")
        }
    }

    private static func isLetter(_ byte: UInt8) -> Bool { (0x61...0x7A).contains(byte | 0x20) && byte < 0x80 }
}

enum TaskName {
    static let pattern = "^[A-Za-z0-9._-]+$"

    static func isWellFormed(_ text: some StringProtocol) -> Bool {
        !text.isEmpty && text.utf8.allSatisfy { isAllowed($0) }
    }

    @inline(__always)
    static func isAllowed(_ byte: UInt8) -> Bool {
        ((0x61...0x7A).contains(byte | 0x20) && byte < 0x80) || (0x30...0x39).contains(byte) || byte == 0x2D
            || byte == 0x2E || byte == 0x5F
    }
}
