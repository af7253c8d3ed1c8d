package import JobRunner
package import TextFormats
import TransferModel

/// A run's status as JSON, for the socket and for `status --json`.
extension RunStatus {
    /// Writes the run as an object, with the process's number if that is given.
    package func write(to writer: inout JSONWriter, process: Int32? = nil) {
        writer.beginObject()
        if let process { writer.member("pid", Int64(process)) }
        writeHead(to: &writer)
        writer.array("tasks", tasks) { $1.write(to: &$0) }
        writer.endObject()
    }

    /// Writes everything but the tasks, as members of an object that the caller has begun.
    package func writeHead(to writer: inout JSONWriter) {
        writer.member("job", job)
        writer.member("startedAt", startedAt)
        writer.object("counts") { writer in
            for state in State.allCases {
                writer.key(state.rawValue)
                writer.integer(Int64(counts[state] ?? 0))
            }
        }
    }

    /// Reads a run; `nil` if the value is none.
    init?(_ value: JSONValue) {
        guard case .array(let tasks)? = value["tasks"] else { return nil }
        self.init(head: value)
        for task in tasks {
            guard let task = Task(task) else { return nil }
            self.tasks.append(task)
        }
    }

    /// Reads everything but the tasks; `nil` if a member is missing.
    package init?(head value: JSONValue) {
        guard let job = value["job"]?.text, let started = value["startedAt"]?.text,
            let startedAt = RFC3339.parse(started), let counts = value["counts"]
        else { return nil }
        self.init(job: job, startedAt: startedAt)
        for state in State.allCases {
            guard let count = counts[state.rawValue]?.whole else { return nil }
            self.counts[state] = Int(count)
        }
    }
}

extension RunStatus.Task {
    /// Writes the task as an object.
    package func write(to writer: inout JSONWriter) {
        writer.beginObject()
        writer.member("id", id)
        writer.member("state", state.rawValue)
        writer.member("waitingFor", waitingFor?.rawValue)
        writer.member("lacks", lacks)
        writer.member("bytesReceived", bytesReceived)
        writer.member("bytesSent", bytesSent)
        writer.member("expected", expected)
        writer.member("attempts", attempts)
        writer.object("error", error) { writer, error in
            writer.member("domain", error.name.domain)
            writer.member("name", error.name.rawValue)
            writer.member("code", error.name.code)
            writer.member("message", error.message)
            writer.member("curl", error.curl.map { Int($0) })
            writer.member("errno", error.errno.map { Int($0) })
            writer.member("reason", error.reason?.rawValue)
        }
        writer.member("nextAttemptAt", nextAttemptAt)
        writer.member("startedOver", startedOver)
        writer.endObject()
    }

    /// Reads a task; `nil` if the value is none.
    package init?(_ value: JSONValue) {
        guard let id = value["id"]?.text, let state = value["state"]?.text.flatMap({ RunStatus.State(rawValue: $0) })
        else { return nil }
        self.init(
            id: id, state: state, waitingFor: value["waitingFor"]?.text.flatMap { WaitReason(rawValue: $0) },
            lacks: value["lacks"]?.text, bytesReceived: value["bytesReceived"]?.whole ?? 0,
            bytesSent: value["bytesSent"]?.whole ?? 0, expected: value["expected"]?.whole,
            attempts: value["attempts"]?.whole.flatMap { Int(exactly: $0) } ?? 0,
            error: value["error"].flatMap { TransferError($0) },
            nextAttemptAt: value["nextAttemptAt"]?.text.flatMap { RFC3339.parse($0) },
            startedOver: value["startedOver"]?.text)
    }
}

extension TransferError {
    /// Reads an error as `RunStatus.Task` writes it; `nil` if the value is none, or one of a name that this version does
    /// not know.
    fileprivate init?(_ value: JSONValue) {
        guard let name = value["name"]?.text.flatMap({ ErrorName(rawValue: $0) }), let message = value["message"]?.text
        else { return nil }
        self.init(
            name, message, curl: value["curl"]?.whole.flatMap { Int32(exactly: $0) },
            errno: value["errno"]?.whole.flatMap { Int32(exactly: $0) },
            reason: value["reason"]?.text.flatMap { NetworkObjection(rawValue: $0) })
    }
}

extension JSONValue {
    fileprivate var text: String? { if case .string(let text) = self { text } else { nil } }
    fileprivate var whole: Int64? { if case .number(let digits) = self { Int64(digits) } else { nil } }
}
