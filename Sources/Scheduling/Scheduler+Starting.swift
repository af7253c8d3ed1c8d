import TransferModel

extension Scheduler {
    /// Puts a task that nothing but a limit holds back into its lane.
    mutating func enqueue(_ task: TaskIndex, _ now: Instant) {
        let index = Int(task.raw)
        let session = plan.tasks[index].session
        let lane = laneNumber(session, plan.tasks[index].origin, now)
        tasks[index].phase = .queued
        tasks[index].lane = Int32(lane)
        tasks[index].since = now
        tasks[index].hostFullAtQueue = lanes[lane].fullClock.reading(at: now)
        tasks[index].hostParkedAtQueue = lanes[lane].parkedClock.reading(at: now)
        tasks[index].sessionFullAtQueue = sessions[Int(session.raw)].fullClock.reading(at: now)
        if tasks[index].attempt == 0 { lanes[lane].tasks += 1 }
        if lanes[lane].enqueue(task, priority: plan.tasks[index].priority) { offer(lane) }
    }

    mutating func laneNumber(_ session: SessionIndex, _ origin: OriginID?, _ now: Instant) -> Int {
        if let known = sessions[Int(session.raw)].laneNumber(of: origin) { return known }
        var lane = TaskLane(
            session: session, place: sessions[Int(session.raw)].lanes.count, origin: origin, capacity: .max)
        if let origin {
            while origins.count <= Int(origin.raw) { origins.append(OriginState()) }
            origins[Int(origin.raw)].lanes.append(lanes.count)
            (lane.capacity, lane.isShared) = capacity(session, origins[Int(origin.raw)].version)
            lane.park(until: origins[Int(origin.raw)].parkedUntil, now)
        }
        lanes.append(lane)
        sessions[Int(session.raw)].add(lane: lanes.count - 1, of: origin)
        return lanes.count - 1
    }

    /// Puts the lane at its place in the order, or takes it out when it has nothing to start or no slot for it.
    mutating func offer(_ lane: Int) {
        let session = Int(lanes[lane].session.raw)
        if !lanes[lane].isClosed, let head = lanes[lane].head {
            sessions[session].ready.put(
                ReadyLane(
                    lane: lane, place: lanes[lane].place, priority: head.priority, inUse: lanes[lane].inUse,
                    task: head.task))
        } else {
            sessions[session].ready.remove(place: lanes[lane].place)
        }
    }

    mutating func startWhatMay(_ now: Instant) {
        guard stopping == nil else { return }
        while running < plan.maximumConcurrentTasks, let next = nextLane() {
            lanes[next.lane].removeHead()
            // One that was ended while it waited stays in its queue until it comes to the front.
            if tasks[Int(next.task.raw)].phase == .queued { start(next.task, next.lane, now) }
            offer(next.lane)
        }
    }

    /// The lane that goes first, of all sessions that may run one more.
    private func nextLane() -> ReadyLane? {
        var best: ReadyLane?
        for session in sessions.indices where !sessions[session].isFull {
            guard let candidate = sessions[session].ready.first else { continue }
            if let present = best, !candidate.isBefore(present) { continue }
            best = candidate
        }
        return best
    }

    private mutating func start(_ task: TaskIndex, _ lane: Int, _ now: Instant) {
        let index = Int(task.raw)
        accountQueueTime(index, now)
        tasks[index].phase = .running
        tasks[index].since = now
        tasks[index].attempt += 1
        tasks[index].holdsSlot = true
        tasks[index].isCounted = true
        lanes[lane].take(at: now)
        running += 1
        sessions[Int(lanes[lane].session.raw)].began(at: now)
        if !tasks[index].hasBegun { beginResourceClock(task, now) }
        actions.append(.perform(.start(task, attempt: Int(tasks[index].attempt), mirror: 0)))
    }

    private mutating func beginResourceClock(_ task: TaskIndex, _ now: Instant) {
        tasks[Int(task.raw)].hasBegun = true
        let due = now + plan.tasks[Int(task.raw)].timeoutForResource
        timers.push(Timer(due: due, kind: .resource, index: task.raw, attempt: 0))
    }

    /// Time in a lane belongs to its host while that is parked or has no free slot, else to the session while that
    /// runs all it may, else to the run.
    mutating func accountQueueTime(_ index: Int, _ now: Instant) {
        var rest = now - tasks[index].since
        guard rest > .zero else { return }
        let lane = Int(tasks[index].lane)
        let session = Int(lanes[lane].session.raw)
        let parked = lanes[lane].parkedClock.reading(at: now) - tasks[index].hostParkedAtQueue
        let full = lanes[lane].fullClock.reading(at: now) - tasks[index].hostFullAtQueue
        rest = rest - parked - full
        let sessionFull = min(rest, sessions[session].fullClock.reading(at: now) - tasks[index].sessionFullAtQueue)
        tasks[index].addWait(.hostParked, parked)
        tasks[index].addWait(.hostLimit, full)
        tasks[index].addWait(.sessionLimit, sessionFull)
        tasks[index].addWait(.runLimit, rest - sessionFull)
    }

    mutating func stopCounting(_ task: TaskIndex, _ now: Instant) {
        guard tasks[Int(task.raw)].isCounted else { return }
        tasks[Int(task.raw)].isCounted = false
        running -= 1
        sessions[Int(plan.tasks[Int(task.raw)].session.raw)].ended(at: now)
    }

    // MARK: Slots

    mutating func askForSlot(_ task: TaskIndex, _ origin: OriginID, _ now: Instant) {
        let index = Int(task.raw)
        guard tasks[index].phase == .running, !tasks[index].holdsSlot else { return }
        let lane = laneNumber(plan.tasks[index].session, origin, now)
        tasks[index].lane = Int32(lane)
        tasks[index].awaitsGrant = true
        lanes[lane].grantsAwaited.append(task)
        note(changed: lane)
    }

    mutating func giveBackSlot(_ task: TaskIndex, _ now: Instant) {
        guard tasks[Int(task.raw)].holdsSlot else { return }
        tasks[Int(task.raw)].holdsSlot = false
        let lane = Int(tasks[Int(task.raw)].lane)
        lanes[lane].give(at: now)
        note(changed: lane)
    }

    /// Slots are given out in `turn`, when all that happened is known: the next report may say that the host of the
    /// slot just given back wants to be left alone.
    private mutating func note(changed lane: Int) {
        guard !lanes[lane].hasChanged else { return }
        lanes[lane].hasChanged = true
        changedLanes.append(lane)
    }

    /// Gives free slots to running attempts that wait for one, and offers what is left to tasks not begun.
    mutating func giveOutSlots(_ now: Instant) {
        for lane in changedLanes {
            lanes[lane].hasChanged = false
            while !lanes[lane].isClosed, let next = lanes[lane].grantsAwaited.first, let origin = lanes[lane].origin {
                lanes[lane].grantsAwaited.removeFirst()
                grant(next, lane, origin, now)
            }
            offer(lane)
        }
        changedLanes.removeAll(keepingCapacity: true)
    }

    private mutating func grant(_ task: TaskIndex, _ lane: Int, _ origin: OriginID, _ now: Instant) {
        lanes[lane].take(at: now)
        tasks[Int(task.raw)].holdsSlot = true
        tasks[Int(task.raw)].awaitsGrant = false
        actions.append(.perform(.grant(task, origin)))
    }

    // MARK: What is known of an origin

    /// On one shared HTTP/2 connection many streams may run: connections and streams are different things.
    mutating func learn(_ origin: OriginID, _ version: HTTPProtocol, _ now: Instant) {
        while origins.count <= Int(origin.raw) { origins.append(OriginState()) }
        guard origins[Int(origin.raw)].version != version else { return }
        let isFirst = origins[Int(origin.raw)].version == nil
        origins[Int(origin.raw)].version = version
        for lane in origins[Int(origin.raw)].lanes {
            if isFirst, version == .http2 { lanes[lane].waitedForOneConnection() }
            (lanes[lane].capacity, lanes[lane].isShared) = capacity(lanes[lane].session, version)
            lanes[lane].noteState(at: now)
            note(changed: lane)
        }
    }

    private func capacity(_ session: SessionIndex, _ version: HTTPProtocol?) -> (Int, isShared: Bool) {
        let connections = plan.sessions[Int(session.raw)].maximumConnectionsPerHost
        guard version == .http2 else { return (connections, false) }
        return (max(plan.sessions[Int(session.raw)].streamsPerConnection, connections), true)
    }

    /// Nothing is sent to the origin before `due`, whichever session it is for.
    mutating func park(_ origin: OriginID, until due: Instant, _ now: Instant) {
        guard due > now, due > origins[Int(origin.raw)].parkedUntil ?? now else { return }
        origins[Int(origin.raw)].parkedUntil = due
        timers.push(Timer(due: due, kind: .unpark, index: origin.raw, attempt: 0))
        for lane in origins[Int(origin.raw)].lanes {
            lanes[lane].park(until: due, now)
            offer(lane)
        }
    }

    mutating func unpark(_ origin: Int, _ now: Instant) {
        origins[origin].parkedUntil = nil
        for lane in origins[origin].lanes {
            lanes[lane].park(until: nil, now)
            note(changed: lane)
        }
    }
}
