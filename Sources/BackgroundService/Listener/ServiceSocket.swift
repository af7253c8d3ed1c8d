import Glibc
import SystemIO

/// The socket at which the process listens: its own in the runtime folder, or one that a service manager holds open.
/// Opened only by the process that holds the lock.
final class ServiceSocket: Sendable {
    let socket: Descriptor
    /// The absolute path at which the process is found; `nil` if a service manager's socket has none.
    let path: String?
    private let own: Own?

    private final class Own: Sendable {
        let folder: Descriptor
        let path: String
        let inode: UInt64

        init(_ folder: consuming Descriptor, _ path: String, _ inode: UInt64) {
            self.folder = folder
            self.path = path
            self.inode = inode
        }
    }

    /// Takes a service manager's socket, which outlives this process: the next connection to it starts another.
    init(passed: consuming Descriptor) {
        path = Self.path(of: passed)
        socket = passed
        own = nil
    }

    private init(_ socket: consuming Descriptor, _ own: Own) {
        self.socket = socket
        path = "\(own.path)/\(ServicePlace.socketName)"
        self.own = own
    }

    /// Returns the absolute path to which the socket was bound, if it was bound to one.
    private static func path(of socket: borrowing Descriptor) -> String? {
        var address = sockaddr_un()
        var length = socklen_t(MemoryLayout<sockaddr_un>.size)
        let raw = socket.raw
        let status = withUnsafeMutablePointer(to: &address) { address in
            address.withMemoryRebound(to: sockaddr.self, capacity: 1) { getsockname(raw, $0, &length) }
        }
        guard status == 0 else { return nil }
        let path = withUnsafeBytes(of: address.sun_path) { String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self) }
        guard path.hasPrefix("/") else { return nil }
        let (folder, name) = Folders.split(path)
        // One that was renamed once it listened keeps the name to which it was bound.
        let isRenamed = name.hasPrefix(".") && (try? FileFacts.of(path)) == nil
        return isRenamed ? "\(folder)/\(name.dropFirst())" : path
    }

    /// Opens the socket in the runtime folder, replacing one left by a dead process. A socket that answers must belong
    /// to another state folder with the same runtime folder, since this process has the lock of its own.
    static func open(_ place: ServicePlace) throws(ServiceTrouble) -> ServiceSocket {
        let name = ServicePlace.socketName
        let folder: Descriptor
        do throws(PrivacyProblem) {
            folder = try PrivateFolder.makeForSockets(place.runtime)
        } catch {
            throw ServiceTrouble(error.description)
        }
        if isAnswered(name, in: folder, at: place.runtime) {
            throw ServiceTrouble(
                "\(place.socket) belongs to the background process of another state folder: give each a runtime "
                    + "folder of its own (XDG_RUNTIME_DIR), or name one place for all with `--state-dir DIR`")
        }
        do throws(SystemError) {
            let socket = try LocalSocket.listen(name, in: folder, at: place.runtime, backlog: 4096)
            let inode = try folder.facts(of: name).inode
            return ServiceSocket(socket, Own(folder, place.runtime, inode))
        } catch {
            throw ServiceTrouble("\(place.socket): \(error.reason)")
        }
    }

    /// Opens the socket anew after its name was removed: in the runtime folder, or beside the state where the user's
    /// runtime folder is gone and cannot be made.
    static func reopen(_ place: ServicePlace) throws(ServiceTrouble) -> ServiceSocket {
        do throws(ServiceTrouble) {
            return try open(place)
        } catch {
            return try open(place.withoutRuntime)
        }
    }

    private static func isAnswered(_ name: String, in folder: borrowing Descriptor, at path: String) -> Bool {
        do throws(SystemError) {
            _ = try LocalSocket.connect(name, in: folder, at: path)
            return true
        } catch {
            // The queue of waiting connections is full: so a process listens.
            return error.errno == EAGAIN
        }
    }

    /// Whether the socket is still found under its name. A runtime folder is removed when its user has logged out.
    var isFound: Bool {
        guard let own else { return true }
        // By path: the folder itself may be another by now.
        guard let facts = try? FileFacts.of("\(own.path)/\(ServicePlace.socketName)") else { return false }
        return facts.inode == own.inode
    }

    /// Removes the socket's name, so that new connections do not find it; those already queued still wait.
    func hide() {
        if let own, isFound { try? own.folder.unlink(ServicePlace.socketName) }
    }
}
