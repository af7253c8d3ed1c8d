import Diagnostics
import TransferModel
import YAMLTree

/// Makes tasks of the maps under `tasks`. Checks that need all tasks are left to `TaskChecker`.
final class TaskLoader {
    static let maximumTasks = 1_000_000

    let reader: Reader
    let table = TaskTable.shared
    let sessions: SessionTable
    let groups: [String: GroupSpecification]
    /// Names of the groups by their index.
    let groupNames: [String]
    var tasks: [TaskSpecification] = []
    var ids: NameTable
    var checks = CrossChecks()
    var defaults: Defaults
    var written: WrittenKeys
    /// Options of tasks that write none of their own, by session.
    private var bases: [TaskOptions?]
    /// Options of the last task that wrote its own, if they can be shared.
    var last: OwnOptions?
    var isOverBudget = false
    /// Whether all written tasks were read and templates are being expanded.
    var isExpanding = false
    /// Whether a pattern stands for the ids of the tasks that the one being made stands for.
    var hasIDPattern = false

    /// The job's `defaults`: values without interpolation are read once, those with interpolation for each task.
    struct Defaults {
        var written: WrittenKeys
        var dynamic: UInt64 = 0
        /// Whether they set `waitsForConnectivity: false`, which has no effect in background sessions, without a
        /// warning so far.
        var refusesToWait = false
    }

    init(reader: Reader, sessions: SessionTable, groups: [GroupSpecification], defaults: NodeID?, expecting count: Int)
    {
        self.reader = reader
        self.sessions = sessions
        groupNames = groups.map(\.name)
        self.groups = Dictionary(groups.map { ($0.name, $0) }, uniquingKeysWith: { first, _ in first })
        written = WrittenKeys(rows: table.rows.count)
        self.defaults = Defaults(written: WrittenKeys(rows: table.rows.count))
        bases = Array(repeating: nil, count: sessions.configurations.count)
        ids = NameTable(expecting: count)
        tasks.reserveCapacity(count)
        if let defaults { readDefaults(defaults) }
    }

    // MARK: Walking

    func readAll(_ list: NodeID) {
        defer { reader.scope = TaskScope() }
        for node in reader.tree.children(list) {
            read(node)
            if isOverBudget { return }
        }
    }

    func read(_ node: NodeID) {
        guard gather(node, into: &written, isDefaults: false) else { return }
        if reader.access != nil { reader.owner = owner() }
        reader.scope = TaskScope(hasPages: has(table.next))
        if written.has(table.forEach)
            || (defaults.written.has(table.forEach) && written.nulls & bit(table.forEach) == 0)
        {
            expand(node)
        } else {
            // The names of a misspelled `forEach` are told with it.
            reader.scope.lacksForEach = written.misspelled & bit(table.forEach) != 0
            var shared: TaskOptions?
            makeTask(node, isShared: false, &shared)
        }
    }

    /// Returns the task's name for `JobAccess`, with `${…}` as written: all tasks of one `forEach` have the same.
    private func owner() -> String {
        guard written.has(table.id), reader.tree.kind(written.value(table.id)) == .scalar else { return "a task" }
        return "task `\(Reader.short(reader.tree.text(written.value(table.id))))`"
    }

    func bit(_ row: Int) -> UInt64 { 1 << UInt64(row) }

    func gather(_ node: NodeID, into written: inout WrittenKeys, isDefaults: Bool) -> Bool {
        let place = isDefaults ? "`defaults`" : "a task"
        guard reader.expectMap(node, place) else { return false }
        written.clear()
        let tree = reader.tree
        for (key, value) in tree.entries(node) {
            guard let row = tree.withUTF8(key, { table.index.find($0) }) else {
                let known = isDefaults ? table.names.filter { $0 != "id" } : table.names
                reader.unknownKey(key, in: place, known: known)
                if tree.kind(key) == .scalar, let meant = ForeignKeys.key(meantBy: tree.text(key), known),
                    let row = table.names.firstIndex(of: meant)
                {
                    written.misspelled |= bit(row)
                }
                continue
            }
            if isDefaults, row == table.id {
                reader.error("not-in-defaults", "`id` cannot stand in `defaults`", hint: "every task has its own", key)
                continue
            }
            written.set(row, key, value, isNull: reader.tree.isNull(value))
        }
        return true
    }

    func readDefaults(_ node: NodeID) {
        guard gather(node, into: &defaults.written, isDefaults: true) else { return }
        reader.owner = "`defaults`"
        reader.scope = TaskScope(isInTask: true)
        defer { reader.scope = TaskScope() }
        for row in Bits(defaults.written.present) where reader.tree.hasDollarBelow(defaults.written.value(row)) {
            defaults.dynamic |= bit(row)
        }
        // Reports faults of `defaults` even if no task uses them.
        for session in sessions.configurations.indices { _ = base(SessionIndex(raw: UInt16(session))) }
        var head = TaskHead()
        for row in Bits(defaults.written.present & table.headRows & ~defaults.dynamic) where row != table.forEach {
            apply(row, defaults.written, to: &head)
        }
        checks.defaultChecksums = reader.checksumTasks.count
    }

    // MARK: One task

    func makeTask(_ node: NodeID, isShared: Bool, _ shared: inout TaskOptions?) {
        guard tasks.count < Self.maximumTasks else { return reportBudget(node) }
        reader.scope.isInTask = true
        defer { reader.scope.isInTask = false }
        var head = TaskHead()
        readHead(&head)
        let session = session(of: head, node)
        let base = base(session)
        var options = base
        if let shared {
            options = shared
        } else if hasOwnOptions {
            options = ownOptions(session, over: base)
            if isShared { shared = options }
        }
        append(node, head, session, options)
    }

    /// Reads a task's head; the task's own value replaces its default.
    func readHead(_ head: inout TaskHead) {
        var own = written.present & table.headRows
        var fallback = defaults.written.present & table.headRows & ~written.nulls
        // `url` and `urls` replace each other.
        let places = bit(table.url) | bit(table.urls)
        if own & places != 0 { fallback &= ~places }
        own &= ~bit(table.forEach)
        fallback &= ~bit(table.forEach)
        for row in Bits(own | fallback) {
            if fallback & bit(row) != 0, own & bit(row) == 0 || row == table.query {
                readDefault(row) { apply(row, defaults.written, to: &head) }
            }
            if own & bit(row) != 0 { apply(row, written, to: &head) }
        }
    }

    func apply(_ row: Int, _ written: WrittenKeys, to head: inout TaskHead) {
        guard case .head(let shared) = table.rows[row] else { return }
        reader.key = shared.key.document.name
        shared.key.decode(&head, written.value(row), reader)
        if let needsLater = shared.key.needsLater, needsLater(head) {
            reader.notBuilt(written.key(row), shared.key.document.name)
        }
    }

    var hasOwnOptions: Bool {
        (written.present | written.nulls | defaults.dynamic) & ~table.headRows != 0
    }

    func readOptions(_ session: SessionIndex, over base: TaskOptions.Values) -> TaskOptions.Values {
        var values = base
        for row in Bits(defaults.dynamic & ~table.headRows & ~written.nulls) where !isReplaced(row) {
            readDefault(row) { apply(row, defaults.written, to: &values) }
        }
        for row in Bits(written.nulls & ~table.headRows) {
            if case .options(let shared) = table.rows[row] { shared.key.reset(&values) }
        }
        for row in Bits(written.present & ~table.headRows) { apply(row, written, to: &values) }
        settleBodyType(&values, ofTask: true)
        if isBackground(session), !values.policies.waitsForConnectivity {
            values.policies.waitsForConnectivity = true
            if written.has(table.waits) {
                warnOfWaiting(written.value(table.waits))
            } else if written.nulls & bit(table.waits) == 0 {
                warnOfWaiting(defaults.written.value(table.waits))
            }
        }
        return values
    }

    /// Returns whether the task's own value replaces the default entirely: only maps merge, except for `body` and
    /// `checksum`.
    func isReplaced(_ row: Int) -> Bool {
        guard written.has(row) else { return false }
        return row == table.body || row == table.checksum || reader.tree.kind(written.value(row)) != .mapping
    }

    /// Reads a default for a task, without the parts that the task's own value replaces.
    private func readDefault(_ row: Int, _ read: () -> Void) {
        let tree = reader.tree
        reader.scope.isInDefaults = true
        if row == table.headers || row == table.query, written.has(row), tree.kind(written.value(row)) == .mapping {
            let names = tree.entries(written.value(row)).map { tree.kind($0.key) == .scalar ? tree.text($0.key) : "" }
            reader.scope.replacedNames = Set(row == table.headers ? names.map { $0.lowercased() } : names)
        }
        read()
        reader.scope.replacedNames = []
        reader.scope.isInDefaults = false
    }

    func apply(_ row: Int, _ written: WrittenKeys, to values: inout TaskOptions.Values) {
        guard case .options(let shared) = table.rows[row] else { return }
        reader.key = shared.key.document.name
        shared.key.decode(&values, written.value(row), reader)
        if let needsLater = shared.key.needsLater, needsLater(values) {
            reader.notBuilt(written.key(row), shared.key.document.name)
        }
    }

    private func base(_ session: SessionIndex) -> TaskOptions {
        if let base = bases[Int(session.raw)] { return base }
        let configuration = sessions.configurations[Int(session.raw)]
        var values = TaskOptions.Values(policies: configuration.taskDefaults)
        values.headers = configuration.headers
        for row in Bits(defaults.written.nulls & ~table.headRows) {
            if case .options(let shared) = table.rows[row] { shared.key.reset(&values) }
        }
        for row in Bits(defaults.written.present & ~defaults.dynamic & ~table.headRows) {
            apply(row, defaults.written, to: &values)
        }
        settleBodyType(&values, ofTask: false)
        if isBackground(session), !values.policies.waitsForConnectivity {
            values.policies.waitsForConnectivity = true
            defaults.refusesToWait = defaults.written.has(table.waits)
        }
        let base = TaskOptions(values)
        bases[Int(session.raw)] = base
        return base
    }

    func isBackground(_ session: SessionIndex) -> Bool {
        sessions.configurations[Int(session.raw)].kind == .background
    }

    func session(of head: TaskHead, _ node: NodeID) -> SessionIndex {
        let row = table.session
        if let name = head.session {
            if let index = sessions.index(of: name) { return index }
            let place = written.has(row) ? written.value(row) : defaults.written.value(row)
            let hint = reader.closest(name, sessions.names).map { "did you mean `\($0)`?" } ?? sessions.known
            reader.error("unknown-session", "there is no session `\(Reader.short(name))`", hint: hint, place)
            return SessionIndex(raw: 0)
        }
        if let standard = sessions.standard { return standard }
        if !written.has(row), !defaults.written.has(row) {
            reader.error(
                "missing-session", "this task must name its `session`",
                hint: "\(sessions.known), and none is called `default`", at: reader.beginning(node))
        }
        return SessionIndex(raw: 0)
    }

    // MARK: The whole task

    func append(_ node: NodeID, _ head: TaskHead, _ session: SessionIndex, _ options: TaskOptions) {
        let number = UInt32(tasks.count)
        var draft = TaskDraft(node: node, head: head, session: session)
        draft.type = type(of: head, options)
        checkKeys(draft)
        let location = location(draft)
        let destination = destination(draft)
        var task = TaskSpecification(
            id: head.id ?? "", type: draft.type, session: session, location: location ?? .awaitingCapture(""),
            destination: destination, line: UInt32(reader.tree.span(node).line), options: options)
        if let next = options.values.next, draft.type != .upload { task.location = task.location.beginning(next) }
        if writesStandardOutput(draft) {
            task.toStandardOutput = true
            checkOutput(draft, options)
        }
        if let name = head.group, let group = groupNames.firstIndex(of: name) {
            task.group = GroupIndex(raw: UInt16(group))
            checks.namedGroups.insert(group)
        } else if has(table.group) {
            checks.namesUnknownGroup = true
        }
        checkID(head, number, node)
        if head.needs >= 0 { checks.needs.append(.init(task: number, list: head.needs)) }
        if hasOwnOptions || defaults.written.present & ~table.headRows != 0 || draft.type == .upload
            || head.mirrors.count > 1
        {
            checkOptions(draft, &task)
        }
        if draft.type == .upload, bringsFile(draft) { checkSavedAnswer(draft, options) }
        if namesObject(draft) { readObject(draft, &task) }
        if isBackground(session) { checkBackground(draft, task) }
        checkSecrets(draft, task)
        if !reader.scope.captureUses.isEmpty { settleCaptures(draft, &task) }
        recordCaptureUses(number)
        tasks.append(task)
    }

    /// Returns whether the task or `defaults` have a value for the row.
    func has(_ row: Int) -> Bool {
        written.has(row) || defaults.written.has(row) && written.nulls & bit(row) == 0
    }

    func type(of head: TaskHead, _ options: TaskOptions) -> TaskType {
        if let type = head.type { return type }
        let to = bit(table.to), body = bit(table.body)
        let present = written.present | (defaults.written.present & ~written.nulls)
        return present & to != 0 ? .download : present & body != 0 ? .upload : .data
    }

    func checkID(_ head: TaskHead, _ number: UInt32, _ node: NodeID) {
        guard let id = head.id else {
            // The id is unknown until the value is: any name in another task may mean this one.
            if reader.missingValues == .tolerated, !hasIDPattern, written.has(table.id),
                reader.tree.hasDollar(written.value(table.id))
            {
                checks.deferredIDs.append("*")
            }
            if !written.has(table.id) {
                let hint = "an id is letters, digits, `.`, `_` and `-`, and no other task has it"
                reader.error("missing-key", "a task needs an `id`", hint: hint, at: reader.beginning(node))
            }
            return
        }
        if !reader.scope.isDeferred, let first = ids.insert(id, owner: number) {
            let line = tasks[Int(first)].line
            let isSameTask = !reader.scope.bindings.isEmpty && line == UInt32(reader.tree.span(node).line)
            reader.error(
                "duplicate-id",
                isSameTask
                    ? "`forEach` makes the task id `\(id)` twice"
                    : "the task id `\(id)` is used twice, first in line \(line)",
                hint: isSameTask ? indexHint : "every task has an id of its own", written.value(table.id))
        }
    }

    var indexHint: String {
        "put \(reader.scope.bindings.map { "`${\($0.name).index}`" }.joined(separator: " and ")) into the id"
    }

    func recordCaptureUses(_ number: UInt32) {
        for use in reader.scope.captureUses { checks.captures.append(.init(task: number, use: use)) }
        if !reader.scope.captureUses.isEmpty { reader.scope.captureUses = [] }
    }
}

/// A task while it is made, with its head and session.
struct TaskDraft {
    let node: NodeID
    let head: TaskHead
    let session: SessionIndex
    var type = TaskType.data
}
