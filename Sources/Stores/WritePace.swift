package import TransferModel

/// Decides when pending changes are written; pure. At once, because what is not written when the process is killed was
/// fetched for nothing; but each write is followed by a pause that limits writing to one twentieth of a processor's
/// time, and is no longer than `most`.
package struct WritePace {
    /// Longest pause after a write.
    package static let most = TimeSpan.milliseconds(200)
    /// A write and its pause together last this many times as long as the write.
    private static let share: Int64 = 20
    /// Number of pending changes that are written without a pause.
    package static let many = 500

    private var count = 0
    private var notBefore = Instant(nanoseconds: 0)
    /// Time of the next write; `nil` while nothing is pending.
    package private(set) var due: Instant?

    package init() {}

    /// Counts one more pending change.
    package mutating func noted(_ now: Instant) {
        count += 1
        due = count >= Self.many ? now : due ?? max(now, notBefore)
    }

    /// Makes pending changes due at `now`: a kill from then on must not lose them.
    package mutating func hurry(_ now: Instant) { if due != nil { due = now } }

    /// Whether pending changes are to be written at `now`.
    package func isDue(_ now: Instant) -> Bool { due.map { $0 <= now } ?? false }

    /// Records that all pending changes were written between `start` and `end`.
    package mutating func wrote(_ start: Instant, _ end: Instant) {
        let pause = TimeSpan(nanoseconds: (end - start).nanoseconds * (Self.share - 1))
        (count, due, notBefore) = (0, nil, end + min(pause, Self.most))
    }
}
