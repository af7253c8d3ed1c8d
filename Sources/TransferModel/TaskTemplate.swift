/// A task whose `forEach` goes over values that another task captures or brings. It stands in the job until that task
/// has ended; then the tasks made of it are added to the run in its place. It is known by all but its `lists`.
package struct TaskTemplate: Hashable, Sendable {
    /// The template's place among those of its job file, counted from 0; the same whatever part of the job is run.
    package let number: Int
    /// The place, among the job files that a run was given, of the file that holds the template: 0 is the one that the
    /// run began with.
    package var file = 0
    /// Ids of the tasks whose captured lists it goes over, and the `RowList.key` of each of `lists`, in the order of its
    /// `forEach`.
    package let sources: [String]
    /// The lists that are read from what tasks bring.
    package let lists: [RowList]

    package init(number: Int, file: Int = 0, sources: [String], lists: [RowList] = []) {
        self.number = number
        self.file = file
        self.sources = sources
        self.lists = lists
    }

    /// Ids of the tasks that capture or bring what it goes over.
    package var sourceTasks: [String] { sources.map { RowList.task(of: $0) ?? $0 } }

    /// What its first list is, in words for people.
    package var sourceWords: String {
        let source = sources.first ?? ""
        return RowList.task(of: source).map { "`\($0)` brought" } ?? "`\(source)` captured"
    }

    package static func == (left: TaskTemplate, right: TaskTemplate) -> Bool {
        (left.number, left.file, left.sources) == (right.number, right.file, right.sources)
    }

    package func hash(into hasher: inout Hasher) {
        hasher.combine(number)
        hasher.combine(file)
    }
}

extension TaskSpecification {
    /// Whether the task is a template, which transfers nothing itself.
    package var isTemplate: Bool { options.values.template != nil }
}

/// The templates of a job file that became tasks, in that order, and the values that they go over. With equal values
/// the same file always gives the same tasks.
package struct TemplateValues: Sendable {
    /// The file's `TaskTemplate.file`.
    package var file: Int
    /// The `TaskTemplate.number` of each template that became tasks, in the order in which they did.
    package var order: [Int]
    /// The lists that the templates go over.
    package var captured: CapturedValues

    package init(file: Int = 0, order: [Int] = [], captured: CapturedValues = CapturedValues()) {
        self.file = file
        self.order = order
        self.captured = captured
    }
}

/// A job whose templates became tasks; these follow after all others, in the order of `TemplateValues.order`.
package struct ExpandedJob: Sendable {
    /// The job, with the new tasks at its end.
    package var job: Job
    /// Places of the new tasks: those of the last template, unless more are asked for.
    package var added: Range<Int>
    /// What each template became, in the order in which they did.
    package var made: [ExpandedTemplate]

    package init(job: Job, added: Range<Int>, made: [ExpandedTemplate] = []) {
        self.job = job
        self.added = added
        self.made = made
    }

    /// Returns the job with some of its tasks only; the templates stay.
    package func keeping(_ isKept: [Bool]) -> ExpandedJob {
        guard isKept.contains(false) else { return self }
        var places = [0]
        for isKept in isKept { places.append(places[places.count - 1] + (isKept ? 1 : 0)) }
        func moved(_ tasks: Range<Int>) -> Range<Int> { places[tasks.lowerBound]..<places[tasks.upperBound] }
        return ExpandedJob(
            job: job.keeping(isKept), added: moved(added),
            made: made.map {
                ExpandedTemplate(
                    template: TaskIndex(raw: UInt32(places[Int($0.template.raw)])), tasks: moved($0.tasks))
            })
    }
}

/// A template of a run's job that became tasks.
package struct ExpandedTemplate: Hashable, Sendable {
    /// The template.
    package let template: TaskIndex
    /// Places of its tasks in the run's job.
    package let tasks: Range<Int>

    package init(template: TaskIndex, tasks: Range<Int>) {
        self.template = template
        self.tasks = tasks
    }
}

/// The tasks that took a template's place.
package final class Expansion: Sendable {
    /// How many tasks took its place.
    package let count: Int
    /// The tasks themselves; empty in an event that was read from a journal, which keeps their number alone.
    package let tasks: [TaskSpecification]
    /// Tasks of the run that now wait for some of the new ones too: the needs to add, by task.
    package let needs: [TaskIndex: [TaskIndex]]

    package init(tasks: [TaskSpecification], needs: [TaskIndex: [TaskIndex]] = [:], count: Int? = nil) {
        self.count = count ?? tasks.count
        self.tasks = tasks
        self.needs = needs
    }

    /// For an event that was read from a journal.
    package convenience init(count: Int) { self.init(tasks: [], count: count) }
}
