package import Scheduling
internal import Simulation
package import TransferModel

/// What came of each task of a simulated run, and when its bytes moved.
package struct AttemptHistory: SimulationObserver {
    package private(set) var attempts: [Int]
    package private(set) var outcomes: [TaskOutcome?]
    package private(set) var errors: [ErrorName?]
    package private(set) var finishedAt: [Instant?]
    package private(set) var bytes: [Int64]
    package private(set) var statuses: [[Int]]

    package init(tasks: Int) {
        attempts = Array(repeating: 0, count: tasks)
        outcomes = Array(repeating: nil, count: tasks)
        errors = Array(repeating: nil, count: tasks)
        finishedAt = Array(repeating: nil, count: tasks)
        bytes = Array(repeating: 0, count: tasks)
        statuses = Array(repeating: [], count: tasks)
    }

    package mutating func sees(_ report: ExecutorReport, at now: Now) {
        switch report {
        case .moved(let task, let count): bytes[Int(task.raw)] += count
        case .answered(let task, let answer):
            if !answer.isFurther { statuses[Int(task.raw)].append(answer.status) }
        case .needsGrant, .released, .unused, .transferred, .awaitsOutput, .protocolIs, .ended, .published, .couldUse,
            .gaveBack, .turnedAway, .sentBody, .heard:
            break
        }
    }

    package mutating func sees(_ command: RunCommand, affected: [TaskIndex], at now: Now) {}

    package mutating func sees(_ action: SchedulerAction, at now: Now) {
        switch action {
        case .perform(.start(let task, let attempt, _)): attempts[Int(task.raw)] = attempt
        case .finished(let task, let conclusion):
            outcomes[Int(task.raw)] = conclusion.outcome
            errors[Int(task.raw)] = conclusion.error?.name
            finishedAt[Int(task.raw)] = now.instant
        case .perform, .waiting, .resumed, .expand, .attemptEnded, .groupFinished: break
        }
    }

    package mutating func turnEnded(at now: Now) {}
}
