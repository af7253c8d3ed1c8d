package import HTTPRules
import Synchronization
package import TransferModel

// Tasks that are added in mid-run, in place of a template.

extension Engine {
    /// What tasks that succeeded captured so far.
    package var capturedValues: CapturedValues { captured }
    /// The secrets that may go to some hosts only: what a server repeats of them stays bound.
    package var boundSecrets: BoundSecrets { secrets.bound }

    /// Adds tasks; their numbers follow those of the present ones. `recordedFirst`: those among them whose attempts
    /// send nothing before the journal has their beginning.
    package func add(_ tasks: [TaskSpecification], for template: TaskIndex, recordedFirst: Set<TaskIndex> = []) {
        let start = job.tasks.count
        let tasks = tasks.map { objects.placed($0) }
        beginnings.recordedFirst.formUnion(recordedFirst)
        job.tasks += tasks
        captured.ends.use(in: tasks)
        attempts += Array(repeating: nil, count: tasks.count)
        foresight.grow(by: tasks.count)
        checksumFiles.add(tasks)
        rowSources.add(tasks)
        addedNames.add(tasks.map(\.id))
        removeTemplate(template)
        for (place, task) in tasks.enumerated() {
            let number = TaskIndex(raw: UInt32(start + place))
            claims?.add(task, number)
            if let group = task.group { groups[Int(group.raw)].add(number) }
        }
    }

    /// Others took its place.
    package func removeTemplate(_ template: TaskIndex) {
        if let group = job.tasks[Int(template.raw)].group { groups[Int(group.raw)].remove(template) }
    }
}

/// The ids of tasks that were added in mid-run, for threads that name a task in a message.
final class AddedNames: Sendable {
    private let names = Mutex<[String]>([])

    func add(_ more: [String]) { names.withLock { $0 += more } }

    /// `number` counts the added ones.
    func name(_ number: Int) -> String {
        names.withLock { $0.indices.contains(number) ? $0[number] : "a task" }
    }
}
