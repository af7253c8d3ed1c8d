package import TransferModel

/// Status of a running job, or of the tasks of one background session in it, as `transfer-run status` shows it.
package struct RunStatus: Hashable, Sendable {
    /// Where a task stands; of a whole run, where the furthest of its unfinished tasks stands.
    package enum State: String, CaseIterable, Hashable, Sendable { case waiting, running, suspended, finished }

    /// Status of one task.
    package struct Task: Hashable, Sendable {
        /// The task's id in the job.
        package var id: String
        /// Where the task stands.
        package var state: State
        /// Why the task does not run; `nil` when it runs or has finished, and when nothing but the next turn of the run
        /// keeps it from beginning.
        package var waitingFor: WaitReason?
        /// What is waited for, more exactly than the reason says, to be put after `waits for`: the kind of network or power
        /// that is missing, until when a window is closed, a group. `nil` where the reason says it all.
        package var lacks: String?
        /// Bytes of the answer's body so far, those of an earlier attempt included.
        package var bytesReceived: Int64
        /// Bytes of the request's body so far, those of an earlier attempt included.
        package var bytesSent: Int64
        /// Length of the body under way in bytes; `nil` while it is unknown.
        package var expected: Int64?
        /// Number of attempts that have begun.
        package var attempts: Int
        /// What the last attempt failed by, or what another task met at the host for which this one waits; `nil` where
        /// nothing failed.
        package var error: TransferError?
        /// When the next attempt begins at the earliest, of a task that waits for a time to come; else `nil`.
        package var nextAttemptAt: WallTime?
        /// Why the attempt under way does not go on with what earlier ones left; `nil` where it does, or nothing was left.
        package var startedOver: String?

        package init(
            id: String, state: State, waitingFor: WaitReason? = nil, lacks: String? = nil, bytesReceived: Int64 = 0,
            bytesSent: Int64 = 0, expected: Int64? = nil, attempts: Int = 0, error: TransferError? = nil,
            nextAttemptAt: WallTime? = nil, startedOver: String? = nil
        ) {
            self.error = error
            self.nextAttemptAt = nextAttemptAt
            self.startedOver = startedOver
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

    /// The job's name.
    package var job: String
    /// Beginning of the run, in whichever process it began.
    package var startedAt: WallTime
    /// Number of the requested tasks in each state.
    package var counts: [State: Int]
    /// Requested tasks that have not finished, in the job's order; where there are many, all that run and the first of
    /// the rest.
    package var tasks: [Task]

    /// Most waiting tasks that are listed.
    static let mostTasks = 1000
    /// Most waiting tasks that are listed of a background session, whose finished tasks the journal has.
    static let mostOfSession = 10_000

    package init(job: String, startedAt: WallTime, counts: [State: Int] = [:], tasks: [Task] = []) {
        self.job = job
        self.startedAt = startedAt
        self.counts = counts
        self.tasks = tasks
    }

    /// Counts the task, and lists it unless it has finished or the list is full.
    mutating func add(_ task: Task, most: Int) {
        counts[task.state, default: 0] += 1
        guard task.state != .finished else { return }
        // Few run at a time, however many tasks the job has.
        if task.state == .running || tasks.count < most { tasks.append(task) }
    }
}

extension RunStatus.State {
    /// State of a whole whose parts are in these states: the first of running, waiting and suspended that occurs.
    package static func of(_ counts: [RunStatus.State: Int]) -> RunStatus.State {
        [.running, .waiting, .suspended].first { counts[$0, default: 0] > 0 } ?? .finished
    }
}
