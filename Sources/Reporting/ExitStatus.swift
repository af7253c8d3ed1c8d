package import TransferModel

/// The exit status as a fold; what no event tells is set from outside in `facts`.
package final class ExitStatusFold: EventConsumer {
    package var facts = ExitFacts()
    private let types: [TaskType]

    package init(job: Job, reportsUnchanged: Bool = false) {
        types = job.tasks.map { $0.type }
        facts.reportsUnchanged = reportsUnchanged
    }

    package var status: ExitStatus { facts.status }

    package func consume(_ events: ArraySlice<Event>) {
        for event in events {
            guard case .taskFinished(let record) = event.kind, let task = event.task, Int(task.raw) < types.count
            else { continue }
            facts.count(record, type: types[Int(task.raw)])
        }
    }
}
