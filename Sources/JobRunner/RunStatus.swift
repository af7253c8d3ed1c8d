package import TransferModel

/// How a run under way stands, or the part of it that is one background session's, for people who ask.
package struct RunStatus: Hashable, Sendable {
    package enum State: String, CaseIterable, Hashable, Sendable { case waiting, running, suspended, finished }

    package struct Task: Hashable, Sendable {
        package var id: String
        package var state: State
        package var waitingFor: WaitReason?
        /// To be put after `waits for`: what kind of network or power is not there.
        package var lacks: String?
        /// Of the body that is being received or sent, with what an earlier attempt left of it.
        package var bytesReceived: Int64
        package var bytesSent: Int64
        /// How many it will be; `nil` while nobody has said so.
        package var expected: Int64?
        /// That have begun.
        package var attempts: Int

        package init(
            id: String, state: State, waitingFor: WaitReason? = nil, lacks: String? = nil, bytesReceived: Int64 = 0,
            bytesSent: Int64 = 0, expected: Int64? = nil, attempts: Int = 0
        ) {
            self.id = id
            self.state = state
            self.waitingFor = waitingFor
            self.lacks = lacks
            self.bytesReceived = bytesReceived
            self.bytesSent = bytesSent
            self.expected = expected
            self.attempts = attempts
        }
    }

    package var job: String
    package var startedAt: WallTime
    /// Of all tasks that were asked for, by their state.
    package var counts: [State: Int]
    /// Those that have not finished, in the job's order; where there are many, all that run and the first of the rest.
    package var tasks: [Task]

    /// So many are told of.
    static let mostTasks = 1000
    /// Of a background session, whose other tasks the journal knows.
    static let mostOfSession = 10_000

    package init(job: String, startedAt: WallTime, counts: [State: Int] = [:], tasks: [Task] = []) {
        self.job = job
        self.startedAt = startedAt
        self.counts = counts
        self.tasks = tasks
    }

    mutating func take(_ task: Task, most: Int) {
        counts[task.state, default: 0] += 1
        guard task.state != .finished else { return }
        // Few run at a time, however many there are.
        if task.state == .running || tasks.count < most { tasks.append(task) }
    }
}

extension RunStatus.State {
    /// Of a whole that has so many parts in each state.
    package static func of(_ counts: [RunStatus.State: Int]) -> RunStatus.State {
        [.running, .waiting, .suspended].first { counts[$0, default: 0] > 0 } ?? .finished
    }
}
