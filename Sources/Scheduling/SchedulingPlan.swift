package import TransferModel

/// What the scheduler must know of a job: numbers, no names, no URLs.
package struct SchedulingPlan: Sendable {
    /// One task. `origin` is `nil` for what needs no connection (`file:`, `data:`).
    package struct Task: Sendable {
        package var session: SessionIndex
        package var origin: OriginID?
        package var needs: [TaskIndex]
        package var priority: Double
        /// Index into `retries`.
        package var retry: Int
        package var timeoutForResource: TimeSpan
        /// Tolerated whatever happened, or when the answer had one of these statuses.
        package var allowFailure: AllowFailure

        package init(
            session: SessionIndex, origin: OriginID?, needs: [TaskIndex], priority: Double, retry: Int,
            timeoutForResource: TimeSpan, allowFailure: AllowFailure
        ) {
            self.session = session
            self.origin = origin
            self.needs = needs
            self.priority = priority
            self.retry = retry
            self.timeoutForResource = timeoutForResource
            self.allowFailure = allowFailure
        }
    }

    package struct Session: Sendable {
        package var maximumConnectionsPerHost: Int
        package var maximumConcurrentTasks: Int?
        package var streamsPerConnection: Int
        package var cancelsOnInvalidation: Bool
        package init(
            maximumConnectionsPerHost: Int, maximumConcurrentTasks: Int?, streamsPerConnection: Int,
            cancelsOnInvalidation: Bool
        ) {
            self.maximumConnectionsPerHost = maximumConnectionsPerHost
            self.maximumConcurrentTasks = maximumConcurrentTasks
            self.streamsPerConnection = streamsPerConnection
            self.cancelsOnInvalidation = cancelsOnInvalidation
        }
    }

    package var tasks: [Task] = []
    package var sessions: [Session] = []
    /// The distinct retry policies; tasks refer to them by index.
    package var retries: [RetryPolicy] = []
    package var maximumConcurrentTasks = 64
    package var failFast = false
    /// Of the random part of back-off; the same seed gives the same run.
    package var seed: UInt64 = 1
    package init() {}
}

/// What a turn of the scheduler asks of the shell, in order.
package enum SchedulerAction: Sendable {
    case perform(ExecutorCommand)
    /// Worth an event: the task begins to wait for this.
    case waiting(TaskIndex, WaitReason)
    /// An attempt ended and another will follow after `backoff`.
    case willRetry(TaskIndex, backoff: TimeSpan)
    case finished(TaskIndex, Conclusion)
}

/// The end of a task, as the scheduler sees it.
package struct Conclusion: Sendable {
    package var outcome: TaskOutcome
    package var error: TransferError?
    package var tolerated: Bool
    package var waits: [TaskRecord.Wait]
    package var attempts: Int
    package var duration: TimeSpan
}
