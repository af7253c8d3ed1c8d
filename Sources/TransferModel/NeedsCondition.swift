/// `when`: which ends of the tasks that it needs let a task run. A task that writes none is skipped, as a failure, where
/// one of them did not succeed; a task whose `when` is not met is passed over without harm.
package enum NeedsCondition: String, CaseIterable, Sendable {
    /// All of them succeeded, or their failure is tolerated.
    case succeeded
    /// At least one did not succeed.
    case failed
    /// All have ended, in whatever way.
    case finished

    /// Whether the task is there for what goes wrong: a run that ends early by a failure still runs it.
    package var runsAfterFailure: Bool { self != .succeeded }
}

extension TaskRecord {
    /// Whether the task was skipped without harm: its own `when`, or that of a task it needs, was not met.
    package var isPassedOver: Bool { outcome == .skipped && error == nil }
}

extension TaskPast.Ending {
    /// Whether the task was skipped without harm.
    package var isPassedOver: Bool { outcome == .skipped && error == nil }
}
