/// A task whose `forEach` goes over values that another task finds: it stands in the job until that task has ended, then the
/// tasks that it makes are added to the run and it is gone.
package struct TaskTemplate: Hashable, Sendable {
    /// From 0, in the order of the job file; the same whatever part of the job is run.
    package let number: Int
    /// Which of the files that a run was given it stands in: 0 is the one that the run began with.
    package var file = 0
    /// The tasks whose lists it goes over, in the order of its `forEach`.
    package let sources: [String]

    package init(number: Int, file: Int = 0, sources: [String]) {
        self.number = number
        self.file = file
        self.sources = sources
    }
}

extension TaskSpecification {
    package var isTemplate: Bool { options.values.template != nil }
}

/// The templates of a job file that became tasks, in that order, and the values that they went over. With these the same
/// file always gives the same tasks.
package struct TemplateValues: Sendable {
    /// `TaskTemplate.file`
    package var file: Int
    /// Numbers of templates.
    package var order: [Int]
    package var captured: CaptureBook

    package init(file: Int = 0, order: [Int] = [], captured: CaptureBook = CaptureBook()) {
        self.file = file
        self.order = order
        self.captured = captured
    }
}

/// A job whose templates became tasks: those follow after all others, in the order of `TemplateValues`.
package struct ExpandedJob: Sendable {
    package var job: Job
    /// The places of the tasks that are new: those of the last template, unless more are asked for.
    package var added: Range<Int>

    package init(job: Job, added: Range<Int>) {
        self.job = job
        self.added = added
    }
}

/// A template of a run's job that became tasks, and their places in it.
package struct ExpandedTemplate: Hashable, Sendable {
    package let template: TaskIndex
    package let tasks: Range<Int>

    package init(template: TaskIndex, tasks: Range<Int>) {
        self.template = template
        self.tasks = tasks
    }
}

/// The tasks that took a template's place.
package final class Expansion: Sendable {
    package let count: Int
    /// Those that whoever is told does not know yet: none in an event that was read from a journal, which keeps their
    /// number alone.
    package let tasks: [TaskSpecification]
    /// Tasks of the run that wait for some of these, too: with what they need beside what they needed before.
    package let needs: [TaskIndex: [TaskIndex]]

    package init(tasks: [TaskSpecification], needs: [TaskIndex: [TaskIndex]] = [:], count: Int? = nil) {
        self.count = count ?? tasks.count
        self.tasks = tasks
        self.needs = needs
    }

    package convenience init(count: Int) { self.init(tasks: [], count: count) }
}
