package import JobRunner
import RunControl
import TextFormats
package import TransferModel

/// What the process knows about a session of a run under way beyond what the journal has.
package struct SessionStatus: Hashable, Sendable {
    /// The session's background identifier.
    package var identifier: String
    /// The session's tasks and counts; without tasks while no process carries the run.
    package var run: RunStatus
    /// What keeps the session's events out of the journal, or the run from being carried; `nil` if all is well.
    package var trouble: String?

    package init(_ identifier: String, _ run: RunStatus, trouble: String? = nil) {
        self.identifier = identifier
        self.run = run
        self.trouble = trouble
    }
}

/// How far the body of a task under way has come. Sent to followers while it happens, never stored.
package struct TaskProgress: Hashable, Sendable {
    /// Whether the body is the request's or the response's.
    package enum Direction: String, CaseIterable, Hashable, Sendable { case sent, received }

    /// The session's background identifier.
    package var identifier: String
    /// The task's id.
    package var task: String
    /// Which body the bytes belong to.
    package var direction: Direction
    /// Bytes of the body sent or received so far.
    package var bytes: Int64
    /// The body's length in bytes; `nil` if it is not known.
    package var expected: Int64?
    /// The number of the run's last event before this progress, by which a follower puts it into its place among the
    /// events.
    package var after: UInt64
    /// When the progress was made.
    package var at: WallTime

    package init(
        identifier: String, task: String, _ direction: Direction, bytes: Int64, expected: Int64?, after: UInt64,
        at: WallTime
    ) {
        self.identifier = identifier
        self.task = task
        self.direction = direction
        self.bytes = bytes
        self.expected = expected
        self.after = after
        self.at = at
    }
}

// MARK: - As messages

extension SessionStatus {
    /// Writes the head: everything but the tasks, which come in parts.
    func append(to writer: inout JSONWriter) {
        writer.object("run") { writer in
            writer.member("identifier", identifier)
            if let trouble { writer.member("trouble", MessageText.bounded(trouble)) }
            var head = run
            head.job = MessageText.bounded(head.job)
            head.writeHead(to: &writer)
        }
    }

    static func append(_ task: RunStatus.Task, to writer: inout JSONWriter) {
        var task = task
        task.id = MessageText.bounded(task.id)
        task.lacks = task.lacks.map { MessageText.bounded($0) }
        task.startedOver = task.startedOver.map { MessageText.bounded($0) }
        if let error = task.error { task.error?.message = MessageText.bounded(error.message) }
        task.write(to: &writer)
    }

    /// Reads one run's part, or nothing if the message has no run.
    static func read(_ members: inout MessageMembers) throws(ServiceProblem) -> [SessionStatus] {
        guard let run = members.object("run") else { return [] }
        guard let identifier = run.text("identifier"), var status = RunStatus(head: run) else {
            throw ServiceProblem("`run` of `status` must have `identifier`, `job`, `startedAt` and `counts`")
        }
        for element in try members.elements("tasks") ?? [] {
            guard let task = RunStatus.Task(element) else {
                throw ServiceProblem("a task of `status` must have an `id` and a `state`")
            }
            status.tasks.append(task)
        }
        return [SessionStatus(identifier, status, trouble: run.text("trouble"))]
    }
}

extension TaskProgress {
    var frame: [UInt8] {
        Frame.write("progress") {
            $0.member("identifier", identifier)
            $0.member("task", MessageText.bounded(task))
            $0.member("direction", direction.rawValue)
            $0.member("bytes", bytes)
            $0.member("expected", expected)
            $0.member("after", after)
            $0.member("at", at)
        }
    }

    init(_ members: inout MessageMembers) throws(ServiceProblem) {
        let word = try members.text("direction", limit: 64)
        guard let direction = Direction(rawValue: word) else {
            throw ServiceProblem("`direction` of `progress` must be `sent` or `received`")
        }
        guard let date = RFC3339.parse(try members.text("at", limit: 64)) else {
            throw ServiceProblem("`at` of `progress` must be a date")
        }
        self.init(
            identifier: try members.identifier(), task: try members.text("task"), direction,
            bytes: try members.number("bytes", Int64.self), expected: try members.numberIfAny("expected", Int64.self),
            after: try members.number("after", UInt64.self), at: date)
    }
}
