package import TextFormats
internal import TransferModel

/// A line of events that cannot be read.
package struct TraceProblem: Error, CustomStringConvertible {
    /// The line and what is wrong with it.
    package let description: String
}

extension TraceStep {
    /// Parses a line of `--events`, finding its task and session by their names in `facts`.
    package init(_ line: JSONValue, _ facts: TraceFacts) throws(TraceProblem) {
        let line = TraceLine(line)
        guard let time = RFC3339.parse(try line.text("time")), let sequence = UInt64(try line.text("seq")) else {
            throw line.problem("has no time or no number")
        }
        var task: Int?
        if let id = line.optionalText("task") {
            guard let known = facts.number(ofTask: id) else { throw line.problem("is of a task that the job has not") }
            task = known
        }
        var session: Int?
        if let name = line.optionalText("session") {
            guard let known = facts.number(ofSession: name) else { throw line.problem("is of a session unknown") }
            session = known
        }
        self.init(time: time, sequence: sequence, task: task, session: session, kind: try line.kind())
    }

    /// Parses all lines of a file of events.
    package static func steps(_ lines: [JSONValue], _ facts: TraceFacts) throws(TraceProblem) -> [TraceStep] {
        var steps: [TraceStep] = []
        for line in lines { steps.append(try TraceStep(line, facts)) }
        return steps
    }
}

/// One line, read member by member; a missing member is a problem and never a default.
private struct TraceLine {
    let value: JSONValue

    init(_ value: JSONValue) { self.value = value }

    func problem(_ what: String) -> TraceProblem {
        var writer = JSONWriter()
        value.append(to: &writer)
        return TraceProblem(description: "\(String(decoding: writer.bytes, as: UTF8.self)) \(what)")
    }

    func optionalText(_ name: String) -> String? {
        switch value[name] {
        case .string(let text)?, .number(let text)?: text
        default: nil
        }
    }

    func text(_ name: String) throws(TraceProblem) -> String {
        guard let text = optionalText(name) else { throw problem("has no `\(name)`") }
        return text
    }

    private func number(_ name: String) throws(TraceProblem) -> Int {
        guard let number = Int(try text(name)) else { throw problem("has a `\(name)` that is no whole number") }
        return number
    }

    private func optionalSpan(_ name: String) throws(TraceProblem) -> TimeSpan? {
        guard let text = optionalText(name) else { return nil }
        guard let seconds = Double(text) else { throw problem("has a `\(name)` that is no duration") }
        return TimeSpan(nanoseconds: Int64((seconds * 1e9).rounded()))
    }

    private func span(_ name: String) throws(TraceProblem) -> TimeSpan {
        guard let span = try optionalSpan(name) else { throw problem("has no `\(name)`") }
        return span
    }

    private func word<Word: RawRepresentable<String>>(_ name: String) throws(TraceProblem) -> Word {
        guard let word = Word(rawValue: try text(name)) else { throw problem("has a `\(name)` that nobody knows") }
        return word
    }

    private func errorName() throws(TraceProblem) -> ErrorName? {
        guard let error = value["error"], error != .null else { return nil }
        return try TraceLine(error).word("name")
    }

    func kind() throws(TraceProblem) -> TraceStep.Kind {
        switch try text("event") {
        case "taskCreated": return .created
        case "taskResumed": return .resumed
        case "waiting": return .waiting(try word("reason"))
        case "attemptStarted": return .attemptStarted(number: try number("number"))
        case "redirect": return .redirect
        case "response": return .response(status: optionalText("status").flatMap { Int($0) })
        case "sentBodyData", "receivedData": return .progress
        case "fileFinished": return .fileFinished
        case "pageFinished": return .pageFinished
        case "expanded": return .expanded
        case "attemptFinished":
            var end = TraceStep.AttemptEnd(
                number: try number("number"), outcome: try word("outcome"), duration: try span("duration"),
                error: try errorName(), backoff: try optionalSpan("backoff"))
            end.requests = try requests()
            return .attemptFinished(end)
        case "taskFinished": return .taskFinished(try taskEnd())
        case "runFinished": return .runFinished(outcome: try word("outcome"), exitStatus: try number("exitStatus"))
        default: return .other
        }
    }

    private func requests() throws(TraceProblem) -> [Range<WallTime>] {
        guard case .array(let transactions)? = value["transactions"] else { throw problem("has no `transactions`") }
        var requests: [Range<WallTime>] = []
        for transaction in transactions.map({ TraceLine($0) }) {
            guard let begin = transaction.optionalText("requestStartDate").flatMap({ RFC3339.parse($0) }),
                let end = transaction.optionalText("responseEndDate").flatMap({ RFC3339.parse($0) }), begin < end
            else { continue }
            requests.append(begin..<end)
        }
        return requests
    }

    private func taskEnd() throws(TraceProblem) -> TraceStep.TaskEnd {
        guard case .array(let waits)? = value["waits"] else { throw problem("has no `waits`") }
        var end = TraceStep.TaskEnd(
            outcome: try word("outcome"), tolerated: value["tolerated"] == .boolean(true),
            duration: try span("duration"), error: try errorName())
        for wait in waits {
            let wait = TraceLine(wait)
            end.waits.append(TaskRecord.Wait(reason: try wait.word("reason"), duration: try wait.span("duration")))
        }
        return end
    }
}
