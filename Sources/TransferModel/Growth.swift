/// How a run's job grows when a template of the file's job became tasks. The run may be about a part of the file's tasks, and
/// has the ones that were added in the order in which they came.
package struct Growth {
    private let job: Job
    private let byID: [String: TaskIndex]
    private let byTemplate: [TaskTemplate: TaskIndex]

    package init(_ job: Job) {
        self.job = job
        var byID: [String: TaskIndex] = [:]
        var byTemplate: [TaskTemplate: TaskIndex] = [:]
        for (number, task) in job.tasks.enumerated() {
            let index = TaskIndex(raw: UInt32(number))
            if let template = task.options.values.template {
                byTemplate[template] = index
            } else {
                byID[task.id] = index
            }
        }
        (self.byID, self.byTemplate) = (byID, byTemplate)
    }

    /// `nil` of one that is not in the run.
    package func place(of template: TaskTemplate) -> TaskIndex? { byTemplate[template] }

    /// The added tasks by the run's numbers, and what tasks of the run need of them. `file`: which of the run's files the
    /// expanded job was read from (`TaskTemplate.file`).
    package func expansion(_ expanded: ExpandedJob, file: Int = 0) throws(TransferError) -> Expansion {
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
            guard var template = task.options.values.template else { return byID[task.id] }
            template.file = file
            return byTemplate[template]
        }
        let places = NamedPlaces(of: expanded.job, in: job)
        let tasks = try expanded.added.map { (number) throws(TransferError) in
            var task = full[number]
            try places.apply(to: &task)
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

/// Where a job's sessions and groups stand in another, which may have got more of them since.
private struct NamedPlaces {
    private let sessions: [SessionIndex?]
    private let groups: [GroupIndex?]

    init(of job: Job, in other: Job) {
        let sessions = Self.places(other.sessions.map(\.name))
        let groups = Self.places(other.groups.map(\.name))
        self.sessions = job.sessions.map { sessions[$0.name].map { SessionIndex(raw: UInt16($0)) } }
        self.groups = job.groups.map { groups[$0.name].map { GroupIndex(raw: UInt16($0)) } }
    }

    private static func places(_ names: [String]) -> [String: Int] {
        Dictionary(zip(names, 0...), uniquingKeysWith: { first, _ in first })
    }

    func apply(to task: inout TaskSpecification) throws(TransferError) {
        guard let session = sessions[Int(task.session.raw)] else {
            throw TransferError(.expansionFailed, "the run does not have the session of `\(task.id)`")
        }
        task.session = session
        guard let number = task.group else { return }
        guard let group = groups[Int(number.raw)] else {
            throw TransferError(.expansionFailed, "the run does not have the group of `\(task.id)`")
        }
        task.group = group
    }
}
