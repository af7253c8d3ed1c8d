import TransferModel

/// Counts how many tasks succeeded or failed, and says when too many have failed (`limits.stopWhen`).
struct FailureShare: Sendable {
    private let rule: RunLimits.StopRule?
    private(set) var ended = 0
    private(set) var failed = 0

    init(_ rule: RunLimits.StopRule?) { self.rule = rule }

    /// Whether the run is to stop.
    var isTooLarge: Bool { rule?.isMet(failed: failed, ended: ended) ?? false }

    /// Counts a task that ended. Only those count that succeeded or failed, and a tolerated failure is none.
    mutating func count(_ outcome: TaskOutcome, isTolerated: Bool) {
        guard outcome == .succeeded || outcome == .failed else { return }
        ended += 1
        if outcome == .failed, !isTolerated { failed += 1 }
    }
}
