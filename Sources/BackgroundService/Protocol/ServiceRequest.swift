package import JobRunner
import TextFormats

/// A request of a command to the background process; its answer carries the same number.
package struct ServiceRequest: Hashable, Sendable {
    /// Chosen by the command, unique among its unanswered requests.
    package var number: UInt32
    /// What the command asks for.
    package var wish: ServiceWish

    package init(_ number: UInt32, _ wish: ServiceWish) {
        self.number = number
        self.wish = wish
    }
}

/// What a command may ask for.
package enum ServiceWish: Hashable, Sendable {
    /// The journal has something new: of this session, or anywhere if `nil`.
    case ring(String?)
    /// Return the status of the runs under way, of one session or of all, as the journal does not have it.
    case status(String?)
    /// Send news of a session from now on. The follower has read its events up to this number; it writes the run's
    /// report, unless it only watches.
    case follow(String, after: UInt64, watches: Bool = false)
    case control(ServiceControl)
    /// Leave all runs to the next process, and end.
    case stop
}

/// A request to suspend, resume or cancel tasks of a session.
package struct ServiceControl: Hashable, Sendable {
    /// The actions that a control can have; `status` is a request of its own.
    static let actions: [ControlAction] = [.suspend, .resume, .cancel]

    /// What to do with the tasks.
    package var action: ControlAction
    /// The session's background identifier.
    package var identifier: String
    /// Ids and patterns of ids; an empty list means every task.
    package var patterns: [String]
    /// Whether a cancelled download's partial file is kept.
    package var keepPartial: Bool

    package init(_ action: ControlAction, of identifier: String, patterns: [String] = [], keepPartial: Bool = false) {
        self.action = action
        self.identifier = identifier
        self.patterns = patterns
        self.keepPartial = keepPartial
    }
}

// MARK: - Writing

extension ServiceRequest {
    /// The request as a frame.
    package var frame: [UInt8] {
        switch wish {
        case .ring(let identifier): write("ring") { if let identifier { $0.member("identifier", identifier) } }
        case .status(let identifier): write("status") { if let identifier { $0.member("identifier", identifier) } }
        case .follow(let identifier, let sequence, let watches):
            write("follow") {
                $0.member("identifier", identifier)
                $0.member("after", sequence)
                if watches { $0.member("watches", true) }
            }
        case .control(let control):
            write("control") {
                $0.member("command", control.action.rawValue)
                $0.member("identifier", control.identifier)
                $0.member("tasks", texts: control.patterns)
                if control.keepPartial { $0.member("resumable", true) }
            }
        case .stop: write("stop") { _ in }
        }
    }

    private func write(_ type: StaticString, _ body: (inout JSONWriter) -> Void) -> [UInt8] {
        Frame.write(type) {
            $0.member("id", Int64(number))
            body(&$0)
        }
    }
}

// MARK: - Reading

extension ServiceRequest {
    /// Reads a request from a frame that any program may have written. Unknown members are refused: ignoring one could
    /// do something else than was asked.
    package static func parse(_ frame: [UInt8]) throws(ServiceProblem) -> ServiceRequest {
        var members = try MessageMembers(frame)
        // The type comes first: without it no member has a meaning.
        guard let read = readers[members.type] else {
            let list = readers.keys.sorted().map { "`\($0)`" }.joined(separator: ", ")
            throw ServiceProblem("no request is called `\(members.type.prefix(64))`: there are \(list)")
        }
        let number = try members.number("id", UInt32.self)
        let wish = try read(&members)
        try members.refuseUnknown()
        return ServiceRequest(number, wish)
    }

    private typealias Reader = @Sendable (inout MessageMembers) throws(ServiceProblem) -> ServiceWish

    private static let readers: [String: Reader] = [
        "ring": { members throws(ServiceProblem) in .ring(try members.identifierIfAny()) },
        "status": { members throws(ServiceProblem) in .status(try members.identifierIfAny()) },
        "follow": { members throws(ServiceProblem) in
            .follow(
                try members.identifier(), after: try members.number("after", UInt64.self),
                watches: try members.flag("watches"))
        },
        "control": { members throws(ServiceProblem) in .control(try ServiceControl(&members)) },
        "stop": { _ throws(ServiceProblem) in .stop },
    ]
}

extension ServiceControl {
    fileprivate init(_ members: inout MessageMembers) throws(ServiceProblem) {
        let word = try members.text("command", limit: 64)
        guard let action = Self.actions.first(where: { $0.rawValue == word }) else {
            let list = Self.actions.map { "`\($0.rawValue)`" }.joined(separator: ", ")
            throw ServiceProblem("`command` of `control` must be one of \(list)")
        }
        self.init(
            action, of: try members.identifier(),
            patterns: try members.texts("tasks", maximum: ServiceProtocol.maximumPatterns),
            keepPartial: action == .cancel ? try members.flag("resumable") : false)
    }
}
