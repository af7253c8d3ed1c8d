import TransferModel

/// Keeps for each failing task since when it fails: the clocks of `retry.for`.
///
/// A task's clock begins with its first failure, or with a failed probe that was made on its behalf, and begins anew
/// with an attempt that brought the file further. It stands still in what is no fault of the host: a wait for a network
/// or power, a suspension, a closed window.
struct RetryClocks: Sendable {
    /// The failures of one task since its clock began.
    private struct Series: Sendable {
        /// When the first of the failed attempts began; `nil` where the task had none of its own.
        var beganAt: Instant?
        var failedAt: Instant
        /// The host whose probe began the clock, and how many of its probes had failed before that one; `nil` where an
        /// attempt of the task began it.
        var probed: (origin: Int, before: UInt32)?
        /// Since when the clock stands still, until the next attempt; `nil` while it runs.
        var standsSince: Instant?
        /// How the last attempt failed, and how many in a row failed so; `nil` where the task had none of its own.
        var cause: Cause?
    }

    /// The error that attempts of a task failed by, and how many in a row.
    struct Cause: Sendable {
        var error: TransferError
        var count = 1
    }

    private var series: [TaskIndex: Series] = [:]

    /// Notes a failed attempt of the task.
    mutating func attemptFailed(
        of task: TaskIndex, by error: TransferError, begunAt: Instant, at now: Instant, _ hosts: [OriginState]
    ) {
        var noted = Series(beganAt: begunAt, failedAt: now, cause: Cause(error: error))
        if let present = series[task], Self.holds(present, hosts) {
            (noted.beganAt, noted.failedAt) = (present.beganAt ?? begunAt, present.failedAt)
            if let cause = present.cause, cause.error.hasSameCause(as: error) { noted.cause?.count += cause.count }
        }
        series[task] = noted
    }

    /// Notes a failed probe that counts as an attempt of the task, which waits for the host.
    mutating func probeFailed(for task: TaskIndex, of origin: OriginID, at now: Instant, _ hosts: [OriginState]) {
        if let present = series[task], Self.holds(present, hosts) { return }
        let probes = hosts[Int(origin.raw)].health.failedProbes
        series[task] = Series(failedAt: now, probed: (Int(origin.raw), probes - 1))
    }

    /// Sets the clock of a task that an earlier process began.
    mutating func restore(_ task: TaskIndex, begunAt: Instant, failedAt: Instant) {
        series[task] = Series(beganAt: begunAt, failedAt: failedAt)
    }

    /// Lets the clock stand still until the task's next attempt.
    mutating func stop(_ task: TaskIndex, at now: Instant) {
        guard !series.isEmpty, series[task]?.standsSince == nil else { return }
        series[task]?.standsSince = now
    }

    /// Lets the clock go on: an attempt of the task begins.
    mutating func attemptBegan(_ task: TaskIndex, at now: Instant) {
        guard !series.isEmpty, var present = series[task], let since = present.standsSince else { return }
        present.failedAt = present.failedAt + (now - since)
        present.standsSince = nil
        series[task] = present
    }

    /// Ends the clock: the next failure of the task is its first.
    mutating func forget(_ task: TaskIndex) { if !series.isEmpty { series[task] = nil } }

    /// When the clock of a task began, less the time in which it stood still; `nil` for one that does not fail, or
    /// whose clock stands.
    func failingSince(_ task: TaskIndex, _ hosts: [OriginState]) -> Instant? {
        guard let present = series[task], present.standsSince == nil, Self.holds(present, hosts) else { return nil }
        return present.failedAt
    }

    /// When the first failed attempt of the task began; `nil` where it had none.
    func triedSince(_ task: TaskIndex) -> Instant? { series[task]?.beganAt }

    /// What the last attempts of the task failed by; `nil` where none failed.
    func cause(of task: TaskIndex) -> Cause? { series.isEmpty ? nil : series[task]?.cause }

    /// What probes found counts until the host answers; a task's own failures count until the task ends.
    private static func holds(_ series: Series, _ hosts: [OriginState]) -> Bool {
        guard let probed = series.probed else { return true }
        return !hosts[probed.origin].health.hasForgiven(since: probed.before)
    }
}
