package import TransferModel

/// Decides which tasks may start, when, and what the others wait for: a pure state machine that takes the time as an
/// argument and returns what to do.
///
/// Tell it what happened (`take`, `command`), then call `turn` for what to do. A task's phases:
/// blocked by needs → held until it may begin → queued in its lane → (awaiting a network or power → queued) → running →
/// (backing off → queued …) → finished.
package struct Scheduler: ~Copyable {
    /// The job. Templates add tasks to it.
    package internal(set) var plan: SchedulingPlan
    var clock: RunClock
    var tasks: TaskTable
    var slots: SlotTable
    var groups: PublicationGroups
    /// How far the tasks with several `urls` have come that have not finished.
    var mirrors: [TaskIndex: MirrorRound]
    var timers = TimerQueues()
    var needs: DependencyGraph
    var conditionsOnNeeds: NeedsConditions
    var bandwidth: BandwidthShare?
    var bytes: ByteBudget
    var actions: [SchedulerAction] = []
    var random: RandomBits
    var runEnding = RunEnding()
    var expansions = Expansions()
    var loans = SlotLoans()
    var conditions: CurrentConditions
    /// Tasks that are to be put off to the next run in this turn.
    var postponed: [Postponement] = []
    var output: OutputTurns
    var failures: FailureShare
    /// Since when tasks fail.
    var retries = RetryClocks()
    /// Tasks that must not be repeated and whose attempts have sent nothing yet: those may still be interrupted.
    var unsent: Set<TaskIndex> = []

    /// With a `history` the run goes on where its events end, also in another process and on another clock.
    /// `hasCrashed`: the process that carried it before crashed. `done`: tasks whose unfinished attempt had put its
    /// file in place, where that still stands. `lost`: tasks that had begun a request which must not be sent twice, of
    /// which the events do not know.
    package init(
        _ plan: SchedulingPlan, now: Now, history: RunHistory? = nil, hasCrashed: Bool = false,
        done: Set<TaskIndex> = [], lost: Set<TaskIndex> = []
    ) {
        self.plan = plan
        clock = RunClock(now, elapsed: history?.elapsed(at: now.wall) ?? .zero)
        let groups = PublicationGroups(plan)
        self.groups = groups
        tasks = TaskTable(count: plan.tasks.count, at: now.instant)
        needs = DependencyGraph(plan) {
            // Of a group without members there is nothing to publish, and nothing to wait for.
            $0.neededGroups.reduce(0) { $0 + (groups.members(of: $1).isEmpty ? 0 : 1) }
        }
        conditionsOnNeeds = NeedsConditions(plan.policies)
        slots = SlotTable(plan)
        mirrors = plan.mirrors.mapValues { MirrorRound($0) }
        random = RandomBits(seed: plan.seed)
        conditions = CurrentConditions(plan.conditions)
        bytes = ByteBudget(plan.maximumBytes)
        output = OutputTurns(plan)
        failures = FailureShare(plan.stopWhen)
        for task in output.heldBack { needs.addNeed(to: task) }
        bandwidth = BandwidthShare(plan, now: now.instant)
        setDeadlines()
        readWindows()
        if let history {
            restore(history, hasCrashed: hasCrashed, done, lost)
        } else {
            for index in plan.tasks.indices { create(TaskIndex(raw: UInt32(index))) }
            skipAll()
        }
        if bytes.isSpent { deferAll(.maximumBytes, evenRunning: true) }
    }

    mutating func create(_ task: TaskIndex) {
        if plan.policies[policyNumber(of: task)].isSuspended { tasks[task].suspension = .byFile }
        if needs.hasOpenNeeds(task) {
            block(task)
        } else if let skip = skip(for: task) {
            block(task, isTold: false)
            needs.skip(skip)
        } else {
            makeReady(task)
        }
    }

    mutating func block(_ task: TaskIndex, isTold: Bool = true) {
        tasks.enter(.blocked, Int(task.raw), at: now.instant)
        if isTold { actions.append(.waiting(task, .dependency)) }
    }

    /// How many tasks have finished, however they did.
    package var finishedCount: Int { tasks.finishedCount }
    /// The time as the last call told it.
    var now: Now { clock.now }

    /// Whether all tasks have finished.
    package var isFinished: Bool { finishedCount == tasks.count }
    /// Whether all tasks have finished or run. `false`, too, while an attempt that has transferred all of its body has
    /// yet to end.
    package var nearsEnd: Bool { finishedCount + slots.runningCount == tasks.count }

    /// When `turn` has to be called again although nothing happened, if the clocks go on as they do.
    package func nextDeadline(now: Now) -> Instant? {
        let due = timers.nextDue(after: now)
        guard let tick = bandwidth?.nextTick else { return due }
        return min(due ?? tick, tick)
    }

    /// Whether something depends on the date: a clock that is set must be noticed.
    package var waitsForDate: Bool { timers.waitForDate }

    /// Peak connections and number of tasks of each origin that a session met. Streams that share a connection
    /// count as one.
    package func hosts(of session: SessionIndex) -> [(origin: OriginID, peak: Int, tasks: Int)] {
        slots.sessions[Int(session.raw)].lanes.compactMap { number in
            let lane = slots.lanes[number]
            return lane.origin.map { ($0, lane.peak, lane.tasks) }
        }
    }

    /// To be read field by field: a whole policy holds lists, and copying it for each task would show.
    func policyNumber(of task: TaskIndex) -> Int { plan.tasks[Int(task.raw)].policy }

    func policy(of task: TaskIndex) -> SchedulingPlan.TaskPolicy { plan.policies[policyNumber(of: task)] }

    // MARK: What happened

    /// Limits over all sessions, told before the origin is first used.
    package mutating func limit(_ origin: OriginID, to limits: OriginLimits) {
        slots.limit(origin, to: limits)
    }

    /// Takes in what an executor reports. What follows is returned by the next `turn`.
    package mutating func take(_ report: ExecutorReport, now: Now) {
        clock.set(now)
        switch report {
        case .moved(let task, let bytes): moved(task, bytes)
        case .needsGrant(let task, let origin, let isAlone):
            bytes.requestEnded(task)
            askForSlot(task, origin, isAlone: isAlone)
        case .awaitsRecord(let task): unsent.insert(task)
        case .isRecorded(let task): unsent.remove(task)
        case .sentBody(let task): bytes.sentBody(task)
        case .turnedPage(let task): turnedPage(task)
        case .released(let task, _): giveBackSlot(task)
        case .couldUse(let task, let origin, let slots): couldUse(task, origin, slots: slots)
        case .gaveBack(let task, _, let wasAnswered): giveBackLent(task, wasAnswered: wasAnswered)
        case .turnedAway(let task, let origin, let status, let retryAfter):
            turnedAway(task, origin, status: status, retryAfter)
        case .unused(let task, let origin):
            giveBackUnused(task)
            slots.endProbe(origin, of: task)
        case .transferred(let task):
            wholeAnswer(task)
            stopCounting(task)
        case .awaitsOutput(let task): awaitsOutput(task)
        case .protocolIs(let origin, let version): slots.learn(origin, version)
        case .answered(let task, let answer): answered(task, answer)
        case .heard(let task): heard(task)
        case .ended(let task, let verdict): attemptEnded(task, verdict)
        case .published(let group, let error): published(group, error)
        }
    }

    /// Takes in a command. Returns the tasks on which it had an effect.
    @discardableResult
    package mutating func command(_ command: RunCommand, now: Now) -> [TaskIndex] {
        clock.set(now)
        switch command {
        case .stop:
            stopAll(.stoppedBySignal)
            return []
        case .suspend(let chosen): return chosen.filter { suspend($0) }
        case .resume(let chosen): return chosen.filter { resume($0) }
        case .conditions(let news):
            take(news)
            return []
        case .pauseStarts(let reason, let isPaused):
            if isPaused { runEnding.pauses.insert(reason) } else { runEnding.pauses.remove(reason) }
            return []
        // The process that carries the run changes, and nothing of the run.
        case .leave: return []
        case .makeWay(let awaited):
            runEnding.beginHandover(awaiting: awaited)
            return []
        case .cancel(let chosen, let keepPartial):
            if !keepPartial { actions += chosen.map { .perform(.discardPartial($0)) } }
            return chosen.filter { task in
                // A file that came whole is only put in place: most likely it succeeds all the same.
                let isTransferred = tasks[task].phase == .running && !tasks[task].isCounted
                return end(task, .finish(.cancelled, TransferError.cancelledByCommand, nil), keepPartial: keepPartial)
                    && !isTransferred
            }
        }
    }

    /// Returns what to do now. Starts as many tasks as the limits allow.
    package mutating func turn(now: Now) -> [SchedulerAction] {
        beginTurn(now)
        fireTimers()
        clearTheWay()
        giveOutSlots()
        startWhatMay()
        settleLoans()
        deferTheSuspended()
        shareBandwidth()
        tellWaits()
        removeVoidTimers()
        defer { actions = [] }
        return actions
    }
}
