import TransferModel
import YAMLTree

/// The values that every task has of its own, while it is read.
struct TaskHead: Blank {
    var id: String?
    var type: TaskType?
    var session: String?
    var location: TaskSpecification.Location?
    /// All locations of `urls`; empty with `url`.
    var mirrors: [TaskSpecification.Location] = []
    /// `to` as it was written: it can be made absolute only when the group is known.
    var to: String?
    /// `to` with captured values in it, other than at its beginning; else `nil`.
    var awaitedTo: SecretText?
    var group: String?
    /// Index of its list in `NeedLists`; −1 without needs.
    var needs = -1
    var query: [QueryField] = []
    static var blank: TaskHead { TaskHead() }
}

extension TaskOptions.Values: Blank {
    static var blank: TaskOptions.Values { TaskOptions.Values(policies: TransferPolicies()) }
}

/// The rows of a task: values that every task has of its own are read into `TaskHead`, the others into options that
/// tasks share.
struct TaskTable: Sendable {
    /// A row that is looked up for each key of each task without being copied.
    final class SharedKey<Target>: Sendable {
        let key: Key<Target>
        init(_ key: Key<Target>) { self.key = key }
    }

    enum Row: Sendable {
        case head(SharedKey<TaskHead>)
        case options(SharedKey<TaskOptions.Values>)

        var document: KeyDocument {
            switch self {
            case .head(let row): row.key.document
            case .options(let row): row.key.document
            }
        }
    }

    static let shared = TaskTable()

    let rows: [Row]
    let index: KeyIndex
    let names: [String]
    /// Bit set of the rows that are read into `TaskHead`.
    let headRows: UInt64
    let id, type, session, url, urls, to, group, needs, forEach, body, query, headers, contentType, cellular, existing,
        mode,
        redirects,
        waits, checksum, resume, next: Int
    private let rowsByType: [UInt64]

    private init() {
        rows = Sections.taskHead.map { .head(SharedKey($0)) } + Sections.taskOptions.map { .options(SharedKey($0)) }
        precondition(rows.count <= 64, "more task keys than a bit set holds")
        let documents = rows.map(\.document)
        let names = documents.map(\.name.description)
        self.names = names
        index = KeyIndex(documents.map(\.name))
        headRows = (1 << UInt64(Sections.taskHead.count)) - 1
        func number(_ name: String) -> Int {
            guard let number = names.firstIndex(of: name) else { preconditionFailure("no row for \(name)") }
            return number
        }
        (id, type, session, url, urls) = (
            number("id"), number("type"), number("session"), number("url"), number("urls")
        )
        (to, group, needs, forEach) = (number("to"), number("group"), number("needs"), number("forEach"))
        (body, query, redirects) = (number("body"), number("query"), number("redirects"))
        (existing, mode, resume) = (number("existing"), number("mode"), number("resume"))
        next = number("next")
        (cellular, waits) = (number("allowsCellularAccess"), number("waitsForConnectivity"))
        (checksum, headers, contentType) = (number("checksum"), number("headers"), number("contentType"))
        rowsByType = [TypeSet.data, .download, .upload].map { type in
            documents.enumerated().reduce(0) { $1.element.types.contains(type) ? $0 | 1 << UInt64($1.offset) : $0 }
        }
    }

    func rows(for type: TaskType) -> UInt64 {
        switch type {
        case .data: rowsByType[0]
        case .download: rowsByType[1]
        case .upload: rowsByType[2]
        }
    }
}

/// The entries of one task's map, or of `defaults`, by row.
struct WrittenKeys {
    /// Bit set of the rows that have a value; `nulls` has those that are `null`.
    var present: UInt64 = 0
    var nulls: UInt64 = 0
    /// The rows that unknown keys probably stand for; these are not missing, too.
    var misspelled: UInt64 = 0
    private var keys: [NodeID]
    private var values: [NodeID]

    init(rows: Int) {
        keys = Array(repeating: NodeID(raw: 0), count: rows)
        values = keys
    }

    func has(_ row: Int) -> Bool { present & (1 << UInt64(row)) != 0 }
    func key(_ row: Int) -> NodeID { keys[row] }
    func value(_ row: Int) -> NodeID { values[row] }

    mutating func clear() { (present, nulls, misspelled) = (0, 0, 0) }

    mutating func set(_ row: Int, _ key: NodeID, _ value: NodeID, isNull: Bool) {
        keys[row] = key
        values[row] = value
        if isNull { nulls |= 1 << UInt64(row) } else { present |= 1 << UInt64(row) }
    }
}

/// Iterates over the numbers of the bits that are set, lowest first.
struct Bits: Sequence, IteratorProtocol {
    private var rest: UInt64
    init(_ bits: UInt64) { rest = bits }
    mutating func next() -> Int? {
        guard rest != 0 else { return nil }
        defer { rest &= rest - 1 }
        return rest.trailingZeroBitCount
    }
}
