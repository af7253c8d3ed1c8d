import Glibc
import SystemIO
import TextFormats
import TransferModel

/// A job's lock in the state folder: `locks/<hash of the job's identity>.lock`.
///
/// The file stays, because making it anew costs a run more than locking it. With `leavesNothing` it is removed with the
/// run; a process that locked the file just after its removal has locked a file without a name, and tries again.
final class LockFile: JobLock {
    private let state: String
    private let folder: String
    private let name: String
    private let leavesNothing: Bool
    /// Folders that this lock made, to be removed at the end.
    private let made: [String]
    private var held: Held?

    private struct Held: ~Copyable {
        let folder: Descriptor
        let file: Descriptor
    }

    init(of job: JobIdentity, in state: String, leavesNothing: Bool) throws(JobLockProblem) {
        self.state = state
        folder = "\(state)/locks"
        name = job.lockName
        self.leavesNothing = leavesNothing
        made = leavesNothing ? PrivateFolder.missing(state) : []
    }

    func attempt() throws(JobLockProblem) -> LockAttempt {
        var last: PrivacyProblem?
        // More attempts than runs can end in between; a path that is missing for good, as behind a broken link, is an
        // error.
        for _ in 0..<1000 {
            do throws(PrivacyProblem) {
                if let result = try attemptOnce() { return result }
            } catch {
                guard error.isMissing else { throw JobLockProblem(description: error.description) }
                last = error
            }
        }
        throw JobLockProblem(description: last?.description ?? "\(folder)/\(name) comes and goes")
    }

    /// Tries once. Returns `nil`, or fails for a missing path, when the run that had the lock has just removed the file
    /// or folder.
    private func attemptOnce() throws(PrivacyProblem) -> LockAttempt? {
        // The state folder is checked too: a user who could write in it could replace the folder of the locks.
        _ = try PrivateFolder.make(state)
        let folder = try PrivateFolder.make(folder)
        let file = try PrivateFolder.file(name, in: folder, at: self.folder)
        do throws(SystemError) {
            guard try file.tryLock() else {
                return .held(by: LockTable.holder(of: file) ?? LockNote.holder(in: "\(self.folder)/\(name)"))
            }
            guard let named = try? folder.facts(of: name), try named.inode == file.facts().inode else { return nil }
            try file.overwrite(LockNote.text(CurrentProcess.processID(), Clocks.wall()))
        } catch {
            throw PrivacyProblem(kind: .system(error), path: "\(self.folder)/\(name)")
        }
        held = Held(folder: folder, file: file)
        return .taken
    }

    func release() {
        // Remove the name before releasing the lock: a process that makes the file anew is alone with it.
        if leavesNothing { try? held?.folder.unlink(name) }
        held = nil
        guard leavesNothing else { return }
        PrivateFolder.removeIfEmpty([folder] + made)
    }
}

/// The text of a lock file about its holder, for people and for error messages.
enum LockNote {
    static func text(_ process: Int32, _ start: WallTime) -> [UInt8] {
        var writer = JSONWriter()
        writer.beginObject()
        writer.member("pid", Int64(process))
        writer.member("startedAt", start)
        writer.endObject()
        // Padded to one length, so that it covers what the file had before.
        let padding = repeatElement(UInt8(ascii: " "), count: max(0, width - writer.bytes.count))
        return writer.bytes + padding + [0x0A]
    }

    private static let width = 63

    static func holder(in path: String) -> Int32? {
        guard let bytes = try? WholeFile.read(path, limit: 4096),
            case .number(let digits)? = try? JSONParser.parse(bytes)["pid"]
        else { return nil }
        return Int32(digits)
    }
}
