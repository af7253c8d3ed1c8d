/// Keeps which of a host's last twenty answers were failures, and says when too many were.
///
/// Replaced when the host is opened, so that the share is of the answers since then.
struct LastAnswers: Sendable {
    /// How many answers count.
    private static let most = 20
    /// A failure or two at the beginning of a run are no share.
    private static let leastBad = 3

    /// One bit for each answer, the last one lowest: set where it was a failure.
    private var bad: UInt32 = 0
    private var count = 0

    mutating func answerReceived(isWell: Bool) {
        count = min(count + 1, Self.most)
        bad = (bad << 1 | (isWell ? 0 : 1)) & (1 << Self.most - 1)
    }

    /// Whether more than a fifth of them were failures.
    var areTooOftenBad: Bool {
        let failures = bad.nonzeroBitCount
        return failures >= Self.leastBad && failures * 5 > count
    }
}
