/// Follows a URL as it is put together, to know in which of its parts the next value stands.
package struct URLCursor: Sendable {
    /// A part of a URL, as far as it matters to how a value is escaped; `query` includes a fragment.
    package enum Part: Sendable {
        case scheme
        case afterColon
        case authority
        case path
        case query
    }
    /// The part in which the text ends so far.
    package private(set) var part: Part
    private var slashes = 0
    /// The last byte of the user, host and port so far; `nil` where they are empty.
    private var lastOfAuthority: UInt8?

    /// `part` is the part in which the text begins, if the text is not a whole URL.
    package init(in part: Part = .scheme) { self.part = part }

    /// Advances over the next piece of the text.
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
        case (.authority, _): lastOfAuthority = byte
        default: break
        }
    }

    /// Whether the text ends in a host's name or a port, which a value here would make longer. After a `.`, `:` or `-` the
    /// job wants a value there.
    package var endsInHost: Bool {
        guard part == .authority, let last = lastOfAuthority else { return false }
        return last >= 0x80 || (0x61...0x7A).contains(last | 0x20) || (0x30...0x39).contains(last)
            || last == UInt8(ascii: "]")
    }

    /// Returns the text in the form that cannot begin another part here: percent-encoded unless it is letters and
    /// digits alone.
    package func escaped(_ text: String) -> String {
        if text.utf8.allSatisfy({ (0x61...0x7A).contains($0 | 0x20) && $0 < 0x80 || (0x30...0x39).contains($0) }) {
            return text
        }
        return PercentEncoding.encode(text, keepingSlash: part == .path || part == .afterColon)
    }

    /// Returns the value in its form at this place, or `nil` when it would add another part there. `isBeforeAt`: an `@`
    /// follows within the authority, so that the value is a user or a password and can be encoded.
    package func placing(_ value: String, isBeforeAt: Bool) -> String? {
        if endsInHost, !isBeforeAt, value.utf8.first == UInt8(ascii: "/") {
            // It ends the host and is the path, in which escapes of its own stay.
            return value.utf8.contains { "?#\\".utf8.contains($0) } ? nil : value
        }
        let placed = escaped(value)
        let mayBeEncoded = part != .scheme && (part != .authority || isBeforeAt)
        return placed == value || mayBeEncoded ? placed : nil
    }
}

/// Puts a text together piece by piece and joins adjacent plain pieces.
package struct TextAssembly: Sendable {
    private var pieces: [SecretText.Piece] = []
    private var literal = ""

    package init() {}

    /// Appends plain text.
    package mutating func append(_ text: String) { literal += text }

    /// Appends a piece, which may be secret or not captured yet.
    package mutating func append(_ piece: SecretText.Piece) {
        if case .literal(let text) = piece { return literal += text }
        flush()
        pieces.append(piece)
    }

    private mutating func flush() {
        if !literal.isEmpty { pieces.append(.literal(literal)) }
        literal = ""
    }

    /// Returns the whole text.
    package mutating func finish() -> SecretText {
        if pieces.isEmpty { return SecretText(literal) }
        flush()
        return SecretText(pieces: pieces)
    }
}
