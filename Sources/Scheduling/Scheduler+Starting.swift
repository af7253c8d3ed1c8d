import TransferModel

extension Scheduler {
    /// Puts a task that nothing but a limit holds back into its lane.
    mutating func enqueue(_ task: TaskIndex, now: Instant) {
        let facts = plan.tasks[Int(task.raw)]
        let lane = laneNumber(facts.session, facts.origin)
        tasks[Int(task.raw)].phase = .queued
        tasks[Int(task.raw)].since = now
        tasks[Int(task.raw)].fullTimeAtQueue = lanes[lane].fullTime(at: now)
        if tasks[Int(task.raw)].attempt == 0 { lanes[lane].tasks += 1 }
        let wasEmpty = lanes[lane].isEmpty
        lanes[lane].enqueue(task, priority: facts.priority)
        if wasEmpty || facts.priority != 0.5 { offer(lane) }
    }

    mutating func laneNumber(_ session: SessionIndex, _ origin: OriginID?) -> Int {
        let key = LaneKey(session: session, origin: origin)
        if let known = laneNumbers[key] { return known }
        let limit = plan.sessions[Int(session.raw)].maximumConnectionsPerHost
        lanes.append(TaskLane(session: session, origin: origin, capacity: origin == nil ? .max : limit))
        laneNumbers[key] = lanes.count - 1
        return lanes.count - 1
    }

    /// Puts the lane at its place in the order, when it has something to start and a slot for it.
    mutating func offer(_ lane: Int) {
        lanes[lane].stamp &+= 1
        guard !lanes[lane].isFull, let head = lanes[lane].head(where: { _ in true }) else { return }
        ready.push(
            ReadyLane(
                lane: lane, stamp: lanes[lane].stamp, priority: head.priority, inUse: lanes[lane].inUse,
                task: head.task))
    }

    mutating func startWhatMay(_ now: Instant) {
        guard stopping == nil else { return }
        var heldBack: [ReadyLane] = []
        while running < plan.maximumConcurrentTasks, let next = ready.pop() {
            guard next.stamp == lanes[next.lane].stamp else { continue }
            let session = Int(lanes[next.lane].session.raw)
            if let limit = plan.sessions[session].maximumConcurrentTasks, sessionRunning[session] >= limit {
                heldBack.append(next)
                continue
            }
            lanes[next.lane].removeHead()
            if tasks[Int(next.task.raw)].phase == .queued { start(next.task, next.lane, now) }
            offer(next.lane)
        }
        for lane in heldBack { ready.push(lane) }
    }

    private mutating func start(_ task: TaskIndex, _ lane: Int, _ now: Instant) {
        let index = Int(task.raw)
        accountQueueTime(index, lane, now)
        tasks[index].phase = .running
        tasks[index].since = now
        tasks[index].attempt += 1
        tasks[index].heldLane = Int32(lane)
        tasks[index].isCounted = true
        lanes[lane].take(at: now)
        running += 1
        sessionRunning[Int(plan.tasks[index].session.raw)] += 1
        if tasks[index].begunAt == nil { beginResourceClock(task, now) }
        actions.append(.perform(.start(task, attempt: Int(tasks[index].attempt), mirror: 0)))
    }

    private mutating func beginResourceClock(_ task: TaskIndex, _ now: Instant) {
        let limit = plan.tasks[Int(task.raw)].timeoutForResource
        tasks[Int(task.raw)].begunAt = now
        timers.push(Timer(due: now + limit, task: task, kind: .resource, attempt: 0))
    }

    /// Time in a lane belongs to its host while that has no free slot, else to the session, else to the run.
    private mutating func accountQueueTime(_ index: Int, _ lane: Int, _ now: Instant) {
        let total = now - tasks[index].since
        guard total > .zero else { return }
        let full = min(total, lanes[lane].fullTime(at: now) - tasks[index].fullTimeAtQueue)
        tasks[index].addWait(.hostLimit, full)
        let session = plan.sessions[Int(lanes[lane].session.raw)]
        tasks[index].addWait(session.maximumConcurrentTasks == nil ? .runLimit : .sessionLimit, total - full)
    }

    // MARK: Slots

    mutating func askForSlot(_ task: TaskIndex, _ origin: OriginID, _ now: Instant) {
        let lane = laneNumber(plan.tasks[Int(task.raw)].session, origin)
        if lanes[lane].isFull {
            lanes[lane].grantsAwaited.append(task)
            tasks[Int(task.raw)].awaitedLane = Int32(lane)
        } else {
            grant(task, lane, origin, now)
        }
    }

    private mutating func grant(_ task: TaskIndex, _ lane: Int, _ origin: OriginID, _ now: Instant) {
        lanes[lane].take(at: now)
        tasks[Int(task.raw)].heldLane = Int32(lane)
        tasks[Int(task.raw)].awaitedLane = -1
        offer(lane)
        actions.append(.perform(.grant(task, origin)))
    }

    mutating func giveBackSlot(_ task: TaskIndex, _ origin: OriginID?, _ now: Instant) {
        let held = tasks[Int(task.raw)].heldLane
        guard held >= 0 else { return }
        let lane = Int(held)
        tasks[Int(task.raw)].heldLane = -1
        lanes[lane].give(at: now)
        serveAwaited(lane, now)
        offer(lane)
    }

    private mutating func serveAwaited(_ lane: Int, _ now: Instant) {
        while !lanes[lane].isFull, let next = lanes[lane].grantsAwaited.first, let origin = lanes[lane].origin {
            lanes[lane].grantsAwaited.removeFirst()
            grant(next, lane, origin, now)
        }
    }

    mutating func stopCounting(_ task: TaskIndex) {
        guard tasks[Int(task.raw)].isCounted else { return }
        tasks[Int(task.raw)].isCounted = false
        running -= 1
        sessionRunning[Int(plan.tasks[Int(task.raw)].session.raw)] -= 1
    }

    /// On one shared HTTP/2 connection many streams may run: connections and streams are different things.
    mutating func learn(_ origin: OriginID, _ version: HTTPProtocol, _ now: Instant) {
        for lane in lanes.indices where lanes[lane].origin == origin {
            let session = plan.sessions[Int(lanes[lane].session.raw)]
            let capacity =
                version == .http2
                ? max(session.streamsPerConnection, session.maximumConnectionsPerHost)
                : session.maximumConnectionsPerHost
            guard capacity != lanes[lane].capacity else { continue }
            lanes[lane].capacity = capacity
            lanes[lane].noteCapacity(at: now)
            serveAwaited(lane, now)
            offer(lane)
        }
    }
}
