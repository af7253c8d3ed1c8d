import Glibc
import SystemIO
import TextFormats
import TransferModel

/// The lock that lets one background process run for each user and state folder: an `flock` on a file in the state
/// folder, which the kernel releases however the process ends. The file's text names the process and its socket.
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

    /// Tries to take the lock. `socket` is the path at which the process will listen; `nil` if it is not known.
    static func attempt(_ place: ServicePlace, socket: String?) throws(ServiceTrouble) -> Attempt {
        do throws(PrivacyProblem) {
            let folder = try PrivateFolder.make(place.state)
            let file = try PrivateFolder.file(ServicePlace.lockName, in: folder, at: place.state)
            return try attempt(file, place.lock, socket)
        } catch {
            throw ServiceTrouble(error.description)
        }
    }

    private static func attempt(
        _ file: consuming Descriptor, _ path: String, _ socket: String?
    ) throws(PrivacyProblem) -> Attempt {
        do throws(SystemError) {
            guard try file.tryLock() else { return .held(LockTable.holder(of: file)) }
            try write(socket, to: file)
            return .taken(ServiceLock(file, path))
        } catch {
            throw PrivacyProblem(kind: .system(error), path: path)
        }
    }

    /// Names the socket at which the process listens from now on.
    func name(socket: String) throws(SystemError) { try Self.write(socket, to: file) }

    private static func write(_ socket: String?, to file: borrowing Descriptor) throws(SystemError) {
        var writer = JSONWriter()
        writer.beginObject()
        writer.member("pid", Int64(CurrentProcess.processID()))
        writer.member("startedAt", Clocks.wall())
        if let socket { writer.member("socket", socket) }
        writer.endObject()
        try file.cut(at: 0)
        try file.writeAll((writer.bytes + [0x0A])[...], at: 0)
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

    /// Returns the path of the socket that the lock's holder names; `nil` if the lock is free, or its file or folder
    /// might have been written by another user.
    static func socket(_ place: ServicePlace) -> String? {
        guard holder(place) != nil, let folder = try? PrivateFolder.open(place.state),
            (try? PrivateFolder.look(at: ServicePlace.lockName, in: folder, at: place.state)) != nil,
            let text = try? WholeFile.read(place.lock, limit: 16 << 10)
        else { return nil }
        return (try? JSONParser.parse(text))?.text("socket")
    }

    /// Whether a process holds the lock, even one that this process cannot see, as in another container.
    static func isHeld(_ place: ServicePlace) -> Bool {
        guard let file = try? WholeFile.open(place.lock) else { return false }
        return (try? file.tryLock()) == false
    }
}
