import Glibc
import SystemIO

/// A socket on which the process listens: its own in the runtime folder, or one that a service manager holds open.
/// It is opened by whoever has the process's lock.
final class ServiceDoor: Sendable {
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

    /// A service manager's: it stays when this process ends, and whoever calls next starts another.
    init(passed: consuming Descriptor) {
        socket = passed
        own = nil
    }

    private init(_ socket: consuming Descriptor, _ own: Own) {
        self.socket = socket
        self.own = own
    }

    /// A socket that the dead left is replaced. One that is answered belongs to somebody else, for this process has the
    /// lock of its state folder: another state folder's, with the same runtime folder.
    static func open(_ place: ServicePlace) throws(ServiceTrouble) -> ServiceDoor {
        let name = ServicePlace.socketName
        let folder: Descriptor
        do throws(PrivacyProblem) {
            folder = try PrivateFolder.make(place.runtime)
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
            return ServiceDoor(socket, Own(folder, place.runtime, inode))
        } catch {
            throw ServiceTrouble("\(place.socket): \(error.reason)")
        }
    }

    /// Whether anybody listens there.
    static func isAnswered(_ place: ServicePlace) -> Bool {
        guard let folder = try? PrivateFolder.open(place.runtime) else { return false }
        return isAnswered(ServicePlace.socketName, in: folder, at: place.runtime)
    }

    private static func isAnswered(_ name: String, in folder: borrowing Descriptor, at path: String) -> Bool {
        do throws(SystemError) {
            _ = try LocalSocket.connect(name, in: folder, at: path)
            return true
        } catch {
            // So many wait already that nobody else may: then somebody listens.
            return error.errno == EAGAIN
        }
    }

    /// Whether it is still found under its name. A runtime folder goes when its user has logged out.
    var isFound: Bool {
        guard let own else { return true }
        // By path: the folder itself may be another by now.
        guard let facts = try? FileFacts.of("\(own.path)/\(ServicePlace.socketName)") else { return false }
        return facts.inode == own.inode
    }

    /// Nobody finds it any more; those who have called already still wait behind it.
    func hide() {
        if let own, isFound { try? own.folder.unlink(ServicePlace.socketName) }
    }
}
