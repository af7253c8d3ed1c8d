/// How a run's job grows when a template of the file's job became tasks. The run may be about a part of the file's tasks, and
/// has the ones that were added in the order in which they came.
package struct Growth {
    private let job: Job
    private let byID: [String: TaskIndex]
    private let byTemplate: [Int: TaskIndex]

    package init(_ job: Job) {
        self.job = job
        var byID: [String: TaskIndex] = [:]
        var byTemplate: [Int: TaskIndex] = [:]
        for (number, task) in job.tasks.enumerated() {
            let index = TaskIndex(raw: UInt32(number))
            if let template = task.options.values.template {
                byTemplate[template.number] = index
            } else {
                byID[task.id] = index
            }
        }
        (self.byID, self.byTemplate) = (byID, byTemplate)
    }

    /// The added tasks by the run's numbers, and what tasks of the run need of them.
    package func expansion(_ expanded: ExpandedJob) throws(TransferError) -> Expansion {
        let start = job.tasks.count
        let full = expanded.job.tasks
        guard start + expanded.added.count <= Int(UInt32.max), expanded.added.upperBound <= full.count else {
            throw TransferError(.expansionFailed, "the tasks are too many")
        }
        func place(_ need: TaskIndex) -> TaskIndex? {
            let number = Int(need.raw)
            if expanded.added.contains(number) {
                return TaskIndex(raw: UInt32(start + number - expanded.added.lowerBound))
            }
            let task = full[number]
            return task.options.values.template.map { byTemplate[$0.number] } ?? byID[task.id]
        }
        let tasks = expanded.added.map { number in
            var task = full[number]
            task.needs = task.needs.compactMap { place($0) }
            guard case .task(let source, let algorithm, let entry)? = task.options.values.checksum else { return task }
            var values = task.options.values
            values.checksum = place(source).map { .task($0, algorithm: algorithm, entry: entry) }
            task.options = TaskOptions(values)
            return task
        }
        var needs: [TaskIndex: [TaskIndex]] = [:]
        for number in full.indices where !expanded.added.contains(number) && !full[number].needs.isEmpty {
            let more = full[number].needs.filter { expanded.added.contains(Int($0.raw)) }
            guard !more.isEmpty, let task = place(TaskIndex(raw: UInt32(number))) else { continue }
            needs[task] = more.compactMap { place($0) }
        }
        return Expansion(tasks: tasks, needs: needs)
    }
}
