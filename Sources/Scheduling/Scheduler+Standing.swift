package import TransferModel

/// How a task stands at one moment.
package enum TaskStanding: Hashable, Sendable {
    case waiting(WaitReason)
    case running
    case suspended
    case finished
}

extension Scheduler {
    package func standing(of task: TaskIndex) -> TaskStanding {
        let state = tasks[Int(task.raw)]
        switch state.phase {
        // Whatever it needs: nothing of it will be sent until somebody resumes it.
        case .blocked where state.isSuspended: return .suspended
        // What is verified waits for the others of its group.
        case .blocked, .staged, .expanding: return .waiting(.dependency)
        case .held: return .waiting(.earliestBegin)
        case .suspended: return state.lacksCredential ? .waiting(.credential) : .suspended
        case .backingOff: return .waiting(state.backoffReason)
        case .awaitingConditions: return .waiting(state.shortOf)
        case .running: return state.awaitsGrant ? .waiting(closure(of: state) ?? .hostLimit) : .running
        case .queued: return .waiting(closure(of: state) ?? (isSessionFull(state) ? .sessionLimit : .runLimit))
        case .finished: return .finished
        }
    }

    /// That have begun.
    package func attempts(of task: TaskIndex) -> Int { Int(tasks[Int(task.raw)].attempt) }

    private func closure(of state: TaskState) -> WaitReason? {
        state.lane < 0 ? nil : lanes[Int(state.lane)].closure?.reason
    }

    private func isSessionFull(_ state: TaskState) -> Bool {
        state.lane >= 0 && sessions[Int(lanes[Int(state.lane)].session.raw)].isFull
    }
}
