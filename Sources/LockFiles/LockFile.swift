package import TransferModel

/// A file that says what servers answered: the lock of a job, or the answers that a plan saved.
package struct LockFile: Hashable, Sendable {
    /// One file of the job.
    package struct Entry: Hashable, Sendable {
        /// Id of the task.
        package var id: String
        /// Path of the file: relative to the job's folder, where it lies there, else absolute. `nil` in a plan.
        package var path: String?
        /// What the server said, and the digest of what came.
        package var answer: HeldAnswer

        package init(id: String, path: String? = nil, answer: HeldAnswer) {
            (self.id, self.path, self.answer) = (id, path, answer)
        }
    }

    /// Whether it is a lock or a plan's answers.
    package var kind: HeldAnswers.Kind
    /// Name of the job that it was made of.
    package var job: String
    /// Entries in the order of their ids, each id once.
    package var entries: [Entry]

    package init(_ kind: HeldAnswers.Kind, job: String, entries: [Entry]) {
        self.kind = kind
        self.job = job
        self.entries = entries.sorted { $0.id.utf8.lexicographicallyPrecedes($1.id.utf8) }
    }

    /// The answers to hold a run to; `file` is this file as named by the user.
    package func held(file: String, redactor: Redactor, holdsPlaces: Bool = true) -> HeldAnswers {
        HeldAnswers(
            kind, file: file, Dictionary(entries.map { (ExactText($0.id), $0.answer) }) { $1 }, redactor: redactor,
            holdsPlaces: holdsPlaces)
    }
}

extension HeldAnswers.Kind {
    /// The file's `format`.
    var format: String {
        switch self {
        case .lock: "transfer-run/lock"
        case .plan: "transfer-run/server-plan"
        }
    }
}
