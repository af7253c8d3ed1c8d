import Glibc
import SystemIO

/// The folder in which runs listen: private, with a socket for each run.
enum ControlPlace {
    static func socketName(_ process: Int32) -> String { "run-\(process).socket" }

    /// Returns the process number in a socket's name; `nil` if the name is no socket's.
    static func process(of name: String) -> Int32? {
        let name = name.hasPrefix(".") ? name.dropFirst() : name[...]
        guard name.hasPrefix("run-"), name.hasSuffix(".socket") else { return nil }
        return Int32(name.dropFirst(4).dropLast(7))
    }

    /// Removes the sockets of runs that died without removing them.
    static func sweep(_ folder: borrowing Descriptor, at path: String) {
        for name in Folders.names(in: path) {
            guard let process = process(of: name), !CurrentProcess.processExists(process) else { continue }
            removeIfDead(name, in: folder, at: path)
        }
    }

    /// Removes a socket at which no process listens. The process number alone would not do: it may be of another
    /// container.
    static func removeIfDead(_ name: String, in folder: borrowing Descriptor, at path: String) {
        do throws(SystemError) {
            _ = try LocalSocket.connect(name, in: folder, at: path)
        } catch {
            if error.errno == ECONNREFUSED { try? folder.unlink(name) }
        }
    }
}

/// A listening socket and its folder.
struct ControlSocket: ~Copyable, Sendable {
    let folder: Descriptor
    let socket: Descriptor

    static func open(_ name: String, at path: String) throws(ControlProblem) -> ControlSocket {
        var last = ""
        // Another run may remove the folder as long as it is empty: then it is made anew.
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

    private static func openOnce(_ name: String, at path: String) throws(PrivacyProblem) -> ControlSocket {
        let folder = try PrivateFolder.makeForSockets(path)
        do throws(SystemError) {
            let socket = try LocalSocket.listen(name, in: folder, at: path)
            return ControlSocket(folder: folder, socket: socket)
        } catch {
            throw PrivacyProblem(kind: .system(error), path: "\(path)/\(name)")
        }
    }
}
