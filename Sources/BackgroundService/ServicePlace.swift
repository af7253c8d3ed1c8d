package import Stores
import SystemIO

/// The paths by which the background process of a state folder is found: one process for each user and state folder.
package struct ServicePlace: Hashable, Sendable {
    /// The state folder, which holds the lock and the log.
    package let state: String
    /// The folder that holds the socket: the runtime folder, unless the process that holds the lock says otherwise.
    package let runtime: String
    /// The socket's name in `runtime`; a service manager may have chosen another one.
    let name: String

    package init(_ folder: StateFolder) { self.init(state: folder.state, runtime: folder.runtime) }

    private init(state: String, runtime: String, name: String = Self.socketName) {
        self.state = state
        self.runtime = runtime
        self.name = name
    }

    /// The place for a process whose runtime folder is gone, as after its user has logged out: beside the state.
    var withoutRuntime: ServicePlace { ServicePlace(state: state, runtime: "\(state)/runtime") }

    /// The place where the process that holds the lock says that it listens: its environment may have had another
    /// runtime folder than this command's. This place, if the lock is free or names no socket.
    var ofHolder: ServicePlace {
        guard let socket = ServiceLock.socket(self), socket.hasPrefix("/") else { return self }
        let (folder, name) = Folders.split(socket)
        return ServicePlace(state: state, runtime: folder, name: name)
    }

    static let socketName = "background.sock"
    static let lockName = "background.lock"
    static let crashName = "background.crashed"
    static let logName = "background.log"

    /// Path of the socket at which the process listens.
    package var socket: String { "\(runtime)/\(name)" }
    /// Path of the lock file.
    package var lock: String { "\(state)/\(Self.lockName)" }
    /// Path of the log.
    package var log: String { "\(state)/\(Self.logName)" }
}

/// Why there is no background process, or none that this command can speak to: the message names the fault, the place
/// and what would help.
package struct ServiceTrouble: Error, Hashable, Sendable, CustomStringConvertible {
    /// A sentence for the user.
    package let description: String
    /// The beginning of what the process says of a run that waits for the ends of others, though nothing is wrong.
    package static let turnWords = "it waits for its turn"
    /// Whether a later attempt may succeed: the disk has room again, or a later version of the program reads the
    /// record.
    package let mayPass: Bool
    package init(_ description: String, mayPass: Bool = false) {
        self.description = description
        self.mayPass = mayPass
    }
}
