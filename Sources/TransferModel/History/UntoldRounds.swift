/// Counts rounds over several `urls` that ended without a pause, because other tasks found out about the remaining
/// places: such a round shows by an attempt at a place that had failed before.
struct UntoldRounds: Sendable {
    /// URLs that have failed in the present round.
    private var failed: [String] = []
    private(set) var count = 0

    mutating func begins(at url: String) {
        guard failed.contains(url) else { return }
        count += 1
        failed = []
    }

    mutating func fails(at url: String) { failed.append(url) }

    /// Ends a round that ended with a recorded pause, or with the process.
    mutating func ends() { failed = [] }
}
