import SystemIO
package import TransferModel

/// What the background process and the commands that speak to it have agreed on, whatever their versions.
///
/// A frame is four bytes of length, most significant first, and so many bytes of JSON: an object with a `type`. Both
/// sides begin with `hello`. The forms of a frame, of `hello`, of `stop` and of `refused` never change, so that any two
/// versions can tell each other that they cannot talk, and a process can be asked to make room for a newer one.
package enum ServiceProtocol {
    /// What this build can speak.
    package static let supported = 1...1
    /// Of the JSON in a frame.
    package static let maximumFrame = 64 << 10
    /// Of a session's identifier, in bytes.
    package static let maximumIdentifier = 1024
    /// Of ids and patterns in one request: more than a person types.
    package static let maximumPatterns = 256

    package enum Agreement: Hashable, Sendable {
        case speaking(Int)
        /// The other side has to be replaced by a newer one.
        case otherIsOlder
        case otherIsNewer
    }

    /// The newest that both can speak.
    package static func agree(_ other: ClosedRange<Int>, own: ClosedRange<Int> = supported) -> Agreement {
        if other.upperBound < own.lowerBound { return .otherIsOlder }
        if other.lowerBound > own.upperBound { return .otherIsNewer }
        return .speaking(min(own.upperBound, other.upperBound))
    }
}

/// Why bytes are no message, or a message is none that is known here: a plain sentence for whoever sent them.
package struct ServiceProblem: Error, Hashable, Sendable, CustomStringConvertible {
    package let description: String
    init(_ description: String) { self.description = description }
}

/// Who speaks.
package struct ServiceHello: Hashable, Sendable {
    /// Of the program.
    package var version: String
    package var protocols: ClosedRange<Int>
    package var process: Int32
    /// Of the background process alone: since when it has been there and whose runs it carries. Two state folders may
    /// share a runtime folder.
    package var started: WallTime?
    package var state: String?

    package init(
        version: String, protocols: ClosedRange<Int> = ServiceProtocol.supported,
        process: Int32 = Surroundings.processID(), started: WallTime? = nil, state: String? = nil
    ) {
        self.version = version
        self.protocols = protocols
        self.process = process
        self.started = started
        self.state = state
    }
}
