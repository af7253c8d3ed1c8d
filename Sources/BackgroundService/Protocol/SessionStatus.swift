package import JobRunner
import RunControl
import TextFormats
package import TransferModel

/// What the process knows of a session of a run under way and the journal does not tell.
package struct SessionStatus: Hashable, Sendable {
    package var identifier: String
    /// Without tasks when nobody carries it just now.
    package var run: RunStatus
    /// What keeps its events out of the journal, or the run from being carried.
    package var trouble: String?

    package init(_ identifier: String, _ run: RunStatus, trouble: String? = nil) {
        self.identifier = identifier
        self.run = run
        self.trouble = trouble
    }
}

/// How far a task under way has come: told while it happens, never kept.
package struct TaskProgress: Hashable, Sendable {
    package enum Direction: String, CaseIterable, Hashable, Sendable { case sent, received }

    package var identifier: String
    package var task: String
    package var direction: Direction
    package var bytes: Int64
    package var expected: Int64?
    /// Its place among the run's events: the last of them that the journal is given before it.
    package var after: UInt64
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
    /// All but the tasks, which come in parts.
    func append(to writer: inout JSONWriter) {
        writer.key("run")
        writer.beginObject()
        writer.member("identifier", identifier)
        if let trouble { writer.member("trouble", MessageText.bounded(trouble)) }
        var head = run
        head.job = MessageText.bounded(head.job)
        head.writeHead(to: &writer)
        writer.endObject()
    }

    static func append(_ task: RunStatus.Task, to writer: inout JSONWriter) {
        var task = task
        task.id = MessageText.bounded(task.id)
        task.lacks = task.lacks.map { MessageText.bounded($0) }
        task.write(to: &writer)
    }

    /// One run, or none when there is none.
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
