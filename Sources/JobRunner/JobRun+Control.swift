import Scheduling
import TransferEngine
package import TransferModel

// Asked from outside while the run goes on.

extension JobRun {
    func take(_ request: ControlRequest, _ now: Now) {
        let chosen = TaskChoice(request.patterns, of: job, in: request.identifier)
        if let pattern = chosen.unmatched {
            return request.reply(.refused(refusal(of: pattern, request.identifier)), log.sequence)
        }
        guard let command = request.command(chosen.tasks) else {
            let most = request.identifier == nil ? RunStatus.mostTasks : RunStatus.mostOfSession
            return request.reply(.status(status(of: chosen.tasks, most: most)), log.sequence)
        }
        if case .cancel(let tasks, keepPartial: false) = command { engine.unwanted.formUnion(tasks) }
        let changed = scheduler.command(command, now: now)
        owed.append((request, changed.map { job.tasks[Int($0.raw)].id }))
    }

    /// Whoever asked hears of it when the events that tell it are in the log.
    func answerRequests() {
        guard !owed.isEmpty else { return }
        for (request, ids) in owed { request.reply(.changed(ids), log.sequence) }
        owed = []
    }

    /// Of one that is left nothing more is told: what was done for them since the last turn is not in the log.
    func refuseRequests() {
        let reason = "the process that carries it is about to end; ask again"
        for (request, _) in owed { request.reply(.refused(reason), 0) }
        owed = []
    }

    private func refusal(of pattern: TaskPattern, _ identifier: String?) -> String {
        let all = TaskChoice([], of: job, in: identifier).tasks.map { job.tasks[Int($0.raw)].id }
        let known = all.prefix(5).map { "`\($0)`" } + (all.count > 5 ? ["…"] : [])
        let what = identifier.map { "the session `\($0)`" } ?? "this run"
        return "no task of \(what) matches `\(pattern)`: it has \(known.joined(separator: ", "))"
    }
}

/// The tasks that some patterns stand for.
package struct TaskChoice {
    package private(set) var tasks: [TaskIndex] = []
    /// The first that no task matches.
    package private(set) var unmatched: TaskPattern?

    /// `identifier` is that of a background session to whose tasks the choice is bound.
    package init(_ patterns: [TaskPattern], of job: Job, in identifier: String? = nil) {
        var isMet = [Bool](repeating: false, count: patterns.count)
        for (number, task) in job.tasks.enumerated() {
            if let identifier, job.sessions[Int(task.session.raw)].identifier != identifier { continue }
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
