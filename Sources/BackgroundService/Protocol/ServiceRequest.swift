package import JobRunner
import TextFormats

/// What a command asks of the background process; the answer carries the same number.
package struct ServiceRequest: Hashable, Sendable {
    package var number: UInt32
    package var wish: ServiceWish

    package init(_ number: UInt32, _ wish: ServiceWish) {
        self.number = number
        self.wish = wish
    }
}

package enum ServiceWish: Hashable, Sendable {
    /// The journal has something new: of this session, or look at all of it.
    case ring(String?)
    /// What the journal does not tell, of one session or of all.
    case status(String?)
    /// News of a session from here on; whoever follows has read its events up to this number, and writes the run's report
    /// unless it only watches.
    case follow(String, after: UInt64, watches: Bool = false)
    case control(ServiceControl)
    /// Leave all runs to the next process, and end.
    case stop
}

package struct ServiceControl: Hashable, Sendable {
    /// `status` is a request of its own.
    static let actions: [ControlAction] = [.suspend, .resume, .cancel]

    package var action: ControlAction
    package var identifier: String
    /// Ids and patterns of ids; none means every task.
    package var patterns: [String]
    /// Of a cancelled download, whether its half-done file stays.
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
    /// From a frame that anybody may have written. Nothing unknown is passed over: it may be a wish.
    package static func parse(_ frame: [UInt8]) throws(ServiceProblem) -> ServiceRequest {
        var members = try MessageMembers(frame)
        // The type first: of what is not known no member means anything.
        guard let read = readers[members.type] else {
            let list = readers.keys.sorted().map { "`\($0)`" }.joined(separator: ", ")
            throw ServiceProblem("no request is called `\(members.type.prefix(64))`: there are \(list)")
        }
        let number = try members.number("id", UInt32.self)
        let wish = try read(&members)
        try members.finish()
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
