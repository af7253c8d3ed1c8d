import Diagnostics
import TransferModel
import YAMLTree

/// Makes tasks of the maps under `tasks`. What only shows when all are there is checked at the end (`Checks`).
final class TaskLoader {
    static let maximumTasks = 1_000_000

    let reader: Reader
    let table = TaskTable.shared
    let sessions: SessionTable
    let groups: [String: GroupSpecification]
    var tasks: [TaskSpecification] = []
    var ids: NameTable
    var checks = CrossChecks()
    private var defaults: Defaults
    private var written: WrittenKeys
    /// The options of tasks that set none, by session.
    private var bases: [SessionBase?]
    private var isOverBudget = false

    /// What the tasks of a session start from.
    private struct SessionBase {
        let values: TaskOptions.Values
        let options: TaskOptions
    }

    /// `defaults`: what is the same for every task is read once, what is interpolated in each.
    struct Defaults {
        var written: WrittenKeys
        var dynamic: UInt64 = 0
    }

    init(reader: Reader, sessions: SessionTable, groups: [GroupSpecification], defaults: NodeID?, expecting count: Int) {
        self.reader = reader
        self.sessions = sessions
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
        for node in reader.tree.children(list) {
            read(node)
            if isOverBudget { return }
        }
    }

    private func read(_ node: NodeID) {
        guard gather(node, into: &written, isDefaults: false) else { return }
        if written.has(table.forEach) || (defaults.written.has(table.forEach) && written.nulls & bit(table.forEach) == 0) {
            expand(node)
        } else {
            var shared: TaskOptions?
            makeTask(node, isShared: false, &shared)
        }
    }

    private func bit(_ row: Int) -> UInt64 { 1 << UInt64(row) }

    private func gather(_ node: NodeID, into written: inout WrittenKeys, isDefaults: Bool) -> Bool {
        let place = isDefaults ? "`defaults`" : "a task"
        guard reader.expectMap(node, place) else { return false }
        written.clear()
        let tree = reader.tree
        for (key, value) in tree.entries(node) {
            guard let row = tree.withUTF8(key, { table.index.find($0) }) else {
                reader.unknownKey(key, in: place, known: table.names)
                continue
            }
            if isDefaults, row == table.id {
                reader.error("not-in-defaults", "`id` cannot stand in `defaults`", hint: "every task has its own", key)
                continue
            }
            written.set(row, key, value, isNull: reader.isNull(value))
        }
        return true
    }

    private func readDefaults(_ node: NodeID) {
        guard gather(node, into: &defaults.written, isDefaults: true) else { return }
        for row in Bits(defaults.written.present) where reader.hasDollarBelow(defaults.written.value(row)) {
            defaults.dynamic |= bit(row)
        }
        // Says what is wrong with them even when no task is there to find it.
        for session in sessions.configurations.indices { _ = base(SessionIndex(raw: UInt16(session))) }
        var head = TaskHead()
        for row in Bits(defaults.written.present & table.headRows & ~defaults.dynamic) where row != table.forEach {
            apply(row, defaults.written, to: &head)
        }
        reader.captureUses = []
    }

    // MARK: One task

    private func makeTask(_ node: NodeID, isShared: Bool, _ shared: inout TaskOptions?) {
        guard tasks.count < Self.maximumTasks else { return reportBudget(node) }
        var head = TaskHead()
        readHead(&head)
        let session = session(of: head, node)
        let base = base(session)
        var options = base.options
        if let shared {
            options = shared
        } else if hasOwnOptions {
            options = TaskOptions(readOptions(over: base.values))
            if isShared { shared = options }
        }
        finish(node, head, session, options)
    }

    /// Reads what every task says for itself; a task's own word takes the place of its default.
    private func readHead(_ head: inout TaskHead) {
        var own = written.present & table.headRows
        var fallback = defaults.written.present & table.headRows & ~written.nulls
        // `url` and `urls` are one thing said in two ways.
        let places = bit(table.url) | bit(table.urls)
        if own & places != 0 { fallback &= ~places }
        own &= ~bit(table.forEach)
        fallback &= ~bit(table.forEach)
        for row in Bits(own | fallback) {
            if fallback & bit(row) != 0, own & bit(row) == 0 || row == table.query {
                apply(row, defaults.written, to: &head)
            }
            if own & bit(row) != 0 { apply(row, written, to: &head) }
        }
    }

    private func apply(_ row: Int, _ written: WrittenKeys, to head: inout TaskHead) {
        guard case .head(let key) = table.rows[row] else { return }
        reader.key = key.document.name
        key.decode(&head, written.value(row), reader)
        if let needsLater = key.needsLater, needsLater(head) { reader.notBuilt(written.key(row), key.document.name) }
    }

    private var hasOwnOptions: Bool {
        (written.present | written.nulls | defaults.dynamic) & ~table.headRows != 0
    }

    private func readOptions(over base: TaskOptions.Values) -> TaskOptions.Values {
        var values = base
        for row in Bits(defaults.dynamic & ~table.headRows & ~written.nulls) where !isReplaced(row) {
            apply(row, defaults.written, to: &values)
        }
        for row in Bits(written.nulls & ~table.headRows) {
            if case .options(let key) = table.rows[row] { key.reset(&values) }
        }
        for row in Bits(written.present & ~table.headRows) { apply(row, written, to: &values) }
        return values
    }

    /// Whether the task's own value leaves nothing of the default: only maps merge.
    private func isReplaced(_ row: Int) -> Bool {
        written.has(row) && reader.tree.kind(written.value(row)) != .mapping
    }

    private func apply(_ row: Int, _ written: WrittenKeys, to values: inout TaskOptions.Values) {
        guard case .options(let key) = table.rows[row] else { return }
        reader.key = key.document.name
        key.decode(&values, written.value(row), reader)
        if let needsLater = key.needsLater, needsLater(values) { reader.notBuilt(written.key(row), key.document.name) }
    }

    private func base(_ session: SessionIndex) -> SessionBase {
        if let base = bases[Int(session.raw)] { return base }
        let configuration = sessions.configurations[Int(session.raw)]
        var values = TaskOptions.Values(policies: configuration.taskDefaults)
        values.headers = configuration.headers
        for row in Bits(defaults.written.nulls & ~table.headRows) {
            if case .options(let key) = table.rows[row] { key.reset(&values) }
        }
        for row in Bits(defaults.written.present & ~defaults.dynamic & ~table.headRows) {
            apply(row, defaults.written, to: &values)
        }
        let base = SessionBase(values: values, options: TaskOptions(values))
        bases[Int(session.raw)] = base
        return base
    }

    private func session(of head: TaskHead, _ node: NodeID) -> SessionIndex {
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

    // MARK: Finishing

    private func finish(_ node: NodeID, _ head: TaskHead, _ session: SessionIndex, _ options: TaskOptions) {
        let number = UInt32(tasks.count)
        var draft = TaskDraft(
            node: node, head: head, session: session, configuration: sessions.configurations[Int(session.raw)])
        draft.type = type(of: head, options)
        checkKeys(draft)
        let location = location(draft)
        let destination = destination(draft)
        var task = TaskSpecification(
            id: head.id ?? "", type: draft.type, session: session, location: location ?? .awaitingCapture(""),
            destination: destination, line: UInt32(reader.tree.span(node).line), options: options)
        checkID(head, number, node)
        if head.needs >= 0 { checks.needs.append(.init(task: number, list: head.needs)) }
        if hasOwnOptions || defaults.written.present & ~table.headRows != 0 || draft.type == .upload {
            checkOptions(draft, &task)
        }
        if draft.configuration.kind == .background { checkBackground(draft, task) }
        noteUses(number)
        tasks.append(task)
    }

    private func type(of head: TaskHead, _ options: TaskOptions) -> TaskType {
        if let type = head.type { return type }
        let to = bit(table.to), body = bit(table.body)
        let present = written.present | (defaults.written.present & ~written.nulls)
        return present & to != 0 ? .download : present & body != 0 ? .upload : .data
    }

    private func checkID(_ head: TaskHead, _ number: UInt32, _ node: NodeID) {
        guard let id = head.id else {
            if !written.has(table.id), !isDeferred {
                let hint = "an id is letters, digits, `.`, `_` and `-`, and no other task has it"
                reader.error("missing-key", "a task needs an `id`", hint: hint, at: reader.beginning(node))
            }
            return
        }
        if !isDeferred, let first = ids.insert(id, owner: number) {
            let line = tasks[Int(first)].line
            let isSameTask = line == UInt32(reader.tree.span(node).line)
            reader.error(
                "duplicate-id",
                isSameTask ? "`forEach` makes the task id `\(id)` twice" : "the task id `\(id)` is used twice, first in line \(line)",
                hint: isSameTask ? indexHint : "every task has an id of its own", written.value(table.id))
        }
    }

    private var indexHint: String {
        "put \(reader.bindings.map { "`${\($0.name).index}`" }.joined(separator: " and ")) into the id"
    }

    private func noteUses(_ number: UInt32) {
        for use in reader.captureUses { checks.captures.append(.init(task: number, use: use)) }
        if !reader.captureUses.isEmpty { reader.captureUses = [] }
        for named in reader.checksumTasks { checks.checksums.append(.init(task: number, named: named)) }
        if !reader.checksumTasks.isEmpty { reader.checksumTasks = [] }
    }

    // MARK: URL and destination

    private func location(_ draft: TaskDraft) -> TaskSpecification.Location? {
        let head = draft.head
        if written.has(table.url), written.has(table.urls) {
            reader.error(
                "conflicting-keys", "`url` and `urls` exclude each other", hint: "keep one of them",
                at: reader.tree.span(written.key(table.urls)))
        }
        guard let first = head.location ?? head.mirrors.first else {
            let places = bit(table.url) | bit(table.urls)
            if (written.present | defaults.written.present & ~written.nulls) & places == 0 {
                reader.error("missing-key", "a task needs `url` or `urls`", at: reader.beginning(draft.node))
            }
            return nil
        }
        let row = written.has(table.urls) || written.has(table.url) ? written : defaults.written
        let key = row.has(table.urls) ? table.urls : table.url
        if head.mirrors.count > 1 { reader.problems.isNotBuilt("`urls` with several places", at: reader.tree.span(row.key(key)), in: reader.source) }
        for place in head.location.map({ [$0] }) ?? head.mirrors { checkScheme(place, draft, row.value(key)) }
        return withQuery(first, head)
    }

    private func withQuery(_ location: TaskSpecification.Location, _ head: TaskHead) -> TaskSpecification.Location {
        guard !head.query.isEmpty, case .url(let url) = location else { return location }
        let encoded = head.query.map {
            "\(PercentEncoding.encode($0.name))=\(PercentEncoding.encode($0.value.plain ?? $0.value.revealed))"
        }
        return .url(url.adding(encodedQuery: encoded.joined(separator: "&")))
    }

    private func checkScheme(_ location: TaskSpecification.Location, _ draft: TaskDraft, _ node: NodeID) {
        guard let url = location.url else { return }
        if url.userInformation != nil {
            reader.problems.isNotBuilt("a user and password in a URL", at: reader.tree.span(node), in: reader.source)
        }
        if url.isHTTP { return }
        if draft.configuration.kind == .background {
            return reader.error(
                "background-restriction", "a background session knows http and https only, not `\(url.scheme)`", node)
        }
        let scheme = url.scheme
        if draft.configuration.protocols.contains(where: { $0.scheme == scheme }) { return }
        switch scheme {
        case "file", "data": break
        case "ftp": reader.problems.isNotBuilt("`ftp:`", at: reader.tree.span(node), in: reader.source)
        default:
            reader.warning(
                "unknown-scheme", "no session knows `\(scheme):`, the task will fail with `unsupportedURL`",
                hint: reader.closest(scheme, ["http", "https", "file", "ftp", "data"]).map { "did you mean `\($0)`?" },
                at: reader.tree.span(node))
        }
    }

    private func destination(_ draft: TaskDraft) -> String? {
        guard draft.type == .download else { return nil }
        guard let to = draft.head.to else {
            if !written.has(table.to), !defaults.written.has(table.to) || written.nulls & bit(table.to) != 0 {
                reader.error(
                    "missing-key", "a download needs `to`", hint: "a file, or a folder ending in `/`",
                    at: reader.beginning(draft.node))
            }
            return nil
        }
        return Paths.absolute(to, in: folder(draft.head.group))
    }

    private func folder(_ group: String?) -> String {
        guard let group else { return reader.baseDirectory }
        guard let folder = groups[group] else {
            let place = written.has(table.group) ? written.value(table.group) : defaults.written.value(table.group)
            let known = groups.keys.sorted()
            let hint = reader.closest(group, known).map { "did you mean `\($0)`?" }
            reader.error("unknown-group", "there is no group `\(Reader.short(group))`", hint: hint, place)
            return reader.baseDirectory
        }
        return folder.to.plain.map { $0.hasSuffix("/") && $0 != "/" ? String($0.dropLast()) : $0 } ?? reader.baseDirectory
    }

    // MARK: forEach

    /// Whether the task being made stands for tasks that are not known yet.
    private var isDeferred: Bool { reader.bindings.contains { $0.index == 0 } }

    private func expand(_ node: NodeID) {
        let lists = ForEachReader(reader: reader).lists(own: ownForEach, defaults: defaultForEach)
        noteForEach()
        guard let lists else { return }
        defer { reader.bindings = [] }
        reader.templates.isOn = true
        let isStatic = !Bits(written.present & ~table.headRows).contains { reader.hasDollarBelow(written.value($0)) }
            && defaults.dynamic & ~table.headRows == 0
        var shared: TaskOptions?
        var total = 1
        for list in lists { total = total.multipliedReportingOverflow(by: max(list.items.count, 0)).partialValue }
        guard !lists.contains(where: { $0.items.isEmpty }) else { return warnEmpty(lists) }
        guard lists.reduce(1.0, { $0 * Double($1.items.count) }) + Double(tasks.count) <= Double(Self.maximumTasks) else {
            return reportBudget(node)
        }
        var counters = [Int](repeating: 0, count: lists.count)
        reader.bindings = lists.map { Binding(name: $0.name, value: $0.items[0], index: $0.items.isDeferred ? 0 : 1) }
        for _ in 0..<total {
            if isDeferred { makeDeferredTask(node) } else { makeTask(node, isShared: isStatic, &shared) }
            advance(&counters, lists)
        }
    }

    private func noteForEach() {
        let first = UInt32(tasks.count)
        checks.reads += reader.fileReads.map { .init(task: first, path: $0.path, node: $0.node) }
        checks.forEachTasks += reader.forEachTasks
        (reader.fileReads, reader.forEachTasks) = ([], [])
    }

    /// The last name runs fastest, as the innermost of nested loops does.
    private func advance(_ counters: inout [Int], _ lists: [ForEachList]) {
        for place in lists.indices.reversed() {
            counters[place] += 1
            if counters[place] == lists[place].items.count { counters[place] = 0 }
            reader.bindings[place].value = lists[place].items[counters[place]]
            if reader.bindings[place].index > 0 { reader.bindings[place].index = counters[place] + 1 }
            if counters[place] != 0 { return }
        }
    }

    /// Checks what can be checked before the list is known, and lets `needs` find the tasks that will be there.
    private func makeDeferredTask(_ node: NodeID) {
        let bindings = reader.bindings
        for place in reader.bindings.indices where reader.bindings[place].index == 0 { reader.bindings[place].value = .wild }
        let pattern = written.has(table.id) ? reader.taskID(written.value(table.id)) : nil
        if let pattern { checks.deferredIDs.append(pattern) }
        reader.bindings = bindings
        var shared: TaskOptions?
        makeTask(node, isShared: false, &shared)
        tasks.removeLast()
        checks.forget(task: UInt32(tasks.count))
    }

    private var ownForEach: NodeID? { written.has(table.forEach) ? written.value(table.forEach) : nil }
    private var defaultForEach: NodeID? {
        defaults.written.has(table.forEach) ? defaults.written.value(table.forEach) : nil
    }

    private func warnEmpty(_ lists: [ForEachList]) {
        guard let empty = lists.first(where: { $0.items.isEmpty }) else { return }
        reader.warning(
            "empty-for-each", "`\(empty.name)` has no values, so this makes no task", at: reader.beginning(empty.node))
    }

    private func reportBudget(_ node: NodeID) {
        isOverBudget = true
        reader.error(
            "too-many-tasks", "a job has at most \(Self.maximumTasks) tasks", hint: "make several jobs of it",
            at: reader.beginning(node))
    }

    // MARK: Checks of one task

    /// Keys that are written in a task of a type they are not for. A default that does not fit is left out silently.
    private func checkKeys(_ draft: TaskDraft) {
        let misplaced = written.present & ~table.rows(for: draft.type)
        guard misplaced != 0 else { return }
        for row in Bits(misplaced) {
            let document = table.rows[row].document
            reader.error(
                "not-for-type", "`\(document.name)` is not for \(draft.type.rawValue) tasks",
                hint: "it is for: \(document.types.words)", at: reader.tree.span(written.key(row)))
        }
    }

    private func checkOptions(_ draft: TaskDraft, _ task: inout TaskSpecification) {
        let values = task.options.values
        checkBody(draft, values)
        noteReads(values.body, UInt32(tasks.count))
        if written.has(table.cellular), values.policies.allowsCellularAccess,
            !draft.configuration.taskDefaults.allowsCellularAccess
        {
            reader.warning(
                "cannot-loosen", "a task cannot loosen `allowsCellularAccess: false` of its session", hint: "it has no effect",
                at: reader.tree.span(written.value(table.cellular)))
            var changed = values
            changed.policies.allowsCellularAccess = false
            task.options = TaskOptions(changed)
        }
        if draft.head.mirrors.count > 1 {
            var changed = task.options.values
            changed.mirrors = draft.head.mirrors.map { withQuery($0, draft.head) }
            task.options = TaskOptions(changed)
        }
    }

    private func checkBody(_ draft: TaskDraft, _ values: TaskOptions.Values) {
        guard values.body != nil else {
            let isWritten = written.has(table.body) || defaults.written.has(table.body) && written.nulls & bit(table.body) == 0
            if draft.type == .upload, !isWritten {
                reader.error("missing-key", "an upload needs a `body`", at: reader.beginning(draft.node))
            }
            return
        }
        guard let method = values.method, method == "GET" || method == "HEAD" else { return }
        let place = written.has(table.body) ? reader.tree.span(written.key(table.body)) : reader.beginning(draft.node)
        reader.error(
            "body-with-get", "a \(method) request has no body", hint: "leave `method` or `body` out", at: place)
    }

    private func noteReads(_ body: RequestBody?, _ number: UInt32) {
        guard let body else { return }
        let node = written.has(table.body) ? written.value(table.body) : defaults.written.value(table.body)
        func note(_ path: SecretText) {
            guard let plain = path.plain else { return }
            checks.reads.append(.init(task: number, path: plain, node: node))
        }
        switch body {
        case .file(let path): note(path)
        case .multipart(let parts):
            for case .file(let path) in parts.map(\.content) { note(path) }
        case .data, .base64, .json, .form, .stream: break
        }
    }

    private func checkBackground(_ draft: TaskDraft, _ task: TaskSpecification) {
        let values = task.options.values
        if values.policies.redirects.follow != .always, written.has(table.redirects) {
            reader.error(
                "background-restriction", "a background session always follows redirects",
                hint: "leave `follow` out", written.value(table.redirects))
        }
        if let body = values.body, case .file = body {} else if values.body != nil {
            let place = written.has(table.body) ? written.value(table.body) : draft.node
            reader.error(
                "background-restriction", "in a background session a body comes from a file",
                hint: "write `body: { file: … }`", at: reader.beginning(place))
        }
        if written.has(table.waits), !values.policies.waitsForConnectivity {
            reader.warning(
                "no-effect", "`waitsForConnectivity: false` has no effect in a background session", hint: "it always waits",
                at: reader.tree.span(written.value(table.waits)))
        }
    }
}

/// A task on its way from what is written to what is meant.
struct TaskDraft {
    let node: NodeID
    let head: TaskHead
    let session: SessionIndex
    let configuration: SessionConfiguration
    var type = TaskType.data
}
