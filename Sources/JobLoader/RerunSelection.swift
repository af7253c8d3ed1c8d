package import TransferModel

/// Chooses the tasks of a job that run again, and with them only those of their needs that cannot be taken as done.
///
/// A task that they need has succeeded before, so it does not run again, unless they use what it captures or the list
/// that it brings: both live in a run alone. Members of a group run together, because a group is published whole.
package struct RerunSelection: Sendable {
    /// The choice in the form of `--only` and `--except`.
    package let selection: TaskSelection
    /// Number of tasks that were asked for and that the job has. A template counts once for all that it makes.
    package let askedCount: Int
    /// Ids of the tasks that run along: of a group, or because their captured values are used.
    package let added: [String]
    /// Ids that were asked for and that the job does not have any more.
    package let gone: [String]

    /// `ids` are the tasks that are asked for, as a report names them.
    package init(_ job: Job, ids: [String]) {
        var choice = Choice(job)
        gone = ids.filter { !choice.ask(for: $0) }
        askedCount = choice.chosen.count
        let asked = Set(choice.chosen)
        choice.addNeeded()
        added = choice.chosen.filter { !asked.contains($0) }.sorted().map { job.tasks[$0].id }
        selection = choice.selection()
    }
}

private struct Choice {
    let job: Job
    private var isChosen: [Bool]
    private(set) var chosen: [Int] = []
    private var places: [String: Int] = [:]
    private var templates: [(pattern: TaskPattern, index: Int)] = []

    init(_ job: Job) {
        self.job = job
        isChosen = Array(repeating: false, count: job.tasks.count)
        places.reserveCapacity(job.tasks.count)
        for (index, task) in job.tasks.enumerated() {
            places[task.id] = index
            if task.isTemplate { templates.append((Self.pattern(task.id), index)) }
        }
    }

    /// Returns a pattern of the ids that a template's tasks have: `*` for each reference.
    private static func pattern(_ id: String) -> TaskPattern {
        var text = ""
        var rest = id[...]
        while let start = rest.firstRange(of: "${") {
            text += rest[..<start.lowerBound] + "*"
            rest = rest[start.upperBound...].drop { $0 != "}" }.dropFirst()
        }
        return TaskPattern(text + rest)
    }

    /// Chooses the task, or the template that made it; returns whether the job has one.
    mutating func ask(for id: String) -> Bool {
        if let index = places[id] {
            choose(index)
            return true
        }
        let makers = templates.filter { $0.pattern.matches(id) }
        for maker in makers { choose(maker.index) }
        return !makers.isEmpty
    }

    private mutating func choose(_ index: Int) {
        guard !isChosen[index] else { return }
        isChosen[index] = true
        chosen.append(index)
    }

    /// Adds groups' members and the tasks whose captured values are used, until nothing more is needed.
    mutating func addNeeded() {
        var members: [GroupIndex: [Int]] = [:]
        for (index, task) in job.tasks.enumerated() {
            if let group = task.group { members[group, default: []].append(index) }
        }
        var next = 0
        while next < chosen.count {
            let task = job.tasks[chosen[next]]
            next += 1
            if let group = task.group {
                for member in members.removeValue(forKey: group) ?? [] { choose(member) }
            }
            for id in sources(of: task) {
                if let index = places[id] { choose(index) }
            }
        }
    }

    /// Returns the ids of the tasks whose answers a task uses.
    private func sources(of task: TaskSpecification) -> [String] {
        var ids = task.options.values.template?.sourceTasks ?? []
        guard task.options.values.awaitsCaptures else { return ids }
        task.forEachPlace { text in
            for case .capture(let source, _, _) in text.pieces { ids.append(source) }
        }
        return ids
    }

    func selection() -> TaskSelection {
        if chosen.count == job.tasks.count { return TaskSelection() }
        let only = chosen.sorted().map { job.tasks[$0].id }
        return TaskSelection(only: only, except: unwanted().map { job.tasks[$0].id })
    }

    /// Returns the tasks that `--only` would add and that are not to run.
    private func unwanted() -> [Int] {
        let selected = TaskSelection.withNeeds(isChosen, of: job)
        return job.tasks.indices.filter { selected[$0] && !isChosen[$0] }
    }
}
