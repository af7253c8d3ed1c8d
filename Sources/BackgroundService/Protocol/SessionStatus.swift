/// What the process knows of a run under way and the journal does not tell.
package struct SessionStatus: Hashable, Sendable {
    package enum State: String, CaseIterable, Hashable, Sendable { case running, suspended, waiting, finished }

    package var identifier: String
    /// The job's name.
    package var job: String
    package var state: State
    /// The number of its last event that is in the journal.
    package var sequence: UInt64
    /// Those with something to tell.
    package var tasks: [TaskStatus]

    package init(identifier: String, job: String, state: State, sequence: UInt64, tasks: [TaskStatus] = []) {
        self.identifier = identifier
        self.job = job
        self.state = state
        self.sequence = sequence
        self.tasks = tasks
    }
}

package struct TaskStatus: Hashable, Sendable {
    package var id: String
    package var bytesReceived: Int64
    package var bytesSent: Int64
    package var expected: Int64?
    /// A wait's reason, as in the report.
    package var waitingFor: String?

    package init(
        id: String, bytesReceived: Int64 = 0, bytesSent: Int64 = 0, expected: Int64? = nil, waitingFor: String? = nil
    ) {
        self.id = id
        self.bytesReceived = bytesReceived
        self.bytesSent = bytesSent
        self.expected = expected
        self.waitingFor = waitingFor
    }
}

/// How far a task under way has come: told while it happens, never kept.
package struct TaskProgress: Hashable, Sendable {
    package var identifier: String
    package var task: String
    package var bytes: Int64
    package var expected: Int64?

    package init(identifier: String, task: String, bytes: Int64, expected: Int64?) {
        self.identifier = identifier
        self.task = task
        self.bytes = bytes
        self.expected = expected
    }
}
