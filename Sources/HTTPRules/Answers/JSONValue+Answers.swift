import TextFormats
import TransferModel

extension JSONValue {
    /// The JSON text for people.
    var words: String {
        var writer = JSONWriter()
        append(to: &writer)
        return String(decoding: writer.bytes, as: UTF8.self)
    }

    /// Whether it is `null`, `false` or an empty text, by which answers say that no page follows.
    var saysNothing: Bool {
        switch self {
        case .null, .boolean(false): true
        case .string(let text): text.isEmpty
        case .boolean(true), .number, .array, .object, .broken: false
        }
    }

    /// Whether it can mean that another page follows: `true`, a text, or a number other than 0.
    var mayNamePage: Bool {
        switch self {
        case .boolean(let value): value
        case .string(let text): !text.isEmpty && text != "false"
        case .number(let text): text != "0"
        case .null, .array, .object, .broken: false
        }
    }

    /// Whether it, or a member of the object that it is (`{ "href": "/2" }`), can mean that another page follows.
    var namesPageSomehow: Bool {
        if case .object(let members) = self { members.contains { $0.value.mayNamePage } } else { mayNamePage }
    }

    /// The value as a capture holds it.
    var plain: PlainValue {
        switch self {
        case .null: .null
        case .boolean(let value): .boolean(value)
        case .number(let text): .number(text)
        case .string(let text), .broken(let text): .string(text)
        case .array(let elements): .list(elements.map(\.plain))
        case .object(let members): .map(members.map { PlainValue.Entry(key: $0.name, value: $0.value.plain) })
        }
    }

    /// The texts and numbers in a list or object that are long enough to be redacted.
    var leaves: [String] {
        switch self {
        case .array(let elements): elements.flatMap(\.leaf)
        case .object(let members): members.flatMap(\.value.leaf)
        case .null, .boolean, .number, .string, .broken: []
        }
    }

    private var leaf: [String] {
        switch self {
        case .string(let text), .broken(let text), .number(let text): text.utf8.count >= 4 ? [text] : []
        case .null, .boolean, .array, .object: leaves
        }
    }

    /// Whether any string in the value is no valid text.
    var isBroken: Bool {
        switch self {
        case .broken: true
        case .array(let elements): elements.contains(where: \.isBroken)
        case .object(let members): members.contains(where: \.value.isBroken)
        case .null, .boolean, .number, .string: false
        }
    }

    /// Whether the values are equal: numbers by value, `1` and `1.0`; members in any order.
    func isSame(as wanted: JSONTemplate) -> Bool {
        switch (self, wanted) {
        case (.null, .null): true
        case (.boolean(let left), .boolean(let right)): left == right
        case (.number(let left), .number(let right)): DecimalNumber.areSame(left, right)
        case (.string(let left), .string(let right)): left.isExactly(right.revealed)
        case (.array(let left), .list(let right)):
            left.count == right.count && zip(left, right).allSatisfy { $0.isSame(as: $1) }
        case (.object(let left), .object(let right)):
            left.count == right.count
                && right.allSatisfy { member in self[member.name]?.isSame(as: member.value) == true }
        default: false
        }
    }
}
