package import Scheduling
internal import Simulation
package import TransferModel

/// Records, per task index, what came of each task of a simulated run.
package struct AttemptHistory: SimulationObserver {
    /// Number of the task's last attempt; 0 if none started.
    package private(set) var attempts: [Int]
    /// The task's outcome; `nil` until it finished.
    package private(set) var outcomes: [TaskOutcome?]
    /// Name of the error that the task finished with, if any.
    package private(set) var errors: [ErrorName?]
    /// When the task finished; `nil` until then.
    package private(set) var finishedAt: [Instant?]
    /// Bytes moved for the task, over all its attempts.
    package private(set) var bytes: [Int64]
    /// Statuses of the task's responses, in order; those of further requests (segments) are left out.
    package private(set) var statuses: [[Int]]

    package init(tasks: Int) {
        attempts = Array(repeating: 0, count: tasks)
        outcomes = Array(repeating: nil, count: tasks)
        errors = Array(repeating: nil, count: tasks)
        finishedAt = Array(repeating: nil, count: tasks)
        bytes = Array(repeating: 0, count: tasks)
        statuses = Array(repeating: [], count: tasks)
    }

    /// Adds moved bytes and statuses.
    package mutating func sees(_ report: ExecutorReport, at now: Now) {
        switch report {
        case .moved(let task, let count): bytes[Int(task.raw)] += count
        case .answered(let task, let answer):
            if !answer.isFurther { statuses[Int(task.raw)].append(answer.status) }
        case .needsGrant, .released, .unused, .transferred, .awaitsOutput, .protocolIs, .ended, .published, .couldUse,
            .gaveBack, .turnedAway, .sentBody, .awaitsRecord, .isRecorded, .turnedPage, .heard:
            break
        }
    }

    /// Ignores the command.
    package mutating func sees(_ command: RunCommand, affected: [TaskIndex], at now: Now) {}

    /// Notes starts of attempts and ends of tasks.
    package mutating func sees(_ action: SchedulerAction, at now: Now) {
        switch action {
        case .perform(.start(let task, let attempt, _)): attempts[Int(task.raw)] = attempt
        case .finished(let task, let conclusion):
            outcomes[Int(task.raw)] = conclusion.outcome
            errors[Int(task.raw)] = conclusion.error?.name
            finishedAt[Int(task.raw)] = now.instant
        case .perform, .waiting, .resumed, .expand, .attemptEnded, .groupFinished, .connectionsChanged: break
        }
    }

    /// Ignores the end of the turn.
    package mutating func turnEnded(at now: Now) {}
}
