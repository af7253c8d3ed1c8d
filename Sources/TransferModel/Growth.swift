/// Computes how a run's job grows when a template became tasks. The run may be about a part of the file's tasks, and
/// has the added ones in the order in which they came.
package struct Growth {
    private let job: Job
    private let byID: [String: TaskIndex]
    private let byTemplate: [TaskTemplate: TaskIndex]
    private let templatesByID: [String: TaskIndex]
    /// Places of the tasks that earlier templates of the run became, by template.
    private let became: [TaskIndex: Range<Int>]

    package init(_ job: Job, became: [TaskIndex: Range<Int>] = [:]) {
        self.job = job
        self.became = became
        var templatesByID: [String: TaskIndex] = [:]
        var byID: [String: TaskIndex] = [:]
        var byTemplate: [TaskTemplate: TaskIndex] = [:]
        for (number, task) in job.tasks.enumerated() {
            let index = TaskIndex(raw: UInt32(number))
            if let template = task.options.values.template {
                byTemplate[template] = index
                templatesByID[task.id] = index
            } else {
                byID[task.id] = index
            }
        }
        (self.byID, self.byTemplate, self.templatesByID) = (byID, byTemplate, templatesByID)
    }

    /// Returns the place of a template in the run's job, or `nil` when the run does not have it.
    package func place(of template: TaskTemplate) -> TaskIndex? { byTemplate[template] }

    /// Returns the added tasks, numbered for the run, and what tasks of the run need of them. `templates` became these
    /// tasks, in that order; all of them are of the file that the expanded job was read from.
    package func expansion(
        _ expanded: ExpandedJob, of templates: [(template: TaskTemplate, count: Int)]
    ) throws(TransferError) -> Expansion {
        let file = templates.first?.template.file ?? 0
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
            // A template that an earlier version of the file brought stayed as it was there.
            return byTemplate[template] ?? templatesByID[task.id]
        }
        func places(_ needs: [TaskIndex]) -> [TaskIndex] {
            let known = needs.compactMap { place($0) }
            return known + known.flatMap { (became[$0] ?? 0..<0).map { TaskIndex(raw: UInt32($0)) } }
        }
        let names = NamedPlaces(of: expanded.job, in: job)
        let tasks = try expanded.added.map { (number) throws(TransferError) in
            var task = full[number]
            try names.apply(to: &task)
            task.needs = places(task.needs)
            guard case .task(let source, let listed)? = task.options.values.checksum else { return task }
            var values = task.options.values
            values.checksum = place(source).map { .task($0, listed) }
            task.options = TaskOptions(values)
            return task
        }
        var needs: [TaskIndex: [TaskIndex]] = [:]
        for number in full.indices where !expanded.added.contains(number) && !full[number].needs.isEmpty {
            let more = full[number].needs.filter { expanded.added.contains(Int($0.raw)) }
            guard !more.isEmpty, let task = place(TaskIndex(raw: UInt32(number))) else { continue }
            needs[task] = more.compactMap { place($0) }
        }
        for (task, more) in needsOfOtherFiles(full, templates) { needs[task, default: []] += more }
        return Expansion(tasks: tasks, needs: needs)
    }

    /// Returns the needs of tasks that other versions of the file brought. Those know the templates alone, and need all
    /// tasks that these become.
    private func needsOfOtherFiles(
        _ full: [TaskSpecification], _ templates: [(template: TaskTemplate, count: Int)]
    ) -> [TaskIndex: [TaskIndex]] {
        var start = job.tasks.count
        var became: [TaskIndex: Range<Int>] = [:]
        for (template, count) in templates {
            if let place = place(of: template) { became[place] = start..<start + count }
            start += count
        }
        let waiting = job.tasks.indices.filter { job.tasks[$0].needs.contains { became[$0] != nil } }
        if waiting.isEmpty { return [:] }
        let known = Set(full.map(\.id))
        var needs: [TaskIndex: [TaskIndex]] = [:]
        for index in waiting where !known.contains(job.tasks[index].id) {
            needs[TaskIndex(raw: UInt32(index))] = job.tasks[index].needs.flatMap { need in
                (became[need] ?? 0..<0).map { TaskIndex(raw: UInt32($0)) }
            }
        }
        return needs
    }
}

/// Places of a job's sessions and groups in another job, which may have got more of them since.
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
