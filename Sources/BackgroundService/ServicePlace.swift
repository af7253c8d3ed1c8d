package import Stores

/// The paths by which the background process of a state folder is found: one process for each user and state folder.
package struct ServicePlace: Hashable, Sendable {
    /// The state folder, which holds the lock and the log.
    package let state: String
    /// The runtime folder, which holds the socket.
    package let runtime: String

    package init(_ folder: StateFolder) {
        state = folder.state
        runtime = folder.runtime
    }

    static let socketName = "background.sock"
    static let lockName = "background.lock"
    static let crashName = "background.crashed"
    static let logName = "background.log"

    /// Path of the socket at which the process listens.
    package var socket: String { "\(runtime)/\(Self.socketName)" }
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
    /// Whether a later attempt may succeed: the disk has room again, or a later version of the program reads the
    /// record.
    package let mayPass: Bool
    package init(_ description: String, mayPass: Bool = false) {
        self.description = description
        self.mayPass = mayPass
    }
}
