import Scheduling
import TransferEngine
package import TransferModel

// Requests from outside while the run goes on.

extension JobRun {
    /// Carries out a request. A refusal is replied at once, a change once its events are in the log, and a status after
    /// the turn: before the first one no task has begun to run, or to wait for what holds it back.
    func controlRequested(_ request: ControlRequest, _ now: Now) {
        let chosen = TaskChoice(request.patterns, of: job, in: request.identifier)
        if let pattern = chosen.unmatched {
            return request.reply(.refused(refusal(of: pattern, request.identifier)), log.sequence)
        }
        guard let command = request.command(chosen.tasks) else { return owed.append((request, [])) }
        let changed = scheduler.command(command, now: now)
        owed.append((request, changed))
    }

    /// Replies to the requests whose events are in the log now. That a running task was cancelled is in the log when the
    /// task has ended.
    func answerRequests() {
        guard !owed.isEmpty else { return }
        let asked = owed
        owed = []
        for (request, tasks) in asked {
            if request.action == .cancel, !tasks.allSatisfy({ scheduler.standing(of: $0) == .finished }) {
                owed.append((request, tasks))
                continue
            }
            let ids = tasks.map { job.tasks[Int($0.raw)].id }
            request.reply(request.action == .status ? .status(status(for: request)) : .changed(ids), log.sequence)
        }
    }

    private func status(for request: ControlRequest) -> RunStatus {
        let most = request.identifier == nil ? RunStatus.mostTasks : RunStatus.mostOfSession
        return status(of: TaskChoice(request.patterns, of: job, in: request.identifier).tasks, most: most)
    }

    /// Refuses the open requests of a run that is being left: the events of their changes will not be in the log.
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

/// The tasks that match some patterns.
package struct TaskChoice {
    /// The matching tasks, in the job's order.
    package private(set) var tasks: [TaskIndex] = []
    /// The first pattern that matches no task; `nil` if each matches one.
    package private(set) var unmatched: TaskPattern?

    /// Chooses tasks of `job`; all of them without patterns. `identifier` limits the choice to a background session's
    /// tasks.
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
