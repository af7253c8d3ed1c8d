import TransferModel

/// A running attempt's wait for a slot.
struct SlotRequest: Sendable {
    let task: TaskIndex
    /// The slot is to be a connection of its own.
    let isAlone: Bool
    let since: Instant
}

/// The tasks of one session that wait for one origin, and the slots they share.
struct TaskLane: Sendable {
    let session: SessionIndex
    /// Its index among its session's lanes.
    let place: Int
    let origin: OriginID?
    /// Slots in use, by running tasks and by attempts that came here on a redirect.
    private(set) var inUse = 0
    /// How many of the slots in use are on connections of their own beside a shared one.
    private(set) var alone = 0
    /// The most connections at one time.
    private(set) var peak = 0
    /// Tasks that came here.
    var tasks = 0
    /// How many slots there are: streams of a shared connection, or connections.
    var capacity: Int
    let maximumConnections: Int
    /// Its slots are streams of one connection.
    var isShared = false
    /// Finds `capacity` by what the host bears; `nil` where the number is fixed, and where streams share a connection.
    var controller: ConnectionController?
    /// `requestsPerSecond` of the session.
    var rate: RateGate?
    /// A timer is set for this moment, at which the rate lets the next one through.
    var gateTimer: Instant?
    /// Running attempts that wait for a slot here; they go before tasks that have not begun.
    var requests = Queue<SlotRequest>()
    /// Whether it is among the table's changed lanes.
    var hasChanged = false
    /// Whether it was reported that the tasks in its queue wait for a parked host.
    var isReportedParked = false
    private(set) var ledger = WaitLedger()
    private var waiting = WaitingTasks()

    init(session: SessionIndex, place: Int, origin: OriginID?, maximumConnections: Int) {
        self.session = session
        self.place = place
        self.origin = origin
        self.maximumConnections = maximumConnections
        capacity = maximumConnections
    }

    /// Why nothing may begin here now; `nil` where a slot is free.
    var closure: WaitLedger.Closure? { ledger.closure }

    /// Whether the next slot is for an attempt that wants a connection of its own. Nothing goes before it: it would
    /// never get one.
    var wantsAlone: Bool { requests.first?.isAlone ?? false }

    var isParked: Bool { closure == .hostParked }

    /// How many connections its slots in use need.
    var connections: Int { isShared ? min(inUse - alone, 1) + alone : inUse }

    /// Whether there is no room for one more slot.
    var isFull: Bool {
        guard isShared else { return inUse >= capacity }
        if wantsAlone || inUse == alone { return connections >= maximumConnections }
        return inUse - alone >= capacity
    }

    mutating func set(_ closure: WaitLedger.Closure?, at now: Instant) { ledger.set(closure, at: now) }

    func reading(at now: Instant) -> WaitLedger.Reading { ledger.reading(at: now) }

    /// The tasks in its queue that the closure accepts, in order. The queue may still hold tasks that have moved on.
    func queued(where isWanted: (TaskIndex) -> Bool) -> [TaskIndex] { waiting.filter(isWanted) }

    /// Adds the task to the queue. Returns whether it starts next.
    mutating func enqueue(_ task: TaskIndex, priority: Double) -> Bool { waiting.add(task, priority) }

    /// The task that starts next, with its priority.
    var head: (priority: Double, task: TaskIndex)? { waiting.head }

    mutating func removeHead() { waiting.removeHead() }

    /// Tasks in its queue, those that have moved on counted.
    var queuedCount: Int { waiting.total }

    mutating func takeSlot(isAlone: Bool) {
        inUse += 1
        if isAlone { alone += 1 }
        peak = max(peak, connections)
    }

    /// The connection turned out to be shared. Until the first answer told that the connection is shared, all but one
    /// of the slots in use only waited for it.
    mutating func waitedForOneConnection() { peak = min(peak, 1) }

    mutating func giveBackSlot(isAlone: Bool) {
        inUse -= 1
        if isAlone { alone -= 1 }
        precondition(inUse >= 0, "a slot was given back twice")
    }
}

/// Accounts for how long a lane was closed, and why: a task's share is the difference of two readings.
struct WaitLedger: Sendable {
    /// When several hold, the first counts.
    enum Closure: Int, Sendable {
        case window, hostParked, requestRate, hostLimit

        var reason: WaitReason {
            switch self {
            case .window: .window
            case .hostParked: .hostParked
            case .requestRate: .requestRate
            case .hostLimit: .hostLimit
            }
        }
    }
    typealias Reading = SIMD4<Int64>

    private(set) var closure: Closure?
    private var totals = Reading()
    private var since = Instant(nanoseconds: 0)

    mutating func set(_ closure: Closure?, at now: Instant) {
        guard closure != self.closure else { return }
        totals = reading(at: now)
        self.closure = closure
        since = now
    }

    func reading(at now: Instant) -> Reading {
        guard let closure else { return totals }
        var reading = totals
        reading[closure.rawValue] += (now - since).nanoseconds
        return reading
    }
}
