package import TransferModel

/// How a task stands at one moment.
package enum TaskStanding: Hashable, Sendable {
    /// `nil`: nothing of the job holds it back; it begins with the next turn, or when starts are paused no more.
    case waiting(WaitReason?)
    case running
    case suspended
    case finished
}

extension Scheduler {
    /// How the task stands now.
    package func standing(of task: TaskIndex) -> TaskStanding {
        let state = run.tasks[task]
        switch state.phase {
        // Whatever it needs, nothing of it is sent until it is resumed.
        case .blocked where state.suspension != nil: return .suspended
        case .suspended(.byCommand), .suspended(.byFile): return .suspended
        case .running where isUnsent(state): return .waiting(.flush)
        case .running: return state.slot == .awaited ? .waiting(closure(of: state) ?? .hostLimit) : .running
        case .queued: return .waiting(state.lane < 0 ? nil : attempts.slots.reachedLimit(in: Int(state.lane)))
        // What takes the template's place is being worked out, or the group is being put in place.
        case .expanding: return .running
        case .staged where isBeingPublished(task): return .running
        case .finished: return .finished
        case .blocked, .held, .suspended, .backingOff, .awaitingConditions, .staged:
            return state.waitReason.map { .waiting($0) } ?? .running
        }
    }

    /// Whether a task runs or a group is being published, or a task could start if starts were not paused. `false`
    /// while all that is left waits: for time, a network, a person, or other runs.
    package var hasWork: Bool {
        run.tasks.areAnyRunning || groups.areAnyPublishing || mayStart && attempts.slots.next != nil
    }

    /// Whether a task may wait for another network or for power.
    package var awaitsConditions: Bool { attempts.conditions.isAwaited }

    /// How many attempts of the task have begun.
    package func attempts(of task: TaskIndex) -> Int { Int(run.tasks[task].attempt) }

    /// When the task's next attempt begins at the earliest: after its pause, that of its host, or the host's rate. `nil`
    /// where no time says so.
    package func nextAttempt(of task: TaskIndex) -> Instant? {
        let state = run.tasks[task]
        switch state.phase {
        case .backingOff: return max(state.backoff.end, attempts.hostOpens(for: task, run) ?? state.backoff.end)
        case .queued: return attempts.hostOpens(for: task, run)
        default: return nil
        }
    }

    /// What the task's last attempt failed by; of a task that waits for a parked host and was never tried, what another
    /// task met there. `nil` where nothing failed.
    package func lastFailure(of task: TaskIndex) -> TransferError? {
        attempts.retries.cause(of: task)?.error ?? attempts.failureOfHost(awaitedBy: task, run)
    }

    /// Whether the task's attempt has sent nothing, and waits until the run's events can be recorded again.
    private func isUnsent(_ state: TaskState) -> Bool { state.awaitsRecord && runEnding.pauses.contains(.unrecorded) }

    private func closure(of state: TaskState) -> WaitReason? {
        state.lane < 0 ? nil : attempts.slots.lanes[Int(state.lane)].closure?.reason
    }

    /// Whether the task's file is verified and waits for the other members of its group.
    package func isStaged(_ task: TaskIndex) -> Bool { run.tasks[task].phase == .staged }

    private func isBeingPublished(_ task: TaskIndex) -> Bool {
        run.plan.tasks[Int(task.raw)].group.map { groups.isPublishing($0) } ?? false
    }
}
