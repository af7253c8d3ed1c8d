import TransferModel

/// A text whose `${…}` are being filled in, under the rules of its place.
struct Filling {
    enum Problem {
        case addsURLPart
        case controlCharacter
        case leadingCapture
        case tooLong
    }

    /// Largest length of one text in bytes, far more than a written job needs: texts that are made of one another
    /// double at each step. Texts longer than `short` may have `mostOfLong` bytes together in a file.
    static let longest = 16 << 20
    static let short = 64 << 10
    static let mostOfLong = 256 << 20

    let place: Place
    /// Whether an `@` of the job's own follows in the URL: then the value is a user name or password, and encoded it
    /// cannot become anything else.
    var isBeforeAt = false
    var text = TextAssembly()
    private(set) var length = 0
    private(set) var isUnknown = false
    /// Whether the text is empty so far.
    private var isAtStart = true
    private var cursor = URLCursor()
    /// For paths: the text so far. `placed` holds the byte ranges that values after the start have filled.
    private(set) var path = ""
    private var placed: [Range<Int>] = []

    init(place: Place) { self.place = place }

    mutating func append(literal: String) {
        length += literal.utf8.count
        if !literal.isEmpty { isAtStart = false }
        text.append(literal)
        if place == .url { cursor.feed(literal) }
        if place == .path { path += literal }
    }

    mutating func append(_ value: ScalarValue, isRaw: Bool) -> Problem? {
        let isFirst = isAtStart
        switch value {
        case .null: break
        case .boolean(let value): return append(piece: .literal(value ? "true" : "false"), isFirst, isRaw)
        case .number(let number): return append(piece: .literal(number), isFirst, isRaw)
        case .text(let text):
            if let plain = text.plain { return append(piece: .literal(plain), isFirst, isRaw) }
            for piece in text.pieces {
                if let problem = append(piece: piece, isFirst, isRaw) { return problem }
            }
        case .unknown: (isUnknown, isAtStart) = (true, false)
        }
        return nil
    }

    private mutating func append(piece: SecretText.Piece, _ isFirst: Bool, _ isRaw: Bool) -> Problem? {
        length += piece.known?.utf8.count ?? 0
        if piece.known?.isEmpty != true { isAtStart = false }
        guard length <= Self.longest else { return .tooLong }
        switch place {
        case .value, .word, .body: text.append(piece)
        case .header:
            if let value = piece.known, value.utf8.contains(where: { $0 == 0x0D || $0 == 0x0A || $0 == 0 }) {
                return .controlCharacter
            }
            text.append(piece)
        case .url: return append(inURL: piece, isAsItIs: isFirst || isRaw)
        case .path: return append(inPath: piece, isFirst)
        }
        return nil
    }

    private mutating func append(inURL piece: SecretText.Piece, isAsItIs: Bool) -> Problem? {
        guard let value = piece.known else {
            if case .capture(let task, let name, _) = piece {
                text.append(.capture(task: task, name: name, escaping: isAsItIs ? .none : .url))
            }
            return nil
        }
        if value.utf8.contains(where: { $0 == 0x0D || $0 == 0x0A || $0 == 0 }) { return .controlCharacter }
        guard let placed = isAsItIs ? value : cursor.placing(value, isBeforeAt: isBeforeAt) else { return .addsURLPart }
        cursor.feed(placed)
        text.append(piece.replacing(placed))
        return nil
    }

    private mutating func append(inPath piece: SecretText.Piece, _ isFirst: Bool) -> Problem? {
        text.append(piece)
        guard let value = piece.known else { return isFirst && !piece.isPage ? .leadingCapture : nil }
        let start = path.utf8.count
        path += value
        if !isFirst { placed.append(start..<path.utf8.count) }
        return nil
    }

    /// Whether a value placed after the path's start made a `..` segment.
    var hasNewParentSegment: Bool {
        guard !placed.isEmpty, Paths.hasTwoDots(path) else { return false }
        var start = 0
        let bytes = Array(path.utf8)
        while start <= bytes.count {
            let end = bytes[start...].firstIndex(of: UInt8(ascii: "/")) ?? bytes.count
            if end - start == 2, bytes[start] == 0x2E, bytes[start + 1] == 0x2E,
                placed.contains(where: { $0.overlaps(start..<end) })
            {
                return true
            }
            start = end + 1
        }
        return false
    }
}

extension SecretText {
    /// Whether the text begins with the number of a page, which may begin a path: it is digits alone.
    func begins(withPage: Bool) -> Bool { pieces.first?.isPage == withPage }
}

extension SecretText.Piece {
    /// Whether it is the number of a page.
    var isPage: Bool {
        if case .capture(RunEnds.run, RunEnds.page, _) = self { true } else { false }
    }

    /// The piece's text; `nil` for a captured value, which is not known yet.
    var known: String? {
        switch self {
        case .literal(let text), .secret(_, let text, _): text
        case .capture: nil
        }
    }

    func replacing(_ text: String) -> SecretText.Piece {
        switch self {
        case .literal: .literal(text)
        case .secret(let name, _, let hosts): .secret(name: name, value: text, hosts: hosts)
        case .capture: self
        }
    }
}
