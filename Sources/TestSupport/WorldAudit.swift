package import Scheduling
package import Simulation
package import TransferModel

/// Watches a simulated run and keeps books of its own: whatever the scheduler does is held against them, never against
/// what it believes itself.
package struct WorldAudit: SimulationObserver {
    enum Phase: UInt8 { case waiting, running, staged, finished }

    enum SentBody: UInt8 { case no, awaitsAnswer, goesElsewhere }

    /// One task's page.
    struct Page {
        var phase = Phase.waiting
        var attempts = 0
        /// Since the run's beginning.
        var createdAfter = TimeSpan.zero
        /// Attempts that count against the retry policy.
        var tries = 0
        /// Failures without an answer of others at its host while it waited: a probe's counts for all that wait.
        var charged = 0
        var startedAt = Instant(nanoseconds: 0)
        var attemptTime = TimeSpan.zero
        var held = TimeSpan.zero
        var begunAt: Instant?
        /// The clock of its patience stands until others of its group are verified once more.
        var isPatient = false
        var backoffUntil: Instant?
        /// All of its body was sent; its answer may ask for another request, but for no further byte of it.
        var sentBody = SentBody.no
        /// It holds a slot there, or asked for one.
        var origin: OriginID?
        var holdsSlot = false
        var isAlone = false
        /// What it waits for a grant for.
        var wanted: OriginID?
        var awaitsAnswer = false
        var wasHeard = false
        /// Slots beside its own: what it could use, has, was asked to give back, and has not heard an answer under.
        var wantedLoans = 0
        var lent = 0
        var recalled = 0
        var lentUnanswered = 0
        var isCounted = false
        var isCancelled = false
        var isSuspended = false
        /// Its attempt ended with its process, and that was not told yet.
        var isLost = false
        /// The task's end follows from what was told before its process ended.
        var isOwed = false
        /// Ended, and what follows has not been said yet.
        var verdict: Verdict?
        var conclusion: Conclusion?
        /// Of a task with several `urls`.
        var mirrors: MirrorPage?
        var hasFailed: Bool { if case .failed? = verdict?.outcome { true } else { false } }
    }

    /// One origin's page.
    struct OriginPage {
        var isShared = false
        var unanswered = 0
        var bucket: AuditBucket?
        var quota: Int?
        var quotaUntil = Instant(nanoseconds: 0)
        var nextQuota: (limit: Int, window: TimeSpan)?
        /// It asked for quiet until then.
        var quietUntil = Instant(nanoseconds: 0)
        /// It may be left alone until then, whatever others hear from it meanwhile.
        var restUntil = Instant(nanoseconds: 0)
        /// It showed that it has trouble; one request at a time may find out.
        var isParked = false {
            didSet {
                guard isParked else { return }
                hasHadTrouble = true
                mayRest = true
            }
        }
        /// It was parked, and nothing good was heard from it after `restUntil`. An answer before that opens it only if
        /// its pause was shorter, which nothing shows from outside; then a probe may be under way.
        var mayRest = false
        var probe: TaskIndex?
        var failedRounds = 0
        var lastFailureAt: Instant?
        /// Ends without an answer since it answered last; more than any where one did not say that the host hung up.
        var unheard = 0
        /// How many those were, and when that was.
        var unheardBefore = 0
        var heardAt: Instant?
        var hasAnswered = false
        /// All that wait may have one try of their own there, since it does not answer.
        var mayGiveOwnTries = false
        /// Since the run began.
        var hadOwnTries = false
        /// When a task with several `urls` failed here.
        var mirrorFailedAt: Instant?
        /// It failed so, or was parked, at any time.
        var hasHadTrouble = false
    }

    /// The slots of one session at one origin.
    struct LanePage {
        var slots = 0
        var alone = 0
        var bucket: AuditBucket?
    }

    struct GroupPage {
        var members: [Int] = []
        var isPublishing = false
        var isDiscarded = false
        /// As the world said.
        var outcome: Bool?
        var isTold = false
        /// Told to be published, or nothing of it is to be.
        var isThere: Bool { isTold || members.isEmpty }
    }

    let setting: SimulatedSetting
    let plan: SchedulingPlan
    let model: WorldModel
    var pages: [Page]
    var origins: [OriginPage]
    var lanes: [LanePage]
    var groups: [GroupPage]
    /// By task.
    var networks: [NetworkPage]
    var conditions: Conditions?
    /// Counts their changes, and those told since the last turn.
    var conditionsNumber = 0
    var changes = 0
    var runBytes: AuditBytes?
    var sessionBytes: [AuditBytes?]
    var bytesMoved: Int64 = 0
    /// Answers that were put off at their head, for what is left of the run is too little.
    var answersTooLong = 0
    var runningCount = 0
    var sessionRunning: [Int]
    var hasFailedFast = false
    var isStopped = false
    /// Another process is to go on with the run once these have ended.
    var way: Set<TaskIndex>?
    /// Whether the end had begun when the last turn was over: what happens in one turn has an order of its own.
    var wasOver = false
    /// Commands came since the last turn: what they led to is not known yet.
    var hasCommands = false
    /// Of durations, where they were put together from what events told.
    var slack = TimeSpan.zero
    private let found = Findings()
    /// What must not be: a sentence each, the first few.
    package var violations: [String] { found.sentences }

    /// An object, so that a check may read the books while it writes here.
    private final class Findings {
        var sentences: [String] = []
    }

    package init(_ setting: SimulatedSetting, _ model: WorldModel) {
        self.setting = setting
        self.model = model
        plan = setting.plan
        let begin = setting.start.instant
        pages = plan.tasks.enumerated().map { index, task in
            var page = Page()
            page.mirrors = setting.plan.mirrors[TaskIndex(raw: UInt32(index))].map { MirrorPage($0) }
            page.isSuspended = setting.plan.policies[task.policy].isSuspended
            return page
        }
        networks = plan.tasks.map { _ in NetworkPage() }
        conditions = plan.conditions
        origins = model.hosts.map { _ in OriginPage() }
        for (origin, limits) in setting.hostLimits {
            origins[Int(origin.raw)].bucket = limits.requestsPerSecond.map { AuditBucket($0, begin) }
        }
        lanes = []
        for session in plan.sessions {
            for _ in model.hosts {
                lanes.append(LanePage(bucket: session.requestsPerSecond.map { AuditBucket($0, begin) }))
            }
        }
        groups = Array(repeating: GroupPage(), count: plan.groupCount)
        for (index, task) in plan.tasks.enumerated() {
            if let group = task.group { groups[Int(group.raw)].members.append(index) }
        }
        sessionRunning = Array(repeating: 0, count: plan.sessions.count)
        let debt = Double(model.readAtOnce) * Double(plan.tasks.count)
        runBytes = plan.bandwidth.map { AuditBytes($0, debt, setting.start) }
        sessionBytes = plan.sessions.map { $0.bandwidth.map { AuditBytes($0, debt, setting.start) } }
        openNetworkPages(begin)
    }

    func hold(_ condition: Bool, _ now: Now, _ what: @autoclosure () -> String) {
        if condition || found.sentences.count >= 5 { return }
        found.sentences.append("\((now.instant - setting.start.instant).seconds) s: \(what())")
    }

    func facts(_ task: TaskIndex) -> SchedulingPlan.Task { plan.tasks[Int(task.raw)] }
    func policy(_ task: TaskIndex) -> SchedulingPlan.TaskPolicy { plan.policies[facts(task).policy] }
    func lane(_ task: TaskIndex, _ origin: OriginID) -> Int {
        Int(facts(task).session.raw) * origins.count + Int(origin.raw)
    }
    func moment(_ moment: Moment?) -> WallTime? {
        switch moment {
        case nil: nil
        case .at(let time)?: time
        case .afterStart(let span)?: setting.start.wall + span
        }
    }
    func isOpen(_ session: SessionIndex, _ now: Now) -> Bool {
        plan.sessions[Int(session.raw)].window?.state(at: now.wall).isOpen ?? true
    }

    /// The run's own end has begun, by a clock or a count.
    func isOver(_ now: Now) -> Bool { isOverButForBytes(now) || hasMovedAll }

    var hasMovedAll: Bool { plan.maximumBytes.map { bytesMoved >= $0 } ?? false }

    func isOverButForBytes(_ now: Now) -> Bool {
        if let timeout = plan.timeout, setting.start.instant + timeout <= now.instant { return true }
        if let finishBy = moment(plan.finishBy), finishBy <= now.wall { return true }
        return isStopped || hasFailedFast || answersTooLong >= Scheduler.mostAnswersTooLong
    }

    // MARK: What was said

    package mutating func sees(_ command: RunCommand, affected: [TaskIndex], at now: Now) {
        defer { hasCommands = true }
        switch command {
        case .stop: isStopped = true
        case .conditions(let news): change(to: news, now)
        case .leave: break
        case .makeWay(let awaited): way = awaited
        case .suspend(let tasks):
            for task in tasks where affected.contains(task) { pages[Int(task.raw)].isSuspended = true }
        case .resume(let tasks):
            for task in tasks where affected.contains(task) { pages[Int(task.raw)].isSuspended = false }
        case .cancel(let tasks, _):
            // One that comes later may have been skipped for the sake of one that was cancelled before it.
            guard let task = tasks.first, !hasCommands else { return }
            let isRight = affected.contains(task) || !mayBeCancelled(task)
            hold(isRight, now, "task \(task.raw) could be cancelled and was not")
        }
    }

    private func mayBeCancelled(_ task: TaskIndex) -> Bool {
        let page = pages[Int(task.raw)]
        return page.phase == .waiting && page.verdict == nil && page.conclusion == nil
    }

    package mutating func sees(_ report: ExecutorReport, at now: Now) {
        switch report {
        case .moved(let task, let bytes): moved(task, bytes, now)
        case .needsGrant(let task, let origin, let isAlone):
            if pages[Int(task.raw)].sentBody == .awaitsAnswer { pages[Int(task.raw)].sentBody = .goesElsewhere }
            pages[Int(task.raw)].wanted = origin
            pages[Int(task.raw)].origin = origin
            pages[Int(task.raw)].isAlone = isAlone
        case .released(let task, _), .unused(let task, _): release(task)
        case .couldUse(let task, _, let slots): pages[Int(task.raw)].wantedLoans = slots
        case .gaveBack(let task, let origin, let wasAnswered): gaveBack(task, origin, wasAnswered)
        case .turnedAway(let task, let origin, let retryAfter): turnedAway(task, origin, retryAfter, now)
        case .transferred(let task): stopCounting(task)
        // No modelled world has a standard output.
        case .awaitsOutput: break
        // Where bytes of the same moment were the last, it came too late.
        case .sentBody(let task): if !hasMovedAll { pages[Int(task.raw)].sentBody = .awaitsAnswer }
        case .protocolIs(let origin, let version): origins[Int(origin.raw)].isShared = version == .http2
        case .answered(let task, let answer): answered(task, answer, now)
        case .heard(let task): heard(task, now)
        case .ended(let task, let verdict): ended(task, verdict, now)
        case .published(let group, let error):
            groups[Int(group.raw)].outcome = error == nil
        }
    }

    package mutating func sees(_ action: SchedulerAction, at now: Now) {
        switch action {
        case .perform(.start(let task, let attempt, let mirror)): start(task, attempt, mirror, now)
        case .perform(.grant(let task, let origin)): grant(task, origin, now)
        case .perform(.cancel(let task, _)): cancel(task, now)
        case .perform(.lend(let task, let origin)): lend(task, origin, now)
        case .perform(.recall(let task, let origin)): recall(task, origin, now)
        case .perform(.credit(let task, let bytes)):
            hold(pages[Int(task.raw)].phase == .running, now, "credit for task \(task.raw), which is idle")
            let isRightSign = bytes > 0 || bytes < 0 && !hasSteadyRates(task)
            hold(isRightSign, now, "task \(task.raw) is given \(bytes) bytes of credit")
        case .perform(.publish(let group)): publish(group, now)
        case .perform(.giveUp(let group)):
            // What was done in the same moment is done.
            hold(groups[Int(group.raw)].isPublishing, now, "a group was given up that is not being published")
            let isMeant = groups[Int(group.raw)].members.contains { hasReasonToEnd(TaskIndex(raw: UInt32($0)), now) }
            hold(isMeant, now, "a group was given up for nothing")
        case .perform(.discard(let group)):
            hold(groups[Int(group.raw)].isPublishing == false, now, "a group that is put in place was discarded")
            groups[Int(group.raw)].isDiscarded = true
        case .waiting(let task, let reason): waiting(task, reason, now)
        case .resumed, .expand: break
        case .attemptEnded(let task, let end): attemptEnded(task, end, now)
        case .finished(let task, let conclusion): finished(task, conclusion, now)
        case .groupFinished(let group, let published, _): groupFinished(group, published, now)
        }
    }

    private mutating func moved(_ task: TaskIndex, _ bytes: Int64, _ now: Now) {
        bytesMoved += bytes
        if pages[Int(task.raw)].sentBody == .goesElsewhere { pages[Int(task.raw)].sentBody = .no }
        let session = Int(facts(task).session.raw)
        let underWay = hasSteadyRates(task) ? 0 : bytesUnderWay()
        let isWithin = runBytes?.take(bytes, now, underWay: underWay) ?? true
        hold(isWithin, now, "more bytes than `limits.bandwidth`")
        let isSessionWithin = sessionBytes[session]?.take(bytes, now, underWay: underWay) ?? true
        hold(isSessionWithin, now, "more bytes than the bandwidth of session \(session)")
    }

    /// The most bytes that the transfers of this moment have been given and not reported.
    private func bytesUnderWay() -> Int64 {
        model.reportEvery * Int64(pages.reduce(0) { $0 + ($1.isCounted ? 1 + $1.lent : 0) })
    }

    /// Whether no `bandwidth` of the task changes with the time of day: then credit is never taken back.
    private func hasSteadyRates(_ task: TaskIndex) -> Bool {
        let rules = [plan.bandwidth, plan.sessions[Int(facts(task).session.raw)].bandwidth, policy(task).bandwidth]
        return rules.allSatisfy { $0 == nil || $0?.steadyRate != nil }
    }

    mutating func stopCounting(_ task: TaskIndex) {
        guard pages[Int(task.raw)].isCounted else { return }
        pages[Int(task.raw)].isCounted = false
        runningCount -= 1
        sessionRunning[Int(facts(task).session.raw)] -= 1
    }
}

/// So many at once and so many a second: in any span of time no more than `rate` times its length and the burst.
struct AuditBucket {
    private let rate: Double
    private let burst: Double
    private var level: Double
    private var at: Instant

    init(_ rate: RequestRate, _ now: Instant) {
        self.rate = rate.perSecond
        burst = Double(max(1, rate.burst))
        level = burst
        at = now
    }

    mutating func take(_ amount: Double, _ now: Instant) -> Bool {
        level = min(burst, level + (now - at).seconds * rate) - amount
        at = now
        return level >= -1e-3
    }
}
