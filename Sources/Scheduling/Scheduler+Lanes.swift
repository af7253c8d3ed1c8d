import TransferModel

// Lanes, slots and the order in which tasks start.

extension Scheduler {
    /// Puts a task that nothing but a limit holds back into its lane.
    mutating func enqueue(_ task: TaskIndex) {
        let index = Int(task.raw)
        let session = plan.tasks[index].session
        let lane = laneNumber(session, chooseOrigin(task))
        // Its host counts it when it comes there first; one with several places is counted where it begins.
        if tasks[index].lane < 0, !isMirrored(task) { lanes[lane].tasks += 1 }
        tasks.enter(.queued, index, at: now.instant)
        tasks[index].lane = Int32(lane)
        beginWait(index, lane)
        tasks[index].sessionFullClock = sessions[Int(session.raw)].fullClock.reading(at: now.instant)
        if let origin = lanes[lane].origin { tasks[index].failedProbes = origins[Int(origin.raw)].failedProbes }
        // A window may stay closed for hours.
        if plan.tellsLimitWaits || sessions[Int(session.raw)].isClosed { newlyQueued.append(task) }
        if lanes[lane].enqueue(task, priority: plan.policies[policyNumber(of: task)].priority) { offer(lane) }
    }

    private mutating func beginWait(_ index: Int, _ lane: Int) {
        tasks[index].since = now.instant
        tasks[index].laneClock = lanes[lane].reading(at: now.instant)
    }

    mutating func laneNumber(_ session: SessionIndex, _ origin: OriginID?) -> Int {
        if let known = sessions[Int(session.raw)].laneNumber(of: origin) { return known }
        let facts = plan.sessions[Int(session.raw)]
        var lane = TaskLane(
            session: session, place: sessions[Int(session.raw)].lanes.count, origin: origin,
            maximumConnections: origin == nil ? .max : facts.maximumConnectionsPerHost)
        if let origin {
            know(origin)
            origins[Int(origin.raw)].lanes.append(lanes.count)
            (lane.capacity, lane.isShared) = capacity(session, origins[Int(origin.raw)].version)
            lane.rate = facts.requestsPerSecond.map { RateGate($0) }
        }
        lanes.append(lane)
        sessions[Int(session.raw)].add(lane: lanes.count - 1, of: origin)
        refresh(lanes.count - 1)
        return lanes.count - 1
    }

    func capacity(_ session: SessionIndex, _ version: HTTPProtocol?) -> (Int, isShared: Bool) {
        let connections = plan.sessions[Int(session.raw)].maximumConnectionsPerHost
        guard version == .http2 else { return (connections, false) }
        return (max(plan.sessions[Int(session.raw)].streamsPerConnection, connections), true)
    }

    // MARK: Open or closed

    /// Judges anew whether anything may begin in the lane, and puts it at its place in the order.
    mutating func refresh(_ lane: Int) {
        lanes[lane].set(judge(lane), at: now.instant)
        if plan.tellsLimitWaits, isParked(lane) != lanes[lane].isToldParked { turnedLanes.append(lane) }
        offer(lane)
    }

    private mutating func judge(_ lane: Int) -> WaitLedger.Closure? {
        if sessions[Int(lanes[lane].session.raw)].isClosed { return .window }
        if let origin = lanes[lane].origin.map({ Int($0.raw) }) {
            if origins[origin].isQuiet { return .hostParked }
            if isGated(lane, origin) { return .requestRate }
            if hasNoConnection(lane, origin) { return .hostLimit }
        }
        return lanes[lane].isFull(forAlone: wantsAlone(lane)) ? .hostLimit : nil
    }

    /// The next slot is for one that wants a connection of its own. Nobody goes before it: it would never get one.
    func wantsAlone(_ lane: Int) -> Bool {
        lanes[lane].grantsAwaited.first.map { tasks[Int($0.raw)].isAlone } ?? false
    }

    private func hasNoConnection(_ lane: Int, _ origin: Int) -> Bool {
        guard let most = origins[origin].maximumConnections, origins[origin].connections >= most else { return false }
        let canShare = lanes[lane].isShared && lanes[lane].inUse > lanes[lane].alone
        return !canShare || wantsAlone(lane)
    }

    /// Whether a rate or the server's quota holds back the next request; sees to it that its moment is not missed.
    private mutating func isGated(_ lane: Int, _ origin: Int) -> Bool {
        origins[origin].renewQuota(now.instant)
        var isGated = false
        let hostOpens = origins[origin].gateOpensAt
        if hostOpens > now.instant {
            isGated = true
            if origins[origin].gateTimer != hostOpens {
                origins[origin].gateTimer = hostOpens
                timers.add(Timer(due: hostOpens, kind: .originGate, index: UInt32(origin)))
            }
        }
        if let opens = lanes[lane].rate?.opensAt, opens > now.instant {
            isGated = true
            if lanes[lane].gateTimer != opens {
                lanes[lane].gateTimer = opens
                timers.add(Timer(due: opens, kind: .laneGate, index: UInt32(lane)))
            }
        }
        return isGated
    }

    /// Puts the lane at its place in the order, or takes it out when it has nothing to start or no slot for it.
    private mutating func offer(_ lane: Int) {
        let session = Int(lanes[lane].session.raw)
        if lanes[lane].closure == nil, let head = lanes[lane].head {
            sessions[session].ready.put(
                Candidate(
                    place: lanes[lane].place, priority: head.priority, inUse: lanes[lane].inUse, task: head.task))
        } else {
            sessions[session].ready.remove(place: lanes[lane].place)
        }
        rank(session)
    }

    /// The same for a session among the others.
    mutating func rank(_ session: Int) {
        if !sessions[session].isFull, let first = sessions[session].ready.first {
            readySessions.put(
                Candidate(
                    place: session, priority: first.priority, inUse: sessions[session].running, task: first.task))
        } else {
            readySessions.remove(place: session)
        }
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
        while runEnding.stop == nil, !runEnding.isPaused, running < plan.maximumConcurrentTasks,
            let session = readySessions.first?.place, let next = sessions[session].ready.first
        {
            let lane = sessions[session].lanes[next.place]
            lanes[lane].removeHead()
            // One that was ended or suspended while it waited stays in its queue until it comes to the front.
            if isQueued(next.task, in: lane), !runEnding.isLeftToSuccessor(next.task), !goesElsewhere(next.task),
                !isHeldBack(next.task, in: lane)
            {
                start(next.task, lane)
            } else {
                refresh(lane)
            }
        }
    }

    func isQueued(_ task: TaskIndex, in lane: Int) -> Bool {
        tasks[Int(task.raw)].phase == .queued && Int(tasks[Int(task.raw)].lane) == lane
    }

    private mutating func start(_ task: TaskIndex, _ lane: Int) {
        let index = Int(task.raw)
        leavePhase(index)
        tasks.enter(.running, index, at: now.instant)
        tasks[index].attemptBeganAt = now.instant
        tasks[index].held = .zero
        tasks[index].attempt += 1
        if isFreshRound(task) { tasks[index].tries += 1 }
        let mirror = beginAtMirror(task, lane)
        tasks[index].isCounted = true
        // One that was ended while it waited for a connection of its own begins anew like any other.
        tasks[index].isAlone = false
        if let origin = lanes[lane].origin, !isMirrored(task) {
            tasks[index].chargedProbes += charges(on: task, at: origin)
        }
        running += 1
        let session = Int(lanes[lane].session.raw)
        sessions[session].began(at: now.instant)
        if !tasks[index].resourceClock.hasBegun { beginResourceClock(task) }
        tasks[index].hasNoRoute = false
        tasks[index].conditionsMet = conditions.number
        if plan.policies[policyNumber(of: task)].isDiscretionary { conditions.began(task) }
        let ownRule = plan.policies[policyNumber(of: task)].bandwidth
        if ownRule != nil || bandwidth?.limits(session) == true {
            bandwidth?.add(task, session: session, rule: ownRule, now.instant)
        }
        actions.append(.perform(.start(task, attempt: Int(tasks[index].attempt), mirror: mirror)))
        takeSlot(task, lane)
    }

    /// Time in a lane belongs to what closed that, else to the session while that runs all it may, else to the run.
    mutating func accountQueueTime(_ index: Int) {
        var rest = accountLaneTime(index)
        guard rest > .zero else { return }
        let session = Int(lanes[Int(tasks[index].lane)].session.raw)
        let clock = sessions[session].fullClock.reading(at: now.instant)
        let sessionFull = min(rest, clock - tasks[index].sessionFullClock)
        tasks[index].addWait(.sessionLimit, sessionFull)
        rest = rest - sessionFull
        tasks[index].addWait(.runLimit, rest)
    }

    /// What of the time since `since` was not the lane's.
    private mutating func accountLaneTime(_ index: Int) -> TimeSpan {
        var rest = now.instant - tasks[index].since
        guard rest > .zero else { return .zero }
        let spent = lanes[Int(tasks[index].lane)].reading(at: now.instant) &- tasks[index].laneClock
        for number in spent.indices where spent[number] > 0 {
            guard let closure = WaitLedger.Closure(rawValue: number) else { continue }
            tasks[index].addWait(closure.reason, TimeSpan(nanoseconds: spent[number]))
            rest = rest - TimeSpan(nanoseconds: spent[number])
        }
        return rest
    }

    mutating func stopCounting(_ task: TaskIndex) {
        guard tasks[Int(task.raw)].isCounted else { return }
        tasks[Int(task.raw)].isCounted = false
        running -= 1
        bandwidth?.remove(task)
        let session = Int(plan.tasks[Int(task.raw)].session.raw)
        sessions[session].ended(at: now.instant)
        rank(session)
    }

    // MARK: Slots

    mutating func askForSlot(_ task: TaskIndex, _ origin: OriginID, isAlone: Bool) {
        let index = Int(task.raw)
        guard tasks[index].phase == .running, !tasks[index].holdsSlot, !tasks[index].awaitsGrant else { return }
        if let left = lanes[Int(tasks[index].lane)].origin { endProbe(task, left) }
        let lane = laneNumber(plan.tasks[index].session, origin)
        tasks[index].lane = Int32(lane)
        tasks[index].awaitsGrant = true
        tasks[index].isAlone = isAlone
        beginWait(index, lane)
        lanes[lane].grantsAwaited.append(task)
        note(changed: lane)
    }

    /// The attempt no longer waits, with or without a slot.
    mutating func endGrantWait(_ index: Int) {
        tasks[index].awaitsGrant = false
        tasks[index].held += now.instant - tasks[index].since
        let rest = accountLaneTime(index)
        tasks[index].addWait(.hostLimit, rest)
    }

    private mutating func takeSlot(_ task: TaskIndex, _ lane: Int) {
        let index = Int(task.raw)
        tasks[index].holdsSlot = true
        guard let origin = lanes[lane].origin.map({ Int($0.raw) }) else {
            lanes[lane].take(isAlone: tasks[index].isAlone)
            return refresh(lane)
        }
        (tasks[index].awaitsAnswer, tasks[index].wasHeard) = (true, false)
        if case .probing(nil) = origins[origin].quiet { setQuiet(origin, .probing(task)) }
        spendSlot(lane, origin, isAlone: tasks[index].isAlone, by: task)
    }

    /// A request is about to go out under a slot of the lane. With `task`, it may turn out that it need not.
    mutating func spendSlot(_ lane: Int, _ origin: Int, isAlone: Bool, by task: TaskIndex? = nil) {
        let before = lanes[lane].connections
        lanes[lane].take(isAlone: isAlone)
        lanes[lane].rate?.take(at: now.instant, by: task)
        origins[origin].connections += lanes[lane].connections - before
        origins[origin].spend(now.instant, by: task)
        if origins[origin].isShared {
            for other in origins[origin].lanes { refresh(other) }
        } else {
            refresh(lane)
        }
    }

    /// The same where nothing was sent: no rate and no quota counts it.
    mutating func giveBackUnused(_ task: TaskIndex) {
        let index = Int(task.raw)
        let lane = Int(tasks[index].lane)
        if tasks[index].holdsSlot, tasks[index].awaitsAnswer, let origin = lanes[lane].origin {
            lanes[lane].rate?.giveBack(task)
            origins[Int(origin.raw)].giveBack(task)
        }
        giveBackSlot(task)
    }

    mutating func giveBackSlot(_ task: TaskIndex) {
        let index = Int(task.raw)
        guard tasks[index].holdsSlot else { return }
        if !loans.isEmpty { endLoan(task) }
        tasks[index].holdsSlot = false
        let lane = Int(tasks[index].lane)
        let before = lanes[lane].connections
        lanes[lane].give(isAlone: tasks[index].isAlone)
        tasks[index].isAlone = false
        if let origin = lanes[lane].origin.map({ Int($0.raw) }) {
            origins[origin].connections += lanes[lane].connections - before
            if tasks[index].awaitsAnswer { origins[origin].unanswered -= 1 }
        }
        tasks[index].awaitsAnswer = false
        note(changed: lane)
    }

    /// Slots are given out in `turn`, when all that happened is known: the next report may say that the host of the
    /// slot just given back wants to be left alone.
    mutating func note(changed lane: Int) {
        if let origin = lanes[lane].origin, origins[Int(origin.raw)].isShared { return noteAll(lanesOf: origin) }
        noteAlone(lane)
    }

    mutating func noteAll(lanesOf origin: OriginID) {
        for lane in origins[Int(origin.raw)].lanes { noteAlone(lane) }
    }

    private mutating func noteAlone(_ lane: Int) {
        guard !lanes[lane].hasChanged else { return }
        lanes[lane].hasChanged = true
        changedLanes.append(lane)
    }

    /// Gives free slots to running attempts that wait for one, and offers what is left to tasks not begun.
    mutating func giveOutSlots() {
        for lane in changedLanes { refresh(lane) }
        for lane in changedLanes {
            lanes[lane].hasChanged = false
            while let next = nextGrant(lane) { grant(next.task, next.lane) }
        }
        changedLanes.removeAll(keepingCapacity: true)
    }

    /// Who has waited longest for a slot of the lane, or of any that shares its limits.
    private func nextGrant(_ lane: Int) -> (task: TaskIndex, lane: Int)? {
        guard let origin = lanes[lane].origin, origins[Int(origin.raw)].isShared else {
            return lanes[lane].closure == nil ? lanes[lane].grantsAwaited.first.map { ($0, lane) } : nil
        }
        var best: (task: TaskIndex, lane: Int)?
        for other in origins[Int(origin.raw)].lanes where lanes[other].closure == nil {
            guard let first = lanes[other].grantsAwaited.first else { continue }
            if let best, tasks[Int(best.task.raw)].since <= tasks[Int(first.raw)].since { continue }
            best = (first, other)
        }
        return best
    }

    private mutating func grant(_ task: TaskIndex, _ lane: Int) {
        guard let origin = lanes[lane].origin else { return }
        lanes[lane].grantsAwaited.removeFirst()
        endGrantWait(Int(task.raw))
        actions.append(.perform(.grant(task, origin)))
        takeSlot(task, lane)
    }

    // MARK: Events

    /// What those wait for that came into a queue in this turn and did not begin, and those whose host was parked
    /// meanwhile, or is open again. Other limits come and go with every slot: nobody is told each time.
    mutating func tellWaits() {
        guard !newlyQueued.isEmpty || !turnedLanes.isEmpty else { return }
        // One with several places may have been queued for two of them.
        var told: Set<TaskIndex> = []
        let areTurned = !turnedLanes.isEmpty
        // It may have been parked and probed in one turn.
        for lane in turnedLanes where isParked(lane) != lanes[lane].isToldParked {
            lanes[lane].isToldParked = isParked(lane)
            let reason = limit(of: lane)
            for task in lanes[lane].queued(where: { isQueued($0, in: lane) }) where told.insert(task).inserted {
                actions.append(.waiting(task, reason))
            }
        }
        turnedLanes.removeAll(keepingCapacity: true)
        for task in newlyQueued where tasks[Int(task.raw)].phase == .queued {
            if areTurned || isMirrored(task), !told.insert(task).inserted { continue }
            actions.append(.waiting(task, limit(of: Int(tasks[Int(task.raw)].lane))))
        }
        newlyQueued.removeAll(keepingCapacity: true)
    }

    private func isParked(_ lane: Int) -> Bool { lanes[lane].closure == .hostParked }

    private func limit(of lane: Int) -> WaitReason {
        lanes[lane].closure?.reason ?? (sessions[Int(lanes[lane].session.raw)].isFull ? .sessionLimit : .runLimit)
    }
}
