import TransferModel

/// What a name stands for.
enum Value {
    case null
    case boolean(Bool)
    /// As it was written: `3.10` stays `3.10`.
    case number(String)
    case text(SecretText)
    case list([Value])
    case map([(key: String, value: Value)])
    /// A line of a list of files or checksums: a text that has fields beside it.
    case record(text: String, fields: [(key: String, value: String)])
    /// Comes from a file that another task downloads.
    case unknown
    /// A variable of the environment that is not set, in a check that tolerates it.
    case missing
    /// Stands for all values that an unknown one may have, where ids are told apart.
    case wild

    init(_ plain: PlainValue) {
        switch plain {
        case .null: self = .null
        case .boolean(let value): self = .boolean(value)
        case .number(let text): self = .number(text)
        case .string(let text): self = .text(SecretText(text))
        case .list(let values): self = .list(values.map { Value($0) })
        case .map(let entries): self = .map(entries.map { ($0.key, Value($0.value)) })
        }
    }

    /// As a scalar; `nil` for a list or map.
    var scalar: ScalarValue? {
        switch self {
        case .null: .null
        case .boolean(let value): .boolean(value)
        case .number(let text): .number(text)
        case .text(let text): .text(text)
        case .record(let text, _): .text(SecretText(text))
        case .unknown, .missing: .unknown
        case .wild: .text("*")
        case .list, .map: nil
        }
    }

    /// The same for the place where it stands: a missing value becomes a placeholder where any text will do.
    func scalar(in place: Place) -> ScalarValue? {
        guard case .missing = self else { return scalar }
        switch place {
        case .header, .url, .word, .body: return .text(SecretText(MissingValue.placeholder))
        case .value, .path: return .unknown
        }
    }

    var isEmpty: Bool {
        if case .text(let text) = self { text.plain == "" } else { false }
    }

    var fieldNames: [String] {
        switch self {
        case .map(let entries): entries.map(\.key)
        case .record(_, let fields): fields.map(\.key)
        default: []
        }
    }

    func field(_ name: String) -> Value? {
        switch self {
        case .map(let entries): entries.first { $0.key.utf8.elementsEqual(name.utf8) }?.value
        case .record(_, let fields):
            fields.first { $0.key.utf8.elementsEqual(name.utf8) }.map { .text(SecretText($0.value)) }
        case .unknown: .unknown
        case .wild: .wild
        default: nil
        }
    }
}

/// A name of `forEach` and what it stands for in the task being made.
struct Binding {
    let name: String
    var value: Value
    /// From 1; 0 for the one task that stands for all while its list is not known yet.
    var index: Int
}
