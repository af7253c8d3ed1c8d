internal import TransferModel

extension ReportedTask {
    /// Words for what a verified file of a group waits for, that follow "for".
    static let stagedWords = "the other files of its group"

    /// Waits that lie within an attempt and that its duration leaves out.
    private static let within: Set<WaitReason> = [.bandwidth, .flush, .credential]

    /// The time in which the task's file was verified and waited for the other files of its group. The report counts it
    /// under `dependency`; the rest of that is what the task waited for before its first attempt.
    var stagedTime: TimeSpan {
        guard group != nil, let wait = waits.first(where: { $0.reason == .dependency }), let last = attempts.last,
            last.outcome == .succeeded, let finishedAt
        else { return .zero }
        let held = waits.filter { Self.within.contains($0.reason) }.reduce(TimeSpan.zero) { $0 + $1.duration }
        let after = finishedAt - (last.startedAt + last.duration + held)
        // Dates are cut to milliseconds.
        return after > .milliseconds(5) ? min(wait.duration, after) : .zero
    }
}
