import Diagnostics

/// Reads what most of a long job is made of, far sooner than libyaml does: block and flow collections, and scalars on one
/// line, in ASCII.
///
/// It knows no errors. Where a text has anything else, or is wrong, it gives up, and libyaml reads all of it; what it reads
/// is the same tree, to the last column.
@safe struct QuickReader {
    private let bytes: UnsafeBufferPointer<UInt8>
    private var builder: TreeBuilder
    private var at = 0
    private var line: Int32 = 1
    private var lineStart = 0
    /// What would begin a document now begins another.
    private var hasBegun = false

    /// Nested deeper than anything that is written by hand or program.
    private static let deepest = 60
    /// libyaml takes what is longer for no key.
    private static let longestKey = 1_000

    /// `nil` where it gives up.
    static func read(
        _ source: SourceText, limits: YAMLTree.Limits, problems: ProblemCollector
    ) -> (tree: YAMLTree, problems: ProblemCollector)? {
        // So nothing has to ask whether it is at the end: what is looked at is never behind a line's.
        guard source.bytes.last == Byte.newline, source.byteOrderMarkLength == 0 else { return nil }
        return unsafe source.bytes.withUnsafeBufferPointer { bytes in
            var reader = unsafe QuickReader(
                bytes: bytes, builder: TreeBuilder(source: source, limits: limits, problems: problems))
            return reader.readDocument() ? reader.builder.finish() : nil
        }
    }

    private init(bytes: UnsafeBufferPointer<UInt8>, builder: consuming TreeBuilder) {
        unsafe self.bytes = bytes
        self.builder = builder
    }

    private enum Byte {
        static let newline = UInt8(ascii: "\n"), space = UInt8(ascii: " "), colon = UInt8(ascii: ":")
        static let dash = UInt8(ascii: "-"), comma = UInt8(ascii: ","), comment = UInt8(ascii: "#")
        static let quote = UInt8(ascii: "\""), apostrophe = UInt8(ascii: "'"), backslash = UInt8(ascii: "\\")
        static let brace = UInt8(ascii: "{"), braceEnd = UInt8(ascii: "}")
        static let bracket = UInt8(ascii: "["), bracketEnd = UInt8(ascii: "]")
    }

    /// Where the next line that says something begins.
    private enum Place: Equatable {
        case column(Int), end
        /// There is something that it does not know.
        case unknown

        func isDeeper(than column: Int) -> Bool {
            if case .column(let own) = self { own > column } else { false }
        }
    }

    private struct Scalar {
        let text: Range<Int>
        let span: SourceSpan
        let isPlain: Bool
    }

    @inline(__always)
    private func byte(_ offset: Int = 0) -> UInt8 { unsafe bytes[at + offset] }

    private var column: Int { at - lineStart }

    private func span(_ start: Int, _ end: Int) -> SourceSpan {
        SourceSpan(
            line: line, column: Int32(truncatingIfNeeded: start - lineStart) + 1, endLine: line,
            endColumn: Int32(truncatingIfNeeded: end - lineStart) + 1)
    }

    // MARK: Blocks

    private mutating func readDocument() -> Bool {
        guard case .column(var first) = nextPlace() else { return false }
        hasBegun = true
        if first == 0, isMarker(Byte.dash) {
            at += 3
            guard endLine(), case .column(let next) = nextPlace() else { return false }
            first = next
        }
        return block(first, depth: 0) == .end && !builder.isOverLimit
    }

    /// Reads what begins here, in this column, and returns where it goes on behind it.
    private mutating func block(_ column: Int, depth: Int) -> Place {
        guard depth < Self.deepest, !builder.isOverLimit else { return .unknown }
        return isEntry ? sequence(column, isAtKey: false, depth: depth) : mapping(column, depth: depth)
    }

    private var isEntry: Bool { byte() == Byte.dash && byte(1) == Byte.space }

    private mutating func mapping(_ column: Int, depth: Int) -> Place {
        begin(.mapping, isFlow: false, span(at, at))
        while true {
            guard let key = scalar(isInFlow: false), key.text.count < Self.longestKey, byte() == Byte.colon else {
                return .unknown
            }
            add(key)
            at += 1
            guard byte() == Byte.space || byte() == Byte.newline else { return .unknown }
            skipSpaces()
            let next: Place
            if byte() == Byte.newline || byte() == Byte.comment {
                guard endLine() else { return .unknown }
                next = nested(below: column, depth: depth + 1)
            } else {
                next = value(depth: depth + 1) ? nextPlace() : .unknown
            }
            guard next == .column(column) else {
                if next == .unknown || next.isDeeper(than: column) { return .unknown }
                end()
                return next
            }
            if isEntry { return .unknown }
        }
    }

    /// What stands on the lines below a key in this column.
    private mutating func nested(below column: Int, depth: Int) -> Place {
        guard case .column(let next) = nextPlace() else { return .unknown }
        if next == column, isEntry { return sequence(next, isAtKey: true, depth: depth) }
        return next > column ? block(next, depth: depth) : .unknown
    }

    /// With `isAtKey` its dashes stand in the column of the key whose value it is.
    private mutating func sequence(_ column: Int, isAtKey: Bool, depth: Int) -> Place {
        guard depth < Self.deepest else { return .unknown }
        begin(.sequence, isFlow: false, span(at, isAtKey ? at + 1 : at))
        while true {
            at += 1
            skipSpaces()
            guard byte() != Byte.newline, byte() != Byte.comment, !isEntry else { return .unknown }
            let next: Place
            if isKeyAhead() {
                next = mapping(self.column, depth: depth + 1)
            } else {
                next = value(depth: depth + 1) ? nextPlace() : .unknown
            }
            guard next == .column(column), isEntry else {
                if next == .unknown || next.isDeeper(than: column) { return .unknown }
                if next == .column(column), !isAtKey { return .unknown }
                end()
                return next
            }
        }
    }

    /// Whether a key and its colon stand here.
    private mutating func isKeyAhead() -> Bool {
        let start = at
        defer { at = start }
        return scalar(isInFlow: false) != nil && byte() == Byte.colon
    }

    /// A value on the rest of the line.
    private mutating func value(depth: Int) -> Bool {
        if byte() == Byte.brace || byte() == Byte.bracket {
            guard flow(depth: depth) else { return false }
        } else {
            guard let value = scalar(isInFlow: false) else { return false }
            add(value)
        }
        return endLine()
    }

    // MARK: Flows

    private mutating func flow(depth: Int) -> Bool {
        guard depth < Self.deepest, !builder.isOverLimit else { return false }
        let isMapping = byte() == Byte.brace
        let close = isMapping ? Byte.braceEnd : Byte.bracketEnd
        begin(isMapping ? .mapping : .sequence, isFlow: true, span(at, at + 1))
        at += 1
        skipSpaces()
        while byte() != close {
            if isMapping {
                guard let key = scalar(isInFlow: true), key.text.count < Self.longestKey, byte() == Byte.colon,
                    byte(1) == Byte.space
                else { return false }
                add(key)
                at += 1
                skipSpaces()
            }
            if byte() == Byte.brace || byte() == Byte.bracket {
                guard flow(depth: depth + 1) else { return false }
            } else {
                guard let value = scalar(isInFlow: true) else { return false }
                add(value)
            }
            skipSpaces()
            if byte() == close { break }
            guard byte() == Byte.comma else { return false }
            at += 1
            skipSpaces()
            // One more that is not there.
            if byte() == close { return false }
        }
        at += 1
        builder.endCollection(at: (line, Int32(truncatingIfNeeded: column) + 1))
        return true
    }

    // MARK: Scalars

    private mutating func scalar(isInFlow: Bool) -> Scalar? {
        switch byte() {
        case Byte.quote: quoted(Byte.quote)
        case Byte.apostrophe: quoted(Byte.apostrophe)
        default: plain(isInFlow)
        }
    }

    private mutating func quoted(_ quote: UInt8) -> Scalar? {
        let start = at
        at += 1
        while byte() != quote {
            guard Kind.of(byte()) != .other, byte() != Byte.backslash || quote != Byte.quote else { return nil }
            at += 1
        }
        at += 1
        // Two are one that is meant.
        if quote == Byte.apostrophe, byte() == quote { return nil }
        return Scalar(text: start + 1..<at - 1, span: span(start, at), isPlain: false)
    }

    private mutating func plain(_ isInFlow: Bool) -> Scalar? {
        let start = at
        guard Kind.beginsPlain(byte()) else { return nil }
        while true {
            switch Kind.of(byte()) {
            case .plain: at += 1
            case .inFlow:
                if isInFlow { return end(of: start, at) }
                at += 1
            case .question:
                if isInFlow { return nil }
                at += 1
            case .colon:
                let next = Kind.of(byte(1))
                if next == .space || byte(1) == Byte.newline { return end(of: start, at) }
                guard next != .other, !isInFlow || next == .plain || next == .colon else { return nil }
                at += 1
            case .space:
                let end = at
                skipSpaces()
                let next = Kind.of(byte())
                if byte() == Byte.newline || byte() == Byte.comment || isInFlow && next == .inFlow {
                    at = end
                    return self.end(of: start, end)
                }
                // Of a colon there it would have to be known whether it ends a key.
                guard next != .colon, next != .other else { return nil }
            case .other: return byte() == Byte.newline ? end(of: start, at) : nil
            }
        }
    }

    private func end(of start: Int, _ end: Int) -> Scalar {
        Scalar(text: start..<end, span: span(start, end), isPlain: true)
    }

    /// What a byte is to a plain scalar.
    private enum Kind: UInt8 {
        case plain, space, colon, inFlow, question, other

        @inline(__always)
        static func of(_ byte: UInt8) -> Kind {
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "-")...UInt8(ascii: "9"): .plain
            case Byte.space: .space
            case Byte.colon: .colon
            case Byte.comma, Byte.brace, Byte.braceEnd, Byte.bracket, Byte.bracketEnd: .inFlow
            case UInt8(ascii: "?"): .question
            case 0x21...0x7E: .plain
            default: .other
            }
        }

        /// Letters and digits, and what stands before a path.
        @inline(__always)
        static func beginsPlain(_ byte: UInt8) -> Bool {
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: ".")...UInt8(ascii: "9"), UInt8(ascii: "_"), UInt8(ascii: "~"), UInt8(ascii: "$"):
                true
            default: false
            }
        }
    }

    // MARK: Lines

    @inline(__always)
    private mutating func skipSpaces() { while byte() == Byte.space { at += 1 } }

    /// Nothing but a comment may stand on the rest of the line.
    private mutating func endLine() -> Bool {
        skipSpaces()
        if byte() == Byte.comment, at == lineStart || byte(-1) == Byte.space {
            while byte() != Byte.newline {
                guard Kind.of(byte()) != .other else { return false }
                at += 1
            }
        }
        guard byte() == Byte.newline else { return false }
        at += 1
        line += 1
        lineStart = at
        return true
    }

    private mutating func nextPlace() -> Place {
        while unsafe at < bytes.count {
            skipSpaces()
            if byte() != Byte.newline, byte() != Byte.comment {
                // The document's end, or the next one.
                let isOver = column == 0 && (isMarker(UInt8(ascii: ".")) || hasBegun && isMarker(Byte.dash))
                return isOver ? .unknown : .column(column)
            }
            guard endLine() else { return .unknown }
        }
        return .end
    }

    private func isMarker(_ mark: UInt8) -> Bool {
        unsafe at + 3 < bytes.count && byte() == mark && byte(1) == mark && byte(2) == mark
    }

    // MARK: What it found

    private mutating func begin(_ form: NodeRecord.Form, isFlow: Bool, _ span: SourceSpan) {
        builder.begin(form, isFlow: isFlow, span: span, anchor: nil, tag: nil)
    }

    /// Of a block: the builder knows where its last node ended.
    private mutating func end() { builder.endCollection(at: (0, 0)) }

    private mutating func add(_ scalar: Scalar) {
        unsafe builder.scalar(
            UnsafeBufferPointer(rebasing: bytes[scalar.text]), span: scalar.span, isPlain: scalar.isPlain, anchor: nil,
            tag: nil)
    }
}
