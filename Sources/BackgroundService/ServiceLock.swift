import Glibc
import SystemIO
import TextFormats
import TransferModel

/// One background process for each user and state folder: an `flock` in the state folder, which goes with the process
/// however that ends. What the file says is for people.
final class ServiceLock: Sendable {
    private let file: Descriptor
    private let path: String

    private init(_ file: consuming Descriptor, _ path: String) {
        self.file = file
        self.path = path
    }

    enum Attempt {
        case taken(ServiceLock)
        /// By a process whose number is known, or not.
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
            try file.writeAll(note())
            return .taken(ServiceLock(file, path))
        } catch {
            throw PrivacyProblem(kind: .system(error), path: path)
        }
    }

    private static func note() -> [UInt8] {
        var writer = JSONWriter()
        writer.beginObject()
        writer.member("pid", Int64(Surroundings.processID()))
        writer.member("startedAt", Clocks.wall())
        writer.endObject()
        return writer.bytes + [0x0A]
    }

    /// Whether whoever asks next asks for this very lock: the state folder may have been taken away, or another put in
    /// its place.
    var isInPlace: Bool {
        guard let named = try? FileFacts.of(path), let held = try? file.facts() else { return false }
        return named.isSameFile(as: held)
    }

    /// Who has it, as far as this process may know.
    static func holder(_ place: ServicePlace) -> Int32? {
        guard let file = try? WholeFile.open(place.lock) else { return nil }
        return LockTable.holder(of: file)
    }
}
