import TransferModel

/// Says until when a failing task is tried (`retry.for`), seen at one moment.
struct RetryDeadline: Sendable {
    /// When the last attempt begins at the latest; `nil` where no time bounds the tries.
    let end: Instant?
    /// Whether `end` comes sooner than the job says, because none of the task's hosts answered in this run.
    var isCutForSilence = false
    let now: Instant

    /// Whether the task may begin no other attempt.
    var isOver: Bool { end.map { now >= $0 } ?? false }

    /// Returns the pause, shortened where it would end after the deadline: the last attempt begins then.
    func shortened(_ pause: TimeSpan) -> TimeSpan { end.map { min(pause, max(.zero, $0 - now)) } ?? pause }

    /// Returns the park of a host, shortened likewise; but not by a deadline that is over, since other tasks wait on.
    func shortened(park: TimeSpan) -> TimeSpan { isOver ? park : shortened(park) }

    /// Whether a wait that begins now ends after the deadline.
    func isExceeded(by wait: TimeSpan) -> Bool { end.map { now + wait > $0 } ?? false }

    /// Returns the error of a task that is given up, with the reason where that is its hosts' silence.
    func explained(_ error: TransferError) -> TransferError { isOver && isCutForSilence ? error.ofSilentHost : error }
}

extension RetryClocks {
    /// Returns until when the task is tried. At hosts none of which answered in this run (`isUnanswered`) that is a
    /// minute at most.
    ///
    /// `isPatient`: its session bounds it by `timeoutForResource`, and by a `for` only where that is written.
    func deadline(
        of task: TaskIndex, _ policy: RetryPolicy, isPatient: Bool, isUnanswered: Bool, _ hosts: [OriginState],
        at now: Instant
    ) -> RetryDeadline {
        guard let patience = isPatient ? policy.writtenPatience : policy.patience,
            let since = failingSince(task, hosts)
        else { return RetryDeadline(end: nil, now: now) }
        let isCut = !isPatient && isUnanswered && patience > RetryPolicy.unansweredPatience
        return RetryDeadline(
            end: since + (isCut ? RetryPolicy.unansweredPatience : patience), isCutForSilence: isCut, now: now)
    }

    /// Returns the error of a task that a time limit ends. A limit is no cause: what the task's attempts failed by
    /// comes first.
    func timedOut(_ task: TaskIndex, otherwise error: TransferError) -> TransferError {
        cause(of: task).map { error.following($0.error, times: $0.count) } ?? error
    }
}
