package import Stores
package import SystemIO
package import TransferModel

/// A lock that keeps a second run of a job away for as long as this process lives. The kernel releases it however the
/// process ends.
package protocol JobLock: AnyObject {
    /// Tries to take the lock; does not wait.
    func attempt() throws(JobLockProblem) -> LockAttempt
    /// Releases the lock at the end of the run.
    func release()
}

/// The outcome of trying to take a job's lock.
package enum LockAttempt: Hashable, Sendable {
    case taken
    /// Another process holds the lock; its number, or `nil` when that is not known.
    case held(by: Int32?)
    /// The filesystem supports no locks; the text says why.
    case impossible(String)
}

/// Why it cannot be found out whether another run is under way.
package struct JobLockProblem: Error, Hashable, Sendable, CustomStringConvertible {
    /// A sentence for the user.
    package let description: String
    init(description: String) { self.description = description }
}

/// Chooses the lock of a job.
package enum JobLocks {
    /// Returns the lock of a job; `nil` for a job without anything to recognize it by: it came on standard input
    /// without a name, and nothing of it is kept.
    ///
    /// Ephemeral sessions leave nothing on the disk but the fetched files. For them the job file itself is locked or,
    /// for a named job from standard input, a file that is removed with the run.
    package static func lock(
        of job: Job, file: JobFile?, state: () throws(StateFolder.Problem) -> StateFolder
    ) throws(JobLockProblem) -> (any JobLock)? {
        let isEphemeral = isEphemeral(job)
        if isEphemeral, let file { return JobFileLock(file) }
        if isEphemeral, !job.isNamed { return nil }
        let folder: StateFolder
        do throws(StateFolder.Problem) {
            folder = try state()
        } catch {
            throw JobLockProblem(description: error.description)
        }
        return try LockFile(of: JobIdentity(of: job), in: folder.state, leavesNothing: isEphemeral)
    }

    /// Returns the lock of a job of which the store keeps something.
    package static func lock(of job: JobIdentity, state: String) throws(JobLockProblem) -> any JobLock {
        try LockFile(of: job, in: state, leavesNothing: false)
    }

    /// Returns whether nothing of this job outlives its run but the fetched files.
    package static func isEphemeral(_ job: Job) -> Bool {
        job.sessions.allSatisfy { $0.kind == .ephemeral }
    }
}

/// The job file that was read, kept open, so that the lock is on that file whatever its path leads to by now.
package final class JobFile: Sendable {
    /// The open file.
    package let descriptor: Descriptor
    package init(_ descriptor: consuming Descriptor) { self.descriptor = descriptor }
}

/// A lock on the job file itself.
final class JobFileLock: JobLock {
    private let file: JobFile
    init(_ file: JobFile) { self.file = file }

    func attempt() throws(JobLockProblem) -> LockAttempt {
        do throws(SystemError) {
            return try file.descriptor.tryLock() ? .taken : .held(by: LockTable.holder(of: file.descriptor))
        } catch {
            // NFS locks only what was opened for writing, and some filesystems lock nothing at all.
            return .impossible(error.reason)
        }
    }

    /// Does nothing: closing the file releases the lock.
    func release() {}
}
