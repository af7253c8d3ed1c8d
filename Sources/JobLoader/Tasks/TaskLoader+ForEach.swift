import Diagnostics
import TransferModel
import YAMLTree

/// One task for each value.
extension TaskLoader {
    /// Whether the task being made stands for tasks that are not known yet.
    var isDeferred: Bool { reader.bindings.contains { $0.index == 0 } }

    func expand(_ node: NodeID) {
        let lists = ForEachReader(reader: reader).lists(own: ownForEach, defaults: defaultForEach)
        noteForEach()
        guard let lists else { return }
        defer { reader.bindings = [] }
        reader.templates.isOn = true
        let isStatic =
            !Bits(written.present & ~table.headRows).contains { reader.hasDollarBelow(written.value($0)) }
            && defaults.dynamic & ~table.headRows == 0
        var shared: TaskOptions?
        var total = 1
        for list in lists { total = total.multipliedReportingOverflow(by: max(list.items.count, 0)).partialValue }
        guard !lists.contains(where: { $0.items.isEmpty }) else { return warnEmpty(lists) }
        guard lists.reduce(1.0, { $0 * Double($1.items.count) }) + Double(tasks.count) <= Double(Self.maximumTasks)
        else {
            return reportBudget(node)
        }
        var counters = [Int](repeating: 0, count: lists.count)
        reader.bindings = lists.map { Binding(name: $0.name, value: $0.items[0], index: $0.items.isDeferred ? 0 : 1) }
        for _ in 0..<total {
            if isDeferred { makeDeferredTask(node) } else { makeTask(node, isShared: isStatic, &shared) }
            advance(&counters, lists)
        }
    }

    func noteForEach() {
        let first = UInt32(tasks.count)
        checks.reads += reader.fileReads.map { .init(task: first, path: $0.path, node: $0.node) }
        checks.forEachTasks += reader.forEachTasks
        (reader.fileReads, reader.forEachTasks) = ([], [])
    }

    /// The last name runs fastest, as the innermost of nested loops does.
    func advance(_ counters: inout [Int], _ lists: [ForEachList]) {
        for place in lists.indices.reversed() {
            counters[place] += 1
            if counters[place] == lists[place].items.count { counters[place] = 0 }
            reader.bindings[place].value = lists[place].items[counters[place]]
            if reader.bindings[place].index > 0 { reader.bindings[place].index = counters[place] + 1 }
            if counters[place] != 0 { return }
        }
    }

    /// Checks what can be checked before the list is known, and lets `needs` find the tasks that will be there.
    func makeDeferredTask(_ node: NodeID) {
        let bindings = reader.bindings
        for place in reader.bindings.indices where reader.bindings[place].index == 0 {
            reader.bindings[place].value = .wild
        }
        let pattern = written.has(table.id) ? reader.taskID(written.value(table.id)) : nil
        if let pattern { checks.deferredIDs.append(pattern) }
        reader.bindings = bindings
        var shared: TaskOptions?
        makeTask(node, isShared: false, &shared)
        tasks.removeLast()
        checks.forget(task: UInt32(tasks.count))
    }

    var ownForEach: NodeID? { written.has(table.forEach) ? written.value(table.forEach) : nil }
    var defaultForEach: NodeID? {
        defaults.written.has(table.forEach) ? defaults.written.value(table.forEach) : nil
    }

    func warnEmpty(_ lists: [ForEachList]) {
        guard let empty = lists.first(where: { $0.items.isEmpty }) else { return }
        reader.warning(
            "empty-for-each", "`\(empty.name)` has no values, so this makes no task", at: reader.beginning(empty.node))
    }

    func reportBudget(_ node: NodeID) {
        isOverBudget = true
        reader.error(
            "too-many-tasks", "a job has at most \(Self.maximumTasks) tasks", hint: "make several jobs of it",
            at: reader.beginning(node))
    }
}
