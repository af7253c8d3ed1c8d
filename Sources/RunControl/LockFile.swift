import Glibc
import SystemIO
import TextFormats
import TransferModel

/// A job's lock in the state folder: `locks/<hash of who the job is>.lock`.
///
/// The file stays, because making it anew costs a run more than locking it. Where nothing may stay it goes with the
/// run; whoever got the lock of a file that had just lost its name has the lock of nothing, and asks again.
final class LockFile: JobLock {
    private let state: String
    private let folder: String
    private let name: String
    private let leavesNothing: Bool
    /// Folders that were not there before.
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
        // More often than runs can end in between; what is missing for ever, as behind a broken link, is told.
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

    /// `nil`, or something missing: the run that had the lock ended just now, and with it the file or the folder.
    private func attemptOnce() throws(PrivacyProblem) -> LockAttempt? {
        // Whoever could write above the folder could put another in its place.
        _ = try PrivateFolder.make(state)
        let folder = try PrivateFolder.make(folder)
        let file = try PrivateFolder.file(name, in: folder, at: self.folder)
        do throws(SystemError) {
            guard try file.tryLock() else {
                return .held(by: LockTable.holder(of: file) ?? LockNote.holder(in: "\(self.folder)/\(name)"))
            }
            guard let named = try? folder.facts(of: name), try named.inode == file.facts().inode else { return nil }
            try file.overwrite(LockNote.text(Surroundings.processID(), Clocks.wall()))
        } catch {
            throw PrivacyProblem(kind: .system(error), path: "\(self.folder)/\(name)")
        }
        held = Held(folder: folder, file: file)
        return .taken
    }

    func release() {
        // The name before the lock: whoever makes it anew is alone with it.
        if leavesNothing { try? held?.folder.unlink(name) }
        held = nil
        guard leavesNothing else { return }
        PrivateFolder.removeIfEmpty([folder] + made)
    }
}

/// What a lock file says of who holds it, for people and for error messages.
enum LockNote {
    static func text(_ process: Int32, _ start: WallTime) -> [UInt8] {
        var writer = JSONWriter()
        writer.beginObject()
        writer.member("pid", Int64(process))
        writer.member("startedAt", start)
        writer.endObject()
        // Of one length, whatever stood there before.
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
