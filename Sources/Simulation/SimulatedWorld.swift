package import Scheduling
package import TransferModel

/// An executor on a virtual clock: performs the scheduler's commands in a modelled world and reports as the real one
/// does. The same plan, model and commands give the same reports.
package struct SimulatedWorld: Sendable {
    struct HostState: Sendable {
        var share: HostShare?
        var hasToldVersion = false
        /// Number of the current window of the host's quota, and the requests counted in it.
        var window: Int64 = -1
        var requests = 0
        /// Requests that hold a slot, and connections that are open and carry none.
        var under = 0
        var idle = 0
    }

    let model: WorldModel
    let plan: SchedulingPlan
    let script: RecordedRun?
    let beganAt: Instant
    var conditions: Conditions?
    var now: Instant
    var calendar = Calendar()
    var hosts: [HostState]
    var flights: [Flight?] = []
    /// Generation of each place in `flights`; counts up when a flight leaves the place or begins another part.
    var generations: [UInt32] = []
    private var free: [Int] = []
    /// Place of a task's flight in `flights`, or -1; by task.
    private var places: [Int32]
    /// Bytes of a body that an earlier attempt of the task left to resume from.
    var partials: [TaskIndex: Int64] = [:]
    var reports: [ExecutorReport] = []
    var budget: ByteBudget?
    /// Number of flights under way, branches included.
    package private(set) var flightCount = 0

    /// Creates a world that begins at `now`. With a `script`, attempts last and end as they were recorded; of the model
    /// only publishing and cancelling count.
    package init(_ model: WorldModel, plan: SchedulingPlan, script: RecordedRun? = nil, now: Instant) {
        self.model = model
        self.plan = plan
        self.script = script
        self.now = now
        beganAt = now
        conditions = plan.conditions
        budget = plan.maximumBytes.map { ByteBudget(most: $0) }
        hosts = model.hosts.map { HostState(share: Self.share(of: $0)) }
        places = Array(repeating: -1, count: plan.tasks.count)
        for (index, outage) in model.outages.enumerated() {
            calendar.put(.outage, index, 0, at: now + outage.from)
        }
        for (index, handover) in model.handovers.enumerated() { calendar.put(.handover, index, 0, at: now + handover) }
    }

    private static func share(of host: WorldModel.Host) -> HostShare? {
        guard host.bandwidth != nil || host.connectionBandwidth != nil else { return nil }
        return HostShare(rate: host.bandwidth, most: host.connectionBandwidth)
    }

    /// When something happens next: now, if reports are waiting; `nil` if nothing will.
    package var next: Instant? { reports.isEmpty ? calendar.next : now }

    /// Runs the world up to `instant` and returns the reports of all that happened, in order.
    package mutating func advance(to instant: Instant) -> [ExecutorReport] {
        while let entry = calendar.take(until: instant) {
            now = max(now, Instant(nanoseconds: entry.due))
            happen(entry)
        }
        now = max(now, instant)
        defer { reports.removeAll(keepingCapacity: true) }
        return reports
    }

    private mutating func happen(_ entry: Calendar.Entry) {
        let index = Int(entry.index)
        switch entry.kind {
        case .body: moveBodies(index, entry.generation)
        case .outage: cutEverything()
        case .handover: handOver()
        case .published: published(index)
        case .answer, .gone, .delivered:
            guard generations[index] == entry.generation, flights[index] != nil else { return }
            switch entry.kind {
            case .answer: answered(index)
            case .gone: end(index, Verdict(.cancelled(TransferError(.cancelled, "the transfer was cancelled"))))
            default: delivered(index)
            }
        }
    }

    // MARK: From the scheduler

    /// Carries out a command of the scheduler; its reports come with the next `advance(to:)`.
    package mutating func perform(_ command: ExecutorCommand, now: Instant) {
        self.now = max(self.now, now)
        switch command {
        case .start(let task, let attempt, let mirror): start(task, attempt, plan.origin(of: task, mirror: mirror))
        case .grant(let task, let origin):
            guard let place = place(of: task), flights[place]?.phase == .awaitingGrant else { return }
            flights[place]?.origin = origin
            flights[place]?.holdsSlot = true
            if script == nil { ask(place) } else { replay(place) }
        case .lend(let task, let origin): lent(task, origin)
        case .recall(let task, _): recalled(task)
        case .credit(let task, let bytes): credit(task, bytes)
        case .cancel(let task, let keepPartial): cancel(task, keepPartial)
        case .publish(let group): calendar.put(.published, Int(group.raw), 0, at: self.now + model.publishTime)
        case .giveUp(let group): giveUp(Int(group.raw))
        case .discard, .discardPartial: break
        }
    }

    private mutating func start(_ task: TaskIndex, _ attempt: Int, _ origin: OriginID?) {
        let facts = plan.tasks[Int(task.raw)]
        let hasLimit =
            plan.bandwidth != nil || plan.sessions[Int(facts.session.raw)].bandwidth != nil
            || plan.policies[facts.policy].bandwidth != nil
        let size = script == nil ? model.size(of: Int(task.raw)) : 0
        let kept = partials.isEmpty ? 0 : partials.removeValue(forKey: task) ?? 0
        var flight = Flight(
            task: task, attempt: attempt, origin: origin, size: size, received: min(kept, size),
            credit: hasLimit ? 0 : nil)
        flight.isUpload = origin != nil && model.isUpload(Int(task.raw))
        flight.isWhole = model.isWhole(Int(task.raw))
        if flight.isWhole { flight.received = 0 }
        flight.resumedFrom = flight.received
        let place = board(flight)
        if flight.isUpload, putsOff(place) { return }
        if script != nil {
            replay(place)
        } else if origin == nil {
            deliver(place)
        } else {
            ask(place)
        }
    }

    private mutating func credit(_ task: TaskIndex, _ bytes: Int64) {
        guard let place = place(of: task), let credit = flights[place]?.credit else { return }
        flights[place]?.credit = credit + bytes
        for starved in [place] + (flights[place]?.branches ?? []) where flights[starved]?.phase == .starved {
            moveOn(starved)
        }
    }

    private mutating func cancel(_ task: TaskIndex, _ keepPartial: Bool) {
        guard let place = place(of: task), let flight = flights[place] else { return }
        // A complete body is kept, and a flight that is leaving was cancelled already.
        guard flight.phase != .delivering, flight.phase != .leaving else { return }
        stopMoving(place)
        dropBranches(of: place)
        if keepPartial, let received = flights[place]?.received, received > 0 { partials[task] = received }
        flights[place]?.phase = .leaving
        generations[place] &+= 1
        calendar.put(.gone, place, generations[place], at: now + model.cancelTime)
    }

    /// Ends all flights without a report: the client's process is gone, and another one begins at `instant`. With
    /// `keepingPartials`, it finds the bytes of interrupted bodies.
    package mutating func lose(keepingPartials: Bool, until instant: Instant, _ conditions: Conditions?) {
        for place in flights.indices {
            guard let flight = flights[place] else { continue }
            if flight.parent == nil, keepingPartials, flight.received > 0 { partials[flight.task] = flight.received }
            leave(place)
        }
        if !keepingPartials { partials = [:] }
        budget = budget.map { ByteBudget(most: $0.most, moved: $0.moved) }
        places = Array(repeating: -1, count: places.count)
        hosts = hosts.map { state in
            var state = state
            state.share = state.share.map { HostShare($0) }
            (state.under, state.idle) = (0, 0)
            return state
        }
        reports = []
        now = max(now, instant)
        self.conditions = conditions
        calendar.drop { entry in
            switch entry.kind {
            case .answer, .body, .gone, .delivered, .published: true
            case .outage, .handover: entry.due <= instant.nanoseconds
            }
        }
    }

    // MARK: Flights

    func place(of task: TaskIndex) -> Int? {
        let place = places[Int(task.raw)]
        return place < 0 ? nil : Int(place)
    }

    mutating func board(_ flight: Flight) -> Int {
        flightCount += 1
        let place: Int
        if let known = free.popLast() {
            place = known
            flights[place] = flight
        } else {
            place = flights.count
            flights.append(flight)
            generations.append(0)
        }
        if flight.parent == nil { places[Int(flight.task.raw)] = Int32(place) }
        return place
    }

    /// Ends an attempt: reports its slot as released, then its verdict.
    mutating func end(_ place: Int, _ verdict: Verdict) {
        stopMoving(place)
        dropBranches(of: place)
        release(place)
        guard let flight = flights[place] else { return }
        leave(place)
        places[Int(flight.task.raw)] = -1
        budget?.release(flight.task)
        reports.append(.ended(flight.task, verdict))
    }

    mutating func leave(_ place: Int) {
        if let flight = flights[place], flight.parent != nil, let origin = flight.origin {
            leaveConnection(origin, isKept: flight.isAnswered)
        }
        flights[place] = nil
        generations[place] &+= 1
        free.append(place)
        flightCount -= 1
    }

    mutating func release(_ place: Int) {
        guard let flight = flights[place], flight.holdsSlot, let origin = flight.origin else { return }
        flights[place]?.holdsSlot = false
        leaveConnection(origin, isKept: flight.status != nil)
        reports.append(.released(flight.task, origin))
    }

    private mutating func published(_ group: Int) {
        var chance = Chance(seed: model.seed, group, 0, 1_000_000)
        let fails = chance.below(1000) < UInt64(model.publishFailures)
        let error = fails ? TransferError(.cannotMoveFile, "the group's folder could not be exchanged") : nil
        reports.append(.published(GroupIndex(raw: UInt16(group)), error))
    }

    /// Cancels the publishing of a group, in half of the cases: those stand for a group that still waits for another
    /// run.
    private mutating func giveUp(_ group: Int) {
        var chance = Chance(seed: model.seed, group, 1, 1_000_000)
        guard chance.below(2) == 0 else { return }
        calendar.drop { entry in
            if case .published = entry.kind { Int(entry.index) == group } else { false }
        }
        let error = TransferError(.cancelled, "another run was still publishing there")
        reports.append(.published(GroupIndex(raw: UInt16(group)), error))
    }

    private mutating func cutEverything() {
        for place in flights.indices where flights[place]?.origin != nil && isUnderWay(place) {
            fail(place, .networkConnectionLost)
        }
    }

    /// Whether the flight has a request or a body on the wire.
    func isUnderWay(_ place: Int) -> Bool {
        switch flights[place]?.phase {
        case .asking, .moving, .starved, .gathering: true
        case .awaitingGrant, .delivering, .leaving, nil: false
        }
    }
}
