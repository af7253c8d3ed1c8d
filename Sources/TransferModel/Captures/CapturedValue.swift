/// What a task took from its answer under one name.
package struct CapturedValue: Hashable, Sendable {
    package let name: String
    /// As it stands in other text: a JSON string without its quotes, anything else as it is written.
    package let text: String
    /// As JSON knows it: a number that another task puts into a JSON body stays one.
    package let value: PlainValue
    package let isSecret: Bool
    /// The only hosts it may be sent to.
    package let hosts: [HostPattern]?

    package init(
        name: String, text: String, value: PlainValue? = nil, isSecret: Bool = false, hosts: [HostPattern]? = nil
    ) {
        self.name = name
        self.text = text
        self.value = value ?? .string(text)
        self.isSecret = isSecret
        self.hosts = hosts
    }

    /// More of one value is no value: it would go into URLs and headers.
    package static let longest = 64 << 10

    /// As a report tells it.
    package var told: Job.Variable { Job.Variable(name: name, value: isSecret ? .string("***") : value) }
}

/// What a run's tasks captured so far. Only tasks that succeeded are in it.
package struct CaptureBook: Sendable {
    private var values: [String: [CapturedValue]] = [:]

    package init() {}

    package mutating func keep(_ captured: [CapturedValue], of task: String) { values[task] = captured }

    /// The value of `${tasks.TASK.NAME}`.
    package func value(_ task: String, _ name: String) throws(TransferError) -> CapturedValue {
        guard let captured = values[task] else {
            throw TransferError(
                .dependencyFailed,
                "`${tasks.\(task).\(name)}` has no value: `\(task)` did not run or succeed in this run")
        }
        guard let value = captured.first(where: { $0.name == name }) else {
            throw TransferError(.dependencyFailed, "`\(task)` captured no `\(name)`")
        }
        return value
    }
}
