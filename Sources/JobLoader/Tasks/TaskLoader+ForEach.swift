import Diagnostics
import TransferModel
import YAMLTree

/// Makes one task for each value of `forEach`.
extension TaskLoader {
    func expand(_ node: NodeID) {
        var read = ForEachReader(reader: reader, task: node).lists(own: ownForEach, defaults: defaultForEach)
        let first = UInt32(tasks.count)
        checks.reads += reader.scope.fileReads.map { .init(task: first, path: $0.path, node: $0.node) }
        if !isExpanding { read.all = read.all.map(\.unexpanded) }
        reader.templates.isOn = true
        guard read.isWhole else { return checkUnmade(node, read) }
        let lists = read.all
        let isStatic =
            !Bits(written.present & ~table.headRows).contains { reader.tree.hasDollarBelow(written.value($0)) }
            && defaults.dynamic & ~table.headRows == 0
        var shared: TaskOptions?
        var total = 1
        for list in lists { total = total.multipliedReportingOverflow(by: max(list.items.count, 0)).partialValue }
        guard !lists.contains(where: { $0.items.isEmpty }) else {
            // For a captured list, the run's events report it.
            if isExpanding { return }
            warnEmpty(lists)
            return checkUnmade(node, read)
        }
        if lists.contains(where: \.items.isCaptured) {
            guard isExpanding else { return makeTemplate(node, lists) }
        }
        guard lists.reduce(1.0, { $0 * Double($1.items.count) }) + Double(tasks.count) <= Double(Self.maximumTasks)
        else {
            return reportBudget(node)
        }
        if isExpanding, total == 1 { checkNaming(lists, isError: true) }
        var counters = [Int](repeating: 0, count: lists.count)
        reader.scope.bindings = lists.map {
            Binding(name: $0.name, value: $0.items[0], index: $0.items.isDeferred ? 0 : 1)
        }
        for _ in 0..<total {
            if reader.scope.isDeferred { makeDeferredTask(node) } else { makeTask(node, isShared: isStatic, &shared) }
            advance(&counters, lists)
        }
    }

    /// Advances the counters; the last name changes fastest, like the innermost of nested loops.
    func advance(_ counters: inout [Int], _ lists: [ForEachList]) {
        for place in lists.indices.reversed() {
            counters[place] += 1
            if counters[place] == lists[place].items.count { counters[place] = 0 }
            reader.scope.bindings[place].value = lists[place].items[counters[place]]
            if reader.scope.bindings[place].index > 0 { reader.scope.bindings[place].index = counters[place] + 1 }
            if counters[place] != 0 { return }
        }
    }

    /// Checks a task that is not made, for faults that it has with any values.
    private func checkUnmade(_ node: NodeID, _ lists: ForEachReader.Lists) {
        reader.scope.bindings = lists.all.map { Binding(name: $0.name, value: .unknown, index: 0) }
        reader.scope.unreadName = lists.hasUnreadNames ? .unknown : nil
        makeDeferredTask(node, isMeant: !lists.isWhole)
    }

    /// Checks a task as far as possible before its list is known. `isMeant`: there will be tasks, or would be if the
    /// list were right, that `needs` can name and that need others.
    func makeDeferredTask(_ node: NodeID, isMeant: Bool = true) {
        let bindings = reader.scope.bindings
        for place in reader.scope.bindings.indices where reader.scope.bindings[place].index == 0 {
            reader.scope.bindings[place].value = .wild
        }
        if reader.scope.unreadName != nil { reader.scope.unreadName = .wild }
        let pattern = written.has(table.id) ? TaskKeyReader(reader: reader).taskID(written.value(table.id)) : nil
        if let pattern {
            if isMeant { checks.deferredIDs.append(pattern) } else { checks.emptyIDs.append(pattern) }
        }
        if reader.scope.unreadName != nil { reader.scope.unreadName = .unknown }
        reader.scope.bindings = bindings
        var shared: TaskOptions?
        let count = tasks.count
        hasIDPattern = pattern != nil
        makeTask(node, isShared: false, &shared)
        hasIDPattern = false
        tasks.removeLast(tasks.count - count)
        checks.forget(task: UInt32(count), isMeant: isMeant)
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
