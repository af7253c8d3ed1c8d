import Diagnostics
import TransferModel
import YAMLTree

/// Checks of `when`, and of the values that stand only in tasks which have one.
extension TaskChecker {
    /// Returns what `needs: ["*"]` means: all tasks but those that have a `when` of their own, which come after them.
    mutating func allTasks() -> [TaskIndex] {
        tasks.indices.filter { tasks[$0].options.values.when == nil && !isExpandedTemplate($0) }
            .map { TaskIndex(raw: UInt32($0)) }
    }

    /// Whether the task is a template whose tasks are there.
    private func isExpandedTemplate(_ task: Int) -> Bool {
        tasks[task].isTemplate && checks.templates.contains { Int($0.task) == task && $0.isExpanded }
    }

    /// Reports a value of the run's end in a task without `when`; returns whether it may stand there.
    @discardableResult
    func checkIsCondition(_ use: CaptureUse, _ task: UInt32?) -> Bool {
        guard let task, tasks[Int(task)].options.values.when == nil else { return true }
        let name = LateReference.name(use.task, use.name)
        let what = use.task == RunEnds.run ? "what became of the run" : "what became of `\(use.task)`"
        reader.error(
            "needs-when", "`${\(name)}` stands only in a task with `when`: it tells \(what)",
            hint: "add `when: finished`, and to `needs` what it waits for", at: use.span)
        return false
    }

    /// Reports a page's number in a task of one answer, which has it from `defaults`.
    func checkHasPages(_ use: CaptureUse, _ task: UInt32?) {
        guard let task, tasks[Int(task)].options.values.next == nil else { return }
        reader.error(
            "unknown-name", "unknown name `page`",
            hint: "`${page}` is the number of a page, in `to` of a task with `next`", at: use.span)
    }

    /// Checks that each `when` has something to judge, and that no group depends on one.
    mutating func checkConditions() {
        var waiting: Set<UInt32>?
        for index in tasks.indices where tasks[index].options.values.when != nil {
            let task = tasks[index]
            if task.group != nil {
                reader.error(
                    "conflicting-keys", "`when` and `group` exclude each other",
                    hint: "a group is published with all its members; let this task need `group.NAME` instead",
                    at: place(of: "when", task))
            }
            if !task.needs.isEmpty || !task.options.values.neededGroups.isEmpty { continue }
            let listed = waiting ?? Set(checks.needs.map(\.task))
            waiting = listed
            // A list that names nothing was reported.
            if listed.contains(UInt32(index)) { continue }
            reader.error(
                "missing-key", "`when` says on what became of its `needs` a task runs, and this one needs nothing",
                hint: "add `needs: [\"*\"]` for all other tasks, or the ids of some", at: place(of: "when", task))
        }
    }
}
