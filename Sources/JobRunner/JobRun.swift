import Glibc
import HTTPRules
import Scheduling
package import Stores
package import SystemIO
import TransferEngine
package import TransferModel

/// Settings of a run in addition to its job.
package struct RunSettings: Sendable {
    /// `User-Agent` of requests that set none.
    package var userAgent: String
    /// Seed of the random part of retry delays.
    package var seed: UInt64
    /// `--fail-fast`: the first failure ends the run, as with the job's `failFast`.
    package var failFast = false
    /// `--no-wait`: tasks that a network, power, a window or a date holds back are deferred to the next run.
    package var putsOffWhatWaits = false
    /// Whether waits for limits are events: a consumer shows them.
    package var tellsLimitWaits = false
    /// Whether the run waits for suspended tasks, which a later request may resume.
    package var waitsForResume = false
    /// `--exit-unchanged`: the exit status says whether nothing changed.
    package var reportsUnchanged = false
    /// Networks given by the user or the operator.
    package var networks = NetworkSettings()
    /// `TRACEPARENT` of the environment, from which the ids that `tracing` sends are made; `nil` without one.
    package var traceParent: String?
    /// Name of the machine, for the same ids.
    package var host = ""
    /// Tasks of the job's other part, run by another process, on which tasks of this run depend.
    package var outside = OutsideNeeds()
    /// How the run takes its turn where a process carries only so many runs with work at a time; `nil` where it is the only
    /// one.
    package var turn: TurnSettings?
    /// Time when the run was accepted: since then another process may have run it and died before it recorded an event.
    package var acceptedAt: WallTime?
    /// Called on the loop before requests that must not be sent twice begin; it calls `isKept` once all events up to
    /// that number, and what begins, are durable. `nil`: no other process continues this run.
    package var keep:
        (@Sendable (_ upTo: UInt64, _ begun: [BegunRequest], _ isKept: @escaping @Sendable () -> Void) -> Void)?
    /// How long an `onFinish` command of a task may take.
    package var hookTimeout = TimeSpan.seconds(600)
    /// Called on the loop when a task has ended, before that is an event: for tasks in other parts of the job that
    /// depend on it.
    package var heard: (@Sendable (OutsideEnd) -> Void)?
    /// Reads the job again with the values that its templates iterate over; called on a thread of its own. `nil`: the
    /// job has no templates.
    package var expand: (@Sendable (TemplateValues) -> Result<ExpandedJob, TransferError>)?
    /// Called on the loop before tasks replace a template; it calls `isKept` once they are durable, or never if the run
    /// has other tasks by now. `nil`: no other process continues this run.
    package var keepExpansion: (@Sendable (UnkeptExpansion, _ isKept: @escaping @Sendable () -> Void) -> Void)?

    package init(userAgent: String, seed: UInt64) {
        self.userAgent = userAgent
        self.seed = seed
    }
}

/// One run of one job: the scheduler, the engine and the event log, driven by one loop on the calling thread.
///
/// Its properties are the parts that it drives and the settings it was begun with; it decides nothing that they could.
package final class JobRun {
    /// The job; it grows when templates become tasks.
    package internal(set) var job: Job
    let settings: RunSettings
    let log: EventLog
    let inbox: Mailbox<RunInput>
    let networks: RunNetworks
    let engine: Engine
    var scheduler: Scheduler
    /// Beginning of the run, in whichever process: its instant is not one of this process, and may precede the
    /// machine's start.
    let beganAt: Now
    /// What earlier processes recorded of the run; `nil` for a run that begins here.
    var past: RunPast?
    var inherited = InheritedValues()
    var outside: OutsideTasks
    private var isLeaving = false
    var templates = TemplateQueue()
    var windows = WindowWords()
    var hooks = TaskHooks()
    var turn = RunTurn()
    var tally: RunTally
    /// Requests that were carried out and not replied to yet, with the tasks that changed.
    var owed: [(request: ControlRequest, changed: [TaskIndex])] = []
    private var knownOrigins = 0
    /// Problems with files and helpers that were asked for credentials, and with writing cookies to their files, as
    /// sentences for people; set at the end of `run()`.
    package private(set) var problems: [String] = []
    /// Why the networks could not be seen, where no task depended on them; `nil` if they could.
    package var networkProblem: String? { networks.problem }

    /// `makeInbox` is given the function that ends the loop's wait; the mailbox that it returns takes input from any
    /// thread.
    ///
    /// With `resuming` the run continues one of the same job that another process began. Then `log` continues its
    /// numbers; the connections in a `SessionRecord` are those of this process alone.
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
        beganAt = resuming.map { Self.beginning(of: $0.history, now) } ?? now
        tally = RunTally(job, reportsUnchanged: settings.reportsUnchanged)
        log.wall = now.wall
        var plan = RunPlan(job, settings: settings)
        plan.scheduling.unrepeatable = Self.unrepeatable(job)
        var start = EngineStart(userAgent: settings.userAgent, run: String(UInt64(settings.seed), radix: 36))
        if settings.keep != nil { start.recordedFirst = plan.scheduling.unrepeatable }
        start.unrecordedFiles = UnrecordedFiles(since: resuming?.history.lastTime ?? settings.acceptedAt)
        if let history { start.unrecordedFiles.add(history, standing: standing) }
        let networkState = NetworkState()
        engine = try Engine(
            job: job, origins: plan.origins, events: log, networks: networkState, start, memory: memory, now: now)
        if job.sessions.contains(where: { !$0.propagatesTraceTo.isEmpty }) {
            engine.trace(
                TraceIDs(parent: settings.traceParent, job: job.name, host: settings.host, startedAt: beganAt.wall))
        }
        networks = try RunNetworks(settings.networks, networkState, job, plan.origins, engine)
        plan.scheduling.conditions = networkState.conditions
        plan.scheduling.localOrigins = networks.localOrigins
        outside = OutsideTasks(waiting: settings.outside.waiting)
        plan.scheduling.outsideNeeds = settings.outside.ids.mapValues(\.count)
        scheduler = Scheduler(
            plan.scheduling, now: now, history: history, hasCrashed: resuming?.hasCrashed ?? false,
            done: Self.done(standing, job), lost: resuming?.lost ?? [])
        let inbox = makeInbox(engine.wake)
        self.inbox = inbox
        limitOrigins()
        if let resuming { takeOver(resuming) }
        try engine.open()
        try networks.startReports { inbox.post($0) }
    }

    private static func beginning(of history: RunHistory, _ now: Now) -> Now {
        let elapsed = TimeSpan.zero - history.elapsed(at: now.wall)
        return Now(
            instant: now.instant + elapsed, boot: now.boot + elapsed, wall: history.beganAt ?? now.wall + elapsed)
    }

    /// Passes `limits.hosts` to the scheduler for origins that were met since the last call.
    func limitOrigins() {
        guard !job.limits.hosts.isEmpty else { return }
        while knownOrigins < engine.origins.origins.count {
            let origin = OriginID(raw: UInt32(knownOrigins))
            knownOrigins += 1
            guard let limits = job.limits.limits(of: engine.origins[origin]) else { continue }
            scheduler.limit(origin, to: limits)
            if let most = limits.maximumConnections { engine.connections.limitConnections(to: origin, most) }
        }
    }

    /// Runs to the end and returns the exit status. Every event, `runFinished` too, is in the log then; `nil` after
    /// `leave`, when the log has no end of what was under way.
    package func run() -> ExitStatus? {
        announce()
        invalidateEnded()
        var now = engine.now
        awaitFirstTurn(now)
        while true {
            for input in inbox.takeAll() { handle(input, now) }
            if isLeaving { break }
            perform(scheduler.turn(now: now), now)
            // What ends while it is carried out, such as a template for which no thread can be started, is told as well.
            while scheduler.hasToTell { perform(scheduler.turn(now: now), now) }
            startHooks()
            answerRequests()
            settleTurn(now)
            if turn.isAskedToRest {
                turn.isAskedToRest = false
                isLeaving = mayRest()
                if isLeaving { break }
            }
            keepBeginnings()
            log.handOver(at: now.instant, nearsEnd: scheduler.nearsEnd)
            hooks.startsNoMore = scheduler.hasMadeWay
            if scheduler.hasMadeWay, !hooks.isRunning {
                isLeaving = true
                break
            }
            // The process that takes the run over decides whether this is its end.
            if scheduler.isFinished, !scheduler.isMakingWay, hooks.isEmpty { break }
            let reports = engine.turn(
                wait: wait(from: now),
                clock: { [log] in
                    let now = Clocks.now()
                    log.wall = now.wall
                    return now
                })
            now = engine.now
            limitOrigins()
            for report in reports { reportReceived(report, now) }
        }
        templates.end()
        hooks.end()
        networks.stopReports()
        if isLeaving {
            leave(now)
            refuseRequests()
        }
        // A run that continues elsewhere writes its cookie files at its end there.
        if !isLeaving { problems = engine.sessionStates.saveCookies { hasTasks(Int($0.raw)) } }
        engine.close()
        problems = engine.credentialProblems + problems
        return isLeaving ? nil : conclude(Clocks.now())
    }

    /// Waits, after the run, until what it learned is stored, and returns why it could not be, or why what was stored
    /// for this run was not used.
    package func storeProblems() -> [String] { engine.sessionStates.storeProblems() }

    private func wait(from now: Now) -> TimeSpan {
        if engine.isPending { return .zero }
        // Setting the clock wakes no thread: a wait for a date looks at it now and then.
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
            if let count = inherited.untoldExpansions[number] {
                log.append(.expanded(Expansion(count: count)), task: number, session: session)
            }
            if told?.wasResumed == true || told?.isExpanded == true { continue }
            if !job.tasks[index].options.values.suspended { log.append(.taskResumed, task: number, session: session) }
        }
    }

    private func handle(_ input: RunInput, _ now: Now) {
        switch input {
        case .command(let command):
            if case .leave = command { isLeaving = true }
            if case .stop(let number) = command, tally.facts.signal == nil { tally.facts.signal = number }
            if case .stop = command { stopHooks() }
            // The engine first: attempts that this ends are judged under the new conditions.
            if case .conditions(let conditions) = command { engine.connections.networksChanged(to: conditions) }
            scheduler.command(command, now: now)
        case .control(let request): controlRequested(request, now)
        case .outside(let end): outsideTaskEnded(end, now)
        case .kept(let beginnings): engine.beginnings.kept(beginnings)
        case .makeWay: scheduler.command(.makeWay(awaiting: awaitedWhenLeaving), now: now)
        case .listsOpened(let template, let files): listsOpened(template, files, now)
        case .expanded(let template, let result, let rows): templateExpanded(template, result, rows, now)
        case .expansionKept(let template): expansionKept(template, now)
        case .hookEnded(let task, let record): hookEnded(task, record)
        case .woke: engine.connections.woke()
        case .turnGiven: takeTurn(now)
        case .rest: turn.isAskedToRest = true
        }
    }

    /// Handles the end of a task in another process; it may be reported again when that process starts over.
    private func outsideTaskEnded(_ end: OutsideEnd, _ now: Now) {
        defer { if end.hasFailed { scheduler.failedOutside(now: now) } }
        guard let waiting = outside.waiting.removeValue(forKey: end.id) else { return }
        if end.succeeded, !inherited.expandedOver.contains(end.id) { engine.answers.keep(end.captures, of: end.id) }
        outside.ended.append(end.id)
        scheduler.outsideEnded(
            waiting, succeeded: end.succeeded, deferral: end.deferral, number: outside.ended.count - 1, now: now)
    }

    private func reportReceived(_ report: ExecutorReport, _ now: Now) {
        scheduler.receive(report, now: now)
    }

    private func perform(_ actions: [SchedulerAction], _ now: Now) {
        for action in actions {
            switch action {
            case .perform(let command): engine.perform(command, now: now)
            case .waiting(let task, let reason):
                log.append(.waiting(reason, lacks: lack(of: task, reason)), task: task, session: session(task))
            case .resumed(let task):
                engine.credentials.askAnew()
                log.append(.taskResumed, task: task, session: session(task))
            case .expand(let template): expand(template, now)
            case .attemptEnded(let task, let end):
                _ = endAttempt(task, end.outcome, end.backoff, error: end.error, held: end.held, until: end.until, now)
            case .finished(let task, let conclusion): taskFinished(task, conclusion, now)
            case .connectionsChanged(let session, let origin, let step):
                log.append(
                    .connectionsChanged(
                        ConnectionStep(
                            origin: engine.origins[origin], from: step.from, to: step.to, reason: step.reason)),
                    session: session)
            case .groupFinished(let group, let published, let error):
                tally.groups[Int(group.raw)].published = published
                tally.groups[Int(group.raw)].error = error
            }
        }
    }

    func session(_ task: TaskIndex) -> SessionIndex { job.tasks[Int(task.raw)].session }
}
