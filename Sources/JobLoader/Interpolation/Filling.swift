import TransferModel

/// One text being filled in, with the rules of the place where it stands.
struct Filling {
    enum Problem {
        case addsURLPart
        case controlCharacter
        case leadingCapture
        case tooLong
    }

    /// Texts that are made of one another double at each step. Of what one text may become this is far more than any needs
    /// that people write; so many bytes may all long ones of a file come to together.
    static let longest = 16 << 20
    static let short = 64 << 10
    static let mostOfLong = 256 << 20

    let place: Place
    /// In a URL an `@` of the job's own follows: what is placed before it is a user's or a password, and encoded it
    /// cannot become anything else.
    var isBeforeAt = false
    var text = TextAssembly()
    private(set) var length = 0
    private(set) var isUnknown = false
    /// Nothing stands before what comes next.
    private var isAtStart = true
    private var cursor = URLCursor()
    /// For paths: the text so far, and the stretches of it that a value after the start made.
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
        guard let value = piece.known else { return isFirst ? .leadingCapture : nil }
        let start = path.utf8.count
        path += value
        if !isFirst { placed.append(start..<path.utf8.count) }
        return nil
    }

    /// Whether a `..` stands in the path that was not there before values were placed after its start.
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

extension SecretText.Piece {
    /// What it stands for, if that is known already.
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
