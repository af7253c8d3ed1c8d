/// A task whose `forEach` goes over values that another task finds: it stands in the job until that task has ended, then the
/// tasks that it makes are added to the run and it is gone.
package struct TaskTemplate: Hashable, Sendable {
    /// From 0, in the order of the job file; the same whatever part of the job is run.
    package let number: Int
    /// The task whose end is waited for.
    package let source: String

    package init(number: Int, source: String) {
        self.number = number
        self.source = source
    }
}

extension TaskSpecification {
    package var isTemplate: Bool { options.values.template != nil }
}

/// The templates of a run that became tasks, in that order, and the values that they went over. With these the same job
/// file always gives the same tasks.
package struct TemplateValues: Sendable {
    /// Numbers of templates.
    package var order: [Int]
    package var captured: CaptureBook

    package init(order: [Int] = [], captured: CaptureBook = CaptureBook()) {
        self.order = order
        self.captured = captured
    }
}

/// A job whose templates became tasks: those follow after all others, in the order of `TemplateValues`.
package struct ExpandedJob: Sendable {
    package var job: Job
    /// The places of the tasks that the last of the templates became.
    package var added: Range<Int>

    package init(job: Job, added: Range<Int>) {
        self.job = job
        self.added = added
    }
}

/// The tasks that took a template's place.
package final class Expansion: Sendable {
    package let count: Int
    /// Empty in an event that was read from a journal, which keeps their number alone.
    package let tasks: [TaskSpecification]
    /// Tasks of the run that wait for some of these, too: with what they need beside what they needed before.
    package let needs: [TaskIndex: [TaskIndex]]

    package init(tasks: [TaskSpecification], needs: [TaskIndex: [TaskIndex]]) {
        count = tasks.count
        self.tasks = tasks
        self.needs = needs
    }

    package init(count: Int) {
        self.count = count
        (tasks, needs) = ([], [:])
    }
}
