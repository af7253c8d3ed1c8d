/// Follows a URL as it is put together, to know in which part of it the next value stands.
package struct URLCursor: Sendable {
    package enum Part: Sendable {
        case scheme
        case afterColon
        case authority
        case path
        case query
    }
    package private(set) var part: Part
    private var slashes = 0

    /// `part`: where the text begins, which need not be a whole URL.
    package init(in part: Part = .scheme) { self.part = part }

    package mutating func feed(_ text: String) {
        for byte in text.utf8 { feed(byte) }
    }

    private mutating func feed(_ byte: UInt8) {
        switch (part, byte) {
        case (.query, _): break
        case (_, UInt8(ascii: "?")), (_, UInt8(ascii: "#")): part = .query
        case (.scheme, UInt8(ascii: ":")): part = .afterColon
        case (.scheme, UInt8(ascii: "/")): part = .path
        case (.afterColon, UInt8(ascii: "/")):
            slashes += 1
            if slashes == 2 { part = .authority }
        case (.afterColon, _), (.authority, UInt8(ascii: "/")): part = .path
        default: break
        }
    }

    /// The text as it may stand here: it cannot begin another part.
    package func escaped(_ text: String) -> String {
        if text.utf8.allSatisfy({ (0x61...0x7A).contains($0 | 0x20) && $0 < 0x80 || (0x30...0x39).contains($0) }) {
            return text
        }
        return PercentEncoding.encode(text, keepingSlash: part == .path || part == .afterColon)
    }

    /// What a value becomes where the text has come to; `nil` when it would add another part there. `isBeforeAt`: a `@`
    /// follows within the authority, so that it is a user's or a password and cannot become anything else.
    package func placing(_ value: String, isBeforeAt: Bool) -> String? {
        let placed = escaped(value)
        let mayBeEncoded = part != .scheme && (part != .authority || isBeforeAt)
        return placed == value || mayBeEncoded ? placed : nil
    }
}

/// Puts a text together piece by piece, joining what is plain.
package struct TextAssembly: Sendable {
    private var pieces: [SecretText.Piece] = []
    private var literal = ""

    package init() {}

    package mutating func append(_ text: String) { literal += text }

    package mutating func append(_ piece: SecretText.Piece) {
        if case .literal(let text) = piece { return literal += text }
        flush()
        pieces.append(piece)
    }

    private mutating func flush() {
        if !literal.isEmpty { pieces.append(.literal(literal)) }
        literal = ""
    }

    package mutating func finish() -> SecretText {
        if pieces.isEmpty { return SecretText(literal) }
        flush()
        return SecretText(pieces: pieces)
    }
}
