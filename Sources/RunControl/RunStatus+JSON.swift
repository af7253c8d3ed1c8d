package import JobRunner
package import TextFormats
import TransferModel

/// A run's state as it goes over the socket, and as `status --json` shows it.
extension RunStatus {
    package func write(to writer: inout JSONWriter, process: Int32? = nil) {
        writer.beginObject()
        if let process { writer.member("pid", Int64(process)) }
        writer.member("job", job)
        writer.member("startedAt", startedAt)
        writer.key("counts")
        writer.beginObject()
        for state in State.allCases {
            writer.key(state.rawValue)
            writer.integer(Int64(counts[state] ?? 0))
        }
        writer.endObject()
        writer.key("tasks")
        writer.beginArray()
        for task in tasks {
            writer.beginObject()
            writer.member("id", task.id)
            writer.member("state", task.state.rawValue)
            writer.member("waitingFor", task.waitingFor?.rawValue)
            writer.member("lacks", task.lacks)
            writer.endObject()
        }
        writer.endArray()
        writer.endObject()
    }

    /// `nil` for what is no such object.
    init?(_ value: JSONValue) {
        guard let job = value["job"]?.text, let started = value["startedAt"]?.text,
            let startedAt = RFC3339.parse(started), let counts = value["counts"],
            case .array(let tasks)? = value["tasks"]
        else { return nil }
        self.init(job: job, startedAt: startedAt)
        for state in State.allCases {
            guard case .number(let digits)? = counts[state.rawValue], let count = Int(digits) else { return nil }
            self.counts[state] = count
        }
        for task in tasks {
            guard let task = Task(task) else { return nil }
            self.tasks.append(task)
        }
    }
}

extension RunStatus.Task {
    fileprivate init?(_ value: JSONValue) {
        guard let id = value["id"]?.text, let state = value["state"]?.text.flatMap({ RunStatus.State(rawValue: $0) })
        else { return nil }
        self.init(
            id: id, state: state, waitingFor: value["waitingFor"]?.text.flatMap { WaitReason(rawValue: $0) },
            lacks: value["lacks"]?.text)
    }
}

extension JSONValue {
    fileprivate var text: String? { if case .string(let text) = self { text } else { nil } }
}
