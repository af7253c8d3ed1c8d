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
