package import Scheduling
package import Simulation
package import TransferModel

/// Observes a simulated run and keeps a state of its own, against which it checks what the scheduler does, never
/// against the scheduler's own state.
///
/// It is large because it is a second scheduler, written against the contract and not against the first: each rule that it
/// checks keeps what it needs to check it.
package struct WorldAudit: SimulationObserver {
    enum Phase: UInt8 { case waiting, running, staged, finished }

    enum SentBody: UInt8 { case no, awaitsAnswer, goesElsewhere }

    /// The audit's state of one task.
    struct Page {
        var phase = Phase.waiting
        var attempts = 0
        /// Time since the run's beginning.
        var createdAfter = TimeSpan.zero
        /// Attempts that count against the retry policy.
        var tries = 0
        /// Failures of other tasks at its host without an answer while it waited: a probe's failure counts for all
        /// waiting tasks.
        var charged = 0
        /// Time of its first failure since its patience began anew; `nil` before.
        var failingSince: Instant?
        /// Time of the first failure that counted in `charged`.
        var chargedSince: Instant?
        /// Time at which its patience may have begun: a failure of another task that counted when it failed itself.
        var mayFailSince: Instant?
        var startedAt = Instant(nanoseconds: 0)
        var attemptTime = TimeSpan.zero
        var held = TimeSpan.zero
        var begunAt: Instant?
        /// Whether the clock of its patience stands still until others of its group are verified again.
        var isPatient = false
        var backoffUntil: Instant?
        /// Whether all of its body was sent; its answer may require another request, but no further byte of the body.
        var sentBody = SentBody.no
        /// Origin at which it holds a slot, or asked for one.
        var origin: OriginID?
        var holdsSlot = false
        var isAlone = false
        /// Origin for which it waits for a grant.
        var wanted: OriginID?
        var awaitsAnswer = false
        var wasHeard = false
        /// Slots beside its own that it could use.
        var wantedLoans = 0
        /// Slots beside its own that it has.
        var lent = 0
        /// Lent slots that it was asked to return.
        var recalled = 0
        /// Lent slots under which it has heard no answer.
        var lentUnanswered = 0
        var isCounted = false
        var isCancelled = false
        var isSuspended = false
        /// Whether its attempt ended with the process, and that was not reported yet.
        var isLost = false
        /// Whether the task's end follows from events reported before its process ended.
        var isOwed = false
        /// Verdict of an attempt that ended, until its consequence is reported.
        var verdict: Verdict?
        var conclusion: Conclusion?
        /// State of a task with several `urls`, else `nil`.
        var mirrors: MirrorPage?
        var hasFailed: Bool { if case .failed? = verdict?.outcome { true } else { false } }
    }

    /// The audit's state of one origin.
    struct OriginPage {
        var isShared = false
        var unanswered = 0
        var bucket: AuditBucket?
        var quota: Int?
        var quotaUntil = Instant(nanoseconds: 0)
        var nextQuota: (limit: Int, window: TimeSpan)?
        /// Time until which the host asked for no requests.
        var quietUntil = Instant(nanoseconds: 0)
        /// Time until which the origin may be left alone, whatever other tasks hear from it meanwhile.
        var restUntil = Instant(nanoseconds: 0)
        /// Whether the origin has shown trouble, so that one request at a time may test it.
        var isParked = false {
            didSet {
                guard isParked else { return }
                hasHadTrouble = true
                mayRest = true
            }
        }
        /// Whether the origin was parked and has not answered well after `restUntil`. An earlier answer opens it only
        /// if its pause was shorter, which cannot be seen from outside; a probe may then be under way.
        var mayRest = false
        var probe: TaskIndex?
        /// Whether the host takes the probe's body, so that others may send as well.
        var isTakingBody = false
        /// Its last answers since it was opened, and the rounds that ended without one: `true` for a failure.
        var lastAnswers: [Bool] = []
        /// Whether all that decides about it can be seen from outside: no pause of unknown length was taken, and no
        /// task was given a try of its own.
        var isExact = true
        var failedRounds = 0
        var lastFailureAt: Instant?
        /// Ends without an answer since the last answer; more than any number where one did not say that the host hung
        /// up.
        var unheard = 0
        /// The value of `unheard` before the last answer; `heardAt` is the time of that answer.
        var unheardBefore = 0
        var heardAt: Instant?
        var firstAnsweredAt: Instant?
        var hasAnswered: Bool { firstAnsweredAt != nil }
        /// Whether every waiting task may try the origin once, because it does not answer.
        var mayGiveOwnTries = false
        /// Whether that was so at any time of the run.
        var hadOwnTries = false
        /// Time when a task with several `urls` last failed here.
        var mirrorFailedAt: Instant?
        /// Whether the origin failed so, or was parked, at any time.
        var hasHadTrouble = false

        mutating func noteAnswer(isBad: Bool) { lastAnswers = lastAnswers.suffix(19) + [isBad] }
    }

    /// The slots of one session at one origin.
    struct LanePage {
        var slots = 0
        var alone = 0
        var bucket: AuditBucket?
        /// The number of connections that its session may have there now, where that number is found.
        var found: Int?
    }

    struct GroupPage {
        var members: [Int] = []
        var isPublishing = false
        var isDiscarded = false
        /// The world's outcome of the publication; `nil` before it.
        var outcome: Bool?
        var isTold = false
        /// Whether the group was reported as published, or has nothing to publish.
        var isThere: Bool { isTold || members.isEmpty }
    }

    let setting: SimulatedSetting
    let plan: SchedulingPlan
    let model: WorldModel
    var pages: [Page]
    var origins: [OriginPage]
    var lanes: [LanePage]
    var groups: [GroupPage]
    /// State of each task's networks.
    var networks: [NetworkPage]
    var conditions: Conditions?
    /// Number of the present conditions; `changes` counts the changes reported since the last turn.
    var conditionsNumber = 0
    var changes = 0
    var runBytes: AuditBytes?
    var sessionBytes: [AuditBytes?]
    var bytesMoved: Int64 = 0
    /// Answers put off at their head, because what is left of the run's bytes is too little.
    var answersTooLong = 0
    var runningCount = 0
    var sessionRunning: [Int]
    var hasFailedFast = false
    /// Tasks that succeeded or failed, and those of them whose failure is not tolerated.
    var endedCount = 0
    var failedCount = 0
    var isStopped = false
    /// Tasks after whose end another process is to take over the run; `nil` without a handover.
    var way: Set<TaskIndex>?
    /// Whether the end had begun when the last turn was over: events in one turn have an order of their own.
    var wasOver = false
    /// Whether the run was over for tasks whose `when` runs after a failure, too.
    var wasOverForAll = false
    /// Whether commands came since the last turn, whose consequences are not known yet.
    var hasCommands = false
    /// Tolerance of durations that are sums of reported ones.
    var slack = TimeSpan.zero
    private let found = Findings()
    /// One sentence for each broken rule, the first five.
    package var violations: [String] { found.sentences }

    /// A class, so that a check may read the state while it reports here.
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
                lanes.append(
                    LanePage(
                        bucket: session.requestsPerSecond.map { AuditBucket($0, begin) },
                        found: session.connectionRange?.first))
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

    /// Whether the run's own end has begun, by a clock or a count.
    func isOver(_ now: Now) -> Bool { isOverButForBytes(now) || hasMovedAll }

    /// Whether it has begun for the task: its `when` may let it run after the failure that ended the others.
    func isOver(for task: TaskIndex, _ now: Now) -> Bool {
        isOverButForBytes(now, afterFailure: runsAfterFailure(task)) || hasMovedAll
    }

    func runsAfterFailure(_ task: TaskIndex) -> Bool { policy(task).when?.runsAfterFailure == true }

    func wasOver(for task: TaskIndex) -> Bool { runsAfterFailure(task) ? wasOverForAll : wasOver }

    var hasMovedAll: Bool { plan.maximumBytes.map { bytesMoved >= $0 } ?? false }

    func isOverButForBytes(_ now: Now, afterFailure: Bool = false) -> Bool {
        if let timeout = plan.timeout, setting.start.instant + timeout <= now.instant { return true }
        if let finishBy = moment(plan.finishBy), finishBy <= now.wall { return true }
        return isStopped || hasFailedFast && !afterFailure || answersTooLong >= Scheduler.mostAnswersTooLong
    }

    // MARK: What was said

    /// Notes a command that the scheduler was given.
    package mutating func sees(_ command: RunCommand, affected: [TaskIndex], at now: Now) {
        defer { hasCommands = true }
        switch command {
        case .stop: isStopped = true
        case .conditions(let news): change(to: news, now)
        case .pauseStarts, .leave: break
        case .makeWay(let awaited): way = awaited
        case .suspend(let tasks):
            for task in tasks where affected.contains(task) { pages[Int(task.raw)].isSuspended = true }
        case .resume(let tasks):
            for task in tasks where affected.contains(task) { pages[Int(task.raw)].isSuspended = false }
        case .cancel(let tasks, _):
            // A later command may find tasks skipped because of one that was cancelled before it.
            guard let task = tasks.first, !hasCommands else { return }
            let isRight = affected.contains(task) || !mayBeCancelled(task)
            hold(isRight, now, "task \(task.raw) could be cancelled and was not")
        }
    }

    private func mayBeCancelled(_ task: TaskIndex) -> Bool {
        let page = pages[Int(task.raw)]
        return page.phase == .waiting && page.verdict == nil && page.conclusion == nil
    }

    /// Notes a report that the scheduler was given.
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
        case .turnedAway(let task, let origin, let status, let retryAfter):
            turnedAway(task, origin, status, retryAfter, now)
        case .transferred(let task): stopCounting(task)
        // Modelled worlds have no standard output and no journal.
        case .awaitsOutput, .awaitsRecord, .isRecorded, .turnedPage: break
        // It came too late when bytes of the same moment were the run's last.
        case .sentBody(let task): if !hasMovedAll { pages[Int(task.raw)].sentBody = .awaitsAnswer }
        case .protocolIs(let origin, let version): origins[Int(origin.raw)].isShared = version == .http2
        case .answered(let task, let answer): answered(task, answer, now)
        case .heard(let task): heard(task, now)
        case .ended(let task, let verdict): ended(task, verdict, now)
        case .published(let group, let error):
            groups[Int(group.raw)].outcome = error == nil
        }
    }

    /// Checks an action of the scheduler.
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
            // A publication that was completed in the same moment is done.
            hold(groups[Int(group.raw)].isPublishing, now, "a group was given up that is not being published")
            let isMeant = groups[Int(group.raw)].members.contains { hasReasonToEnd(TaskIndex(raw: UInt32($0)), now) }
            hold(isMeant, now, "a group was given up for nothing")
        case .perform(.discard(let group)):
            hold(groups[Int(group.raw)].isPublishing == false, now, "a group that is put in place was discarded")
            groups[Int(group.raw)].isDiscarded = true
        case .perform(.discardPartial): break
        case .waiting(let task, let reason): waiting(task, reason, now)
        case .resumed, .expand: break
        case .attemptEnded(let task, let end): attemptEnded(task, end, now)
        case .finished(let task, let conclusion): finished(task, conclusion, now)
        case .connectionsChanged(let session, let origin, let step): connectionsChanged(session, origin, step, now)
        case .groupFinished(let group, let published, _): groupFinished(group, published, now)
        }
    }

    private mutating func moved(_ task: TaskIndex, _ bytes: Int64, _ now: Now) {
        bytesMoved += bytes
        tookBytes(task)
        if pages[Int(task.raw)].sentBody == .goesElsewhere { pages[Int(task.raw)].sentBody = .no }
        let session = Int(facts(task).session.raw)
        let underWay = hasSteadyRates(task) ? 0 : bytesUnderWay()
        let isWithin = runBytes?.take(bytes, now, underWay: underWay) ?? true
        hold(isWithin, now, "more bytes than `limits.bandwidth`")
        let isSessionWithin = sessionBytes[session]?.take(bytes, now, underWay: underWay) ?? true
        hold(isSessionWithin, now, "more bytes than the bandwidth of session \(session)")
    }

    /// Upper bound of the bytes that the present transfers were given and have not reported.
    private func bytesUnderWay() -> Int64 {
        model.reportEvery * Int64(pages.reduce(0) { $0 + ($1.isCounted ? 1 + $1.lent : 0) })
    }

    /// Whether no `bandwidth` of the task changes with the time of day, so that credit is never taken back.
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

/// A token bucket: in any span of time at most `rate` times its length, and the burst.
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
