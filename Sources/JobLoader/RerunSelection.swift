package import TransferModel

/// Chooses the tasks of a job that run again, and with them only those of their needs that cannot be taken as done.
///
/// A task that they need has succeeded before, so it does not run again, unless they use what it captures or the list
/// that it brings: both live in a run alone. Of the tasks that a template becomes, those run again that are asked for.
/// Members of a group run together, because a group is published whole. A task that was passed over runs again where
/// one that it needs does: its `when` is judged anew. So does one with `when: finished`, which tidies up after them.
package struct RerunSelection: Sendable {
    /// The choice as the selection of a run.
    package let selection: TaskSelection
    /// Number of tasks that were asked for and that the job has. A template counts once for all that it makes.
    package let askedCount: Int
    /// Ids of the tasks that run along: of a group, or because their captured values are used.
    package let added: [String]
    /// Ids that were asked for and that the job does not have any more.
    package let gone: [String]
    /// The ids that were asked for, and those of the passed over tasks that run again.
    package let asked: [String]

    /// `ids` are the tasks that are asked for, as a report names them, `passedOver` those whose `when` was not met.
    package init(_ job: Job, ids: [String], passedOver: [String] = []) {
        var choice = Choice(job)
        gone = ids.filter { !choice.ask(for: $0) }
        let tidying = job.tasks.filter { $0.options.values.when == .finished }.map(\.id)
        self.asked = ids + choice.judgeAnew(passedOver + tidying.filter { !ids.contains($0) })
        askedCount = choice.chosen.count
        let asked = Set(choice.chosen)
        choice.addNeeded()
        added = Set(choice.chosen.filter { !asked.contains($0) } + choice.widened).sorted().map { job.tasks[$0].id }
        selection = choice.selection()
    }
}

private struct Choice {
    let job: Job
    private var isChosen: [Bool]
    private(set) var chosen: [Int] = []
    private let ids: JobIDs
    /// The ids that were asked for and that no task of the job has, by the template that may become them.
    private var rows: [Int: [String]] = [:]
    /// Templates that run with all of their tasks, also where only some of these were asked for.
    private var wholeTemplates: Set<Int> = []

    init(_ job: Job) {
        self.job = job
        isChosen = Array(repeating: false, count: job.tasks.count)
        ids = JobIDs(job, lookups: .max)
    }

    /// Chooses the task, or of the template that made it this task alone; returns whether the job has one.
    mutating func ask(for id: String) -> Bool {
        let found = ids.matches(ofID: id)
        for index in found.tasks {
            if job.tasks[index].isTemplate { wholeTemplates.insert(index) }
            choose(index)
        }
        for index in found.makers {
            rows[index, default: []].append(id)
            choose(index)
        }
        return !found.isEmpty
    }

    private mutating func choose(_ index: Int) {
        guard !isChosen[index] else { return }
        isChosen[index] = true
        chosen.append(index)
    }

    /// Chooses of the passed over tasks those that need a chosen one, also where that was passed over itself; returns
    /// their ids.
    mutating func judgeAnew(_ passedOver: [String]) -> [String] {
        var waiting: [Int: [String]] = [:]
        var waitingForGroups: [String: [String]] = [:]
        for id in passedOver {
            let found = ids.matches(ofID: id)
            for index in found.tasks + found.makers {
                for need in job.tasks[index].needs { waiting[Int(need.raw), default: []].append(id) }
                for group in job.tasks[index].options.values.neededGroups {
                    waitingForGroups[group, default: []].append(id)
                }
            }
        }
        var taken: Set<String> = []
        var next = 0
        while next < chosen.count {
            let index = chosen[next]
            next += 1
            var followers = waiting.removeValue(forKey: index) ?? []
            if let group = job.tasks[index].group {
                followers += waitingForGroups.removeValue(forKey: job.groups[Int(group.raw)].name) ?? []
            }
            for id in followers where taken.insert(id).inserted { _ = ask(for: id) }
        }
        return passedOver.filter { taken.contains($0) }
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
                for member in members.removeValue(forKey: group) ?? [] {
                    if job.tasks[member].isTemplate { wholeTemplates.insert(member) }
                    choose(member)
                }
            }
            for id in sources(of: task) { _ = ask(for: id) }
        }
    }

    /// Templates of which only some tasks were asked for, but which run with all of them.
    var widened: [Int] { rows.keys.filter { wholeTemplates.contains($0) } }

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
        let parts = rows.keys.filter { !wholeTemplates.contains($0) }
        if chosen.count == job.tasks.count, parts.isEmpty { return TaskSelection() }
        let only = chosen.sorted().flatMap { index in
            if !wholeTemplates.contains(index), let rows = rows[index] { rows } else { [job.tasks[index].id] }
        }
        return TaskSelection(only: only, addsNeeds: false)
    }
}
