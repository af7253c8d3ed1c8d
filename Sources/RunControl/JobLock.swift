package import Stores
package import SystemIO
package import TransferModel

/// Keeps a second run of a job away for as long as this process lives. The system lets go of it however the process
/// ends.
package protocol JobLock: AnyObject {
    func attempt() throws(JobLockProblem) -> LockAttempt
    func release()
}

package enum LockAttempt: Hashable, Sendable {
    case taken
    /// By a process whose number is known, or not.
    case held(by: Int32?)
    /// This filesystem keeps no locks, for this reason.
    case impossible(String)
}

/// Why nobody can say whether another run is under way.
package struct JobLockProblem: Error, Hashable, Sendable, CustomStringConvertible {
    package let description: String
    init(description: String) { self.description = description }
}

package enum JobLocks {
    /// The lock of a job; `nil` for one that nobody could know again: it came on standard input without a name, and
    /// nothing of it is kept.
    ///
    /// Of ephemeral sessions nothing is on disk but their files: there the job file itself is locked, or, for a
    /// named job from standard input, a file that is gone with the run.
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

    /// The lock of a job that something is kept of.
    package static func lock(of job: JobIdentity, state: String) throws(JobLockProblem) -> any JobLock {
        try LockFile(of: job, in: state, leavesNothing: false)
    }

    /// Nothing of this job outlives its run but the files it fetched.
    package static func isEphemeral(_ job: Job) -> Bool {
        job.sessions.allSatisfy { $0.kind == .ephemeral }
    }
}

/// A job file that was read and is still open: the same file then, whatever its path leads to by now.
package final class JobFile: Sendable {
    package let descriptor: Descriptor
    package init(_ descriptor: consuming Descriptor) { self.descriptor = descriptor }
}

/// Locks the job file itself.
final class JobFileLock: JobLock {
    private let file: JobFile
    init(_ file: JobFile) { self.file = file }

    func attempt() throws(JobLockProblem) -> LockAttempt {
        do throws(SystemError) {
            return try file.descriptor.tryLock() ? .taken : .held(by: LockTable.holder(of: file.descriptor))
        } catch {
            // NFS locks only what was opened for writing, and some filesystems nothing at all.
            return .impossible(error.reason)
        }
    }

    /// Closing the file does it.
    func release() {}
}
