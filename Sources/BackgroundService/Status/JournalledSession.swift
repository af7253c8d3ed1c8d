import RunControl
package import Stores
import SystemIO
import TransferModel

/// A background session of a run in the journal whose end has not been delivered, with the names under which the store
/// keeps its things.
package struct JournalledSession: Sendable {
    /// The job's name, as `JobIdentity` writes it.
    package let job: String
    /// The session's name in the job.
    package let name: String
    /// The session's background identifier.
    package let identifier: String
    /// Whether its run has ended; its end has not been delivered.
    package let hasEnded: Bool

    /// Returns every session of every run whose end has not been delivered. A run whose job cannot be read is left out.
    package static func all(_ journal: Journal) throws(StoreError) -> [JournalledSession] {
        var all: [JournalledSession] = []
        for run in try journal.runs() where run.deliveredAt == nil {
            // A run whose job cannot be read has only the job's name, not its sessions.
            guard let job = try? HandedJob(of: run.id, journal).part.job else { continue }
            let text = JobIdentity(of: job, readIn: run.accepted.folder).text
            for session in job.sessions {
                guard let identifier = session.identifier, run.accepted.identifiers.contains(identifier) else {
                    continue
                }
                all.append(
                    JournalledSession(
                        job: text, name: session.name, identifier: identifier, hasEnded: run.state == .finished))
            }
        }
        return all
    }

    /// Returns the runs of this job whose end was delivered. The journal no longer tells which sessions they had.
    package static func deliveredRuns(of job: String, _ journal: Journal) throws(StoreError) -> [RunID] {
        try journal.runs().filter { run in
            run.deliveredAt != nil && run.accepted.mayBe(of: JobIdentity(text: job))
        }.map(\.id)
    }
}

extension AcceptedRun {
    /// Whether the run may be one of `job`: when only its accepted record is left, it is not known whether the job file
    /// gave a name, so that both readings count.
    func mayBe(of job: JobIdentity) -> Bool {
        let unnamed = Job(name: self.job, file: file, baseDirectory: folder)
        return job == JobIdentity(text: self.job) || job == JobIdentity(of: unnamed, readIn: folder)
    }
}

extension JobIdentity {
    /// The identity of a job that a command running in `folder` has read.
    init(of job: Job, readIn folder: String) {
        var job = job
        if job.file != "-", !job.file.hasPrefix("/") {
            job.file = folder == "/" ? "/\(job.file)" : "\(folder)/\(job.file)"
        }
        self.init(of: job)
    }
}
