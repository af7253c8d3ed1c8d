package import TransferModel

/// Files that an earlier process of the run may have published without recording it: since when that may have been, for
/// each task.
package struct UnrecordedFiles: Sendable {
    /// Time of the last recorded event; `nil`: no earlier process ran.
    private let last: WallTime?
    /// Tasks with another time; `nil` where no earlier process can have published the task's file.
    private var others: [TaskIndex: WallTime?] = [:]

    package init(since last: WallTime? = nil) { self.last = last }

    /// Takes what the history says of tasks that have not ended. `standing`: tasks whose recorded file is still there.
    package mutating func add(_ history: RunHistory, standing: Set<TaskIndex>) {
        for (index, past) in history.tasks.enumerated() where past.ending == nil && !past.isExpanded {
            let task = TaskIndex(raw: UInt32(index))
            if past.file?.stamp != nil, !standing.contains(task) {
                // The file there now is another one, not the task's own.
                others.updateValue(nil, forKey: task)
            } else if let since = past.untoldSince {
                others.updateValue(since, forKey: task)
            }
        }
    }

    subscript(task: TaskIndex) -> WallTime? { others.isEmpty ? last : others[task] ?? last }
}
