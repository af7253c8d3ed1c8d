import TransferModel
import YAMLTree

/// Reads YAML values as JSON. Recursive: a file is at most 64 levels deep.
extension Reader {
    func jsonTemplate(_ node: NodeID) -> JSONTemplate? {
        switch tree.kind(node) {
        case .sequence:
            let elements = tree.children(node).map { jsonTemplate($0) }
            return elements.contains { $0 == nil } ? nil : .list(elements.compactMap { $0 })
        case .mapping:
            var members: [JSONTemplate.Member] = []
            var isWhole = true
            for (name, _, value) in named(node, .json) {
                guard let value = jsonTemplate(value) else {
                    isWhole = false
                    continue
                }
                members.append(JSONTemplate.Member(name: name, value: value))
            }
            return isWhole ? .object(members) : nil
        case .scalar:
            if let value = Interpolation(reader: self).wholeValue(node) {
                if case .text(let text) = value, text.awaitsCapture, !scope.isInTask { return refuseCapture(node) }
                return Self.template(value)
            }
            return scalar(node, .json, place: .body).flatMap { jsonScalar($0, node) }
        }
    }

    private func jsonScalar(_ value: ScalarValue, _ node: NodeID) -> JSONTemplate? {
        switch value {
        case .null: return .null
        case .boolean(let value): return .boolean(value)
        case .number(let text): return jsonNumber(text, node).map { .number($0) }
        case .text(let text): return .string(text)
        case .unknown: return nil
        }
    }

    private static func template(_ value: Value) -> JSONTemplate? {
        switch value {
        case .null: return .null
        case .boolean(let value): return .boolean(value)
        case .number(let text): return NumberText.json(text).map { .number($0) } ?? .string(SecretText(text))
        case .text(let text): return .string(text)
        case .record(let text, _): return .string(SecretText(text))
        case .list(let values): return .list(values.compactMap { template($0) })
        case .map(let entries):
            return .object(entries.compactMap { key, value in template(value).map { .init(name: key, value: $0) } })
        case .captured(let item): if case .text(let text)? = item.awaited { return .string(text) } else { return nil }
        case .unknown, .missing, .wild: return nil
        }
    }

    private func jsonNumber(_ text: String, _ node: NodeID) -> String? {
        if let number = NumberText.json(text) { return number }
        error("invalid-value", "`\(text)` is no number that JSON knows", hint: "quote it to send it as text", node)
        return nil
    }

    func plainValue(_ node: NodeID) -> PlainValue? {
        guard let template = jsonTemplate(node) else { return nil }
        return plain(template, node)
    }

    private func plain(_ template: JSONTemplate, _ node: NodeID) -> PlainValue? {
        switch template {
        case .null: return .null
        case .boolean(let value): return .boolean(value)
        case .number(let text): return .number(text)
        case .string(let text): return plain(text, node).map { .string($0) }
        case .list(let elements):
            let values = elements.map { plain($0, node) }
            return values.contains { $0 == nil } ? nil : .list(values.compactMap { $0 })
        case .object(let members):
            let entries = members.map { member in plain(member.value, node).map { (member.name, $0) } }
            guard !entries.contains(where: { $0 == nil }) else { return nil }
            return .map(entries.compactMap { $0 }.map { PlainValue.Entry(key: $0.0, value: $0.1) })
        }
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
