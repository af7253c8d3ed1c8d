import TransferModel

/// Decides where and when attempts of tasks run: the lane and the place among its `urls` where a task queues, the slots
/// that its attempt holds and borrows, and what a failed attempt means for the task, its host and other tasks there.
///
/// Ends no task itself: where a task is to end, the result says so and the scheduler ends it.
struct AttemptScheduler: Sendable {
    var slots: SlotTable
    var loans = SlotLoans()
    /// How far the tasks with several `urls` have come that have not finished.
    var mirrors: [TaskIndex: MirrorRound]
    /// Keeps since when each failing task fails.
    var retries = RetryClocks()
    var conditions: CurrentConditions
    private var bandwidth: BandwidthShare?
    var random: RandomBits

    init(_ plan: SchedulingPlan, now: Instant) {
        slots = SlotTable(plan)
        mirrors = plan.mirrors.mapValues { MirrorRound($0) }
        conditions = CurrentConditions(plan.conditions, localOrigins: plan.localOrigins)
        bandwidth = BandwidthShare(plan, now: now)
        random = RandomBits(seed: plan.seed)
    }

    // MARK: Lanes

    /// Puts a task that nothing but a limit holds back into its lane.
    mutating func enqueue(_ task: TaskIndex, _ run: inout RunState) {
        let index = Int(task.raw)
        let lane = laneNumber(run.plan.tasks[index].session, chooseOrigin(task, run), &run)
        // Its host counts it when it comes there first; one with several places is counted where it begins.
        if run.tasks[index].lane < 0, !isMirrored(task) { slots.countTask(in: lane) }
        let keepsPlace = run.isQueued(task, in: lane)
        run.tasks.enter(.queued, index, at: run.now.instant)
        slots.beginQueueWait(of: &run.tasks[index], in: lane, at: run.now.instant)
        slots.enqueue(task, priority: run.plan[policyOf: task].priority, in: lane, keepsPlace: keepsPlace)
    }

    /// Returns the number of the session's lane to the origin.
    private mutating func laneNumber(_ session: SessionIndex, _ origin: OriginID?, _ run: inout RunState) -> Int {
        slots.lane(of: session, to: origin, at: run.now.instant, &run.timers)
    }

    /// Adds the time in its queue to the waits of a task that leaves it. The waits of other phases are added when the
    /// next one is entered.
    func leavePhase(_ task: TaskIndex, _ run: inout RunState) {
        guard run.tasks[task].phase == .queued else { return }
        slots.endQueueWait(of: &run.tasks[task], at: run.now.instant)
    }

    /// The origin where the task's attempt is or was; `nil` for what needs no connection.
    func origin(of task: TaskIndex, _ run: borrowing RunState) -> OriginID? {
        slots.lanes[Int(run.tasks[task].lane)].origin
    }

    // MARK: Starting

    /// Begins an attempt of the task at the head of the lane.
    mutating func start(_ task: TaskIndex, _ lane: Int, _ run: inout RunState) {
        let index = Int(task.raw)
        let now = run.now.instant
        leavePhase(task, &run)
        run.tasks.enter(.running, index, at: now)
        run.tasks[index].attemptBeganAt = now
        retries.attemptBegan(task, at: now)
        run.tasks[index].waitInAttempt = .zero
        run.tasks[index].attempt += 1
        if isFreshRound(task) { run.tasks[index].tries += 1 }
        let mirror = beginAtMirror(task, lane)
        run.tasks[index].isCounted = true
        if let origin = slots.lanes[lane].origin, !isMirrored(task) {
            run.tasks[index].chargedProbes += slots[origin].health.charges(since: run.tasks[index].failedProbes)
        }
        slots.taskBegan(in: lane, at: now)
        if !run.tasks[index].resourceClock.hasBegun { run.beginResourceClock(task) }
        run.tasks[index].hasNoRoute = false
        run.tasks[index].conditionsMet = conditions.number
        if run.plan[policyOf: task].isDiscretionary { conditions.began(discretionary: task) }
        let session = slots.session(of: lane)
        let ownRule = run.plan[policyOf: task].bandwidth
        if ownRule != nil || bandwidth?.limits(session) == true {
            bandwidth?.add(task, session: session, rule: ownRule, now)
        }
        run.actions.append(.perform(.start(task, attempt: Int(run.tasks[index].attempt), mirror: mirror)))
        takeSlot(task, lane, isAlone: false, &run)
    }

    /// The task counts against no limit on running tasks any more, and gets no bandwidth.
    mutating func stopCounting(_ task: TaskIndex, _ run: inout RunState) {
        guard run.tasks[task].isCounted else { return }
        run.tasks[task].isCounted = false
        bandwidth?.remove(task)
        slots.taskEnded(of: run.plan.tasks[Int(task.raw)].session, at: run.now.instant)
    }

    // MARK: Slots

    /// A running attempt goes on at another origin, or on a connection of its own, and waits for a slot there.
    mutating func askForSlot(_ task: TaskIndex, _ origin: OriginID, isAlone: Bool, _ run: inout RunState) {
        let index = Int(task.raw)
        guard run.tasks[index].phase == .running, run.tasks[index].slot == .none else { return }
        endProbe(task, run)
        let lane = laneNumber(run.plan.tasks[index].session, origin, &run)
        run.tasks[index].slot = .awaited
        slots.beginWait(of: &run.tasks[index], in: lane, at: run.now.instant)
        slots.request(SlotRequest(task: task, isAlone: isAlone, since: run.now.instant), in: lane)
    }

    private mutating func takeSlot(_ task: TaskIndex, _ lane: Int, isAlone: Bool, _ run: inout RunState) {
        let index = Int(task.raw)
        run.tasks[index].slot = .held(isAlone: isAlone)
        if slots.lanes[lane].origin != nil {
            (run.tasks[index].awaitsAnswer, run.tasks[index].wasHeard) = (true, false)
        }
        slots.takeSlot(of: lane, isAlone: isAlone, by: task, at: run.now.instant, &run.timers)
    }

    /// The request that the task was to send under its slot was not sent.
    mutating func giveBackUnused(_ task: TaskIndex, _ origin: OriginID, _ run: inout RunState) {
        let index = Int(task.raw)
        if run.tasks[index].holdsSlot, run.tasks[index].awaitsAnswer {
            slots.refund(task, in: Int(run.tasks[index].lane))
        }
        giveBackSlot(task, &run)
        slots.endProbe(origin, of: task)
    }

    mutating func giveBackSlot(_ task: TaskIndex, _ run: inout RunState) {
        let index = Int(task.raw)
        guard case .held(let isAlone) = run.tasks[index].slot else { return }
        if !loans.isEmpty { endLoan(task, &run) }
        run.tasks[index].slot = .none
        slots.giveBack(
            Int(run.tasks[index].lane), isAlone: isAlone, wasAnswered: !run.tasks[index].awaitsAnswer,
            at: run.now.instant)
        run.tasks[index].awaitsAnswer = false
    }

    /// The attempt is over: it waits for no slot any more.
    mutating func withdrawRequest(of task: TaskIndex, _ run: inout RunState) {
        guard run.tasks[task].slot == .awaited else { return }
        slots.withdrawRequest(of: task, in: Int(run.tasks[task].lane))
        slots.endSlotWait(of: &run.tasks[task], at: run.now.instant)
    }

    /// Gives free slots to running attempts that wait for one, and offers what is left to tasks not begun.
    mutating func giveOutSlots(_ run: inout RunState) {
        slots.refreshChangedLanes(at: run.now.instant, &run.timers)
        while let (request, lane) = slots.nextRequest() {
            guard let origin = slots.lanes[lane].origin else { continue }
            slots.endSlotWait(of: &run.tasks[request.task], at: run.now.instant)
            run.actions.append(.perform(.grant(request.task, origin)))
            takeSlot(request.task, lane, isAlone: request.isAlone, &run)
        }
    }

    // MARK: Bandwidth

    /// Bytes of a body of the task moved.
    mutating func moved(_ task: TaskIndex, _ bytes: Int64, _ run: inout RunState) {
        bandwidth?.moved(task, bytes)
        bytesMoved(task, run)
        measure(task, .moved(bytes), &run)
    }

    /// When bandwidth is to be shared out again; `nil` while none is.
    var nextShareAt: Instant? { bandwidth?.nextTick }

    /// Gives running tasks the bytes that the limits on bandwidth let them move.
    mutating func shareBandwidth(_ run: inout RunState) {
        guard let shares = bandwidth?.tick(run.now) else { return }
        for share in shares { run.actions.append(.perform(.credit(share.task, bytes: share.bytes))) }
    }

    // MARK: Waits that are reported

    /// Reports what tasks wait for that were queued in this turn and did not begin, and those whose host was parked
    /// meanwhile, or is open again. Other limits come and go with every slot: those are not reported each time.
    mutating func reportWaits(_ run: inout RunState) {
        guard slots.haveNewWaits else { return }
        // One with several places may have been queued for two of them.
        var reported: Set<TaskIndex> = []
        let haveTurned = slots.haveLanesTurned
        for lane in slots.takeTurnedLanes() {
            let reason = slots.limit(of: lane)
            for task in slots.lanes[lane].queued(where: { run.isQueued($0, in: lane) })
            where reported.insert(task).inserted {
                run.actions.append(.waiting(task, reason))
            }
        }
        for task in slots.takeNewlyQueued() where run.tasks[task].phase == .queued {
            if haveTurned || isMirrored(task), !reported.insert(task).inserted { continue }
            run.actions.append(.waiting(task, slots.limit(of: Int(run.tasks[task].lane))))
        }
    }
}
