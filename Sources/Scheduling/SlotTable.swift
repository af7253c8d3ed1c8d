import TransferModel

/// Owns the lanes of a run, their sessions and hosts, and decides which task starts next and which attempt gets a free
/// slot.
///
/// A lane is closed while a window, a parked host, a rate or a limit lets nothing begin there. What a closed lane waits
/// for in time is added to the timers that are passed in. It knows no phases: a task that was ended or suspended while
/// it waited stays in its queue until it comes to the front, and the scheduler passes over it.
struct SlotTable: Sendable {
    private(set) var lanes: [TaskLane] = []
    private(set) var sessions: [SessionSlots]
    /// The hosts, by an origin's number.
    private(set) var hosts: [OriginState] = []
    /// Running tasks that count against the limits.
    private(set) var runningCount = 0
    private let maximumRunning: Int
    /// `limits.hosts`, by an origin's number.
    private var hostLimits: [OriginLimits?] = []
    /// Sessions with a task to start and a place for it.
    private var readySessions = CandidateHeap()
    /// Lanes whose slots are to be given out anew, and the first of them whose requests have not all got one.
    private var changedLanes: [Int] = []
    private var firstChanged = 0
    /// A host began or ended to be quiet since `takeQuietChange`.
    private var quietHasChanged = false
    /// Waits for limits are reported, not only those for windows.
    private let reportsLimits: Bool
    /// Tasks that were queued since `takeNewlyQueued`. What they wait for is reported if they do not start by then.
    private var newlyQueued: [TaskIndex] = []
    /// Lanes whose host was parked or opened since `takeTurnedLanes`; only with `reportsLimits`.
    private var turnedLanes: [Int] = []

    init(_ plan: SchedulingPlan) {
        sessions = plan.sessions.map { SessionSlots($0) }
        maximumRunning = plan.maximumConcurrentTasks
        reportsLimits = plan.tellsLimitWaits
    }

    subscript(origin: OriginID) -> OriginState { _read { yield hosts[Int(origin.raw)] } }

    /// Number of the lane's session.
    func session(of lane: Int) -> Int { Int(lanes[lane].session.raw) }

    /// How many more tasks of the lane's session may run.
    func room(of lane: Int) -> Int { min(maximumRunning - runningCount, sessions[session(of: lane)].room) }

    /// Returns what a task waits for that has come to the lane and was not started.
    func limit(of lane: Int) -> WaitReason { reachedLimit(in: lane) ?? .runLimit }

    /// The limit that keeps tasks of the lane from starting now; `nil` where none does.
    func reachedLimit(in lane: Int) -> WaitReason? {
        if let closure = lanes[lane].closure { return closure.reason }
        if sessions[session(of: lane)].isFull { return .sessionLimit }
        return runningCount >= maximumRunning ? .runLimit : nil
    }

    // MARK: Lanes

    /// Returns the number of the session's lane to the origin; the first time it is opened.
    mutating func lane(
        of session: SessionIndex, to origin: OriginID?, at now: Instant, _ timers: inout TimerQueues
    ) -> Int {
        let number = Int(session.raw)
        if let known = sessions[number].laneNumber(of: origin) { return known }
        var lane = TaskLane(
            session: session, place: sessions[number].lanes.count, origin: origin,
            maximumConnections: origin == nil ? .max : sessions[number].maximumConnectionsPerHost)
        if let origin {
            know(origin)
            hosts[Int(origin.raw)].lanes.append(lanes.count)
            (lane.capacity, lane.isShared) = sessions[number].capacity(over: hosts[Int(origin.raw)].version)
            if !lane.isShared, let range = sessions[number].connectionRange {
                lane.controller = ConnectionController(range, at: now)
                lane.capacity = range.first
            }
            lane.rate = sessions[number].requestsPerSecond.map { RateGate($0) }
        }
        lanes.append(lane)
        sessions[number].add(lane: lanes.count - 1, of: origin)
        refresh(lanes.count - 1, at: now, &timers)
        return lanes.count - 1
    }

    mutating func countTask(in lane: Int) { lanes[lane].tasks += 1 }

    /// Adds the task to the lane's queue.
    ///
    /// - Parameter keepsPlace: Whether the task is in that queue already: its wait begins anew, but it is not added again.
    mutating func enqueue(_ task: TaskIndex, priority: Double, in lane: Int, keepsPlace: Bool) {
        // A window may stay closed for hours.
        if reportsLimits || sessions[session(of: lane)].isClosed { newlyQueued.append(task) }
        if !keepsPlace, lanes[lane].enqueue(task, priority: priority) { offer(lane) }
    }

    /// Takes the next task out of the lane's queue. `refresh` puts the lane back into the order.
    mutating func removeHead(_ lane: Int) { lanes[lane].removeHead() }

    /// The session's window opened or closed. Returns `false` where it stood like that before.
    mutating func setWindow(
        _ session: Int, isOpen: Bool, at now: Instant, _ timers: inout TimerQueues
    ) -> Bool {
        guard sessions[session].isClosed == isOpen else { return false }
        sessions[session].isClosed = !isOpen
        for lane in sessions[session].lanes {
            refresh(lane, at: now, &timers)
            markChanged(lane)
        }
        return true
    }

    // MARK: Open or closed

    /// Judges anew whether anything may begin in the lane, and puts it at its place in the order.
    mutating func refresh(_ lane: Int, at now: Instant, _ timers: inout TimerQueues) {
        lanes[lane].set(closure(lane, now, &timers), at: now)
        if reportsLimits, lanes[lane].isParked != lanes[lane].isReportedParked { turnedLanes.append(lane) }
        offer(lane)
    }

    private mutating func closure(_ lane: Int, _ now: Instant, _ timers: inout TimerQueues) -> WaitLedger.Closure? {
        if sessions[session(of: lane)].isClosed { return .window }
        if let origin = lanes[lane].origin.map({ Int($0.raw) }) {
            if hosts[origin].health.isQuiet { return .hostParked }
            if isGated(lane, origin, now, &timers) { return .requestRate }
            if hasNoConnection(lane, origin) { return .hostLimit }
        }
        return lanes[lane].isFull ? .hostLimit : nil
    }

    private func hasNoConnection(_ lane: Int, _ origin: Int) -> Bool {
        guard let most = hosts[origin].maximumConnections, hosts[origin].connections >= most else { return false }
        let canShare = lanes[lane].isShared && lanes[lane].inUse > lanes[lane].alone
        return !canShare || lanes[lane].wantsAlone
    }

    /// Whether a rate or the server's quota holds back the next request; sets a timer for the moment when it does no
    /// more.
    private mutating func isGated(_ lane: Int, _ origin: Int, _ now: Instant, _ timers: inout TimerQueues) -> Bool {
        hosts[origin].renewQuota(now)
        var isGated = false
        let hostOpens = hosts[origin].gateOpensAt
        if hostOpens > now {
            isGated = true
            if hosts[origin].gateTimer != hostOpens {
                hosts[origin].gateTimer = hostOpens
                timers.add(Timer(due: hostOpens, kind: .originGate, index: UInt32(origin)))
            }
        }
        if let opens = lanes[lane].rate?.opensAt, opens > now {
            isGated = true
            if lanes[lane].gateTimer != opens {
                lanes[lane].gateTimer = opens
                timers.add(Timer(due: opens, kind: .laneGate, index: UInt32(lane)))
            }
        }
        return isGated
    }

    /// Whether what the timer was set for has moved on.
    func isVoid(_ timer: Timer) -> Bool {
        let index = Int(timer.index)
        switch timer.kind {
        case .unpark: return !hosts[index].health.isParked(until: timer.due)
        case .originGate: return hosts[index].gateTimer != timer.due
        case .laneGate: return lanes[index].gateTimer != timer.due
        case .retry, .resource, .begin, .timeout, .finishBy: return false
        }
    }

    /// The host's rate or quota lets the next request through.
    mutating func hostGateOpened(_ origin: OriginID) {
        hosts[Int(origin.raw)].gateTimer = nil
        markChanged(lanesOf: origin)
    }

    /// The lane's rate lets the next request through.
    mutating func laneGateOpened(_ lane: Int) {
        lanes[lane].gateTimer = nil
        markChanged(lane)
    }

    /// Returns the lanes whose queued tasks are to be told that their host was parked, or is open again. A host that
    /// was parked and probed in one turn is left out.
    mutating func takeTurnedLanes() -> [Int] {
        var turned: [Int] = []
        for lane in turnedLanes where lanes[lane].isParked != lanes[lane].isReportedParked {
            lanes[lane].isReportedParked = lanes[lane].isParked
            turned.append(lane)
        }
        turnedLanes.removeAll(keepingCapacity: true)
        return turned
    }

    var haveLanesTurned: Bool { !turnedLanes.isEmpty }
    var haveNewWaits: Bool { haveLanesTurned || !newlyQueued.isEmpty }

    /// Returns the tasks that were queued since the last call, some perhaps twice.
    mutating func takeNewlyQueued() -> [TaskIndex] {
        defer { newlyQueued = [] }
        return newlyQueued
    }

    // MARK: The order of tasks

    /// The task that is to start next, and its lane; `nil` where a limit or nothing to start leaves none.
    var next: (task: TaskIndex, lane: Int)? {
        guard runningCount < maximumRunning, let session = readySessions.first?.place,
            let next = sessions[session].ready.first
        else { return nil }
        return (next.task, sessions[session].lanes[next.place])
    }

    /// Puts the lane at its place in the order, or takes it out when it has nothing to start or no slot for it.
    private mutating func offer(_ lane: Int) {
        let session = session(of: lane)
        if lanes[lane].closure == nil, let head = lanes[lane].head {
            sessions[session].ready.put(
                Candidate(
                    place: lanes[lane].place, priority: head.priority, inUse: lanes[lane].inUse, task: head.task))
        } else {
            sessions[session].ready.remove(place: lanes[lane].place)
        }
        rank(session)
    }

    /// Puts the session at its place among the others, or takes it out when it has nothing to start or may start
    /// nothing.
    private mutating func rank(_ session: Int) {
        if !sessions[session].isFull, let first = sessions[session].ready.first {
            readySessions.put(
                Candidate(
                    place: session, priority: first.priority, inUse: sessions[session].running, task: first.task))
        } else {
            readySessions.remove(place: session)
        }
    }

    /// A task of the lane begins to count against the limits on running tasks. It takes its slot next.
    mutating func taskBegan(in lane: Int, at now: Instant) {
        runningCount += 1
        sessions[session(of: lane)].began(at: now)
    }

    mutating func taskEnded(of session: SessionIndex, at now: Instant) {
        runningCount -= 1
        sessions[Int(session.raw)].ended(at: now)
        rank(Int(session.raw))
    }

    // MARK: Slots

    /// A running attempt waits for a slot of the lane.
    mutating func request(_ request: SlotRequest, in lane: Int) {
        lanes[lane].requests.append(request)
        markChanged(lane)
    }

    /// The attempt does not wait for a slot any more.
    mutating func withdrawRequest(of task: TaskIndex, in lane: Int) {
        lanes[lane].requests.removeFirst { $0.task == task }
    }

    /// A request is about to go out under a slot of the lane. Without a task it is one under a lent slot.
    mutating func takeSlot(
        of lane: Int, isAlone: Bool, by task: TaskIndex?, at now: Instant, _ timers: inout TimerQueues
    ) {
        guard let origin = lanes[lane].origin.map({ Int($0.raw) }) else {
            lanes[lane].takeSlot(isAlone: isAlone)
            return refresh(lane, at: now, &timers)
        }
        lanes[lane].controller?.took(at: now)
        if let task, hosts[origin].health.beginProbe(by: task) { quietHasChanged = true }
        let before = lanes[lane].connections
        lanes[lane].takeSlot(isAlone: isAlone)
        lanes[lane].rate?.requestPassed(at: now, by: task)
        hosts[origin].connections += lanes[lane].connections - before
        hosts[origin].spend(now, by: task)
        guard hosts[origin].isShared else { return refresh(lane, at: now, &timers) }
        for other in hosts[origin].lanes { refresh(other, at: now, &timers) }
    }

    /// The task's request under a slot of the lane was not sent: no rate and no quota counts it.
    mutating func refund(_ task: TaskIndex, in lane: Int) {
        guard let origin = lanes[lane].origin else { return }
        lanes[lane].rate?.giveBack(task)
        hosts[Int(origin.raw)].giveBack(task)
    }

    mutating func giveBack(_ lane: Int, isAlone: Bool, wasAnswered: Bool, at now: Instant) {
        lanes[lane].controller?.gave(at: now)
        let before = lanes[lane].connections
        lanes[lane].giveBackSlot(isAlone: isAlone)
        if let origin = lanes[lane].origin.map({ Int($0.raw) }) {
            hosts[origin].connections += lanes[lane].connections - before
            if !wasAnswered { hosts[origin].unanswered -= 1 }
        }
        markChanged(lane)
    }

    // MARK: Numbers that are found

    /// Lets the lane's controller measure what happened, and returns the new number of connections if there is one.
    mutating func measure(
        _ event: ConnectionController.Event, in lane: Int, at now: Instant
    ) -> ConnectionController.Step? {
        guard let step = lanes[lane].controller?.receive(event, at: now) else { return nil }
        lanes[lane].capacity = step.to
        markChanged(lane)
        return step
    }

    // Slots are given out once a turn, when all that happened is known: the next report may say that the host of the
    // slot just given back asks for quiet.

    private mutating func markChanged(_ lane: Int) {
        if let origin = lanes[lane].origin, hosts[Int(origin.raw)].isShared { return markChanged(lanesOf: origin) }
        markLaneChanged(lane)
    }

    private mutating func markChanged(lanesOf origin: OriginID) {
        for lane in hosts[Int(origin.raw)].lanes { markLaneChanged(lane) }
    }

    private mutating func markLaneChanged(_ lane: Int) {
        guard !lanes[lane].hasChanged else { return }
        lanes[lane].hasChanged = true
        changedLanes.append(lane)
    }

    /// Judges the changed lanes anew. Their free slots go to `nextRequest`, and what is left to tasks that have not
    /// begun.
    mutating func refreshChangedLanes(at now: Instant, _ timers: inout TimerQueues) {
        for lane in changedLanes { refresh(lane, at: now, &timers) }
    }

    /// Returns the next running attempt that gets a slot of a changed lane; the caller lets it take that. `nil` ends
    /// the turn.
    mutating func nextRequest() -> (request: SlotRequest, lane: Int)? {
        while firstChanged < changedLanes.count {
            let lane = changedLanes[firstChanged]
            lanes[lane].hasChanged = false
            if let next = longestWaiting(lane) {
                lanes[next.lane].requests.removeFirst()
                return next
            }
            firstChanged += 1
        }
        changedLanes.removeAll(keepingCapacity: true)
        firstChanged = 0
        return nil
    }

    /// The attempt that has waited longest for a slot of the lane, or of any that shares its limits.
    private func longestWaiting(_ lane: Int) -> (request: SlotRequest, lane: Int)? {
        guard let origin = lanes[lane].origin, hosts[Int(origin.raw)].isShared else {
            return lanes[lane].closure == nil ? lanes[lane].requests.first.map { ($0, lane) } : nil
        }
        var best: (request: SlotRequest, lane: Int)?
        for other in hosts[Int(origin.raw)].lanes where lanes[other].closure == nil {
            guard let first = lanes[other].requests.first else { continue }
            if let best, best.request.since <= first.since { continue }
            best = (first, other)
        }
        return best
    }

    // MARK: Hosts

    mutating func limit(_ origin: OriginID, to limits: OriginLimits) {
        let number = Int(origin.raw)
        while hostLimits.count <= number { hostLimits.append(nil) }
        hostLimits[number] = limits
        guard number < hosts.count else { return }
        hosts[number].apply(limits)
        markChanged(lanesOf: origin)
    }

    private mutating func know(_ origin: OriginID) {
        while hosts.count <= Int(origin.raw) {
            var state = OriginState()
            if hosts.count < hostLimits.count, let limits = hostLimits[hosts.count] { state.apply(limits) }
            hosts.append(state)
        }
    }

    /// The protocol that an answer showed: on one shared HTTP/2 connection many streams may run.
    mutating func learn(_ origin: OriginID, _ version: HTTPProtocol) {
        know(origin)
        let number = Int(origin.raw)
        guard hosts[number].version != version else { return }
        let isFirst = hosts[number].version == nil
        hosts[number].version = version
        for lane in hosts[number].lanes {
            if isFirst, version == .http2 { lanes[lane].waitedForOneConnection() }
            let before = lanes[lane].connections
            (lanes[lane].capacity, lanes[lane].isShared) = sessions[session(of: lane)].capacity(over: version)
            // Streams share one connection: there is no number to find.
            if lanes[lane].isShared { lanes[lane].controller = nil }
            if let controller = lanes[lane].controller { lanes[lane].capacity = controller.limit }
            hosts[number].connections += lanes[lane].connections - before
        }
        markChanged(lanesOf: origin)
    }

    mutating func learn(_ origin: OriginID, _ quota: RequestQuota, at now: Instant) {
        hosts[Int(origin.raw)].learn(quota, now)
        markChanged(lanesOf: origin)
    }

    /// One request to the origin does not wait for its answer any more.
    mutating func requestAnswered(_ origin: OriginID) { hosts[Int(origin.raw)].unanswered -= 1 }

    /// The host is there, whatever it said.
    mutating func hostAnswered(_ origin: OriginID) { hosts[Int(origin.raw)].health.answered() }

    /// The host did not ask for quiet.
    mutating func hostIsWell(_ origin: OriginID, at now: Instant) {
        let isOpened = hosts[Int(origin.raw)].health.wentWell(at: now)
        if isOpened { markQuietChanged(origin) }
    }

    /// The host answered the task with a failure of its own.
    mutating func hostAnsweredBadly(_ origin: OriginID, _ task: TaskIndex) {
        let hasChanged = hosts[Int(origin.raw)].health.answeredBadly(task)
        if hasChanged { markQuietChanged(origin) }
    }

    /// The host took bytes of the task's body.
    mutating func hostTookBytes(_ origin: OriginID, of task: TaskIndex) {
        let isOpened = hosts[Int(origin.raw)].health.tookBytes(of: task)
        if isOpened { markQuietChanged(origin) }
    }

    mutating func requestFailed(
        _ origin: OriginID, of task: TaskIndex, begunAt: Instant, at now: Instant, hungUp: Bool, isStream: Bool
    ) -> HostHealth.Consequence {
        let consequence = hosts[Int(origin.raw)].health.requestFailed(
            of: task, begunAt: begunAt, at: now, hungUp: hungUp, isStream: isStream)
        if consequence == .oneAtATime { markQuietChanged(origin) }
        return consequence
    }

    mutating func probeSucceeded(_ origin: OriginID, by task: TaskIndex) {
        let isOpened = hosts[Int(origin.raw)].health.probeSucceeded(by: task)
        if isOpened { markQuietChanged(origin) }
    }

    /// A request that ended without telling anything about its host was no probe.
    mutating func endProbe(_ origin: OriginID, of task: TaskIndex) {
        let wasProbe = hosts[Int(origin.raw)].health.endProbe(of: task)
        if wasProbe { markQuietChanged(origin) }
    }

    /// Nothing is sent to the origin for so long, whichever session it is for.
    mutating func park(_ origin: OriginID, for delay: TimeSpan, at now: Instant, _ timers: inout TimerQueues) {
        know(origin)
        let isParked = hosts[Int(origin.raw)].health.park(for: delay, at: now)
        guard isParked else { return }
        if delay > .zero { timers.add(Timer(due: now + delay, kind: .unpark, index: origin.raw)) }
        quietChanged(origin, at: now, &timers)
    }

    /// Notes what a request at the host failed by.
    mutating func requestFailed(at origin: OriginID, by error: TransferError) {
        know(origin)
        hosts[Int(origin.raw)].failure = error
    }

    /// When the host's pause is over, or its rate and quota let the next request through; `nil` where that time has come,
    /// and where a probe is to show it.
    func opening(of origin: OriginID, at now: Instant) -> Instant? {
        guard Int(origin.raw) < hosts.count else { return nil }
        var opens = self[origin].gateOpensAt
        if case .until(let due) = self[origin].health.quiet { opens = max(opens, due) }
        return opens > now ? opens : nil
    }

    mutating func endPark(_ origin: OriginID) {
        hosts[Int(origin.raw)].health.endPark()
        markQuietChanged(origin)
    }

    /// Opens the host for tasks that were never tried.
    mutating func giveOwnTries(
        _ origin: OriginID, _ most: (unanswered: Int, answered: Int), at now: Instant, _ timers: inout TimerQueues
    ) {
        hosts[Int(origin.raw)].health.giveOwnTries(most)
        quietChanged(origin, at: now, &timers)
    }

    /// Judges the host's lanes at once: what begins later in the turn must know that the host is quiet, or is no more.
    private mutating func quietChanged(_ origin: OriginID, at now: Instant, _ timers: inout TimerQueues) {
        for lane in hosts[Int(origin.raw)].lanes { refresh(lane, at: now, &timers) }
        markQuietChanged(origin)
    }

    private mutating func markQuietChanged(_ origin: OriginID) {
        quietHasChanged = true
        markChanged(lanesOf: origin)
    }

    /// Returns whether a host began or ended to be quiet since the last call.
    mutating func takeQuietChange() -> Bool {
        defer { quietHasChanged = false }
        return quietHasChanged
    }

    mutating func mirrorFailed(_ origin: OriginID, at now: Instant) {
        hosts[Int(origin.raw)].health.mirrorFailed(at: now)
    }

    mutating func mirrorServed(_ origin: OriginID, since begunAt: Instant) {
        hosts[Int(origin.raw)].health.mirrorServed(since: begunAt)
    }
}
