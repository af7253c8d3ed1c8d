/// The exit status of the process, as docs/report.md lists it.
package enum ExitStatus: Hashable, Sendable {
    /// All tasks succeeded or were tolerated.
    case succeeded
    /// A task failed, was cancelled, or was skipped because of one; or a hook failed.
    case failed
    /// The job file or the command line is wrong; nothing was transferred.
    case invalidInput
    /// The runner itself could not work, for example because the report could not be written.
    case runnerFailed
    /// Another run of the job is under way, and `onOverlap` is `fail`.
    case overlapping
    /// All tasks succeeded and no destination changed; only with `--exit-unchanged`.
    case unchanged
    /// Tasks were put off to another run.
    case incomplete
    /// A signal of this number stopped the run.
    case signal(Int32)

    /// The number that the process exits with.
    package var code: Int32 {
        switch self {
        case .succeeded: 0
        case .failed: 1
        case .invalidInput: 2
        case .runnerFailed: 4
        case .overlapping: 5
        case .unchanged: 9
        case .incomplete: 75
        case .signal(let number): 128 + number
        }
    }

    /// Returns what an exit status says about a run, in words, or `nil` for 0.
    package static func words(_ status: Int) -> String? {
        switch status {
        case 0: nil
        case 1: "not every task succeeded"
        case 4: "the runner itself could not work"
        case 9: "nothing has changed"
        case 75: "some tasks are put off; the same command goes on with them"
        case 129: "the terminal went away"
        case 130: "interrupted"
        case 143: "terminated"
        default: "see the exit statuses in `transfer-run help run`"
        }
    }

    /// The report's `outcome` for a run that ends with this status.
    package var outcome: RunOutcome {
        switch self {
        case .succeeded, .unchanged: .succeeded
        case .failed, .invalidInput, .runnerFailed, .overlapping: .failed
        case .incomplete: .deferred
        case .signal: .cancelled
        }
    }
}

/// All facts that decide a run's exit status. Facts only ever become true, so their order does not matter.
package struct ExitFacts: Hashable, Sendable {
    /// The job file or the command line is wrong.
    package var isInputInvalid = false
    /// The report or the events could not be written, the state folder is broken, the background process is gone.
    package var hasRunnerFailed = false
    /// Another run of the job is under way.
    package var isOverlapping = false
    /// The first SIGINT, SIGTERM or SIGHUP that came; `nil` for none.
    package var signal: Int32?
    /// A task failed and was not tolerated, was cancelled, or was skipped because of another one (not by a `when`); or a
    /// hook failed.
    package var hasFailure = false
    /// A task was put off to another run.
    package var hasDeferred = false
    /// A destination has other content than before, or an upload went through.
    package var hasChange = false
    /// The command has `--exit-unchanged`.
    package var reportsUnchanged = false

    package init() {}

    /// Adds the end of a task.
    package mutating func count(_ record: TaskRecord, type: TaskType) {
        count(record.outcome, tolerated: record.tolerated, isPassedOver: record.isPassedOver)
        count(change: record.changed, record.outcome, type)
    }

    /// Adds the end of a task in an earlier process.
    package mutating func count(_ ending: TaskPast.Ending, type: TaskType) {
        count(ending.outcome, tolerated: ending.isTolerated, isPassedOver: ending.isPassedOver)
        count(change: ending.changed, ending.outcome, type)
    }

    /// Adds how a task ended.
    mutating func count(_ outcome: TaskOutcome, tolerated: Bool, isPassedOver: Bool) {
        switch outcome {
        case .succeeded: break
        case .failed, .cancelled, .skipped: if !tolerated, !isPassedOver { hasFailure = true }
        case .deferred: hasDeferred = true
        }
    }

    private mutating func count(change: Bool?, _ outcome: TaskOutcome, _ type: TaskType) {
        if outcome == .succeeded, change ?? (type == .upload) { hasChange = true }
    }

    /// The exit status. When several apply: 2, 4, 5, then a signal, then 1, then 75, then 9.
    package var status: ExitStatus {
        if isInputInvalid { return .invalidInput }
        if hasRunnerFailed { return .runnerFailed }
        if isOverlapping { return .overlapping }
        if let signal { return .signal(signal) }
        if hasFailure { return .failed }
        if hasDeferred { return .incomplete }
        return reportsUnchanged && !hasChange ? .unchanged : .succeeded
    }
}
