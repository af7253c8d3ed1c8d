import Scheduling
import TransferEngine
package import TransferModel

// Asked from outside while the run goes on.

extension JobRun {
    func take(_ request: ControlRequest, _ now: Now) {
        let chosen = TaskChoice(request.patterns, of: job)
        if let pattern = chosen.unmatched { return request.reply(.refused(refusal(of: pattern))) }
        guard let command = request.command(chosen.tasks) else {
            return request.reply(.status(status(of: chosen.tasks)))
        }
        if case .cancel(let tasks, keepPartial: false) = command { engine.unwanted.formUnion(tasks) }
        let changed = scheduler.command(command, now: now)
        request.reply(.changed(changed.map { job.tasks[Int($0.raw)].id }))
    }

    private func refusal(of pattern: TaskPattern) -> String {
        let known = job.tasks.prefix(5).map { "`\($0.id)`" } + (job.tasks.count > 5 ? ["…"] : [])
        return "no task of this run matches `\(pattern)`: it has \(known.joined(separator: ", "))"
    }
}

/// The tasks that some patterns stand for.
package struct TaskChoice {
    package private(set) var tasks: [TaskIndex] = []
    /// The first that no task matches.
    package private(set) var unmatched: TaskPattern?

    package init(_ patterns: [TaskPattern], of job: Job) {
        var isMet = [Bool](repeating: false, count: patterns.count)
        for (number, task) in job.tasks.enumerated() {
            var isChosen = patterns.isEmpty
            for (index, pattern) in patterns.enumerated() where pattern.matches(task.id) {
                isMet[index] = true
                isChosen = true
            }
            if isChosen { tasks.append(TaskIndex(raw: UInt32(number))) }
        }
        unmatched = zip(patterns, isMet).first { !$1 }?.0
    }
}
