import Diagnostics
import TransferModel
import YAMLTree

/// Makes templates: tasks whose `forEach` reads a list that another task captures or brings.
///
/// A job is read without the values of such lists first: each template is one task then, which waits for the tasks that
/// have its lists. With the values the same file is read again, and the templates' tasks are added after the written
/// ones.
extension TaskLoader {
    /// Makes one task that stands for all of a template's, checked as far as possible without the values.
    func makeTemplate(_ node: NodeID, _ lists: [ForEachList]) {
        reader.scope.bindings = lists.map { Binding(name: $0.name, value: .wild, index: 0) }
        let pattern = written.has(table.id) ? TaskKeyReader(reader: reader).taskID(written.value(table.id)) : nil
        reader.scope.bindings = lists.map { list in
            Binding(name: list.name, value: list.items.isCaptured ? list.items[0] : .unknown, index: 0)
        }
        var shared: TaskOptions?
        let place = tasks.count
        let named = reader.scope.capturedLists
        hasIDPattern = true
        makeTask(node, isShared: false, &shared)
        hasIDPattern = false
        guard tasks.count > place, !named.isEmpty else { return }
        if tasks[place].toStandardOutput {
            reader.error(
                "conflicting-keys",
                "`to: \"-\"` and a `forEach` over what a task captures or brings exclude each other",
                hint: "standard output is written in the order of the job, and these tasks are made in mid-run",
                at: reader.beginning(node))
        }
        if reader.templateValues == nil, !tasks[place].id.isEmpty { checkNaming(lists, isError: false) }
        let number = checks.templates.count
        tasks[place].id = written.has(table.id) ? reader.tree.text(written.value(table.id)) : ""
        tasks[place].destination = nil
        var values = tasks[place].options.values
        var sources: [String] = []
        for list in named where !sources.contains(list.task) { sources.append(list.task) }
        var rows: [RowList] = []
        for list in named.compactMap(\.rows) where !rows.contains(list) { rows.append(list) }
        values.template = TaskTemplate(number: number, sources: sources, lists: rows)
        tasks[place].options = TaskOptions(values)
        checks.templates.append(
            CrossChecks.Template(
                task: UInt32(place), node: node, pattern: pattern, lists: named,
                isExpanded: reader.templateValues?.order.contains(number) == true))
    }

    /// Reports an id that is the same for all tasks of the template: of two values it could not be, and of one it is the
    /// template's own. Before the values are known, that is a warning.
    func checkNaming(_ lists: [ForEachList], isError: Bool) {
        guard written.has(table.id) else { return }
        let node = written.value(table.id)
        let names = Set(lists.map(\.name))
        let tellsThemApart = WrittenReferences(tree: reader.tree).references(below: node).contains {
            if case .local(let name, _) = $0 { names.contains(name) } else { false }
        }
        if tellsThemApart { return }
        let message =
            "`forEach` makes a task of each value, and all would have the id `\(Reader.short(reader.tree.text(node)))`"
        let hint = "put \(lists.map { "`${\($0.name).index}`" }.joined(separator: " and ")) into the id"
        if isError { return reader.error("duplicate-id", message, hint: hint, node) }
        reader.warning("duplicate-id", message + ": the run would fail", hint: hint, at: reader.tree.span(node))
    }

    /// Adds the templates' tasks, in the order of expansion, after all written ones. Returns the tasks that each
    /// template became; `nil` if none was to become tasks.
    func expandTemplates() -> [ExpandedTemplate]? {
        guard let values = reader.templateValues else { return nil }
        var made: [ExpandedTemplate] = []
        isExpanding = true
        defer { reader.scope = TaskScope() }
        for number in values.order where checks.templates.indices.contains(number) {
            let start = tasks.count
            let node = checks.templates[number].node
            guard gather(node, into: &written, isDefaults: false) else { continue }
            reader.scope = TaskScope(hasPages: has(table.next))
            expand(node)
            made.append(
                ExpandedTemplate(
                    template: TaskIndex(raw: checks.templates[number].task), tasks: start..<tasks.count))
        }
        isExpanding = false
        return made
    }
}

extension TaskChecker {
    /// Checks that each template's lists are captured or brought by a task, and lets the template need it.
    mutating func checkTemplates() {
        for template in checks.templates {
            for list in template.lists {
                guard let owner = ids.owner(of: list.source) else {
                    reportUnknownSource(list)
                    continue
                }
                if list.rows != nil {
                    add(owner, to: Int(template.task))
                    checkBrings(owner, list)
                } else if let captured = capture(list, of: owner) {
                    add(owner, to: Int(template.task))
                    guard !tasks[Int(owner)].options.values.givesList(captured) else { continue }
                    reader.error(
                        "not-a-list", "`tasks.\(list.task).\(list.name)` is one value, no list",
                        hint: "write `all: true` beside its `json`", list.node)
                }
            }
        }
    }

    private mutating func reportUnknownSource(_ list: CapturedList) {
        guard templates(fitting: list.source).isEmpty else {
            let key = list.rows == nil ? "captured" : "task"
            return reader.error(
                "unknown-task", "`\(Reader.short(list.source))` is not written in the job: a `forEach` makes it",
                hint: "`\(key)` names a task with an id of its own", list.node)
        }
        if !fitsDeferred(list.source) { reportUnknown(list.source, list.node) }
    }

    /// Checks that the task brings something to read rows from, and marks it: what it brought is kept for that.
    private mutating func checkBrings(_ owner: UInt32, _ list: CapturedList) {
        let task = tasks[Int(owner)]
        if task.type == .upload || task.toStandardOutput || task.options.values.object != nil {
            let why = task.type == .upload ? "is an upload" : whyNoFile(task)
            reader.error(
                "not-for-type", "`\(Reader.short(list.source))` \(why): it leaves nothing to go over",
                hint: "name a download or data task", list.node)
            return
        }
        guard !task.options.values.leavesRows else { return }
        var values = task.options.values
        values.leavesRows = true
        tasks[Int(owner)].options = TaskOptions(values)
    }

    private mutating func capture(_ list: CapturedList, of owner: UInt32) -> Capture? {
        let captures = tasks[Int(owner)].options.values.captures
        if let found = captures.first(where: { $0.name == list.name }) { return found }
        if reader.unreadCaptures.contains(list.name) { return nil }
        let lists = captures.filter { tasks[Int(owner)].options.values.givesList($0) }.map(\.name)
        let near = reader.closest(list.name, lists).map { "did you mean `tasks.\(list.task).\($0)`?" }
        return reader.error(
            "unknown-name", "`\(list.task)` captures no `\(list.name)`",
            hint: near ?? "write `capture: { \(list.name): { json: …, all: true } }` into that task", list.node)
    }

    /// Returns the templates that are not expanded and may make a task with the id, or with one that matches the
    /// pattern.
    func templates(fitting text: String) -> [TaskIndex] {
        checks.templates.filter { !$0.isExpanded && $0.fits(text) }.map { TaskIndex(raw: $0.task) }
    }
}

extension CrossChecks {
    struct Template {
        /// Index of the task that stands in the job for all of them.
        let task: UInt32
        let node: NodeID
        /// Pattern of the ids of its tasks; `nil` if the id is faulty.
        let pattern: String?
        let lists: [CapturedList]
        let isExpanded: Bool

        /// Returns whether a task of the template can have the id, or one that matches the pattern.
        func fits(_ text: String) -> Bool {
            guard let pattern else { return true }
            return Glob.matches(Array(text.utf8), Array(pattern.utf8))
                || Glob.matches(Array(pattern.utf8), Array(text.utf8))
        }
    }
}
