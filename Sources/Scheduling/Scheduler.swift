package import TransferModel

/// Decides which tasks may start, when, and what the others wait for: a pure state machine that takes the time as an
/// argument and returns what to do.
///
/// Report what happened (`receive`, `command`), then call `turn` for what to do. A task's phases:
/// blocked by needs → held until it may begin → queued in its lane → (awaiting a network or power → queued) → running →
/// (backing off → queued …) → finished.
package struct Scheduler: ~Copyable {
    /// The job, the time, the table of tasks, the timers, and the actions of the turn.
    var run: RunState
    /// Where, when and how often tasks are tried.
    var attempts: AttemptScheduler
    var groups: PublicationGroups
    var needs: DependencyGraph
    var expansions = Expansions()
    var bytes: ByteBudget
    var output: OutputTurns
    var runEnding: RunEnding
    /// Tasks that are to be put off to the next run in this turn.
    var postponed: [Postponement] = []

    /// With a `history` the run goes on where its events end, also in another process and on another clock.
    /// `hasCrashed`: the process that carried it before crashed. `done`: tasks whose unfinished attempt had put its
    /// file in place, where that still stands. `lost`: tasks that had begun a request which must not be sent twice, of
    /// which the events do not know.
    package init(
        _ plan: SchedulingPlan, now: Now, history: RunHistory? = nil, hasCrashed: Bool = false,
        done: Set<TaskIndex> = [], lost: Set<TaskIndex> = []
    ) {
        run = RunState(plan, now: now, elapsed: history?.elapsed(at: now.wall) ?? .zero)
        attempts = AttemptScheduler(plan, now: now.instant)
        let groups = PublicationGroups(plan)
        self.groups = groups
        needs = DependencyGraph(plan) {
            // A group without members has nothing to publish, and nothing to wait for.
            $0.neededGroups.reduce(0) { $0 + (groups.members(of: $1).isEmpty ? 0 : 1) }
        }
        bytes = ByteBudget(plan.maximumBytes)
        output = OutputTurns(plan)
        runEnding = RunEnding(stopWhen: plan.stopWhen)
        for task in output.heldBack { needs.addNeed(to: task) }
        setDeadlines()
        readWindows()
        if let history {
            restore(history, hasCrashed: hasCrashed, done, lost)
        } else {
            for index in plan.tasks.indices { create(TaskIndex(raw: UInt32(index))) }
            skipAll()
        }
        if bytes.isSpent { endOfBytes() }
    }

    mutating func create(_ task: TaskIndex) {
        if run.plan[policyOf: task].isSuspended { run.tasks[task].suspension = .byFile }
        if needs.hasOpenNeeds(task) {
            block(task)
        } else if let skip = needs.allNeedsEnded(of: task, when: run.plan[policyOf: task].when) {
            block(task, isReported: false)
            needs.skip(skip)
        } else {
            makeReady(task)
        }
    }

    mutating func block(_ task: TaskIndex, isReported: Bool = true) {
        run.tasks.enter(.blocked, Int(task.raw), at: run.now.instant)
        if isReported { run.actions.append(.waiting(task, .dependency)) }
    }

    /// The job, with the tasks that templates added to it.
    package var plan: SchedulingPlan { _read { yield run.plan } }
    /// How many tasks have finished, however they did.
    package var finishedCount: Int { run.tasks.finishedCount }

    /// Whether `turn` would return actions although nothing happened since.
    package var hasToTell: Bool { !run.actions.isEmpty }

    /// Whether all tasks have finished.
    package var isFinished: Bool { finishedCount == run.tasks.count }
    /// Whether all tasks have finished or run. `false`, too, while an attempt that has transferred all of its body has
    /// yet to end.
    package var nearsEnd: Bool { finishedCount + attempts.slots.runningCount == run.tasks.count }

    /// When `turn` has to be called again although nothing happened, if the clocks go on as they do.
    package func nextDeadline(now: Now) -> Instant? {
        let due = run.timers.nextDue(after: now)
        guard let tick = attempts.nextShareAt else { return due }
        return min(due ?? tick, tick)
    }

    /// Whether something depends on the date: a clock that is set must be noticed.
    package var waitsForDate: Bool { run.timers.waitForDate }

    /// Peak connections and number of tasks of each origin that a session met. Streams that share a connection
    /// count as one.
    package func hosts(of session: SessionIndex) -> [(origin: OriginID, peak: Int, tasks: Int)] {
        attempts.slots.sessions[Int(session.raw)].lanes.compactMap { number in
            let lane = attempts.slots.lanes[number]
            return lane.origin.map { ($0, lane.peak, lane.tasks) }
        }
    }

    // MARK: What happened

    /// Limits over all sessions, told before the origin is first used.
    package mutating func limit(_ origin: OriginID, to limits: OriginLimits) {
        attempts.slots.limit(origin, to: limits)
    }

    /// Receives the report of an executor. What follows is returned by the next `turn`.
    package mutating func receive(_ report: ExecutorReport, now: Now) {
        run.clock.set(now)
        switch report {
        case .moved(let task, let count):
            attempts.moved(task, count, &run)
            if bytes.spend(count) { endOfBytes() }
        case .needsGrant(let task, let origin, let isAlone):
            bytes.requestEnded(task)
            attempts.askForSlot(task, origin, isAlone: isAlone, &run)
        case .awaitsRecord(let task): run.tasks[task].beginRecordWait(at: run.now.instant)
        case .isRecorded(let task): run.tasks[task].endRecordWait(at: run.now.instant)
        case .sentBody(let task): bytes.sentBody(task)
        case .turnedPage(let task): pageEnded(task)
        case .released(let task, _): attempts.giveBackSlot(task, &run)
        case .couldUse(let task, let origin, let slots): attempts.couldUse(task, origin, slots: slots, run)
        case .gaveBack(let task, _, let wasAnswered):
            attempts.giveBackLent(task, wasAnswered: wasAnswered, &run)
        case .turnedAway(let task, let origin, let status, let retryAfter):
            attempts.turnedAway(task, origin, status: status, retryAfter, &run)
        case .unused(let task, let origin): attempts.giveBackUnused(task, origin, &run)
        case .transferred(let task):
            attempts.answerEnded(task, run)
            attempts.stopCounting(task, &run)
        case .awaitsOutput(let task): awaitsOutput(task)
        case .protocolIs(let origin, let version): attempts.slots.learn(origin, version)
        case .answered(let task, let answer): attempts.answered(task, answer, &run)
        case .heard(let task): attempts.signOfLifeReceived(task, &run)
        case .ended(let task, let verdict): attemptEnded(task, verdict)
        case .published(let group, let error): published(group, error)
        }
    }

    /// Takes in a command. Returns the tasks on which it had an effect.
    @discardableResult
    package mutating func command(_ command: RunCommand, now: Now) -> [TaskIndex] {
        run.clock.set(now)
        switch command {
        case .stop:
            stopAll(.stoppedBySignal)
            return []
        case .suspend(let chosen): return chosen.filter { suspend($0) }
        case .resume(let chosen): return chosen.filter { resume($0) }
        case .conditions(let news):
            conditionsChanged(to: news)
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
            if !keepPartial { run.actions += chosen.map { .perform(.discardPartial($0)) } }
            return chosen.filter { task in
                // A file that came whole is only put in place: most likely it succeeds all the same.
                let isTransferred = run.tasks[task].phase == .running && !run.tasks[task].isCounted
                return end(task, .finish(.cancelled, TransferError.cancelledByCommand, nil), keepPartial: keepPartial)
                    && !isTransferred
            }
        }
    }

    /// Returns what to do now. Starts as many tasks as the limits allow.
    package mutating func turn(now: Now) -> [SchedulerAction] {
        beginTurn(now)
        fireTimers()
        interruptForHandover()
        attempts.giveOutSlots(&run)
        startReadyTasks()
        attempts.settleLoans(runEnding, &run)
        deferTheSuspended()
        attempts.shareBandwidth(&run)
        attempts.reportWaits(&run)
        removeVoidTimers()
        defer { run.actions = [] }
        return run.actions
    }
}
