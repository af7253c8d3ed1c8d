/// What a task took from its answer under one name.
package struct CapturedValue: Hashable, Sendable {
    package let name: String
    /// As it stands in other text: a JSON string without its quotes, anything else as it is written.
    package let text: String
    /// As JSON knows it: a number that another task puts into a JSON body stays one.
    package let value: PlainValue
    package let isSecret: Bool
    /// The only hosts it may be sent to.
    package let hosts: [HostPattern]?

    package init(
        name: String, text: String, value: PlainValue? = nil, isSecret: Bool = false, hosts: [HostPattern]? = nil
    ) {
        self.name = name
        self.text = text
        self.value = value ?? .string(text)
        self.isSecret = isSecret
        self.hosts = hosts
    }

    /// More of one value is no value: it would go into URLs and headers.
    package static let longest = 64 << 10
    /// A list has at most so many values; each of their texts has the length of one value.
    package static let mostInList = 100_000

    /// What would tell the value: its text, and of a list every text in it that is long enough to be known by.
    package var secretTexts: [String] {
        if case .list = value { value.leaves } else { [text] }
    }

    /// As a report tells it.
    package var told: Job.Variable { Job.Variable(name: name, value: isSecret ? .string("***") : value) }
}

/// What a run's tasks captured so far. Only tasks that succeeded are in it.
package struct CaptureBook: Sendable {
    private var values: [String: [CapturedValue]] = [:]

    package init() {}

    package mutating func keep(_ captured: [CapturedValue], of task: String) { values[task] = captured }

    package func values(of task: String) -> [CapturedValue]? { values[task] }

    /// The value of `${tasks.TASK.NAME}`.
    package func value(_ task: String, _ name: String) throws(TransferError) -> CapturedValue {
        guard let captured = values[task] else {
            throw TransferError(
                .dependencyFailed,
                "`${tasks.\(task).\(name)}` has no value: `\(task)` did not run or succeed in this run")
        }
        if let value = captured.first(where: { $0.name == name }) { return value }
        if let place = ListPlace(name), let list = captured.first(where: { $0.name == place.list }) {
            return try place.value(in: list, of: task)
        }
        throw TransferError(.dependencyFailed, "`\(task)` captured no `\(name)`")
    }

    /// The values of a captured list; `nil` where there is none of that name.
    package func list(_ task: String, _ name: String) -> CapturedValue? {
        guard let value = values[task]?.first(where: { $0.name == name }), case .list = value.value else { return nil }
        return value
    }
}

/// One value of a captured list, or one field of it: `urls[3]`, `files[0].name`. No name of a capture is written so.
package struct ListPlace: Sendable {
    package let list: String
    package let index: Int
    package let field: String?

    package init(list: String, index: Int, field: String? = nil) {
        self.list = list
        self.index = index
        self.field = field
    }

    fileprivate init?(_ name: String) {
        guard let open = name.firstIndex(of: "["), let close = name[open...].firstIndex(of: "]"),
            let index = Int(name[name.index(after: open)..<close])
        else { return nil }
        let rest = name[name.index(after: close)...]
        guard rest.isEmpty || rest.first == "." else { return nil }
        self.init(list: String(name[..<open]), index: index, field: rest.isEmpty ? nil : String(rest.dropFirst()))
    }

    /// `*` stands for an index that is not known yet.
    package var name: String { "\(list)[\(index < 0 ? "*" : "\(index)")]" + (field.map { ".\($0)" } ?? "") }

    /// The value that stands there; `nil` where there is none.
    package func plain(in list: CapturedValue) -> PlainValue? {
        guard case .list(let values) = list.value, values.indices.contains(index) else { return nil }
        return field.map { values[index].member($0) } ?? values[index]
    }

    fileprivate func value(in list: CapturedValue, of task: String) throws(TransferError) -> CapturedValue {
        guard let plain = plain(in: list) else {
            throw TransferError(.captureUnusable, "there is no `\(name)` among what `\(task)` captured")
        }
        guard let text = plain.scalarText else {
            throw TransferError(.captureUnusable, "`\(name)`, which `\(task)` captured, is no text")
        }
        return CapturedValue(name: name, text: text, value: plain, isSecret: list.isSecret, hosts: list.hosts)
    }
}

extension PlainValue {
    /// A field of a map.
    package func member(_ name: String) -> PlainValue? {
        guard case .map(let entries) = self else { return nil }
        return entries.first { $0.key.utf8.elementsEqual(name.utf8) }?.value
    }

    /// As it stands in other text; `nil` of what is no text.
    package var scalarText: String? {
        switch self {
        case .string(let text), .number(let text): text
        case .boolean(let value): value ? "true" : "false"
        case .null, .list, .map: nil
        }
    }

    /// Texts and numbers in a list or map that are long enough to be known by.
    fileprivate var leaves: [String] {
        var found: [String] = []
        var rest = [self]
        while let next = rest.popLast() {
            switch next {
            case .list(let values): rest += values
            case .map(let entries): rest += entries.map(\.value)
            case .string(let text), .number(let text): if text.utf8.count >= 4 { found.append(text) }
            case .null, .boolean: break
            }
        }
        return found
    }
}
