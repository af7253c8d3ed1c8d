import SystemIO
package import TransferModel

/// The protocol between the background process and the commands, which may have different versions.
///
/// A frame is four bytes of length, most significant first, and that many bytes of JSON: an object with a `type`. Both
/// sides begin with `hello`. The forms of a frame, of `hello`, of `stop` and of `refused` never change, so that any two
/// versions can say that they cannot talk, and a process can be asked to make room for a newer one.
package enum ServiceProtocol {
    /// The versions of the protocol that this build speaks.
    package static let supported = 1...1
    /// Greatest length in bytes of the JSON in a frame.
    package static let maximumFrame = 64 << 10
    /// Greatest length in bytes of a session's identifier.
    package static let maximumIdentifier = 1024
    /// Greatest number of ids and patterns in one request: more than a person types.
    package static let maximumPatterns = 256

    /// Whether two sides share a version of the protocol.
    package enum Agreement: Hashable, Sendable {
        /// Both sides speak this version.
        case speaking(Int)
        /// The other side is too old and has to be replaced by a newer one.
        case otherIsOlder
        case otherIsNewer
    }

    /// Returns the newest version that both sides speak, or which side is too old.
    package static func agree(_ other: ClosedRange<Int>, own: ClosedRange<Int> = supported) -> Agreement {
        if other.upperBound < own.lowerBound { return .otherIsOlder }
        if other.lowerBound > own.upperBound { return .otherIsNewer }
        return .speaking(min(own.upperBound, other.upperBound))
    }
}

/// Why bytes are not a message, or not one that this version knows.
package struct ServiceProblem: Error, Hashable, Sendable, CustomStringConvertible {
    /// A sentence for the sender.
    package let description: String
    init(_ description: String) { self.description = description }
}

/// The first message of each side: which program speaks, and which versions of the protocol it knows.
package struct ServiceHello: Hashable, Sendable {
    /// The program's version.
    package var version: String
    /// The versions of the protocol that the sender speaks.
    package var protocols: ClosedRange<Int>
    /// The sender's process number.
    package var process: Int32
    /// When the background process began; `nil` in a command's greeting.
    package var started: WallTime?
    /// The state folder whose runs the background process carries; `nil` in a command's greeting. Two state folders may
    /// share a runtime folder.
    package var state: String?

    package init(
        version: String, protocols: ClosedRange<Int> = ServiceProtocol.supported,
        process: Int32 = CurrentProcess.processID(), started: WallTime? = nil, state: String? = nil
    ) {
        self.version = version
        self.protocols = protocols
        self.process = process
        self.started = started
        self.state = state
    }
}
