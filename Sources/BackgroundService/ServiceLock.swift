import Glibc
import SystemIO
import TextFormats
import TransferModel

/// The lock that lets one background process run for each user and state folder: an `flock` on a file in the state
/// folder, which the kernel releases however the process ends. The file's text is only for people.
final class ServiceLock: Sendable {
    private let file: Descriptor
    private let path: String

    private init(_ file: consuming Descriptor, _ path: String) {
        self.file = file
        self.path = path
    }

    enum Attempt {
        case taken(ServiceLock)
        /// Another process holds the lock; its process number, or `nil` when that is not known.
        case held(Int32?)
    }

    static func attempt(_ place: ServicePlace) throws(ServiceTrouble) -> Attempt {
        do throws(PrivacyProblem) {
            let folder = try PrivateFolder.make(place.state)
            let file = try PrivateFolder.file(ServicePlace.lockName, in: folder, at: place.state)
            return try attempt(file, place.lock)
        } catch {
            throw ServiceTrouble(error.description)
        }
    }

    private static func attempt(_ file: consuming Descriptor, _ path: String) throws(PrivacyProblem) -> Attempt {
        do throws(SystemError) {
            guard try file.tryLock() else { return .held(LockTable.holder(of: file)) }
            try file.cut(at: 0)
            try file.writeAll(holderText())
            return .taken(ServiceLock(file, path))
        } catch {
            throw PrivacyProblem(kind: .system(error), path: path)
        }
    }

    private static func holderText() -> [UInt8] {
        var writer = JSONWriter()
        writer.beginObject()
        writer.member("pid", Int64(CurrentProcess.processID()))
        writer.member("startedAt", Clocks.wall())
        writer.endObject()
        return writer.bytes + [0x0A]
    }

    /// Whether the file at `path` still is the locked one: the state folder may have been removed, or another put in
    /// its place, and the next process would then lock another file.
    var isInPlace: Bool {
        guard let named = try? FileFacts.of(path), let held = try? file.facts() else { return false }
        return named.isSameFile(as: held)
    }

    /// Returns the number of the process that holds the lock, or `nil` if this process cannot find it out.
    static func holder(_ place: ServicePlace) -> Int32? {
        guard let file = try? WholeFile.open(place.lock) else { return nil }
        return LockTable.holder(of: file)
    }
}
