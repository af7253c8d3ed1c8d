import TransferModel

// Lanes, slots and the order in which tasks start.

extension Scheduler {
    /// Puts a task that nothing but a limit holds back into its lane.
    mutating func enqueue(_ task: TaskIndex) {
        let index = Int(task.raw)
        let session = plan.tasks[index].session
        let lane = laneNumber(session, chooseOrigin(task))
        // Its host counts it when it comes there first; one with several places is counted where it begins.
        if tasks[index].lane < 0, !isMirrored(task) { slots.countTask(in: lane) }
        let keepsPlace = isQueued(task, in: lane)
        tasks.enter(.queued, index, at: now.instant)
        tasks[index].lane = Int32(lane)
        beginWait(index, lane)
        tasks[index].sessionFullClock = slots.sessions[Int(session.raw)].fullClock.reading(at: now.instant)
        if let origin = slots.lanes[lane].origin { tasks[index].failedProbes = slots[origin].health.failedProbes }
        let priority = plan.policies[policyNumber(of: task)].priority
        slots.enqueue(task, priority: priority, in: lane, keepsPlace: keepsPlace)
    }

    /// Returns the number of the session's lane to the origin.
    private mutating func laneNumber(_ session: SessionIndex, _ origin: OriginID?) -> Int {
        slots.lane(of: session, to: origin, at: now.instant, &timers)
    }

    private mutating func beginWait(_ index: Int, _ lane: Int) {
        tasks[index].since = now.instant
        tasks[index].laneClock = slots.lanes[lane].reading(at: now.instant)
    }

    // MARK: Starting

    mutating func startWhatMay() {
        repeat {
            putOffWhatWaits()
            startInOrder()
        } while passOverQuietHosts() || !postponed.isEmpty
    }

    private mutating func startInOrder() {
        // A task that cannot start may fail, and end the run.
        while mayStart, runEnding.pauses.isEmpty, let (task, lane) = slots.next {
            slots.removeHead(lane)
            // One that was ended or suspended while it waited stays in its queue until it comes to the front.
            if isQueued(task, in: lane), !runEnding.isLeftToSuccessor(task), !goesElsewhere(task),
                !isHeldBack(task, in: lane)
            {
                start(task, lane)
            } else {
                slots.refresh(lane, at: now.instant, &timers)
            }
        }
    }

    func isQueued(_ task: TaskIndex, in lane: Int) -> Bool {
        tasks[task].phase == .queued && Int(tasks[task].lane) == lane
    }

    private mutating func start(_ task: TaskIndex, _ lane: Int) {
        let index = Int(task.raw)
        leavePhase(index)
        tasks.enter(.running, index, at: now.instant)
        tasks[index].attemptBeganAt = now.instant
        retries.attemptBegan(task, at: now.instant)
        tasks[index].waitInAttempt = .zero
        tasks[index].attempt += 1
        if isFreshRound(task) { tasks[index].tries += 1 }
        let mirror = beginAtMirror(task, lane)
        tasks[index].isCounted = true
        if let origin = slots.lanes[lane].origin, !isMirrored(task) {
            tasks[index].chargedProbes += charges(on: task, at: origin)
        }
        slots.taskBegan(in: lane, at: now.instant)
        let session = Int(slots.lanes[lane].session.raw)
        if !tasks[index].resourceClock.hasBegun { beginResourceClock(task) }
        tasks[index].hasNoRoute = false
        tasks[index].conditionsMet = conditions.number
        if plan.policies[policyNumber(of: task)].isDiscretionary { conditions.began(discretionary: task) }
        let ownRule = plan.policies[policyNumber(of: task)].bandwidth
        if ownRule != nil || bandwidth?.limits(session) == true {
            bandwidth?.add(task, session: session, rule: ownRule, clock.now.instant)
        }
        actions.append(.perform(.start(task, attempt: Int(tasks[index].attempt), mirror: mirror)))
        takeSlot(task, lane, isAlone: false)
    }

    /// Adds the time in a lane to the task's waits: for what closed the lane, else for the session's limit while that
    /// was reached, else for the run's.
    mutating func accountQueueTime(_ index: Int) {
        var rest = accountLaneTime(index)
        guard rest > .zero else { return }
        let clock = slots.sessions[slots.session(of: Int(tasks[index].lane))].fullClock.reading(at: now.instant)
        let sessionFull = min(rest, clock - tasks[index].sessionFullClock)
        tasks[index].addWait(.sessionLimit, sessionFull)
        rest = rest - sessionFull
        tasks[index].addWait(.runLimit, rest)
    }

    /// Adds the time in which the lane was closed to the task's waits. Returns the rest of the time since `since`.
    private mutating func accountLaneTime(_ index: Int) -> TimeSpan {
        var rest = now.instant - tasks[index].since
        guard rest > .zero else { return .zero }
        let spent = slots.lanes[Int(tasks[index].lane)].reading(at: now.instant) &- tasks[index].laneClock
        for number in spent.indices where spent[number] > 0 {
            guard let closure = WaitLedger.Closure(rawValue: number) else { continue }
            tasks[index].addWait(closure.reason, TimeSpan(nanoseconds: spent[number]))
            rest = rest - TimeSpan(nanoseconds: spent[number])
        }
        return rest
    }

    mutating func stopCounting(_ task: TaskIndex) {
        guard tasks[task].isCounted else { return }
        tasks[task].isCounted = false
        bandwidth?.remove(task)
        slots.taskEnded(of: plan.tasks[Int(task.raw)].session, at: now.instant)
    }

    // MARK: Slots

    mutating func askForSlot(_ task: TaskIndex, _ origin: OriginID, isAlone: Bool) {
        let index = Int(task.raw)
        guard tasks[index].phase == .running, tasks[index].slot == .none else { return }
        tellsNothing(task)
        let lane = laneNumber(plan.tasks[index].session, origin)
        tasks[index].lane = Int32(lane)
        tasks[index].slot = .awaited
        beginWait(index, lane)
        slots.request(SlotRequest(task: task, isAlone: isAlone, since: now.instant), in: lane)
    }

    /// The attempt does not wait for a slot any more, whether or not it got one.
    mutating func endGrantWait(_ index: Int) {
        tasks[index].slot = .none
        tasks[index].waitInAttempt += now.instant - tasks[index].since
        let rest = accountLaneTime(index)
        tasks[index].addWait(.hostLimit, rest)
    }

    private mutating func takeSlot(_ task: TaskIndex, _ lane: Int, isAlone: Bool) {
        let index = Int(task.raw)
        tasks[index].slot = .held(isAlone: isAlone)
        if slots.lanes[lane].origin != nil { (tasks[index].awaitsAnswer, tasks[index].wasHeard) = (true, false) }
        slots.take(lane, isAlone: isAlone, by: task, at: now.instant, &timers)
    }

    /// The request that the task was to send under its slot was not sent.
    mutating func giveBackUnused(_ task: TaskIndex) {
        let index = Int(task.raw)
        if tasks[index].holdsSlot, tasks[index].awaitsAnswer { slots.refund(task, in: Int(tasks[index].lane)) }
        giveBackSlot(task)
    }

    mutating func giveBackSlot(_ task: TaskIndex) {
        let index = Int(task.raw)
        guard case .held(let isAlone) = tasks[index].slot else { return }
        if !loans.isEmpty { endLoan(task) }
        tasks[index].slot = .none
        slots.giveBack(
            Int(tasks[index].lane), isAlone: isAlone, wasAnswered: !tasks[index].awaitsAnswer, at: now.instant)
        tasks[index].awaitsAnswer = false
    }

    /// Gives free slots to running attempts that wait for one, and offers what is left to tasks not begun.
    mutating func giveOutSlots() {
        slots.refreshChangedLanes(at: now.instant, &timers)
        while let (request, lane) = slots.nextRequest() {
            guard let origin = slots.lanes[lane].origin else { continue }
            endGrantWait(Int(request.task.raw))
            actions.append(.perform(.grant(request.task, origin)))
            takeSlot(request.task, lane, isAlone: request.isAlone)
        }
    }

    // MARK: Events

    /// Tells what tasks wait for that were queued in this turn and did not begin, and those whose host was parked
    /// meanwhile, or is open again. Other limits come and go with every slot: that is not told each time.
    mutating func tellWaits() {
        guard slots.haveNewWaits else { return }
        // One with several places may have been queued for two of them.
        var told: Set<TaskIndex> = []
        let haveTurned = slots.haveLanesTurned
        for lane in slots.takeTurnedLanes() {
            let reason = slots.limit(of: lane)
            for task in slots.lanes[lane].queued(where: { isQueued($0, in: lane) }) where told.insert(task).inserted {
                actions.append(.waiting(task, reason))
            }
        }
        for task in slots.takeNewlyQueued() where tasks[task].phase == .queued {
            if haveTurned || isMirrored(task), !told.insert(task).inserted { continue }
            actions.append(.waiting(task, slots.limit(of: Int(tasks[task].lane))))
        }
    }
}
