package import TransferModel

/// What a job says that its run's events are held against.
package struct TraceFacts: Sendable {
    package struct Task: Sendable {
        package var id: String
        package var session: Int
        package var needs: [Int]
        /// Members of the groups it needs: a group may lack what was tolerated, or be lost for it.
        package var members: [Int] = []
        /// Tasks of its own group that it needs: verified is enough, they are published together.
        package var verified: [Int] = []
        package var retry: RetryPolicy
        /// How many URLs it may try in one round of its retry policy.
        package var mirrors: Int
        package var earliestBegin: Moment?
        package var mayFail: Bool
        /// How many requests an attempt may have under way at once.
        package var segments = 1
        /// An attempt that lost its network counts against no limit on attempts.
        package var waitsForConnectivity = false
        package var isDiscretionary = false
        /// What the network does to it counts against no limit on attempts.
        package var isPatient = false
        /// Published with others.
        package var isGrouped = false
        /// It writes to standard output, and may wait for those before it that do.
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

    package struct Session: Sendable {
        package var name: String
        package var maximumConcurrentTasks: Int?
        /// Its progress comes by another way than its other events, and stands among them where it came.
        package var isBackground: Bool
        package init(name: String, maximumConcurrentTasks: Int? = nil, isBackground: Bool = false) {
            self.name = name
            self.maximumConcurrentTasks = maximumConcurrentTasks
            self.isBackground = isBackground
        }
    }

    package private(set) var tasks: [Task]
    package private(set) var sessions: [Session]
    package var maximumConcurrentTasks = 64
    package var failFast = false
    /// `--no-wait`
    package var putsOffWhatWaits = false
    package var timeout: TimeSpan?
    package var finishBy: Moment?
    /// `--exit-unchanged`
    package var reportsUnchanged = false
    /// Somebody may cancel single tasks while it runs.
    package var takesCommands = false
    /// How often the process that carried it ended before the run did, at most.
    package var interruptions = 0
    /// A hook's failure turns 0 into 1.
    package var hasHook = false
    /// How far a time in the trace may be from the clock that rules go by. Lines of events cut to milliseconds, and
    /// the date is another clock than the one that durations are measured with.
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
        timeout = job.limits.timeout
        finishBy = job.limits.finishBy
        hasHook = job.onFinish != nil
    }

    package func number(ofTask id: String) -> Int? { taskNumbers[id] }
    package func number(ofSession name: String) -> Int? { sessionNumbers[name] }
}
