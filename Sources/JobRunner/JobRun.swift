import Glibc
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
    /// `--exit-unchanged`
    package var reportsUnchanged = false
    package var networks = NetworkSettings()

    package init(userAgent: String, seed: UInt64) {
        self.userAgent = userAgent
        self.seed = seed
    }
}

/// One run of one job: the scheduler, the engine and the event log, turned by one loop on the calling thread.
package final class JobRun {
    let job: Job
    private let settings: RunSettings
    let log: EventLog
    private let inbox: Mailbox<RunInput>
    private let networks: RunNetworks
    let engine: Engine
    var scheduler: Scheduler
    let beganAt: Now
    var facts = ExitFacts()
    var tasksLeft: [Int]
    var groupRecords: [RunRecord.Group]
    /// Time in which a task's attempts stood still for want of bandwidth.
    var bandwidthWaits: [TaskIndex: TimeSpan] = [:]
    var credentialWaits: [TaskIndex: TimeSpan] = [:]
    private var knownOrigins = 0
    /// After the run: why what it learned was not kept for the next, or what was kept for it not used.
    package private(set) var storeProblems: [String] = []
    /// What went wrong where somebody was asked who to be.
    package private(set) var credentialProblems: [String] = []
    /// Why it saw no networks, where nothing depended on them.
    package var networkProblem: String? { networks.problem }

    /// `makeInbox` is given what ends the loop's wait; what it returns takes input from any thread.
    package init(
        job: Job, settings: RunSettings, log: EventLog, memory: MemoryPlace? = nil,
        makeInbox: (@escaping @Sendable () -> Void) -> Mailbox<RunInput>
    ) throws(TransferError) {
        let now = Clocks.now()
        self.job = job
        self.settings = settings
        self.log = log
        beganAt = now
        facts.reportsUnchanged = settings.reportsUnchanged
        log.wall = now.wall
        var plan = RunPlan(job, settings: settings)
        engine = try Engine(
            job: job, origins: plan.origins, events: log, userAgent: settings.userAgent,
            run: String(UInt64(settings.seed), radix: 36), memory: memory, now: now)
        networks = try RunNetworks(settings.networks, job, plan.origins, engine)
        plan.scheduling.conditions = engine.networks.conditions
        plan.scheduling.localOrigins = networks.localOrigins
        scheduler = Scheduler(plan.scheduling, now: now)
        groupRecords = job.groups.map { RunRecord.Group(name: $0.name, published: false, error: nil) }
        tasksLeft = Array(repeating: 0, count: job.sessions.count)
        for task in job.tasks { tasksLeft[Int(task.session.raw)] += 1 }
        let inbox = makeInbox(engine.wake)
        self.inbox = inbox
        limitOrigins()
        try networks.begin { inbox.post($0) }
    }

    /// Tells the scheduler what `limits.hosts` says of origins that were met since the last time.
    private func limitOrigins() {
        guard !job.limits.hosts.isEmpty else { return }
        while knownOrigins < engine.origins.origins.count {
            let origin = OriginID(raw: UInt32(knownOrigins))
            knownOrigins += 1
            guard let limits = job.limits.limits(of: engine.origins[origin]) else { continue }
            scheduler.limit(origin, to: limits)
            if limits.maximumConnections != nil { engine.limitConnections(to: origin) }
        }
    }

    /// Runs to the end and says how it ended. Every event, `runFinished` too, is in the log when it returns.
    package func run() -> ExitStatus {
        announce()
        var now = beganAt
        while true {
            for input in inbox.takeAll() { take(input, now) }
            perform(scheduler.turn(now: now), now)
            log.handOver(at: now.instant)
            if scheduler.isFinished { break }
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
        networks.end()
        storeProblems = engine.close()
        credentialProblems = engine.credentialProblems
        return conclude(Clocks.now())
    }

    private func wait(from now: Now) -> TimeSpan {
        if engine.isPending { return .zero }
        // A clock that is set wakes nobody: who waits for a date looks at it now and then.
        var due = min(engine.nextDeadline, log.due, now.instant + .seconds(scheduler.waitsForDate ? 1 : 60))
        if let deadline = scheduler.nextDeadline(now: now) { due = min(due, deadline) }
        return max(.zero, due - now.instant)
    }

    private func announce() {
        for (index, _) in job.sessions.enumerated() {
            log.append(.sessionStarted, session: SessionIndex(raw: UInt16(index)))
        }
        for (index, task) in job.tasks.enumerated() {
            let number = TaskIndex(raw: UInt32(index))
            log.append(.taskCreated, task: number, session: task.session)
            if !task.options.values.suspended { log.append(.taskResumed, task: number, session: task.session) }
        }
    }

    private func take(_ input: RunInput, _ now: Now) {
        switch input {
        case .command(let command):
            if case .stop(let number) = command, facts.signal == nil { facts.signal = number }
            // First the engine: what ends for it ends under what is true now.
            if case .conditions(let conditions) = command { engine.take(conditions) }
            scheduler.command(command, now: now)
        case .control(let request): take(request, now)
        case .woke: engine.woke()
        }
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
            case .resumed(let task): log.append(.taskResumed, task: task, session: session(task))
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
