import Glibc
import SystemIO

/// The socket at which the process listens: its own in the runtime folder, or one that a service manager holds open.
/// Opened only by the process that holds the lock.
final class ServiceSocket: Sendable {
    let socket: Descriptor
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
        socket = passed
        own = nil
    }

    private init(_ socket: consuming Descriptor, _ own: Own) {
        self.socket = socket
        self.own = own
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

    /// Whether a process accepts connections at the socket of `place`.
    static func isAnswered(_ place: ServicePlace) -> Bool {
        guard let folder = try? PrivateFolder.openForSockets(place.runtime) else { return false }
        return isAnswered(ServicePlace.socketName, in: folder, at: place.runtime)
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
