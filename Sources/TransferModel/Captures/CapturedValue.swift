/// A value that a task took from its answer.
package struct CapturedValue: Hashable, Sendable {
    /// The name that `capture` gives it.
    package let name: String
    /// The value as it stands in other text: a JSON string without its quotes, anything else as it is written.
    package let text: String
    /// The value with its JSON type: a number that another task puts into a JSON body stays one.
    package let value: PlainValue
    /// Whether it is masked wherever it would appear.
    package let isSecret: Bool
    /// The only hosts that it may be sent to; `nil` for any.
    package let hosts: [HostPattern]?
    /// The secret texts of a list in which not all are secret; `nil` where the whole value is secret, or nothing of it.
    package let secretParts: Set<String>?
    /// The answers that it was taken from: one, or one of each page of a list, in their order. Empty for what is no part
    /// of an answer.
    package var answers: [AnswerPlace] = []

    /// An answer that values of a list were taken from.
    package struct AnswerPlace: Hashable, Sendable {
        /// Index of its first value in the list; 0 for a value that is no list.
        package let first: Int
        /// URL that the answer came from, after redirects.
        package let url: String

        package init(first: Int = 0, url: String) {
            self.first = first
            self.url = url
        }
    }

    package init(
        name: String, text: String, value: PlainValue? = nil, isSecret: Bool = false, hosts: [HostPattern]? = nil,
        secretParts: Set<String>? = nil
    ) {
        self.name = name
        self.text = text
        self.value = value ?? .string(text)
        self.isSecret = isSecret
        self.hosts = hosts
        self.secretParts = secretParts
    }

    /// Returns the answers with those of a list that follows after `count` values.
    package func answers(followedBy more: [AnswerPlace], after count: Int) -> [AnswerPlace] {
        answers + more.map { AnswerPlace(first: $0.first + count, url: $0.url) }
    }

    /// Whether a text of this value, or in this list, is secret.
    package func isSecret(_ text: String) -> Bool { isSecret && secretParts?.contains(text) != false }

    /// Most bytes of a value: captured values go into URLs and headers.
    package static let longest = 64 << 10
    /// Most values of a list; the text of each has at most `longest` bytes.
    package static let mostInList = 100_000

    /// The texts to redact: the value's text or, for a list, every text in it that is long enough to be recognised.
    package var secretTexts: [String] {
        if case .list = value { secretParts.map { Array($0) } ?? value.leaves } else { [text] }
    }

    /// The value as a report shows it; `***` for a secret one.
    package var told: Job.Variable { Job.Variable(name: name, value: isSecret ? .string("***") : value) }
}

/// The values that a run's tasks captured so far. Only tasks that succeeded are in it.
package struct CapturedValues: Sendable {
    private var values: [String: [CapturedValue]] = [:]
    /// What became of the tasks, for those with a `when`.
    package var ends = RunEnds()
    /// The number of the page that the task asks for.
    package var page = 1

    package init() {}

    /// Stores the values that a task captured.
    package mutating func keep(_ captured: [CapturedValue], of task: String) { values[task] = captured }

    /// Returns the values that a task captured, or `nil` if it did not succeed in this run.
    package func values(of task: String) -> [CapturedValue]? { values[task] }

    /// Returns the value of `${tasks.TASK.NAME}`; throws if it has none.
    package func value(_ task: String, _ name: String) throws(TransferError) -> CapturedValue {
        if task == RunEnds.run, name == RunEnds.page {
            return CapturedValue(name: name, text: "\(page)", value: .number("\(page)"))
        }
        guard let captured = values[task] else {
            if let end = ends.value(task, name) { return end }
            throw TransferError(
                .dependencyFailed,
                "\(Self.words(task, name)) has no value: `\(RowList.task(of: task) ?? task)` did not run or succeed in this run"
            )
        }
        if let value = captured.first(where: { $0.name == name }) { return value }
        if let place = ListPlace(name), let list = captured.first(where: { $0.name == place.list }) {
            return try place.value(in: list, of: task)
        }
        if let end = ends.value(task, name) { return end }
        throw TransferError(.dependencyFailed, "`\(task)` captured no `\(name)`")
    }

    /// Names a value for people.
    static func words(_ task: String, _ name: String) -> String {
        guard let source = RowList.task(of: task), let place = ListPlace(name) else {
            return "`${\(LateReference.name(task, name))}`"
        }
        let field = place.field.map { "`\($0)` of " } ?? ""
        return "\(field)row \(place.index + 1) of what `\(source)` brought"
    }

    /// Returns a value in a captured list that is no text but null, a list or a map, with the list; `nil` for all others.
    func structure(_ task: String, _ name: String) -> (value: PlainValue, list: CapturedValue)? {
        guard let place = ListPlace(name), let list = list(task, place.list), let value = place.plain(in: list),
            value.scalarText == nil
        else { return nil }
        return (value, list)
    }

    /// Returns a captured list, or `nil` where there is none of that name.
    package func list(_ task: String, _ name: String) -> CapturedValue? {
        guard let value = values[task]?.first(where: { $0.name == name }), case .list = value.value else { return nil }
        return value
    }
}

/// One value of a captured list, or one field of it: `urls[3]`, `files[0].name`. No capture has a name in this form.
package struct ListPlace: Sendable {
    /// The name of the list.
    package let list: String
    /// The value's index from 0; negative while it is not known.
    package let index: Int
    /// The field of the value, with dots between it and the fields within it; `nil` for the value itself.
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

    /// The place in its written form; `*` stands for an index that is not known yet.
    package var name: String { "\(list)[\(index < 0 ? "*" : "\(index)")]" + (field.map { ".\($0)" } ?? "") }

    /// Returns the value at this place, or `nil` where there is none.
    package func plain(in list: CapturedValue) -> PlainValue? {
        guard case .list(let values) = list.value, values.indices.contains(index) else { return nil }
        guard let field else { return values[index].member(PlainValue.ownText) ?? values[index] }
        return values[index].member(field)
    }

    fileprivate func value(in list: CapturedValue, of task: String) throws(TransferError) -> CapturedValue {
        guard let plain = plain(in: list) else {
            throw TransferError(.captureUnusable, "there is no \(CapturedValues.words(task, name))")
        }
        guard let text = plain.scalarText else {
            throw TransferError(.captureUnusable, "\(CapturedValues.words(task, name)) is no text")
        }
        let isSecret = list.isSecret(text)
        var found = CapturedValue(
            name: name, text: text, value: plain, isSecret: isSecret, hosts: isSecret ? list.hosts : nil)
        found.answers = list.answers.last { $0.first <= index }.map { [.init(url: $0.url)] } ?? []
        return found
    }
}

extension PlainValue {
    /// Returns a field of a map, to which a name with dots leads from map to map; `nil` if there is none.
    package func member(_ name: String) -> PlainValue? {
        guard case .map(let entries) = self else { return nil }
        if let found = entries.first(where: { $0.key.utf8.elementsEqual(name.utf8) }) { return found.value }
        guard let dot = name.firstIndex(of: ".") else { return nil }
        return member(String(name[..<dot]))?.member(String(name[name.index(after: dot)...]))
    }

    /// The value as it stands in other text; `nil` for null, lists and maps.
    package var scalarText: String? {
        switch self {
        case .string(let text), .number(let text): text
        case .boolean(let value): value ? "true" : "false"
        case .null, .list, .map: nil
        }
    }

    /// Texts and numbers in a list or map that are long enough to be recognised.
    package var leaves: [String] {
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
