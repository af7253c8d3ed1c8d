/// Rounds over several `urls` that ended without a pause, since other tasks found out about the places that are missing:
/// a place that had failed came again.
struct UntoldRounds: Sendable {
    /// In the present round.
    private var failed: [String] = []
    private(set) var count = 0

    mutating func begins(at url: String) {
        guard failed.contains(url) else { return }
        count += 1
        failed = []
    }

    mutating func fails(at url: String) { failed.append(url) }

    /// With a pause that was told, or with the process, after which it begins anew.
    mutating func ends() { failed = [] }
}
