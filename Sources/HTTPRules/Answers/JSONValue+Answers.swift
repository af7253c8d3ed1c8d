import TextFormats
import TransferModel

extension JSONValue {
    /// As JSON, for people.
    var words: String {
        var writer = JSONWriter()
        append(to: &writer)
        return String(decoding: writer.bytes, as: UTF8.self)
    }

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

    /// The texts and numbers in a list or map that are long enough to be known by.
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

    /// Whether somewhere in it a string is no text.
    var isBroken: Bool {
        switch self {
        case .broken: true
        case .array(let elements): elements.contains(where: \.isBroken)
        case .object(let members): members.contains(where: \.value.isBroken)
        case .null, .boolean, .number, .string: false
        }
    }

    /// Numbers are the same when they mean the same, `1` and `1.0`; members may come in any order.
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
