package import JobRunner
package import TextFormats
import TransferModel

/// A run's state as it goes over the socket, and as `status --json` shows it.
extension RunStatus {
    package func write(to writer: inout JSONWriter, process: Int32? = nil) {
        writer.beginObject()
        if let process { writer.member("pid", Int64(process)) }
        writeHead(to: &writer)
        writer.key("tasks")
        writer.beginArray()
        for task in tasks { task.write(to: &writer) }
        writer.endArray()
        writer.endObject()
    }

    /// All but its tasks, as members of an object that is begun.
    package func writeHead(to writer: inout JSONWriter) {
        writer.member("job", job)
        writer.member("startedAt", startedAt)
        writer.key("counts")
        writer.beginObject()
        for state in State.allCases {
            writer.key(state.rawValue)
            writer.integer(Int64(counts[state] ?? 0))
        }
        writer.endObject()
    }

    /// `nil` for what is no such object.
    init?(_ value: JSONValue) {
        guard case .array(let tasks)? = value["tasks"] else { return nil }
        self.init(head: value)
        for task in tasks {
            guard let task = Task(task) else { return nil }
            self.tasks.append(task)
        }
    }

    /// Without its tasks; `nil` for what has no such members.
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
        writer.endObject()
    }

    /// `nil` for what is no such object.
    package init?(_ value: JSONValue) {
        guard let id = value["id"]?.text, let state = value["state"]?.text.flatMap({ RunStatus.State(rawValue: $0) })
        else { return nil }
        self.init(
            id: id, state: state, waitingFor: value["waitingFor"]?.text.flatMap { WaitReason(rawValue: $0) },
            lacks: value["lacks"]?.text, bytesReceived: value["bytesReceived"]?.whole ?? 0,
            bytesSent: value["bytesSent"]?.whole ?? 0, expected: value["expected"]?.whole,
            attempts: value["attempts"]?.whole.flatMap { Int(exactly: $0) } ?? 0)
    }
}

extension JSONValue {
    fileprivate var text: String? { if case .string(let text) = self { text } else { nil } }
    fileprivate var whole: Int64? { if case .number(let digits) = self { Int64(digits) } else { nil } }
}
