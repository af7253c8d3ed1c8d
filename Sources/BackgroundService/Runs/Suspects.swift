import Synchronization
import TransferModel

/// Tasks that were under way at every crash of the process: they run first, and one at a time, so that a further crash
/// has one cause.
final class Suspects: Sendable {
    private let all: Set<TaskIndex>
    private let left: Mutex<Set<TaskIndex>>

    init(_ tasks: [TaskIndex]) {
        all = Set(tasks)
        left = Mutex(Set(tasks))
    }

    func alone(in job: Job) -> Job {
        guard !all.isEmpty else { return job }
        var job = job
        job.limits.maximumConcurrentTasks = 1
        for task in all {
            var values = job.tasks[Int(task.raw)].options.values
            values.priority = 1
            job.tasks[Int(task.raw)].options = TaskOptions(values)
        }
        return job
    }

    /// Notes a task's end; returns whether it was the last suspect.
    func cleared(_ id: String, in job: Job) -> Bool {
        guard !all.isEmpty else { return false }
        return left.withLock { left in
            guard let task = left.first(where: { job.tasks[Int($0.raw)].id == id }) else { return false }
            left.remove(task)
            return left.isEmpty
        }
    }
}
