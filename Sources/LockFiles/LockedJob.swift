package import TransferModel

/// Holds a job's downloads to the entries of a lock.
package struct LockedJob: Sendable {
    private let held: HeldAnswers

    package init(_ held: HeldAnswers) { self.held = held }

    /// Ids of the downloads that the lock has no entry for, templates left out.
    package func missing(_ job: Job) -> [String] {
        job.tasks.lazy.filter { $0.type == .download && !$0.isTemplate && held[$0.id] == nil }.map(\.id)
    }

    /// Downloads whose own `checksum` is another SHA-256 than the lock's.
    package func contradicted(_ job: Job) -> [String] {
        job.tasks.lazy.filter { task in
            guard case .literal(let own)? = task.options.values.checksum, own.algorithm == .sha256,
                let locked = held[task.id]?.sha256
            else { return false }
            return own != locked
        }.map(\.id)
    }

    /// `a`, `b` and 3 more.
    package static func names(_ ids: [String]) -> String {
        let shown = ids.prefix(10).map { "`\($0)`" }.joined(separator: ", ")
        return ids.count > 10 ? "\(shown) and \(ids.count - 10) more" : shown
    }

    /// Returns the job whose downloads must have the locked bytes, from task `start` on.
    package func applied(to job: Job, from start: Int = 0) -> Job {
        var job = job
        job.held = held
        for index in job.tasks.indices[start...] where job.tasks[index].type == .download {
            guard let locked = held[job.tasks[index].id]?.sha256 else { continue }
            var values = job.tasks[index].options.values
            values.checksum = .literal(locked)
            // A file that is kept whatever it is would not be the locked one.
            if values.existing == .skip { values.existing = .revalidate }
            job.tasks[index].options = TaskOptions(values)
        }
        return job
    }
}

extension Job {
    /// Returns the job held to a lock or to a saved plan.
    package func held(to answers: HeldAnswers) -> Job {
        switch answers.kind {
        case .lock: return LockedJob(answers).applied(to: self)
        case .plan:
            var job = self
            job.held = answers
            return job
        }
    }
}

extension ExpandedJob {
    /// Holds the tasks that a template became to a lock; fails if it does not have them.
    package func held(to answers: HeldAnswers?) -> Result<ExpandedJob, TransferError> {
        guard let answers, answers.kind == .lock else { return .success(self) }
        let missing = job.tasks[added].filter { $0.type == .download && answers[$0.id] == nil }.map(\.id)
        guard missing.isEmpty else {
            return .failure(TransferError(.notLocked, "\(answers.file) does not have \(LockedJob.names(missing))"))
        }
        var held = self
        held.job = LockedJob(answers).applied(to: job, from: added.lowerBound)
        return .success(held)
    }
}
