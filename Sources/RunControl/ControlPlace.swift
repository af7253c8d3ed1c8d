import Glibc
import SystemIO

/// Where runs listen: a private folder with a socket for each.
enum ControlPlace {
    static func socketName(_ process: Int32) -> String { "run-\(process).socket" }

    /// The process that a name in the folder speaks of.
    static func process(of name: String) -> Int32? {
        let name = name.hasPrefix(".") ? name.dropFirst() : name[...]
        guard name.hasPrefix("run-"), name.hasSuffix(".socket") else { return nil }
        return Int32(name.dropFirst(4).dropLast(7))
    }

    /// Removes the sockets of runs that died without doing so.
    static func sweep(_ folder: borrowing Descriptor, at path: String) {
        for name in Folders.names(in: path) {
            guard let process = process(of: name), !Surroundings.isRunning(process) else { continue }
            removeIfDead(name, in: folder, at: path)
        }
    }

    /// Dead is on which nobody listens: the number alone says nothing of a process in another container.
    static func removeIfDead(_ name: String, in folder: borrowing Descriptor, at path: String) {
        do throws(SystemError) {
            _ = try LocalSocket.connect(name, in: folder, at: path)
        } catch {
            if error.errno == ECONNREFUSED { try? folder.unlink(name) }
        }
    }
}

/// A listening socket in its folder.
struct ControlDoor: ~Copyable, Sendable {
    let folder: Descriptor
    let socket: Descriptor

    static func open(_ name: String, at path: String) throws(ControlProblem) -> ControlDoor {
        var last = ""
        // Another run may take the folder away, as long as nothing is in it.
        for _ in 0..<100 {
            do throws(PrivacyProblem) {
                return try openOnce(name, at: path)
            } catch {
                guard error.isMissing else { throw ControlProblem(description: error.description) }
                last = error.description
            }
        }
        throw ControlProblem(description: last)
    }

    private static func openOnce(_ name: String, at path: String) throws(PrivacyProblem) -> ControlDoor {
        let folder = try PrivateFolder.make(path)
        do throws(SystemError) {
            let socket = try LocalSocket.listen(name, in: folder, at: path)
            return ControlDoor(folder: folder, socket: socket)
        } catch {
            throw PrivacyProblem(kind: .system(error), path: "\(path)/\(name)")
        }
    }
}
