import Glibc
import TransferModel
import YAMLTree

/// The value of a scalar after interpolation.
enum ScalarValue {
    case null
    case boolean(Bool)
    /// A number as it was written.
    case number(String)
    case text(SecretText)
    /// A value that is unknown until another task has ended; it cannot be checked yet.
    case unknown
}

extension Reader {
    /// Returns the node's value; `nil` if it is no scalar or uses an unknown name, which is reported.
    func scalar(_ node: NodeID, _ shape: Shape, place: Place = .value) -> ScalarValue? {
        guard tree.kind(node) == .scalar else { return wrongType(node, shape) }
        if tree.hasDollar(node) { return Interpolation(reader: self).interpolated(node, place) }
        switch tree.resolve(node) {
        case .null: return .null
        case .boolean(let value): return .boolean(value)
        case .integer, .float: return .number(tree.text(node))
        case .string: return .text(SecretText(tree.text(node)))
        }
    }

    /// Returns the text of a value other than null, boolean, list and map.
    func text(_ node: NodeID, _ shape: Shape = .text, place: Place = .value) -> String? {
        switch scalar(node, shape, place: place) {
        case .text(let text): return plain(text, node)
        case .number(let number): return number
        case .boolean(let value) where tree.hasDollar(node): return value ? "true" : "false"
        case .null, .boolean:
            return wrongType(node, shape)
        case .unknown, nil: return nil
        }
    }

    /// Returns the text if it is known and no secret, else reports it: where a text decides what the job is, neither a
    /// secret nor a captured value can stand.
    func plain(_ text: SecretText, _ node: NodeID) -> String? {
        if let plain = text.plain { return plain }
        if text.isSecret {
            return error(
                "secret-not-allowed", "a secret cannot stand in `\(key)`",
                hint: "it would be written where anybody can read it", node)
        }
        return refuseCapture(node)
    }

    func boolean(_ node: NodeID) -> Bool? {
        switch scalar(node, .boolean) {
        case .boolean(let value): return value
        case .text(let text) where tree.hasDollar(node) && text.plain == "true": return true
        case .text(let text) where tree.hasDollar(node) && text.plain == "false": return false
        case .text(let text) where tree.hasDollar(node) && text.plain != nil: return noBoolean(text.revealed, node)
        case .number(let number) where tree.hasDollar(node): return noBoolean(number, node)
        case .text, .number, .null:
            return wrongType(node, .boolean)
        case .unknown, nil: return nil
        }
    }

    /// Reports that the value of a `${…}`, rather than the text in the file, is no boolean.
    private func noBoolean(_ text: String, _ node: NodeID) -> Bool? {
        return error("wrong-type", "`\(key)` must be \(Shape.boolean.words), not `\(Self.short(text))`", node)
    }

    func integer(_ node: NodeID, _ range: ClosedRange<Int64>) -> Int64? {
        let shape = Shape.integer(range)
        guard let text = numberText(node, shape) else { return nil }
        if tree.looksOctal(node) {
            warning(
                "looks-octal", "`\(text)` is decimal in YAML 1.2", hint: "leave the leading zero out, or write `0o…`",
                at: tree.span(node))
        }
        guard let value = ValueText.integer(text) else {
            if ValueText.number(text) != nil { wrongType(node, shape) } else { invalid(node, shape, text) }
            return nil
        }
        guard range.contains(value) else { return outOfRange(node, shape, text) }
        return value
    }

    func number(_ node: NodeID, _ range: ClosedRange<Double>) -> Double? {
        let shape = Shape.number(range)
        guard let text = numberText(node, shape) else { return nil }
        guard let value = ValueText.number(text) else { return invalid(node, shape, text) }
        guard range.contains(value) else { return outOfRange(node, shape, text) }
        return value
    }

    /// Reads a number, or text that interpolation made of one; quoted digits are text.
    private func numberText(_ node: NodeID, _ shape: Shape) -> String? {
        switch scalar(node, shape) {
        case .number(let number): return number
        case .text(let text) where tree.hasDollar(node): return plain(text, node)
        case .text, .null, .boolean:
            return wrongType(node, shape)
        case .unknown, nil: return nil
        }
    }

    func duration(_ node: NodeID, positive: Bool = false) -> TimeSpan? {
        guard let text = text(node, .duration) else { return nil }
        if text.hasPrefix("-") {
            return error("out-of-range", "`\(key)` is never negative: `\(Self.short(text))`", node)
        }
        guard let span = ValueText.duration(text) else {
            let most = TimeSpan.forever.nanoseconds / TimeSpan.seconds(86_400).nanoseconds
            if !isTooMuch(node, text, most: "\(most)d", ValueText.duration) {
                invalid(node, .duration, text, hint: ValueText.durationHint(text))
            }
            return nil
        }
        if positive, span == .zero { return error("out-of-range", "`\(key)` must be longer than nothing", node) }
        return span
    }

    func size(_ node: NodeID) -> Int64? {
        guard let text = text(node, .size) else { return nil }
        guard let size = ValueText.size(text) else {
            if text.hasPrefix("-") {
                error("out-of-range", "`\(key)` is never negative: `\(Self.short(text))`", node)
            } else if !isTooMuch(node, text, most: "8388607TiB", ValueText.size) {
                invalid(node, .size, text, hint: ValueText.unitHint(text, isRate: false))
            }
            return nil
        }
        return size
    }

    /// Returns whether only the number in the text is too large, which is reported then.
    private func isTooMuch<Value>(_ node: NodeID, _ text: String, most: String, _ read: (String) -> Value?) -> Bool {
        guard read(ValueText.withOnes(text)) != nil else { return false }
        error("out-of-range", "`\(key)` is too large: `\(Self.short(text))`", hint: "at most `\(most)`", node)
        return true
    }

    func rate(_ node: NodeID) -> Int64? {
        guard let text = text(node, .rate) else { return nil }
        guard let rate = ValueText.rate(text) else {
            if text == "0" { return nothing(node) }
            if !isTooMuch(node, text, most: "8388607TiB/s", ValueText.rate) {
                invalid(node, .rate, text, hint: ValueText.rateHint(text))
            }
            return nil
        }
        return rate > 0 ? rate : nothing(node)
    }

    private func nothing(_ node: NodeID) -> Int64? {
        return error(
            "out-of-range", "`\(key)` must be more than nothing", hint: "leave it out where there is no limit", node)
    }

    func choice<Value: RawRepresentable & CaseIterable & SendableMetatype>(_ node: NodeID, as type: Value.Type)
        -> Value?
    where Value.RawValue == String {
        // The known words are only collected if the text is none of them.
        if tree.kind(node) == .scalar, !tree.hasDollar(node), case .string = tree.resolve(node),
            let value = Value(rawValue: tree.text(node))
        {
            return value
        }
        let known = Value.allCases.map(\.rawValue)
        guard let text = text(node, .choice(known)) else { return nil }
        if let value = Value(rawValue: text) { return value }
        unknownWord(text, node, known)
        return nil
    }

    func fileMode(_ node: NodeID) -> UInt16? {
        guard let text = text(node, .fileMode) else { return nil }
        let isDecimal =
            tree.isPlain(node) && !tree.hasDollar(node) && text.utf8.allSatisfy { (0x30...0x39).contains($0) }
        if isDecimal {
            let octal = String(ValueText.fileMode(text) ?? 0o644, radix: 8)
            return error(
                "decimal-mode", "a bare `\(Self.short(text))` is a decimal number in YAML 1.2, no file mode",
                hint: "quote it: \"0\(octal)\", or write 0o\(octal)", node)
        }
        return ValueText.fileMode(text) ?? invalid(node, .fileMode, text)
    }

    func timeOfDay(_ node: NodeID) -> Int? {
        text(node, .timeOfDay).flatMap { ValueText.timeOfDay($0) ?? invalid(node, .timeOfDay, $0) }
    }

    func unknownWord(_ text: String, _ node: NodeID, _ known: [String]) {
        let folded = known.first { $0.lowercased() == text.lowercased() }
        let isWord = text.utf8.contains { (0x61...0x7A).contains($0 | 0x20) }
        let hint = (folded ?? (isWord ? closest(text, known) : nil)).map { "did you mean `\($0)`?" }
        error("invalid-value", "`\(key)` must be \(Shape.oneOf(known)), not `\(Self.short(text))`", hint: hint, node)
    }
}

extension StringProtocol {
    func trimmingBlanks() -> String {
        var slice = Substring(self)
        while let first = slice.utf8.first, first == 0x20 || first == 0x09 { slice = slice.dropFirst() }
        while let last = slice.utf8.last, last == 0x20 || last == 0x09 { slice = slice.dropLast() }
        return String(slice)
    }
}
