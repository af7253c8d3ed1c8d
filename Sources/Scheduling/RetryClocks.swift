import TransferModel

/// Keeps for each failing task since when it fails: the clocks of `retry.for`.
///
/// A task's clock begins with its first failure, or with a failed probe that was made on its behalf, and begins anew after
/// what was no fault of its host: a wait for a network or power, a suspension, a closed window, and an attempt that brought
/// the file further.
struct RetryClocks: Sendable {
    /// The failures of one task since its clock began.
    private struct Series: Sendable {
        /// When the first of the failed attempts began; `nil` where the task had none of its own.
        var beganAt: Instant?
        var failedAt: Instant
        /// The host whose probe began the clock, and how many of its probes had failed before that one; `nil` where an
        /// attempt of the task began it.
        var probed: (origin: Int, before: UInt32)?
    }

    private var series: [TaskIndex: Series] = [:]

    /// Notes a failed attempt of the task.
    mutating func attemptFailed(of task: TaskIndex, begunAt: Instant, at now: Instant, _ hosts: [OriginState]) {
        var noted = Series(beganAt: begunAt, failedAt: now)
        if let present = series[task], Self.holds(present, hosts) {
            noted = Series(beganAt: present.beganAt ?? begunAt, failedAt: present.failedAt)
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

    /// Ends the clock: the next failure of the task is its first.
    mutating func forget(_ task: TaskIndex) { if !series.isEmpty { series[task] = nil } }

    /// When the clock of a task began; `nil` for one that does not fail.
    func failingSince(_ task: TaskIndex, _ hosts: [OriginState]) -> Instant? {
        guard let present = series[task], Self.holds(present, hosts) else { return nil }
        return present.failedAt
    }

    /// When the first failed attempt of the task began; `nil` where it had none.
    func triedSince(_ task: TaskIndex) -> Instant? { series[task]?.beganAt }

    /// What probes found counts until the host answers; a task's own failures count until the task ends.
    private static func holds(_ series: Series, _ hosts: [OriginState]) -> Bool {
        guard let probed = series.probed else { return true }
        return hosts[probed.origin].health.charges(since: probed.before) > 0
    }
}
