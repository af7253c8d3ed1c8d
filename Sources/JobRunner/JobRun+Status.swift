import Scheduling
import TextFormats
import TransferEngine
import TransferModel

extension JobRun {
    func status(of chosen: [TaskIndex], most: Int) -> RunStatus {
        var status = RunStatus(job: job.name, startedAt: beganAt.wall)
        // A template that was replaced by tasks has no status.
        for task in chosen where !scheduler.hasVanished(task) {
            var told = standing(of: task)
            told.attempts = scheduler.attempts(of: task)
            if told.state != .finished {
                told.error = scheduler.lastFailure(of: task).map { shown($0) }
                let now = engine.now
                told.nextAttemptAt = scheduler.nextAttempt(of: task).map { now.wall + ($0 - now.instant) }
            }
            status.add(told, most: most)
        }
        return status
    }

    /// The error without secrets.
    private func shown(_ error: TransferError) -> TransferError {
        var error = error
        error.message = log.hiding.redacted(error.message)
        return error
    }

    private func standing(of task: TaskIndex) -> RunStatus.Task {
        let id = job.tasks[Int(task.raw)].id
        switch scheduler.standing(of: task) {
        case .running: return running(task, id)
        case .suspended: return RunStatus.Task(id: id, state: .suspended, waitingFor: .suspended)
        case .finished: return RunStatus.Task(id: id, state: .finished)
        case .waiting(let reason):
            return RunStatus.Task(
                id: id, state: .waiting, waitingFor: reason, lacks: reason.flatMap { lack(of: task, $0) })
        }
    }

    private func running(_ task: TaskIndex, _ id: String) -> RunStatus.Task {
        let progress = engine.announcements.progress(of: task)
        return RunStatus.Task(
            id: id, state: progress.awaitsCredential ? .waiting : .running,
            waitingFor: progress.awaitsCredential ? .credential : nil, bytesReceived: progress.received,
            bytesSent: progress.sent, expected: progress.expected, startedOver: progress.startedOver)
    }

    /// What a waiting task waits for, more exactly than its reason says: the kind of network or power that it lacks, until
    /// when its window is closed, when it may begin, or its group. `nil` where the reason says it all.
    func lack(of task: TaskIndex, _ reason: WaitReason) -> String? {
        switch reason {
        case .network, .power: return shortage(of: task)
        case .window: return opening(of: task).map { "its `window` until \($0)" }
        case .earliestBegin: return earliestBegin(of: task).map { "its `earliestBegin`, not before \($0)" }
        case .dependency where scheduler.isStaged(task): return group(of: task)
        case .flush: return "what it begins to be written down: nothing of it is sent before"
        case .credential:
            return engine.credentials.rejectingHost(of: task).map {
                "another credential: the one for \($0) was refused"
            }
        default: return nil
        }
    }

    private func opening(of task: TaskIndex) -> String? {
        windows.opening(session(task), of: job, at: log.wall)
    }

    /// When the task may begin; `nil` where that is no time to come.
    private func earliestBegin(of task: TaskIndex) -> String? {
        switch job.tasks[Int(task.raw)].options.values.earliestBegin {
        case .at(let date): ComingDate.words(date, from: log.wall)
        case .afterStart(let span): ComingDate.words(beganAt.wall + span, from: log.wall)
        case nil: nil
        }
    }

    private func group(of task: TaskIndex) -> String? {
        job.tasks[Int(task.raw)].group.map { "the other files of its group `\(job.groups[Int($0.raw)].name)`" }
    }

    private func shortage(of task: TaskIndex) -> String? {
        guard let conditions = networks.conditions else { return nil }
        let specification = job.tasks[Int(task.raw)]
        let terms = specification.options.values.policies.networkTerms
        let isPatient = job.sessions[Int(specification.session.raw)].discretionary == true
        let shortage = isPatient ? conditions.discretionaryShortage(of: terms) : conditions.shortage(of: terms)
        return shortage.map { conditions.words(for: $0) }
    }

    /// Kind of network or power that a deferred task lacked, until when its window is closed, or when it may begin; `nil`
    /// for other reasons.
    func lack(of task: TaskIndex, _ deferral: Deferral?) -> String? {
        switch deferral {
        case .network: lack(of: task, .network)
        case .power: lack(of: task, .power)
        case .window: opening(of: task)
        case .earliestBegin:
            if case .afterStart? = job.tasks[Int(task.raw)].options.values.earliestBegin {
                earliestBegin(of: task).map { $0 + Explanation.fromEachStart }
            } else {
                earliestBegin(of: task)
            }
        case .finishBy, .maximumBytes, .suspended, nil: nil
        }
    }
}
