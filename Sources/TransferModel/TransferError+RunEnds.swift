extension TransferError {
    /// Ends the tasks of a run that a signal stopped.
    package static let stoppedBySignal = TransferError(.cancelled, "the run was stopped by a signal")

    /// Cancels what is left of a run after a failure, where `failFast` is set.
    package static let cancelledByFailFast = TransferError(.cancelled, "an earlier task failed and `failFast` is set")

    /// The error of a task that `cancel` ended.
    package static let cancelledByCommand = TransferError(.cancelled, "the task was cancelled by a command")

    /// Cancels what is left of a run in which too many tasks failed.
    package static func stoppedByShare(failed: Int, ended: Int) -> TransferError {
        let tasks = ended == 1 ? "the first task" : "\(failed) of \(ended) tasks"
        return TransferError(.cancelled, "\(stopWhen) when \(tasks) had failed")
    }

    private static let stopWhen = "`limits.stopWhen` stopped the run"
    /// Whether `limits.stopWhen` cancelled the task.
    package var isByStopWhen: Bool { name == .cancelled && message.hasPrefix(Self.stopWhen) }

    /// Ends what is left of a run when its `limits.timeout` is over.
    package static let runTimedOut = TransferError(.timedOut, "the run's `limits.timeout` is over")

    /// Decides whether name and message are equal; numbers that the system added to one of them do not count.
    package func saysTheSame(as other: TransferError) -> Bool { name == other.name && message == other.message }
}
