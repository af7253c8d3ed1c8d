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
    package static let runTimedOut = TransferError(.timedOut, "\(timeoutWords)\(isOver)")
    private static let timeoutWords = "the run's `limits.timeout`"

    /// Ends it where a policy sets the time.
    package static func runTimedOut(after rule: Policy.Rule<TimeSpan>) -> TransferError {
        let time = Explanation.words(rule.value)
        return TransferError(
            .timedOut, "\(timeoutWords), which \(Policy.words)\(rule.place) bounds to \(time),\(isOver)")
    }

    /// Whether `limits.timeout` ended the task, whatever it had failed by before.
    package var isByRunTimeout: Bool {
        guard name == .timedOut, message.hasSuffix(Self.isOver) || message.hasSuffix(Self.wasOver) else { return false }
        return message.hasPrefix(Self.timeoutWords) || message.contains("\(Self.thenWords)limits.timeout`")
    }

    /// Ends what is left of a run that moved all the bytes that a policy lets it move.
    package static func bytesAreSpent(_ rule: Policy.Rule<Int64>) -> TransferError {
        TransferError(
            .dataLengthExceedsMaximum,
            "the run moved all the bytes that \(Policy.words)\(rule.place) lets it move: \(SizeText.of(rule.value))")
    }

    /// Ends a task whose `timeoutForResource` is over; `why` says what it waited for.
    package static func resourceTimedOut(_ limit: TimeSpan, _ why: String? = nil) -> TransferError {
        let place = why.map { "; \($0)" } ?? ""
        return TransferError(.timedOut, "the task's `timeoutForResource` (\(Explanation.words(limit))) is over\(place)")
    }

    /// Returns the error of a time limit for a task whose attempts had failed by another cause, which comes first.
    package func following(_ cause: TransferError, times: Int) -> TransferError {
        var error = self
        let counts = ["", "", " twice", " three times", " four times", " five times"]
        let often = counts.indices.contains(times) ? counts[times] : " \(times) times"
        error.message = "\(cause.message)\(often)\(Self.overWords(self))"
        return error
    }

    /// `` ; then `limits.timeout` was over `` of `` the run's `limits.timeout` is over ``.
    private static func overWords(_ limit: TransferError) -> String {
        let name = limit.message.drop { $0 != "`" }
        return "\(thenWords)\(name.dropFirst().dropLast(name.hasSuffix(isOver) ? isOver.count : 0))\(wasOver)"
    }
    private static let isOver = " is over"
    private static let wasOver = " was over"

    /// Part of the message of a time limit that ended a task whose attempts had failed by what stands before it.
    static let thenWords = "; then `"

    /// Decides whether name and message are equal; numbers that the system added to one of them do not count.
    package func saysTheSame(as other: TransferError) -> Bool { name == other.name && message == other.message }
}
