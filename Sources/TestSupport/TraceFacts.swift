package import TransferModel

/// The facts about a job that its run's events are checked against.
package struct TraceFacts: Sendable {
    /// The facts about one task.
    package struct Task: Sendable {
        /// Id of the task.
        package var id: String
        /// Index of its session in `sessions`.
        package var session: Int
        /// Indices of the tasks outside its group that it needs.
        package var needs: [Int]
        /// Indices of the members of the groups it needs: such a group may lack a tolerated member, or be lost because
        /// of one.
        package var members: [Int] = []
        /// Indices of the tasks of its own group that it needs: it may begin once they are verified, because they are
        /// published together.
        package var verified: [Int] = []
        /// Its retry policy.
        package var retry: RetryPolicy
        /// Number of URLs that it may try in one round of its retry policy.
        package var mirrors: Int
        /// Time before which it must not begin; `nil` without one.
        package var earliestBegin: Moment?
        /// Its `when`; `nil` without one.
        package var when: NeedsCondition?
        /// Whether its failure is tolerated.
        package var mayFail: Bool
        /// Number of requests that an attempt may have under way at once.
        package var segments = 1
        /// Whether an attempt that lost its network counts against no limit on attempts.
        package var waitsForConnectivity = false
        /// Whether it belongs to a discretionary session.
        package var isDiscretionary = false
        /// Whether its session is a background one, so that network failures count against no limit on attempts.
        package var isPatient = false
        /// Whether it is published with others.
        package var isGrouped = false
        /// Whether it writes to standard output, and so may wait for earlier tasks that do.
        package var writesOutput = false

        package init(
            id: String, session: Int = 0, needs: [Int] = [], retry: RetryPolicy = RetryPolicy(), mirrors: Int = 1,
            earliestBegin: Moment? = nil, mayFail: Bool = false
        ) {
            self.id = id
            self.session = session
            self.needs = needs
            self.retry = retry
            self.mirrors = mirrors
            self.earliestBegin = earliestBegin
            self.mayFail = mayFail
        }
    }

    /// The facts about one session.
    package struct Session: Sendable {
        /// Name of the session.
        package var name: String
        /// Number of its tasks that may run at once; `nil` without a limit of its own.
        package var maximumConcurrentTasks: Int?
        /// Whether it is a background session, whose progress events arrive by another way than its other events.
        package var isBackground: Bool
        package init(name: String, maximumConcurrentTasks: Int? = nil, isBackground: Bool = false) {
            self.name = name
            self.maximumConcurrentTasks = maximumConcurrentTasks
            self.isBackground = isBackground
        }
    }

    /// The tasks, in the job's order.
    package private(set) var tasks: [Task]
    /// The sessions, in the job's order.
    package private(set) var sessions: [Session]
    /// Number of tasks that may run at once.
    package var maximumConcurrentTasks = 64
    /// Whether the first failure cancels the rest.
    package var failFast = false
    /// The job's `limits.stopWhen`; `nil` for none.
    package var stopWhen: RunLimits.StopRule?
    /// Whether tasks that would wait are put off to the next run (`--no-wait`).
    package var putsOffWhatWaits = false
    /// Time after which the run ends; `nil` without a limit.
    package var timeout: TimeSpan?
    /// Moment at which the run ends; `nil` without one.
    package var finishBy: Moment?
    /// Whether a run without changes ends with 9 (`--exit-unchanged`).
    package var reportsUnchanged = false
    /// Whether single tasks may be cancelled while the run goes on.
    package var takesCommands = false
    /// How often the process that carries the run ends before the run does, at most.
    package var interruptions = 0
    /// Whether the job has a hook, whose failure turns exit status 0 into 1.
    package var hasHook = false
    /// Tolerance between a time in the trace and the clock that the rules use. Lines of events round to milliseconds,
    /// and their date is of another clock than the one that measures durations.
    package var slack = TimeSpan.zero
    private let taskNumbers: [String: Int]
    private let sessionNumbers: [String: Int]

    package init(tasks: [Task], sessions: [Session] = [Session(name: "default")]) {
        self.tasks = tasks
        self.sessions = sessions
        taskNumbers = Dictionary(zip(tasks.map(\.id), tasks.indices), uniquingKeysWith: { first, _ in first })
        sessionNumbers = Dictionary(
            zip(sessions.map(\.name), sessions.indices), uniquingKeysWith: { first, _ in first })
    }

    /// `chosen` are the tasks that `--only` and `--except` left; what was needed and not chosen counts as there.
    package init(_ job: Job, only chosen: Set<String>? = nil) {
        var numbers: [Int: Int] = [:]
        for (index, task) in job.tasks.enumerated() where chosen?.contains(task.id) ?? true {
            numbers[index] = numbers.count
        }
        var members = [[Int]](repeating: [], count: job.groups.count)
        for (index, task) in job.tasks.enumerated() {
            if let group = task.group { members[Int(group.raw)].append(index) }
        }
        var tasks: [Task] = []
        for (index, task) in job.tasks.enumerated() where numbers[index] != nil {
            let options = task.options.values
            let own = task.group.map { members[Int($0.raw)] } ?? []
            let groups = options.neededGroups.compactMap { name in job.groups.firstIndex { $0.name == name } }
            let needed = task.needs.map { Int($0.raw) }
            var facts = Task(
                id: task.id, session: Int(task.session.raw),
                needs: needed.filter { !own.contains($0) }.compactMap { numbers[$0] },
                retry: options.policies.retry, mirrors: max(1, options.mirrors.count),
                earliestBegin: options.earliestBegin, mayFail: options.allowFailure != .no)
            facts.segments = options.segments
            facts.when = options.when
            facts.isGrouped = task.group != nil
            facts.writesOutput = task.toStandardOutput
            facts.waitsForConnectivity = options.policies.waitsForConnectivity
            facts.isDiscretionary = job.sessions[Int(task.session.raw)].discretionary == true
            facts.isPatient = job.sessions[Int(task.session.raw)].kind == .background
            facts.verified = needed.filter { own.contains($0) }.compactMap { numbers[$0] }
            facts.members = groups.flatMap { members[$0] }.compactMap { numbers[$0] }
            tasks.append(facts)
        }
        self.init(
            tasks: tasks,
            sessions: job.sessions.map {
                Session(
                    name: $0.name, maximumConcurrentTasks: $0.maximumConcurrentTasks,
                    isBackground: $0.kind == .background)
            })
        maximumConcurrentTasks = job.limits.maximumConcurrentTasks
        failFast = job.failFast
        // The background part of a job counts its own tasks, and of a part of the tasks others were counted, too.
        let kinds = Set(job.tasks.map { job.sessions[Int($0.session.raw)].kind == .background })
        stopWhen = chosen == nil && kinds.count == 1 ? job.limits.stopWhen : nil
        timeout = job.limits.timeout
        finishBy = job.limits.finishBy
        hasHook = job.onFinish != nil || job.tasks.contains { $0.options.values.onFinish != nil }
    }

    /// Index of the task with this id, or `nil`.
    package func number(ofTask id: String) -> Int? { taskNumbers[id] }
    /// Index of the session with this name, or `nil`.
    package func number(ofSession name: String) -> Int? { sessionNumbers[name] }
}
