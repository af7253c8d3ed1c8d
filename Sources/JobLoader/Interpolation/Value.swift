import TransferModel

/// The value of a name in a `${…}`.
enum Value {
    case null
    case boolean(Bool)
    /// A number as it was written: `3.10` stays `3.10`.
    case number(String)
    case text(SecretText)
    case list([Value])
    case map([(key: String, value: Value)])
    /// A line of a list of files or checksums: a text with fields.
    case record(text: String, fields: [(key: String, value: String)])
    /// Not known while the job is checked.
    case unknown
    /// One value of a list that another task captures or brings.
    case captured(CapturedItem)
    /// A variable of the environment that is not set, in a check that tolerates it.
    case missing
    /// Stands for every possible value of an unknown one, in patterns of ids.
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

    /// A row of a list: with a text of its own it is a record.
    init(row: PlainValue) {
        guard case .map(let entries) = row, let own = entries.first(where: { $0.key == PlainValue.ownText }),
            let text = own.value.scalarText
        else {
            self = Value(row)
            return
        }
        let fields = entries.filter { $0.key != PlainValue.ownText }
        self = .record(text: text, fields: fields.map { ($0.key, $0.value.scalarText ?? "") })
    }

    /// The value as a scalar; `nil` for a list or map.
    var scalar: ScalarValue? {
        switch self {
        case .null: .null
        case .boolean(let value): .boolean(value)
        case .number(let text): .number(text)
        case .text(let text): .text(text)
        case .record(let text, _): .text(SecretText(text))
        case .unknown, .missing: .unknown
        case .wild: .text("*")
        case .captured(let item): item.scalar
        case .list, .map: nil
        }
    }

    /// Returns the value as a scalar for a place: a missing value becomes a placeholder where any text will do, and a
    /// captured value is inserted only when the task begins, under the rules for values from the network.
    func scalar(in place: Place) -> ScalarValue? {
        if case .captured(let item) = self, place != .value { return item.awaited }
        guard case .missing = self else { return scalar }
        switch place {
        case .header, .url, .word, .body: return .text(SecretText(MissingValue.placeholder))
        case .value, .path: return .unknown
        }
    }

    /// Whether a default takes its place.
    var isEmpty: Bool {
        switch self {
        case .text(let text): text.plain == ""
        case .captured(let item): item.isEmpty
        default: false
        }
    }

    var fieldNames: [String] {
        switch self {
        case .map(let entries): entries.map(\.key)
        case .record(_, let fields): fields.map(\.key)
        case .captured(let item): item.fieldNames
        default: []
        }
    }

    func field(_ name: String) -> Value? {
        switch self {
        case .map(let entries): entries.first { $0.key.utf8.elementsEqual(name.utf8) }?.value ?? innerField(name)
        case .record(_, let fields):
            fields.first { $0.key.utf8.elementsEqual(name.utf8) }.map { .text(SecretText($0.value)) }
        case .unknown: .unknown
        case .wild: .wild
        case .captured(let item): item.field(name)
        default: nil
        }
    }
}

extension Value {
    /// Returns a field of maps within the map, which a name with dots leads to.
    private func innerField(_ name: String) -> Value? {
        guard let dot = name.firstIndex(of: "."), case .map(let entries) = self else { return nil }
        let outer = entries.first { $0.key.utf8.elementsEqual(name[..<dot].utf8) }?.value
        guard case .map? = outer else { return nil }
        return outer?.field(String(name[name.index(after: dot)...]))
    }
}

/// One value of a list that a task captures or brings, or one field of it. Its content is unknown until the list is.
struct CapturedItem {
    let task: String
    let list: String
    /// Set for a list that a task brings.
    let rows: RowList?
    /// `nil` until the list is known.
    let values: CapturedValue?
    var index = 0
    var fieldName: String?

    private var place: ListPlace { ListPlace(list: list, index: index, field: fieldName) }
    private var plain: PlainValue? { values.flatMap { place.plain(in: $0) } }

    /// The value where it must be known before the task begins; unknown while the list is.
    var scalar: ScalarValue? {
        guard let values else { return .unknown }
        switch plain {
        case .boolean(let value): return .boolean(value)
        case .number(let text) where !values.isSecret(text): return .number(text)
        case .string(let text) where !values.isSecret(text): return .text(SecretText(text))
        case .number(let text), .string(let text):
            return .text(SecretText(pieces: [.secret(name: list, value: text, hosts: values.hosts)]))
        case .null, .list, .map, nil: return nil
        }
    }

    /// The value where text is inserted when the task begins; `nil` if it is known already and is no scalar.
    var awaited: ScalarValue? { values != nil && plain?.scalarText == nil ? nil : .text(reference) }

    /// Stands for the value, whatever it is, until the task begins.
    var reference: SecretText { SecretText(pieces: [.capture(task: task, name: place.name, escaping: .none)]) }

    var fieldNames: [String] {
        if values == nil { return rows?.format.fieldNames ?? [] }
        guard case .map(let entries)? = plain else { return [] }
        return entries.map(\.key).filter { $0 != PlainValue.ownText }
    }

    /// Words for the row, or the captured value; `nil` while the list is unknown.
    var row: String? {
        guard values != nil else { return nil }
        guard let rows else { return "value \(index + 1) of `tasks.\(task).\(list)`" }
        return "row \(index + 1) of what `\(rows.task)` brought"
    }

    /// Whether the value is known to be `null`.
    var isNull: Bool { values != nil && plain == .null }
    var isEmpty: Bool { isNull || values != nil && plain?.scalarText == "" }

    func field(_ name: String) -> Value? {
        guard fieldName == nil else { return nil }
        // The index of a value in a list that is not known yet.
        if values == nil, name == "index" { return .unknown }
        if values == nil, let known = rows?.format.fieldNames, !known.contains(name) { return nil }
        var item = self
        item.fieldName = name
        return values == nil || item.plain != nil ? .captured(item) : nil
    }
}

/// A name of `forEach` and its value in the task that is being made.
struct Binding {
    let name: String
    var value: Value
    /// Index in the list, from 1; 0 for the one task that stands for all while the list is not known.
    var index: Int
}
