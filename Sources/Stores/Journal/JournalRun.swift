package import TransferModel

/// A run's number in the journal; never reused for another run.
package struct RunID: Hashable, Comparable, Sendable {
    /// Key of the run's row in `runs`.
    package let raw: Int64
    package init(raw: Int64) { self.raw = raw }
    /// Orders runs by acceptance: the older run is the smaller.
    package static func < (left: RunID, right: RunID) -> Bool { left.raw < right.raw }
}

/// Facts about a run that are known when the journal accepts it. They are stored in the clear: what may be secret is a
/// `JournalInput`.
package struct AcceptedRun: Hashable, Sendable {
    /// Identifiers of its background sessions, held by the run until its end was delivered.
    package var identifiers: [String]
    /// Name of the job.
    package var job: String
    /// Path of the job file as the command named it.
    package var file: String
    /// Working folder of that command.
    package var folder: String
    /// Arguments of that command, without their values.
    package var arguments: [String]
    /// Path of the JSON report; `nil` for none.
    package var report: String?
    /// Path of the event log; `nil` for none.
    package var events: String?
    /// Time of acceptance.
    package var createdAt: WallTime
    /// The kernel's boot id at acceptance.
    package var boot: String

    package init(
        identifiers: [String], job: String, file: String, folder: String, arguments: [String] = [],
        report: String? = nil, events: String? = nil, createdAt: WallTime, boot: String = ""
    ) {
        self.identifiers = identifiers
        self.job = job
        self.file = file
        self.folder = folder
        self.arguments = arguments
        self.report = report
        self.events = events
        self.createdAt = createdAt
        self.boot = boot
    }
}

/// Data that a run was given or has learned, and that it needs to continue after a crash. It may hold secrets, is
/// encrypted with the run's own key, and is erased with that key when the run's end was delivered.
package struct JournalInput: Hashable, Sendable {
    /// Purpose of the input, in the vocabulary of its writer.
    package var kind: String
    /// Name that tells inputs of one kind apart; may be empty.
    package var name: String
    /// Plain content, encoded by its writer.
    package var bytes: [UInt8]
    package init(kind: String, name: String = "", bytes: [UInt8]) {
        self.kind = kind
        self.name = name
        self.bytes = bytes
    }
}

/// How a run ended.
package struct RunEnd: Hashable, Sendable {
    /// Time of the end.
    package var at: WallTime
    /// Result of the run as a whole.
    package var outcome: RunOutcome
    /// Exit status of the command that runs or follows it.
    package var exitStatus: Int
    /// Results of the `onFinish` commands. Part of the end, so that a later reader of it gets them too.
    package var hooks: [HookEnd] = []
    package init(at: WallTime, outcome: RunOutcome, exitStatus: Int) {
        self.at = at
        self.outcome = outcome
        self.exitStatus = exitStatus
    }
}

/// How a session's `onFinish` command ended. Stored as text, so that a person can read it.
package struct HookEnd: Hashable, Sendable {
    /// Name of the session.
    package let session: String
    /// Its exit status; `nil` if it could not be started or was killed.
    package var exitStatus: Int?
    /// Time that the command ran.
    package var duration: TimeSpan
    /// What went wrong, without secrets, in one line, such as `ended with status 3`; `nil` on success.
    package var trouble: String?

    package init(session: String, exitStatus: Int?, duration: TimeSpan) {
        self.session = session
        self.exitStatus = exitStatus
        self.duration = duration
    }

    /// The stored text: exit status or `-`, nanoseconds, then the trouble if any.
    package var text: String {
        "\(exitStatus.map { "\($0)" } ?? "-") \(duration.nanoseconds)" + (trouble.map { " \($0)" } ?? "")
    }

    package init?(session: String, _ text: String) {
        let words = text.split(separator: " ", maxSplits: 2)
        guard words.count >= 2, let nanoseconds = Int64(words[1]) else { return nil }
        self.init(session: session, exitStatus: Int(words[0]), duration: TimeSpan(nanoseconds: nanoseconds))
        trouble = words.count == 3 ? String(words[2]) : nil
    }
}

/// A run as it stands in the journal.
package struct JournalRun: Hashable, Sendable {
    /// How far a run is.
    package enum State: String, CaseIterable, Sendable { case accepted, running, suspended, finished }
    /// Its number in the journal.
    package let id: RunID
    /// Random name, unique among all journals: the run's inputs are encrypted for it.
    let name: String
    /// Facts recorded when the run was accepted.
    package var accepted: AcceptedRun
    /// Number of its tasks, added ones included.
    package var taskCount: Int
    /// How far the run is.
    package var state: State
    /// Its end; `nil` until it is finished.
    package var end: RunEnd?
    /// Time when its end was delivered to a reader; `nil` until then.
    package var deliveredAt: WallTime?
    /// Number of its last recorded event; 0 without events.
    package var lastSequence: UInt64
    /// Seal of its last event.
    var chain: Int64
    /// Whether its events and tasks are still recorded; of old runs only this row is kept.
    package var isWhole: Bool
}

/// The run that holds a background session's identifier.
package struct IdentifierHolder: Hashable, Sendable {
    /// The held identifier.
    package let identifier: String
    /// Number of the holding run.
    package let run: RunID
    /// Name of its job.
    package let job: String
    /// State of the holding run.
    package let state: JournalRun.State
}

/// Why a run was not accepted.
package enum AcceptProblem: Error, Hashable, Sendable, CustomStringConvertible {
    /// Another run holds one of its identifiers.
    case identifierInUse(IdentifierHolder)
    /// The journal could not be written.
    case failed(StoreError)

    /// One sentence for people.
    package var description: String {
        switch self {
        case .identifierInUse(let holder):
            "the identifier `\(holder.identifier)` is in use by the job `\(holder.job)`, which is \(holder.state.rawValue)"
        case .failed(let error): error.description
        }
    }
}
