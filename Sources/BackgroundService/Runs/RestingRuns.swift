package import JobRunner
package import Stores
package import TransferModel

/// Runs that no thread carries because all their tasks wait, for a date or a person, for long. What they wait for is in the
/// journal: they are begun anew when it comes.
package struct RestingRuns {
    /// A run that rests.
    private struct Rest {
        let run: JournalRun
        /// When something of the run falls due, by two clocks: one stands still while the machine sleeps, and the other can
        /// be set. `nil` if nothing will.
        let due: (instant: Instant, wall: WallTime)?
        /// The number of notes that others had written for it when it began to rest.
        let notes: Int
    }
    private var rests: [RunID: Rest] = [:]

    /// A shorter rest is not worth the new beginning.
    package static let least = TimeSpan.seconds(300)
    /// The longest time between two looks at the clocks.
    static let lookAfter = TimeSpan.seconds(60)

    package init() {}

    /// Whether a run that waits so may rest: only what its events tell is known meanwhile.
    package static func mayRest(_ rest: RunRest) -> Bool {
        switch rest {
        case .watching: false
        case .plain(let span): span.map { $0 >= least } ?? true
        }
    }

    package var count: Int { rests.count }
    package func has(_ id: RunID) -> Bool { rests[id] != nil }
    /// The run that rests and has this identifier.
    package func run(with identifier: String) -> JournalRun? {
        rests.values.first { $0.run.accepted.identifiers.contains(identifier) }?.run
    }

    /// Lets the run rest for `span`; with `nil`, until a command or another process has something for it.
    package mutating func add(
        _ run: JournalRun, for span: TimeSpan?, notes: Int, now: Instant, wall: WallTime
    ) {
        rests[run.id] = Rest(run: run, due: span.map { (now + $0, wall + $0) }, notes: notes)
    }

    package mutating func remove(_ id: RunID) { rests[id] = nil }
    /// Forgets the runs that are not among these.
    package mutating func keep(only runs: Set<RunID>) { rests = rests.filter { runs.contains($0.key) } }

    /// When to look again whether the run's rest is over; `nil` if it is, or if the run does not rest.
    package func nextLook(_ id: RunID, notes: Int, now: Instant, wall: WallTime) -> Instant? {
        guard let rest = rests[id], rest.notes == notes else { return nil }
        guard let due = rest.due else { return .distantFuture }
        return now < due.instant && wall < due.wall ? min(due.instant, now + Self.lookAfter) : nil
    }
}
