import Scheduling
import TransferEngine
import TransferModel

extension JobRun {
    func status(of chosen: [TaskIndex], most: Int) -> RunStatus {
        var status = RunStatus(job: job.name, startedAt: beganAt.wall)
        // A template that was replaced by tasks has no status.
        for task in chosen where !scheduler.hasVanished(task) {
            var told = standing(of: task)
            told.attempts = scheduler.attempts(of: task)
            status.take(told, most: most)
        }
        return status
    }

    private func standing(of task: TaskIndex) -> RunStatus.Task {
        let id = job.tasks[Int(task.raw)].id
        switch scheduler.standing(of: task) {
        case .running: return running(task, id)
        case .suspended: return RunStatus.Task(id: id, state: .suspended, waitingFor: .suspended)
        case .finished: return RunStatus.Task(id: id, state: .finished)
        case .waiting(let reason):
            return RunStatus.Task(id: id, state: .waiting, waitingFor: reason, lacks: lack(of: task, reason))
        }
    }

    private func running(_ task: TaskIndex, _ id: String) -> RunStatus.Task {
        let progress = engine.progress(of: task)
        return RunStatus.Task(
            id: id, state: progress.awaitsCredential ? .waiting : .running,
            waitingFor: progress.awaitsCredential ? .credential : nil, bytesReceived: progress.received,
            bytesSent: progress.sent, expected: progress.expected)
    }

    /// Kind of network or power that a waiting task lacks; `nil` for other reasons.
    func lack(of task: TaskIndex, _ reason: WaitReason) -> String? {
        guard reason == .network || reason == .power, let conditions = networks.conditions else { return nil }
        let specification = job.tasks[Int(task.raw)]
        let terms = specification.options.values.policies.networkTerms
        let isPatient = job.sessions[Int(specification.session.raw)].discretionary == true
        let shortage = isPatient ? conditions.discretionaryShortage(of: terms) : conditions.shortage(of: terms)
        return shortage.map { conditions.words(for: $0) }
    }

    /// Kind of network or power that a deferred task lacked; `nil` for other reasons.
    func lack(of task: TaskIndex, _ deferral: Deferral?) -> String? {
        switch deferral {
        case .network: lack(of: task, .network)
        case .power: lack(of: task, .power)
        case .finishBy, .maximumBytes, .suspended, .window, .earliestBegin, nil: nil
        }
    }
}
