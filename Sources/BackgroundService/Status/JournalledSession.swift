import RunControl
package import Stores
import SystemIO
import TransferModel

/// A background session of which the journal has a run whose end nobody knows of yet, by the names under which the store
/// keeps things.
package struct JournalledSession: Sendable {
    /// As `JobIdentity` names it.
    package let job: String
    package let name: String
    package let identifier: String
    package let hasEnded: Bool

    package static func all(_ journal: Journal) throws(StoreError) -> [JournalledSession] {
        var all: [JournalledSession] = []
        for run in try journal.runs() where run.deliveredAt == nil {
            // Of one that cannot be read any more only the name of its job is known.
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

    /// Runs of this job whose end is known. Which of its sessions they had is known no longer.
    package static func told(of job: String, _ journal: Journal) throws(StoreError) -> [RunID] {
        try journal.runs().filter { run in
            run.deliveredAt != nil && run.accepted.mayBe(of: JobIdentity(text: job))
        }.map(\.id)
    }
}

extension AcceptedRun {
    /// Where nothing else is left of it, nobody knows whether its job's name was written.
    func mayBe(of job: JobIdentity) -> Bool {
        let unnamed = Job(name: self.job, file: file, baseDirectory: folder)
        return job == JobIdentity(text: self.job) || job == JobIdentity(of: unnamed, readIn: folder)
    }
}

extension JobIdentity {
    /// Of a job that a command read which ran in `folder`.
    init(of job: Job, readIn folder: String) {
        var job = job
        if job.file != "-", !job.file.hasPrefix("/") {
            job.file = folder == "/" ? "/\(job.file)" : "\(folder)/\(job.file)"
        }
        self.init(of: job)
    }
}
