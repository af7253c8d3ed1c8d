import TransferModel
import YAMLTree

/// Reads YAML values as JSON. Recursive: a file is at most 64 levels deep.
struct JSONReader {
    let reader: Reader

    func jsonTemplate(_ node: NodeID) -> JSONTemplate? {
        switch reader.tree.kind(node) {
        case .sequence:
            let elements = reader.tree.children(node).map { jsonTemplate($0) }
            return elements.contains { $0 == nil } ? nil : .list(elements.compactMap { $0 })
        case .mapping:
            var members: [JSONTemplate.Member] = []
            var isWhole = true
            for (name, _, value) in reader.named(node, .json) {
                guard let value = jsonTemplate(value) else {
                    isWhole = false
                    continue
                }
                members.append(JSONTemplate.Member(name: name, value: value))
            }
            return isWhole ? .object(members) : nil
        case .scalar:
            if let value = Interpolation(reader: reader).wholeValue(node) {
                if case .text(let text) = value, text.awaitsCapture, !reader.scope.isInTask {
                    return reader.refuseCapture(node)
                }
                return Self.template(value)
            }
            return reader.scalar(node, .json, place: .body).flatMap { jsonScalar($0, node) }
        }
    }

    private func jsonScalar(_ value: ScalarValue, _ node: NodeID) -> JSONTemplate? {
        switch value {
        case .null: return .null
        case .boolean(let value): return .boolean(value)
        case .number(let text): return jsonNumber(text, node).map { .number($0) }
        case .text(let text): return .string(text)
        case .unknown: return Self.unknown
        }
    }

    /// Stands for a value that is not known in a check: no request is made of it.
    private static let unknown = JSONTemplate.string(SecretText(MissingValue.placeholder))

    private static func template(_ value: Value) -> JSONTemplate {
        switch value {
        case .null: return .null
        case .boolean(let value): return .boolean(value)
        case .number(let text): return NumberText.json(text).map { .number($0) } ?? .string(SecretText(text))
        case .text(let text): return .string(text)
        case .record(let text, _): return .string(SecretText(text))
        case .list(let values): return .list(values.map { template($0) })
        case .map(let entries): return .object(entries.map { .init(name: $0.key, value: template($0.value)) })
        case .captured(let item): return .string(item.reference)
        case .unknown, .missing, .wild: return unknown
        }
    }

    private func jsonNumber(_ text: String, _ node: NodeID) -> String? {
        if let number = NumberText.json(text) {
            if reader.tree.looksOctal(node) {
                reader.warning(
                    "looks-octal", "`\(text)` is sent as the number \(number)",
                    hint: "quote it to send it as text, or leave the leading zero out", at: reader.tree.span(node))
            }
            return number
        }
        return reader.error(
            "invalid-value", "`\(text)` is no number that JSON knows", hint: "quote it to send it as text", node)
    }
}

enum NumberText {
    /// Returns the number as JSON writes it: unchanged if JSON allows that (`3.10` stays), else the same number in
    /// JSON's form (for `0x1F`, `+1`, `.5`, `012`); `nil` for infinity and NaN.
    static func json(_ text: String) -> String? {
        if isJSON(text) { return text }
        if let integer = ValueText.integer(text) { return String(integer) }
        guard let double = ValueText.number(text) else { return nil }
        return double == double.rounded() && abs(double) < 1e15 ? String(Int64(double)) : "\(double)"
    }

    private static func isJSON(_ text: String) -> Bool {
        var rest = text.utf8[...]
        if rest.first == UInt8(ascii: "-") { rest = rest.dropFirst() }
        guard let first = rest.first, isDigit(first) else { return false }
        rest = first == UInt8(ascii: "0") ? rest.dropFirst() : rest.drop(while: isDigit)
        if rest.first == UInt8(ascii: ".") {
            let digits = rest.dropFirst().prefix(while: isDigit)
            guard !digits.isEmpty else { return false }
            rest = rest[digits.endIndex...]
        }
        if rest.first.map({ $0 | 0x20 }) == UInt8(ascii: "e") {
            rest = rest.dropFirst()
            if rest.first == UInt8(ascii: "+") || rest.first == UInt8(ascii: "-") { rest = rest.dropFirst() }
            let digits = rest.prefix(while: isDigit)
            guard !digits.isEmpty else { return false }
            rest = rest[digits.endIndex...]
        }
        return rest.isEmpty
    }

    private static func isDigit(_ byte: UInt8) -> Bool { (0x30...0x39).contains(byte) }
}
