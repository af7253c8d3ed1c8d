// Puts captured values in their places. These come from the network: in a URL they may do no more than a value of the
// job (begin it), and in a path less.

extension SecretText {
    /// Where the text stands, which decides what a captured value may contain.
    package enum FilledPlace: Sendable {
        case text
        /// The value of the header of this name.
        case header(String)
        /// A URL, or the rest of one from this part on.
        case url(URLCursor.Part)
        case path
    }

    /// Returns the text with captured values filled in; secret ones stay secret.
    package func filled(from captured: CapturedValues, in place: FilledPlace) throws(TransferError) -> SecretText {
        guard awaitsCapture else { return self }
        var filling = CaptureFilling(place)
        let pieces = pieces
        for (number, piece) in pieces.enumerated() {
            guard case .capture(let task, let name, let escaping) = piece else {
                filling.append(piece)
                continue
            }
            let value = try captured.value(task, name)
            filling.isBeforeAt = Self.hasAt(pieces[(number + 1)...])
            filling.isWithinHost = Self.goesOnWithHost(pieces[(number + 1)...])
            filling.next = Self.nextMark(pieces[(number + 1)...])
            try filling.append(value, (task, name), escaping)
        }
        return try filling.finish()
    }

    /// Decides whether an `@` follows before anything that ends a URL's authority.
    private static func hasAt(_ pieces: ArraySlice<Piece>) -> Bool {
        for case .literal(let text) in pieces {
            if let mark = text.first(where: { "@/?#\\".contains($0) }) { return mark == "@" }
        }
        return false
    }
}

extension SecretText {
    /// The character that follows the value; a letter where it is not known yet, `nil` at the text's end.
    fileprivate static func nextMark(_ pieces: ArraySlice<Piece>) -> Character? {
        for piece in pieces {
            switch piece {
            case .literal(let text), .secret(_, let text, _): if let first = text.first { return first }
            case .capture: return "a"
            }
        }
        return nil
    }

    /// Decides whether the next text of the job's own goes on with a host's name.
    fileprivate static func goesOnWithHost(_ pieces: ArraySlice<Piece>) -> Bool {
        for case .literal(let text) in pieces {
            if let first = text.first { return !"/?#:\\".contains(first) }
        }
        return false
    }
}

/// A text that captured values are being put into.
private struct CaptureFilling {
    /// The task and the name under which it captured a value.
    typealias ValueName = (task: String, name: String)

    let place: SecretText.FilledPlace
    var isBeforeAt = false
    var isWithinHost = false
    /// What follows the value; `nil`: it ends the text.
    var next: Character?
    private var text = TextAssembly()
    private var cursor = URLCursor()
    /// The text so far, for paths and URLs.
    private var path = ""
    /// The stretches of `path` that captured values made.
    private var stretches: [(range: Range<Int>, name: ValueName)] = []

    init(_ place: SecretText.FilledPlace) {
        self.place = place
        if case .url(let part) = place { cursor = URLCursor(in: part) }
    }

    mutating func append(_ piece: SecretText.Piece) {
        text.append(piece)
        switch piece {
        case .literal(let known), .secret(_, let known, _):
            switch place {
            case .url:
                cursor.feed(known)
                path += known
            case .path: path += known
            case .text, .header: break
            }
        case .capture: break
        }
    }

    mutating func append(
        _ value: CapturedValue, _ name: ValueName, _ escaping: SecretText.Escaping
    ) throws(TransferError) {
        let placed = try placed(value, name, escaping)
        if value.isSecret {
            text.append(.secret(name: Self.key(name), value: placed, hosts: value.hosts))
        } else {
            text.append(placed)
        }
    }

    private static func key(_ name: ValueName) -> String { "${tasks.\(name.task).\(name.name)}" }
    private static func words(_ name: ValueName) -> String { CapturedValues.words(name.task, name.name) }

    private mutating func placed(
        _ captured: CapturedValue, _ name: ValueName, _ escaping: SecretText.Escaping
    ) throws(TransferError) -> String {
        let value = captured.text
        switch place {
        case .text: return value
        case .header(let header):
            try refuseControls(value, name, "the header `\(header)`") { $0 == 0x0D || $0 == 0x0A || $0 == 0 }
            return value
        case .url:
            try refuseControls(value, name, "a URL") { $0 == 0x0D || $0 == 0x0A || $0 == 0 }
            return try placedInURL(captured, name, escaping)
        case .path:
            try refuseControls(value, name, "a path") { $0 < 0x20 || $0 == 0x7F }
            let start = path.utf8.count
            path += value
            stretches.append((start..<path.utf8.count, name))
            return value
        }
    }

    private mutating func placedInURL(
        _ captured: CapturedValue, _ name: ValueName, _ escaping: SecretText.Escaping
    ) throws(TransferError) -> String {
        let value = captured.text
        if escaping == .none, cursor.part == .scheme {
            cursor.feed(value)
            path += value
            return value
        }
        if cursor.endsInHost, !isBeforeAt, !isWithinHost, !value.isEmpty, value.utf8.first != UInt8(ascii: "/") {
            throw .unplaced(
                "\(Self.words(name)) cannot stand\(TransferError.afterHostWords)of the URL", captured)
        }
        let isRaw = escaping == .none
        if isRaw, swallowsWhatFollows(value) {
            throw .unplaced("\(Self.words(name)) would take in what the job wrote behind it in the URL", captured)
        }
        guard let placed = isRaw ? value : cursor.placing(value, isBeforeAt: isBeforeAt) else {
            throw .unplaced("\(Self.words(name)) would add\(TransferError.otherPartWords)", captured)
        }
        let start = path.utf8.count
        path += placed
        if cursor.part != .query, !(isRaw && placed.isEmpty) { stretches.append((start..<path.utf8.count, name)) }
        cursor.feed(placed)
        return placed
    }

    /// Whether a value that is placed as it is (`${raw:…}`) makes what the job wrote behind it a part of its own query or
    /// fragment.
    private func swallowsWhatFollows(_ value: String) -> Bool {
        guard let next, next != "#" else { return false }
        return value.utf8.contains { byte in
            byte == UInt8(ascii: "#") || byte == UInt8(ascii: "?") && cursor.part != .query && !"?&".contains(next)
        }
    }

    private func refuseControls(
        _ value: String, _ name: ValueName, _ what: String, _ isRefused: (UInt8) -> Bool
    ) throws(TransferError) {
        guard value.utf8.contains(where: isRefused) else { return }
        throw TransferError(
            .captureUnusable,
            "the value of \(Self.words(name)) holds a control character, which cannot stand in \(what)")
    }

    mutating func finish() throws(TransferError) -> SecretText {
        switch place {
        case .path: try checkPath()
        case .url:
            try checkEmptySegments()
            try checkDots()
        case .text, .header: break
        }
        return text.finish()
    }

    /// Refuses empty values that are to be a whole segment of a URL's path: without it the URL means something else.
    private func checkEmptySegments() throws(TransferError) {
        let bytes = path.utf8
        for (range, name) in stretches where range.isEmpty {
            let place = bytes.index(bytes.startIndex, offsetBy: range.lowerBound)
            guard bytes[..<place].last == UInt8(ascii: "/"),
                bytes[place...].first.map({ "/?#".utf8.contains($0) }) != false
            else { continue }
            throw TransferError(
                .captureUnusable,
                "the value of \(Self.words(name)) is empty, and a part of the URL's path would be, too")
        }
    }

    /// Refuses values that add a `..` to the path of a URL: alone, with what stands beside them, or in any spelling.
    private func checkDots() throws(TransferError) {
        guard !stretches.isEmpty else { return }
        var start = 0
        let bytes = Array(path.utf8.prefix { $0 != UInt8(ascii: "?") && $0 != UInt8(ascii: "#") })
        while start <= bytes.count {
            let end = bytes[start...].firstIndex(of: UInt8(ascii: "/")) ?? bytes.count
            if let made = stretches.first(where: { $0.range.lowerBound <= end && $0.range.upperBound >= start }),
                PercentEncoding.decodeBytes(String(decoding: bytes[start..<end], as: UTF8.self)) == [0x2E, 0x2E]
            {
                throw TransferError(
                    .captureUnusable, "the value of \(Self.words(made.name)) would leave the path of the URL by `..`")
            }
            start = end + 1
        }
    }

    /// Refuses values that make anything but a name in the folder that the job chose, or names in folders below it.
    private func checkPath() throws(TransferError) {
        var start = 0
        let bytes = Array(path.utf8)
        while !stretches.isEmpty, start <= bytes.count {
            let end = bytes[start...].firstIndex(of: UInt8(ascii: "/")) ?? bytes.count
            let segment = bytes[start..<end]
            // A value may be empty: then it touches the segment it stands in.
            if let made = stretches.first(where: { $0.range.lowerBound <= end && $0.range.upperBound >= start }) {
                if segment.elementsEqual([0x2E, 0x2E]) {
                    throw TransferError(
                        .captureUnusable, "the value of \(Self.words(made.name)) would leave the folder of `to` by `..`"
                    )
                }
                if end == bytes.count, made.range.upperBound == end, segment.isEmpty || segment.elementsEqual([0x2E]) {
                    throw TransferError(
                        .captureUnusable, "the value of \(Self.words(made.name)) leaves `to` without a file's name")
                }
            }
            start = end + 1
        }
    }
}
