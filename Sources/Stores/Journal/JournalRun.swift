package import TransferModel

/// A run's number in the journal: never given to another.
package struct RunID: Hashable, Comparable, Sendable {
    package let raw: Int64
    package init(raw: Int64) { self.raw = raw }
    package static func < (left: RunID, right: RunID) -> Bool { left.raw < right.raw }
}

/// What is known of a run when it is handed over. None of it may be a secret: what may be is a `JournalInput`.
package struct AcceptedRun: Hashable, Sendable {
    /// Of its background sessions. Taken until its end was delivered.
    package var identifiers: [String]
    /// The job's name.
    package var job: String
    /// The job's file as the command named it.
    package var file: String
    /// Where that command ran.
    package var folder: String
    /// Its words, but for values.
    package var arguments: [String]
    /// Where report and events go; `nil`: nowhere.
    package var report: String?
    package var events: String?
    package var createdAt: WallTime
    /// The start of the system under which it was handed over, as the kernel names it.
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

/// Something a run was given or has learned and needs in order to go on after a crash. It may hold secrets, is sealed with
/// the run's own key, and is erased with it when the run's end was delivered.
package struct JournalInput: Hashable, Sendable {
    /// What it is, in the words of who wrote it.
    package var kind: String
    package var name: String
    package var bytes: [UInt8]
    package init(kind: String, name: String = "", bytes: [UInt8]) {
        self.kind = kind
        self.name = name
        self.bytes = bytes
    }
}

package struct RunEnd: Hashable, Sendable {
    package var at: WallTime
    package var outcome: RunOutcome
    package var exitStatus: Int
    /// Of the commands that heard of it. Part of the end, so that whoever tells it later tells this too.
    package var hooks: [HookEnd] = []
    package init(at: WallTime, outcome: RunOutcome, exitStatus: Int) {
        self.at = at
        self.outcome = outcome
        self.exitStatus = exitStatus
    }
}

/// How a session's `onFinish` ended. As text, so that a person can read it.
package struct HookEnd: Hashable, Sendable {
    package let session: String
    /// `nil`: it could not be started, or was killed.
    package var exitStatus: Int?
    package var duration: TimeSpan
    /// What went wrong, without secrets, in one line: `ended with status 3`.
    package var trouble: String?

    package init(session: String, exitStatus: Int?, duration: TimeSpan) {
        self.session = session
        self.exitStatus = exitStatus
        self.duration = duration
    }

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
    /// Of a run that has not ended.
    package enum State: String, CaseIterable, Sendable { case accepted, running, suspended, finished }
    package let id: RunID
    /// Random, and no other run's in any journal: what was given to it is sealed for this name.
    let name: String
    package var accepted: AcceptedRun
    package var taskCount: Int
    package var state: State
    /// Once it is finished.
    package var end: RunEnd?
    /// Once somebody knows of its end.
    package var deliveredAt: WallTime?
    /// 0: none yet.
    package var lastSequence: UInt64
    /// The seal of its last event.
    var chain: Int64
    /// Its events and tasks are still there. Of old runs only this row is kept.
    package var isWhole: Bool
}

/// Who holds an identifier.
package struct IdentifierHolder: Hashable, Sendable {
    package let identifier: String
    package let run: RunID
    package let job: String
    package let state: JournalRun.State
}

/// Why a run was not taken.
package enum AcceptProblem: Error, Hashable, Sendable, CustomStringConvertible {
    case identifierInUse(IdentifierHolder)
    case failed(StoreError)

    package var description: String {
        switch self {
        case .identifierInUse(let holder):
            "the identifier `\(holder.identifier)` is in use by the job `\(holder.job)`, which is \(holder.state.rawValue)"
        case .failed(let error): error.description
        }
    }
}
