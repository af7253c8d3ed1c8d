package import TransferModel

/// Describes a job to the scheduler: numbers, no names, no URLs.
package struct SchedulingPlan: Sendable {
    /// One task.
    package struct Task: Sendable {
        /// The session whose limits it shares.
        package var session: SessionIndex
        /// Scheme, host and port that it asks first; `nil` for what needs no connection (`file:`, `data:`).
        package var origin: OriginID?
        /// Index into `policies`.
        package var policy: Int
        /// Tasks that must have ended before it may begin: well, unless its `when` says otherwise.
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

    /// The settings that many tasks have in common.
    package struct TaskPolicy: Sendable {
        /// Priority from 0 to 1: of the tasks that could start, those with the highest one do.
        package var priority = 0.5
        /// How often and when failed attempts are repeated.
        package var retry = RetryPolicy()
        /// How long the network alone may hold a task back, over all its attempts.
        package var timeoutForResource = TimeSpan.seconds(7 * 86_400)
        /// Which failures are tolerated: none, all, or those after an answer with one of these statuses.
        package var allowFailure = AllowFailure.no
        /// Limit on the bandwidth of each of these tasks.
        package var bandwidth: RateRule?
        /// A task does not begin before.
        package var earliestBegin: Moment?
        /// On which ends of what they need the tasks run; `nil` where they are skipped unless all succeeded.
        package var when: NeedsCondition?
        /// The job file says `suspended: true`.
        package var isSuspended = false
        /// What kinds of network it may use.
        package var terms = NetworkTerms()
        /// Whether a task waits where none of those is there, instead of failing at once.
        package var waitsForConnectivity = false
        /// Runs only on an unmetered network and while power is plentiful.
        package var isDiscretionary = false
        package init() {}
    }

    /// The limits of one session, over its tasks.
    package struct Session: Sendable {
        /// Connections to one host at a time.
        package var maximumConnectionsPerHost: Int
        /// Bounds of that number where it is found by what each host bears; `nil` where it is fixed.
        package var connectionRange: ConnectionRange?
        /// Running tasks at a time; `nil` sets no limit beside the run's.
        package var maximumConcurrentTasks: Int?
        /// Requests at a time on one shared HTTP/2 connection.
        package var streamsPerConnection: Int
        /// Whether a run that ends early cancels the session's running tasks instead of letting them finish.
        package var cancelsOnInvalidation: Bool
        /// Requests a second to one host, over all tasks.
        package var requestsPerSecond: RequestRate?
        /// Limit on the bandwidth of all its tasks together.
        package var bandwidth: RateRule?
        /// The times at which its tasks may run; `nil` for any time.
        package var window: WindowRule?
        /// Failures of the network use up none of a task's tries: it is tried again until `timeoutForResource`.
        package var isPatient = false
        /// A task whose server asks for a credential that is not known waits to be resumed. Elsewhere it fails.
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

    /// The tasks in the order of the job file: a task's place is its `TaskIndex`.
    package var tasks: [Task] = []
    /// The origins of all `urls` of the tasks that have more than one, as written. Apart from the tasks, because few
    /// have any and a million tasks must stay small.
    package var mirrors: [TaskIndex: [OriginID?]] = [:]
    /// How many tasks of other runs a task waits for; `outsideEnded` tells of their ends. Few tasks wait for any.
    package var outsideNeeds: [TaskIndex: Int] = [:]
    /// Tasks that write to standard output, in the order in which they do. No other run carries such a task.
    package var outputTasks: [TaskIndex] = []
    /// The policies to which tasks refer by number.
    package var policies: [TaskPolicy] = []
    /// The sessions, by `SessionIndex`.
    package var sessions: [Session] = []
    /// How many groups the tasks name.
    package var groupCount = 0
    /// Suspended tasks are waited for, also those that the job file suspended: they are never deferred for that.
    package var waitsForResume = false
    /// Running tasks at a time, over all sessions.
    package var maximumConcurrentTasks = 64
    /// Limit on the bandwidth of all sessions together.
    package var bandwidth: RateRule?
    /// Time after which the run is cancelled.
    package var timeout: TimeSpan?
    /// The error that it is cancelled with then.
    package var timeIsOver = TransferError.runTimedOut
    /// Moment from which on no task begins: the rest is for the next run.
    package var finishBy: Moment?
    /// Number of bytes of bodies after which the run stops.
    package var maximumBytes: Int64?
    /// The error that ends the rest then, where a policy sets the number; `nil`: the rest is for the next run.
    package var bytesAreSpent: TransferError?
    /// Whether the first failure that is not tolerated ends the run, but for tasks whose `when` runs after a failure.
    package var failFast = false
    /// The share of failed tasks at which the rest is cancelled; `nil` for none.
    package var stopWhen: RunLimits.StopRule?
    /// Networks and power at the beginning; `nil` where they are not looked up: then no task waits for them.
    package var conditions: Conditions?
    /// Origins on this machine: no network is needed to reach them, unless the operator dictates what there is.
    package var localOrigins: Set<OriginID> = []
    /// `--no-wait`: tasks that a network, power, a window or a date holds back are put off to the next run.
    package var putsOffWhatWaits = false
    /// Whether waits for limits are to be told. Only where there is a listener: a hundred thousand tasks may wait for
    /// one.
    package var tellsLimitWaits = false
    /// Tasks whose requests must not be sent twice: an attempt that was under way when the process ended may have been
    /// heard, and none is interrupted for what it could wait for.
    package var unrepeatable: Set<TaskIndex> = []
    /// Tasks that transfer nothing: when their needs are met, others take their place (`expanded`).
    package var templates: Set<TaskIndex> = []
    /// How many requests of tasks never tried a host may end without an answer until it is given up: a host that never
    /// answered, and one that did before.
    package var ownTries = (unanswered: 24, answered: 100)
    /// Seed of the random part of back-off; equal seeds give equal runs.
    package var seed: UInt64 = 1
    package init() {}
}

extension SchedulingPlan {
    /// The task's policy. Read a field of it in place: a policy holds lists, and a copy for each task would cost time.
    subscript(policyOf task: TaskIndex) -> TaskPolicy { _read { yield policies[tasks[Int(task.raw)].policy] } }

    /// The task's session.
    subscript(sessionOf task: TaskIndex) -> Session { _read { yield sessions[Int(tasks[Int(task.raw)].session.raw)] } }

    /// Where an attempt of the task begins; `mirror` is the place among its `urls`.
    package func origin(of task: TaskIndex, mirror: Int) -> OriginID? {
        guard !mirrors.isEmpty, let origins = mirrors[task] else { return tasks[Int(task.raw)].origin }
        return origins[mirror]
    }

    /// How many places among its `urls` the task may be fetched from.
    package func mirrorCount(of task: TaskIndex) -> Int { mirrors.isEmpty ? 1 : mirrors[task]?.count ?? 1 }
}

/// `limits.hosts` for one origin, over all sessions.
package struct OriginLimits: Hashable, Sendable {
    /// Connections of all sessions at a time; `nil` sets no limit.
    package var maximumConnections: Int?
    /// Requests a second of all sessions together; `nil` sets no limit.
    package var requestsPerSecond: RequestRate?
    package init(maximumConnections: Int? = nil, requestsPerSecond: RequestRate? = nil) {
        self.maximumConnections = maximumConnections
        self.requestsPerSecond = requestsPerSecond
    }
}

/// A session's `window`: a pure function of the date, so that the scheduler knows no time zones.
package struct WindowRule: Sendable {
    /// Whether tasks may run at a date, and until when that holds.
    package struct State: Hashable, Sendable {
        /// Whether tasks may run.
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
    /// Returns whether the window is open at the date, and until when that holds.
    package func state(at date: WallTime) -> State { rule(date) }
}

/// An action that a turn of the scheduler asks of the shell. They are carried out in order.
package enum SchedulerAction: Sendable {
    case perform(ExecutorCommand)
    /// Worth an event: the task begins to wait for this.
    case waiting(TaskIndex, WaitReason)
    /// A suspended task was resumed.
    case resumed(TaskIndex)
    /// The template's needs are met: `expanded` or `notExpanded` is to be called when its tasks are worked out.
    case expand(TaskIndex)
    /// The end of an attempt that is not its task's last.
    case attemptEnded(TaskIndex, AttemptEnd)
    case finished(TaskIndex, Conclusion)
    case groupFinished(GroupIndex, published: Bool, TransferError?)
    /// The session may have another number of connections to the host from now on.
    case connectionsChanged(SessionIndex, OriginID, ConnectionController.Step)
}

/// The end of an attempt that another will follow.
package struct AttemptEnd: Sendable {
    /// How the attempt ended: `failed` or `cancelled`.
    package var outcome: TaskOutcome
    /// The executor's error; its message may add how the task goes on.
    package var error: TransferError?
    /// The wait before the next attempt; `nil` when something other than time must pass, or nothing: the next of `urls`
    /// is tried at once.
    package var backoff: TimeSpan?
    /// Time within the attempt in which it waited for a slot or a rate. It is part of the task's waits.
    package var held: TimeSpan
    /// When the last attempt begins at the latest; `nil` where only `timeoutForResource` ends the tries.
    package var until: Instant?

    package init(
        outcome: TaskOutcome, error: TransferError?, backoff: TimeSpan?, held: TimeSpan, until: Instant? = nil
    ) {
        self.outcome = outcome
        self.error = error
        self.backoff = backoff
        self.held = held
        self.until = until
    }
}

/// The end of a task, as the scheduler sees it.
package struct Conclusion: Sendable {
    /// How the task ended.
    package var outcome: TaskOutcome
    /// Why it did not succeed; `nil` where it did or was put off.
    package var error: TransferError?
    /// Its failure is tolerated by `allowFailure`.
    package var tolerated: Bool
    /// For how long the task waited, by reason.
    package var waits: [TaskRecord.Wait]
    /// How many of its attempts began.
    package var attempts: Int
    /// From when the task existed to its end.
    package var duration: TimeSpan
    /// Time within the last attempt in which it waited for a slot or a rate.
    package var held: TimeSpan
    /// How long ago its last attempt ended, when it had to wait for others of its group.
    package var staged: TimeSpan
    /// Why a deferred task was put off.
    package var deferral: Deferral?
    /// Why a skipped task was skipped.
    package var blame: Blame?
    /// For how long it was tried, from its first failed attempt to its end; `nil` where none failed.
    package var triedFor: TimeSpan?

    package init(
        outcome: TaskOutcome, error: TransferError?, tolerated: Bool, waits: [TaskRecord.Wait], attempts: Int,
        duration: TimeSpan, held: TimeSpan, staged: TimeSpan, deferral: Deferral?, blame: Blame? = nil,
        triedFor: TimeSpan? = nil
    ) {
        self.triedFor = triedFor
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
