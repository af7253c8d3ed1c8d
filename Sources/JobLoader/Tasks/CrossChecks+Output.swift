import Diagnostics
import TransferModel
import YAMLTree

/// Checks that no task with `to: "-"` needs one that writes after it: standard output is written in the order of the
/// job.
extension TaskChecker {
    /// Reports the first conflict. Call it only if `needs` has no cycles.
    mutating func checkOutputOrder() {
        let writers = tasks.indices.filter { tasks[$0].toStandardOutput }
        guard writers.count > 1 else { return }
        var needs = OutputNeeds(tasks, members)
        guard let conflict = needs.conflict(of: writers) else { return }
        let (task, needed) = (tasks[conflict.task], tasks[conflict.needed])
        reader.error(
            "needs-cycle",
            "`\(task.id)` needs `\(needed.id)`, which writes to standard output after it: each would wait for the other",
            hint: "standard output is written in the order of the job: let `\(needed.id)` stand before `\(task.id)`",
            at: place(of: "needs", task))
    }

    /// Returns why a task leaves no file that others could read, in words that follow its id.
    func whyNoFile(_ task: TaskSpecification) -> String {
        if task.options.values.object != nil { return "becomes an object of a store" }
        return task.toStandardOutput ? "goes to standard output" : "is no download"
    }

    /// Returns whether a task leaves no file that others could read.
    func leavesNoFile(_ task: UInt32) -> Bool {
        let task = tasks[Int(task)]
        return task.type != .download || task.toStandardOutput || task.options.values.object != nil
    }
}

/// Finds the last writer that each task needs, directly or over chains of any length.
private struct OutputNeeds {
    private let tasks: [TaskSpecification]
    private let members: [String: [UInt32]]
    /// For each task, the last writer in the job that it needs; −1: none; −2: not known yet.
    private var last: [Int]

    init(_ tasks: [TaskSpecification], _ members: [String: [UInt32]]) {
        self.tasks = tasks
        self.members = members
        last = Array(repeating: -2, count: tasks.count)
    }

    /// Returns the first of `writers` that needs a later one, and that one.
    mutating func conflict(of writers: [Int]) -> (task: Int, needed: Int)? {
        for writer in writers {
            settle(writer)
            if last[writer] > writer { return (writer, last[writer]) }
        }
        return nil
    }

    /// Computes `last` for a task. Keeps a list instead of recursing: chains may be as long as a job.
    private mutating func settle(_ start: Int) {
        var rest = [start]
        while let task = rest.last {
            let needed = needs(of: task)
            let open = needed.filter { last[$0] == -2 }
            if open.isEmpty {
                last[task] = needed.reduce(-1) { max($0, last[$1], tasks[$1].toStandardOutput ? $1 : -1) }
                rest.removeLast()
            } else {
                // A task in a cycle, which was reported, is not visited again.
                last[task] = -1
                rest += open
            }
        }
    }

    private func needs(of task: Int) -> [Int] {
        let options = tasks[task].options.values
        let ofGroups = options.neededGroups.flatMap { members[$0] ?? [] }
        return (tasks[task].needs.map(\.raw) + ofGroups).map { Int($0) }
    }
}
