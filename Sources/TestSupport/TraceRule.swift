/// The rules that hold for every run, whatever the network does.
package enum TraceRule: String, CaseIterable, Sendable {
    /// Sequence numbers count up by one.
    case counting
    /// Dates never go back.
    case time
    /// A task is created once, before anything else of it.
    case creation
    /// A task finishes once, and that is its last event.
    case ending
    /// Attempts are numbered 1, 2, 3 and follow one another.
    case numbering
    /// No attempt before what the task needs succeeded or was tolerated.
    case needs
    /// No more failed attempts than the retry policy allows, and none after a success.
    case attempts
    /// An attempt has no more requests under way at once than the task's `segments`.
    case requests
    /// The next attempt waits for its back-off.
    case backoff
    /// A back-off is what the policy allows.
    case policy
    /// What a task is said to wait for can hold it back.
    case waiting
    /// No more tasks run than the run and the session allow.
    case concurrency
    /// A task's waits and attempts are its duration.
    case accounting
    /// Nothing begins before its `earliestBegin`.
    case earliestBegin
    /// Nothing begins once the run is ending.
    case stopping
    /// A task's outcome fits what happened to it.
    case outcome
    /// The exit status and the run's outcome are what docs/report.md says.
    case exit
}

/// A broken rule and where the run broke it.
package struct TraceViolation: Hashable, Sendable, CustomStringConvertible {
    /// The broken rule.
    package let rule: TraceRule
    /// Id of the task that broke it; `nil` for a rule of the whole run.
    package let task: String?
    /// Sequence number of the event that showed it.
    package let sequence: UInt64
    /// What happened, in words.
    package let what: String

    package var description: String {
        "\(rule.rawValue): \(task.map { "`\($0)` " } ?? "")\(what) (event \(sequence))"
    }
}
