package import TransferModel

/// What the scheduler must know of a job: numbers, no names, no URLs.
package struct SchedulingPlan: Sendable {
    /// One task. `origin` is `nil` for what needs no connection (`file:`, `data:`).
    package struct Task: Sendable {
        package var session: SessionIndex
        package var origin: OriginID?
        /// Index into `policies`.
        package var policy: Int
        package var needs: [TaskIndex]
        /// The group it is published with.
        package var group: GroupIndex?
        /// Groups that must be published before it may begin.
        package var neededGroups: [GroupIndex]

        package init(
            session: SessionIndex, origin: OriginID?, policy: Int, needs: [TaskIndex] = [], group: GroupIndex? = nil,
            neededGroups: [GroupIndex] = []
        ) {
            self.session = session
            self.origin = origin
            self.policy = policy
            self.needs = needs
            self.group = group
            self.neededGroups = neededGroups
        }
    }

    /// What many tasks have in common.
    package struct TaskPolicy: Sendable {
        package var priority = 0.5
        package var retry = RetryPolicy()
        package var timeoutForResource = TimeSpan.seconds(7 * 86_400)
        /// Tolerated whatever happened, or when the answer had one of these statuses.
        package var allowFailure = AllowFailure.no
        /// For each of these tasks.
        package var bandwidth: RateRule?
        package var earliestBegin: Moment?
        /// The job file says `suspended: true`.
        package var isSuspended = false
        /// What kinds of network it may use.
        package var terms = NetworkTerms()
        /// Without one of those it waits instead of failing at once.
        package var waitsForConnectivity = false
        /// Only when it costs nobody: an unmetered network, and power that is plentiful.
        package var isDiscretionary = false
        package init() {}
    }

    package struct Session: Sendable {
        package var maximumConnectionsPerHost: Int
        package var maximumConcurrentTasks: Int?
        package var streamsPerConnection: Int
        package var cancelsOnInvalidation: Bool
        /// To one host, over all tasks.
        package var requestsPerSecond: RequestRate?
        package var bandwidth: RateRule?
        package var window: WindowRule?
        /// What the network does to a task uses up none of its tries: it is tried again until `timeoutForResource`.
        package var isPatient = false
        /// A task whose server asks who it is, where nobody knows, waits to be resumed. Elsewhere it fails.
        package var waitsForCredentials = false
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
    /// The origins of all `urls` of the tasks that have more than one, as written. Apart from the tasks, because few
    /// have any and a million tasks must stay small.
    package var mirrors: [TaskIndex: [OriginID?]] = [:]
    /// How many tasks that somebody else carries a task waits for; `outsideEnded` tells of them. Few have any.
    package var outsideNeeds: [TaskIndex: Int] = [:]
    /// Tasks that write to standard output, in the order in which they do. Nobody else may be carrying such a task.
    package var outputTasks: [TaskIndex] = []
    package var policies: [TaskPolicy] = []
    package var sessions: [Session] = []
    /// How many groups the tasks name.
    package var groupCount = 0
    /// What is suspended is waited for, whoever suspended it: it is never deferred for that.
    package var waitsForResume = false
    package var maximumConcurrentTasks = 64
    /// Over all sessions.
    package var bandwidth: RateRule?
    package var timeout: TimeSpan?
    package var finishBy: Moment?
    package var maximumBytes: Int64?
    package var failFast = false
    /// Networks and power at the beginning; `nil` when nobody looked: then nothing waits for them.
    package var conditions: Conditions?
    /// Origins on this machine: no network is needed to reach them, unless the operator dictates what there is.
    package var localOrigins: Set<OriginID> = []
    /// `--no-wait`: what a network, power, a window or a date holds back is put off to the next run.
    package var putsOffWhatWaits = false
    /// Somebody listens to what keeps a task from a free place. Told only then: a hundred thousand tasks wait for one.
    package var tellsLimitWaits = false
    /// Tasks whose requests must not be sent twice: an attempt that was under way when the process ended may have been heard,
    /// and none is interrupted for what it could wait for.
    package var unrepeatable: Set<TaskIndex> = []
    /// Tasks that transfer nothing: when what they need is there, others take their place (`expanded`).
    package var templates: Set<TaskIndex> = []
    /// After so many more ends without an answer, a host that hangs up at those that were never tried is given up: where it
    /// never answered, and where it did before.
    package var ownTries = (unanswered: 24, answered: 100)
    /// Of the random part of back-off; the same seed gives the same run.
    package var seed: UInt64 = 1
    package init() {}
}

extension SchedulingPlan {
    /// Where an attempt of the task begins; `mirror` is the place among its `urls`.
    package func origin(of task: TaskIndex, mirror: Int) -> OriginID? {
        guard !mirrors.isEmpty, let origins = mirrors[task] else { return tasks[Int(task.raw)].origin }
        return origins[mirror]
    }

    package func mirrorCount(of task: TaskIndex) -> Int { mirrors.isEmpty ? 1 : mirrors[task]?.count ?? 1 }
}

/// `limits.hosts` for one origin, over all sessions.
package struct OriginLimits: Hashable, Sendable {
    package var maximumConnections: Int?
    package var requestsPerSecond: RequestRate?
    package init(maximumConnections: Int? = nil, requestsPerSecond: RequestRate? = nil) {
        self.maximumConnections = maximumConnections
        self.requestsPerSecond = requestsPerSecond
    }
}

/// A session's `window`: a pure function of the date, so that the scheduler knows no time zones.
package struct WindowRule: Sendable {
    package struct State: Hashable, Sendable {
        package var isOpen: Bool
        /// `nil`: it stays so.
        package var changesAt: WallTime?
        package init(isOpen: Bool, changesAt: WallTime?) {
            self.isOpen = isOpen
            self.changesAt = changesAt
        }
    }
    private let rule: @Sendable (WallTime) -> State
    package init(_ rule: @escaping @Sendable (WallTime) -> State) { self.rule = rule }
    package func state(at date: WallTime) -> State { rule(date) }
}

/// What a turn of the scheduler asks of the shell, in order.
package enum SchedulerAction: Sendable {
    case perform(ExecutorCommand)
    /// Worth an event: the task begins to wait for this.
    case waiting(TaskIndex, WaitReason)
    /// A suspended task was resumed.
    case resumed(TaskIndex)
    /// What the template needs is there: `expanded` or `notExpanded` is to tell what became of it.
    case expand(TaskIndex)
    /// The end of an attempt that is not its task's last.
    case attemptEnded(TaskIndex, AttemptEnd)
    case finished(TaskIndex, Conclusion)
    case groupFinished(GroupIndex, published: Bool, TransferError?)
}

/// The end of an attempt that another will follow.
package struct AttemptEnd: Sendable {
    package var outcome: TaskOutcome
    /// Says more than the executor's when it tells how the task goes on.
    package var error: TransferError?
    /// The wait before the next attempt; `nil` when something other than time must pass, or nothing: the next of `urls`
    /// is tried at once.
    package var backoff: TimeSpan?
    /// Time within the attempt in which it waited for a slot or a rate: told in the task's waits.
    package var held: TimeSpan

    package init(outcome: TaskOutcome, error: TransferError?, backoff: TimeSpan?, held: TimeSpan) {
        self.outcome = outcome
        self.error = error
        self.backoff = backoff
        self.held = held
    }
}

/// The end of a task, as the scheduler sees it.
package struct Conclusion: Sendable {
    package var outcome: TaskOutcome
    package var error: TransferError?
    package var tolerated: Bool
    package var waits: [TaskRecord.Wait]
    package var attempts: Int
    package var duration: TimeSpan
    /// Of the last attempt, as in `AttemptEnd`.
    package var held: TimeSpan
    /// How long ago its last attempt ended, when it had to wait for others of its group.
    package var staged: TimeSpan
    /// Why a deferred task was put off.
    package var deferral: Deferral?
    /// Why a skipped one was skipped.
    package var blame: Blame?

    package init(
        outcome: TaskOutcome, error: TransferError?, tolerated: Bool, waits: [TaskRecord.Wait], attempts: Int,
        duration: TimeSpan, held: TimeSpan, staged: TimeSpan, deferral: Deferral?, blame: Blame? = nil
    ) {
        self.outcome = outcome
        self.error = error
        self.tolerated = tolerated
        self.waits = waits
        self.attempts = attempts
        self.duration = duration
        self.held = held
        self.staged = staged
        self.deferral = deferral
        self.blame = blame
    }
}
