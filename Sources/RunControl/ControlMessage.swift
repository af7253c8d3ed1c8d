package import JobRunner
import TextFormats

/// A request to a run as it goes over the socket: one line of JSON.
package struct ControlMessage: Hashable, Sendable {
    /// The version of the request's format.
    package static let version = 1
    /// Greatest number of patterns: more than a person types, since the run compares each with each of its tasks.
    package static let maximumPatterns = 256

    /// What to do, or `status`.
    package var action: ControlAction
    /// Ids and patterns of ids; an empty list means every task.
    package var patterns: [String]
    /// Whether a cancelled download's partial file is kept.
    package var keepPartial: Bool

    package init(_ action: ControlAction, patterns: [String] = [], keepPartial: Bool = false) {
        self.action = action
        self.patterns = patterns
        self.keepPartial = keepPartial
    }

    /// Why a line is no valid request, and what would be right.
    package struct Problem: Error, Hashable, Sendable {
        /// A sentence for the sender.
        package let message: String
        init(_ message: String) { self.message = message }
    }

    /// The request as a line with its line feed.
    package var line: [UInt8] {
        var writer = JSONWriter()
        writer.beginObject()
        writer.member("version", Self.version)
        writer.member("command", action.rawValue)
        writer.member("tasks", texts: patterns)
        if keepPartial { writer.member("resumable", true) }
        writer.endObject()
        return writer.bytes + [0x0A]
    }
}

// MARK: - Reading

extension ControlMessage {
    private static let example = #"{"version":1,"command":"suspend","tasks":["a","b-*"]}"#

    /// Reads a line that any program may have written; unknown members are refused.
    package static func parse(_ line: [UInt8]) throws(Problem) -> ControlMessage {
        let value: JSONValue
        do throws(JSONProblem) {
            value = try JSONParser.parse(line, limits: JSONParser.Limits(bytes: RequestReader.limit, depth: 3))
        } catch {
            throw Problem("the request is not JSON: \(error.message) (byte \(error.offset)); write \(example)")
        }
        guard case .object(let members) = value else { throw Problem("a request is an object: \(example)") }
        guard value["version"] == .number("\(version)") else {
            throw Problem("this version of a request is not known: `version` must be \(version)")
        }
        let action = try action(value["command"])
        let known = ["version", "command", "tasks"] + (action == .cancel ? ["resumable"] : [])
        if let stray = members.first(where: { !known.contains($0.name) }) {
            throw Problem("`\(action.rawValue)` has no `\(stray.name)`: it has \(listed(known))")
        }
        return ControlMessage(
            action, patterns: try patterns(value["tasks"]), keepPartial: try keepPartial(value["resumable"]))
    }

    private static func action(_ value: JSONValue?) throws(Problem) -> ControlAction {
        if case .string(let word)? = value, let action = ControlAction(rawValue: word) { return action }
        throw Problem("`command` must be one of \(listed(ControlAction.allCases.map { $0.rawValue }))")
    }

    private static func patterns(_ value: JSONValue?) throws(Problem) -> [String] {
        guard let value else { return [] }
        guard case .array(let elements) = value else { throw Problem("`tasks` must be a list of ids") }
        guard elements.count <= maximumPatterns else {
            throw Problem("`tasks` names more than \(maximumPatterns); a pattern such as `b-*` stands for many")
        }
        var patterns: [String] = []
        for element in elements {
            guard case .string(let text) = element, !text.isEmpty else {
                throw Problem("`tasks` must be a list of ids, or of patterns such as `b-*`")
            }
            patterns.append(text)
        }
        return patterns
    }

    private static func keepPartial(_ value: JSONValue?) throws(Problem) -> Bool {
        switch value {
        case nil: return false
        case .boolean(let keeps)?: return keeps
        default: throw Problem("`resumable` must be `true` or `false`")
        }
    }

    private static func listed(_ words: [String]) -> String { words.map { "`\($0)`" }.joined(separator: ", ") }
}

// MARK: - Answers

extension ControlReply {
    /// The answer as a line with its line feed.
    package var line: [UInt8] {
        var writer = JSONWriter()
        writer.beginObject()
        switch self {
        case .changed(let ids):
            writer.member("ok", true)
            writer.member("tasks", texts: ids)
        case .status(let status):
            writer.member("ok", true)
            writer.key("run")
            status.write(to: &writer)
        case .refused(let reason):
            writer.member("ok", false)
            writer.member("error", reason)
        }
        writer.endObject()
        return writer.bytes + [0x0A]
    }

    /// Reads an answer; `nil` if the line is none.
    package init?(line: [UInt8]) {
        guard let value = try? JSONParser.parse(line) else { return nil }
        if let run = value["run"] {
            guard value["ok"] == .boolean(true), let status = RunStatus(run) else { return nil }
            self = .status(status)
            return
        }
        switch (value["ok"], value["tasks"], value["error"]) {
        case (.boolean(true)?, .array(let elements)?, _):
            let ids = elements.compactMap { if case .string(let id) = $0 { id } else { nil } }
            guard ids.count == elements.count else { return nil }
            self = .changed(ids)
        case (.boolean(false)?, _, .string(let reason)?): self = .refused(reason)
        default: return nil
        }
    }
}
