package import Stores

/// Where the background process of a state folder is found: one for each user and state folder.
package struct ServicePlace: Hashable, Sendable {
    /// Holds the lock and the log.
    package let state: String
    /// Holds the socket.
    package let runtime: String

    package init(_ folder: StateFolder) {
        state = folder.state
        runtime = folder.runtime
    }

    static let socketName = "background.sock"
    static let lockName = "background.lock"
    static let crashName = "background.crashed"
    static let logName = "background.log"

    package var socket: String { "\(runtime)/\(Self.socketName)" }
    package var lock: String { "\(state)/\(Self.lockName)" }
    package var log: String { "\(state)/\(Self.logName)" }
}

/// Why there is no background process, or none that this command can speak to: what, where, and what would help.
package struct ServiceTrouble: Error, Hashable, Sendable, CustomStringConvertible {
    package let description: String
    /// It may be otherwise some time: when there is room again, or a later version of the program looks.
    package let mayPass: Bool
    package init(_ description: String, mayPass: Bool = false) {
        self.description = description
        self.mayPass = mayPass
    }
}
