import Glibc
import HTTPRules
import Scheduling
package import Stores
package import SystemIO
import TransferEngine
package import TransferModel

/// What a run is told beside its job.
package struct RunSettings: Sendable {
    package var userAgent: String
    /// Of the back-off's random part.
    package var seed: UInt64
    package var failFast = false
    /// `--no-wait`
    package var putsOffWhatWaits = false
    /// Somebody listens to what keeps tasks from a free place.
    package var tellsLimitWaits = false
    /// Tasks that are suspended are waited for: somebody may come and resume them.
    package var waitsForResume = false
    /// `--exit-unchanged`
    package var reportsUnchanged = false
    package var networks = NetworkSettings()
    /// `TRACEPARENT`, and the machine: of these are the ids that `tracing` sends.
    package var traceParent: String?
    package var host = ""
    package var outside = OutsideNeeds()
    /// When the run was taken over: since then another process may have carried it and died before it told anything.
    package var acceptedAt: WallTime?
    /// Called on the loop where requests that must not be sent twice are to begin: says when all events up to that number
    /// would survive whatever happens. `nil`: nobody goes on with this run.
    package var keep: (@Sendable (_ upTo: UInt64, _ isKept: @escaping @Sendable () -> Void) -> Void)?
    /// Called on the loop when a task has ended, before that is an event: for those who need it and are carried by
    /// somebody else.
    package var heard: (@Sendable (OutsideEnd) -> Void)?
    /// Reads the job once more, with what its templates go over; called on a thread of its own. `nil`: the job has no
    /// templates.
    package var expand: (@Sendable (TemplateValues) -> Result<ExpandedJob, TransferError>)?
    /// Called on the loop before tasks take a template's place: says when they would survive whatever happens, or never
    /// where the run has other tasks by now. `nil`: nobody goes on with this run.
    package var keepExpansion: (@Sendable (UnkeptExpansion, _ isKept: @escaping @Sendable () -> Void) -> Void)?

    package init(userAgent: String, seed: UInt64) {
        self.userAgent = userAgent
        self.seed = seed
    }
}

/// One run of one job: the scheduler, the engine and the event log, turned by one loop on the calling thread.
package final class JobRun {
    /// Grows when templates become tasks.
    package internal(set) var job: Job
    let settings: RunSettings
    let log: EventLog
    let inbox: Mailbox<RunInput>
    private let networks: RunNetworks
    let engine: Engine
    var scheduler: Scheduler
    /// The run's beginning, in whatever process: no instant of this one, perhaps before the machine was started.
    let beganAt: Now
    private let firstNow: Now
    /// `nil` for a run that begins here.
    var past: RunPast?
    /// By task id, of those that ended before.
    var captures: [String: [CapturedValue]] = [:]
    /// By the id of a task that somebody else carries: those that wait for it.
    private var outside: [String: [TaskIndex]]
    /// Those of them that have ended, by the numbers under which the scheduler knows them.
    var outsideEnds: [String] = []
    private var isLeaving = false
    var templates = TemplateQueue()
    /// Templates that became tasks in an earlier process, which did not live to tell it, with how many those are.
    var untoldExpansions: [TaskIndex: Int] = [:]
    /// Tasks whose lists templates went over before this process: they stay as they were then.
    var expandedOver: Set<String> = []
    var facts = ExitFacts()
    var tasksLeft: [Int]
    var groupRecords: [RunRecord.Group]
    /// Time in which a task's attempts stood still for want of bandwidth.
    var bandwidthWaits: [TaskIndex: TimeSpan] = [:]
    var credentialWaits: [TaskIndex: TimeSpan] = [:]
    /// Requests that had an effect and were not answered yet, with the ids of the tasks that changed.
    var owed: [(request: ControlRequest, changed: [String])] = []
    private var knownOrigins = 0
    /// What went wrong where somebody was asked who to be.
    package private(set) var credentialProblems: [String] = []
    /// Which sessions' cookies could not be written to their file.
    package private(set) var cookieProblems: [String] = []
    /// Why it saw no networks, where nothing depended on them.
    package var networkProblem: String? { networks.problem }

    /// `makeInbox` is given what ends the loop's wait; what it returns takes input from any thread.
    ///
    /// With `resuming` it goes on with a run of the same job that another process began. Then `log` counts on from the last
    /// event of that one; what a `SessionRecord` counts of connections is this process's alone.
    package init(
        job: Job, settings: RunSettings, log: EventLog, memory: MemoryPlace? = nil, resuming: RunResumption? = nil,
        makeInbox: (@escaping @Sendable () -> Void) -> Mailbox<RunInput>
    ) throws(TransferError) {
        let now = Clocks.now()
        let standing = resuming.map { Engine.standing(job, $0.history) } ?? []
        let history = resuming?.knownHistory
        self.job = job
        self.settings = settings
        self.log = log
        firstNow = now
        beganAt = resuming.map { Self.beginning(of: $0.history, now) } ?? now
        facts.reportsUnchanged = settings.reportsUnchanged
        log.wall = now.wall
        var plan = RunPlan(job, settings: settings)
        engine = try Engine(
            job: job, origins: plan.origins, events: log, userAgent: settings.userAgent,
            run: String(UInt64(settings.seed), radix: 36), memory: memory, now: now)
        if job.sessions.contains(where: { !$0.propagatesTraceTo.isEmpty }) {
            engine.trace(
                TraceIDs(parent: settings.traceParent, job: job.name, host: settings.host, startedAt: beganAt.wall))
        }
        engine.untold = UntoldFiles(since: resuming?.history.lastTime ?? settings.acceptedAt)
        networks = try RunNetworks(settings.networks, job, plan.origins, engine)
        plan.scheduling.conditions = engine.networks.conditions
        plan.scheduling.localOrigins = networks.localOrigins
        plan.scheduling.unrepeatable = Self.unrepeatable(job)
        if settings.keep != nil { engine.beginnings.recordedFirst = plan.scheduling.unrepeatable }
        outside = settings.outside.waiting
        plan.scheduling.outsideNeeds = settings.outside.ids.mapValues(\.count)
        scheduler = Scheduler(
            plan.scheduling, now: now, history: history, hasCrashed: resuming?.hasCrashed ?? false,
            done: Self.done(standing, job))
        groupRecords = job.groups.map { RunRecord.Group(name: $0.name, published: false, error: nil) }
        tasksLeft = Array(repeating: 0, count: job.sessions.count)
        for index in job.tasks.indices { tasksLeft[Int(job.tasks[index].session.raw)] += 1 }
        let inbox = makeInbox(engine.wake)
        self.inbox = inbox
        limitOrigins()
        if let resuming { takeOver(resuming, standing) }
        try engine.open()
        try networks.begin { inbox.post($0) }
    }

    private static func beginning(of history: RunHistory, _ now: Now) -> Now {
        let elapsed = TimeSpan.zero - history.elapsed(at: now.wall)
        return Now(
            instant: now.instant + elapsed, boot: now.boot + elapsed, wall: history.beganAt ?? now.wall + elapsed)
    }

    /// Tells the scheduler what `limits.hosts` says of origins that were met since the last time.
    func limitOrigins() {
        guard !job.limits.hosts.isEmpty else { return }
        while knownOrigins < engine.origins.origins.count {
            let origin = OriginID(raw: UInt32(knownOrigins))
            knownOrigins += 1
            guard let limits = job.limits.limits(of: engine.origins[origin]) else { continue }
            scheduler.limit(origin, to: limits)
            if let most = limits.maximumConnections { engine.limitConnections(to: origin, most) }
        }
    }

    /// Runs to the end and says how it ended. Every event, `runFinished` too, is in the log when it returns; `nil` after
    /// `leave`, when the log holds no end of what was under way.
    package func run() -> ExitStatus? {
        announce()
        invalidateEnded()
        var now = firstNow
        while true {
            for input in inbox.takeAll() { take(input, now) }
            if isLeaving { break }
            perform(scheduler.turn(now: now), now)
            answerRequests()
            keepBeginnings()
            log.handOver(at: now.instant, nearsEnd: scheduler.nearsEnd)
            if scheduler.hasMadeWay {
                isLeaving = true
                break
            }
            // Whoever takes the run over knows whether this is its end.
            if scheduler.isFinished, !scheduler.isMakingWay { break }
            let reports = engine.turn(
                wait: wait(from: now),
                clock: { [log] in
                    let now = Clocks.now()
                    log.wall = now.wall
                    return now
                })
            now = engine.now
            limitOrigins()
            for report in reports { take(report, now) }
        }
        templates.end()
        networks.end()
        if isLeaving {
            leave(now)
            refuseRequests()
        }
        // Who goes on with the run has its end, too.
        if !isLeaving { cookieProblems = engine.saveCookies { hasTasks(Int($0.raw)) } }
        engine.close()
        credentialProblems = engine.credentialProblems
        return isLeaving ? nil : conclude(Clocks.now())
    }

    /// After the run: waits until what it learned is kept for the next, and says why it was not, or why what was kept for
    /// this one was not used.
    package func storeProblems() -> [String] { engine.storeProblems() }

    private func wait(from now: Now) -> TimeSpan {
        if engine.isPending { return .zero }
        // A clock that is set wakes nobody: who waits for a date looks at it now and then.
        var due = min(engine.nextDeadline, log.due, now.instant + .seconds(scheduler.waitsForDate ? 1 : 60))
        if let deadline = scheduler.nextDeadline(now: now) { due = min(due, deadline) }
        return max(.zero, due - now.instant)
    }

    private func announce() {
        for (index, _) in job.sessions.enumerated() where past?.session(index).isStarted != true {
            log.append(.sessionStarted, session: SessionIndex(raw: UInt16(index)))
        }
        for index in job.tasks.indices {
            let number = TaskIndex(raw: UInt32(index))
            let session = job.tasks[index].session
            let told = past?.task(index)
            if told?.createdAfter == nil { log.append(.taskCreated, task: number, session: session) }
            if let count = untoldExpansions[number] {
                log.append(.expanded(Expansion(count: count)), task: number, session: session)
            }
            if told?.wasResumed == true || told?.isExpanded == true { continue }
            if !job.tasks[index].options.values.suspended { log.append(.taskResumed, task: number, session: session) }
        }
    }

    private func take(_ input: RunInput, _ now: Now) {
        switch input {
        case .command(let command):
            if case .leave = command { isLeaving = true }
            if case .stop(let number) = command, facts.signal == nil { facts.signal = number }
            // First the engine: what ends for it ends under what is true now.
            if case .conditions(let conditions) = command { engine.take(conditions) }
            scheduler.command(command, now: now)
        case .control(let request): take(request, now)
        case .outside(let end): take(end, now)
        case .kept(let beginnings):
            engine.kept(beginnings)
            scheduler.unsent = scheduler.unsent.filter(engine.awaitsRecord)
        case .beginNothing(let isSo): scheduler.beginsNothing = isSo
        case .makeWay: scheduler.command(.makeWay(awaiting: awaitedWhenLeaving), now: now)
        case .expanded(let template, let result): take(template, result, now)
        case .expansionKept(let template): takeKept(template, now)
        case .woke: engine.woke()
        }
    }

    /// It may be told again: by whoever carries it, when that begins anew.
    private func take(_ end: OutsideEnd, _ now: Now) {
        defer { if end.hasFailed { scheduler.failedOutside(now: now) } }
        guard let waiting = outside.removeValue(forKey: end.id) else { return }
        if end.succeeded, !expandedOver.contains(end.id) { engine.keep(end.captures, of: end.id) }
        outsideEnds.append(end.id)
        scheduler.outsideEnded(
            waiting, succeeded: end.succeeded, deferral: end.deferral, number: outsideEnds.count - 1, now: now)
    }

    private func take(_ report: ExecutorReport, _ now: Now) {
        scheduler.take(report, now: now)
    }

    private func perform(_ actions: [SchedulerAction], _ now: Now) {
        for action in actions {
            switch action {
            case .perform(let command): engine.perform(command, now: now)
            case .waiting(let task, let reason):
                log.append(.waiting(reason, lacks: lack(of: task, reason)), task: task, session: session(task))
            case .resumed(let task):
                engine.askAnew()
                log.append(.taskResumed, task: task, session: session(task))
            case .expand(let template): expand(template, now)
            case .attemptEnded(let task, let end):
                _ = endAttempt(task, end.outcome, end.backoff, error: end.error, held: end.held, now)
            case .finished(let task, let conclusion): finish(task, conclusion, now)
            case .groupFinished(let group, let published, let error):
                groupRecords[Int(group.raw)].published = published
                groupRecords[Int(group.raw)].error = error
            }
        }
    }

    func session(_ task: TaskIndex) -> SessionIndex { job.tasks[Int(task.raw)].session }
}
