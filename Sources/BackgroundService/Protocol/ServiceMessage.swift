import JobRunner
import TextFormats

/// What a command receives after the process's `hello`.
package enum ServiceMessage: Hashable, Sendable {
    /// A part of the answer to the request of this number; more parts follow.
    case part(UInt32, ServiceAnswer, isLast: Bool)
    /// The whole conversation is refused.
    case refused(String)
    case news(ServiceNews)
}

/// What followers of a session receive without asking.
package enum ServiceNews: Hashable, Sendable {
    /// The journal holds the session's events up to this number; `trouble` says what keeps it from holding more, if
    /// anything does.
    case events(String, upTo: UInt64, trouble: String? = nil)
    case progress(TaskProgress)
    /// The process is about to end, for this reason; its runs go on with the next one.
    case leaving(String)

    /// The message as a frame.
    package var frame: [UInt8] {
        switch self {
        case .events(let identifier, let sequence, let trouble):
            Frame.write("news") {
                $0.member("identifier", identifier)
                $0.member("sequence", sequence)
                // Versions that do not know this member ignore it.
                if let trouble { $0.member("trouble", MessageText.bounded(trouble)) }
            }
        case .progress(let progress): progress.frame
        case .leaving(let reason): Frame.write("leaving") { $0.member("reason", MessageText.bounded(reason)) }
        }
    }
}

extension ServiceMessage {
    /// Reads a frame from the process. Unknown members are ignored: they must not change the meaning of those that are
    /// known.
    package static func parse(_ frame: [UInt8]) throws(ServiceProblem) -> ServiceMessage {
        var members = try MessageMembers(frame)
        switch members.type {
        case "refused":
            let number = try members.numberIfAny("id", UInt32.self)
            let reason = try members.text("reason")
            return number.map { .part($0, .refused(reason), isLast: true) } ?? .refused(reason)
        case "news":
            return .news(
                .events(
                    try members.identifier(), upTo: try members.number("sequence", UInt64.self),
                    trouble: try members.textIfAny("trouble")))
        case "leaving": return .news(.leaving(try members.text("reason")))
        case "progress": return .news(.progress(try TaskProgress(&members)))
        default: return try part(&members)
        }
    }

    private static func part(_ members: inout MessageMembers) throws(ServiceProblem) -> ServiceMessage {
        let number = try members.number("id", UInt32.self)
        let isLast = !(try members.flag("more"))
        switch members.type {
        case "done": return .part(number, .done, isLast: true)
        case "following":
            return .part(number, .following(try members.number("sequence", UInt64.self)), isLast: true)
        case "changed": return .part(number, .changed(try members.texts("tasks")), isLast: isLast)
        case "status": return .part(number, .status(try SessionStatus.read(&members)), isLast: isLast)
        default: throw ServiceProblem("no message is called `\(members.type.prefix(64))`")
        }
    }
}

extension ServiceAnswer {
    /// Appends the next part of the same answer.
    mutating func append(_ part: ServiceAnswer) {
        switch (self, part) {
        case (.changed(let ids), .changed(let more)): self = .changed(ids + more)
        case (.status(var runs), .status(let more)):
            for run in more {
                if let last = runs.indices.last, runs[last].identifier == run.identifier {
                    runs[last].run.tasks += run.run.tasks
                } else {
                    runs.append(run)
                }
            }
            self = .status(runs)
        default: self = part
        }
    }
}
