package import TransferModel

/// When what is to be kept is written; pure. At once, for what is not written when the process is killed was fetched for
/// nothing; but with so long a pause after each time that all the writing takes one part in twenty of a processor, but for
/// a pause that would cost more than it is worth.
package struct WritePace {
    package static let most = TimeSpan.milliseconds(200)
    private static let share: Int64 = 20
    /// So many changes are written whenever they come.
    package static let many = 500

    private var count = 0
    private var notBefore = Instant(nanoseconds: 0)
    /// `nil` while nothing is to be written.
    package private(set) var due: Instant?

    package init() {}

    /// One more change is to be written.
    package mutating func noted(_ now: Instant) {
        count += 1
        due = count >= Self.many ? now : due ?? max(now, notBefore)
    }

    /// A kill from now on is not to cost what was told.
    package mutating func hurry(_ now: Instant) { if due != nil { due = now } }

    package func isDue(_ now: Instant) -> Bool { due.map { $0 <= now } ?? false }

    /// All of it was written, between the two.
    package mutating func wrote(_ start: Instant, _ end: Instant) {
        let pause = TimeSpan(nanoseconds: (end - start).nanoseconds * (Self.share - 1))
        (count, due, notBefore) = (0, nil, end + min(pause, Self.most))
    }
}
