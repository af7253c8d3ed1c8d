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
            let text = JobIdentity(of: job.standing(in: run.accepted.folder)).text
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
            guard run.deliveredAt != nil else { return false }
            if run.accepted.job == job { return true }
            let unnamed = Job(name: run.accepted.job, file: run.accepted.file, baseDirectory: run.accepted.folder)
            return JobIdentity(of: unnamed.standing(in: run.accepted.folder)).text == job
        }.map(\.id)
    }
}

extension Job {
    /// Read by a command that ran there.
    fileprivate func standing(in folder: String) -> Job {
        guard file != "-", !file.hasPrefix("/") else { return self }
        var job = self
        job.file = folder == "/" ? "/\(file)" : "\(folder)/\(file)"
        return job
    }
}
