extension TransferError {
    /// Ends the tasks of a run that a signal stopped.
    package static let stoppedBySignal = TransferError(.cancelled, "the run was stopped by a signal")

    /// Cancels what is left of a run after a failure, where `failFast` is set.
    package static let cancelledByFailFast = TransferError(.cancelled, "an earlier task failed and `failFast` is set")

    /// Decides whether name and message are equal; numbers that the system added to one of them do not count.
    package func saysTheSame(as other: TransferError) -> Bool { name == other.name && message == other.message }
}
