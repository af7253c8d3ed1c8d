package import TransferModel

/// How a run under way stands, for people who ask.
package struct RunStatus: Hashable, Sendable {
    package enum State: String, CaseIterable, Sendable { case waiting, running, suspended, finished }

    package struct Task: Hashable, Sendable {
        package var id: String
        package var state: State
        package var waitingFor: WaitReason?
        /// To be put after `waits for`: what kind of network or power is not there.
        package var lacks: String?

        package init(id: String, state: State, waitingFor: WaitReason? = nil, lacks: String? = nil) {
            self.id = id
            self.state = state
            self.waitingFor = waitingFor
            self.lacks = lacks
        }
    }

    package var job: String
    package var startedAt: WallTime
    /// Of all tasks that were asked for, by their state.
    package var counts: [State: Int]
    /// Those that have not finished, in the job's order; the first of them where there are many.
    package var tasks: [Task]
    /// So many are told of.
    package static let mostTasks = 1000

    package init(job: String, startedAt: WallTime, counts: [State: Int] = [:], tasks: [Task] = []) {
        self.job = job
        self.startedAt = startedAt
        self.counts = counts
        self.tasks = tasks
    }

    mutating func take(_ task: Task) {
        counts[task.state, default: 0] += 1
        if task.state != .finished, tasks.count < Self.mostTasks { tasks.append(task) }
    }
}
