import TransferModel

/// The tasks of one session that wait for one origin, and the slots they share.
struct TaskLane: Sendable {
    let session: SessionIndex
    /// Its place among its session's lanes.
    let place: Int
    let origin: OriginID?
    /// Slots in use, by running tasks and by attempts that came here on a redirect.
    private(set) var inUse = 0
    /// The most connections at one time.
    private(set) var peak = 0
    var tasks = 0
    var capacity: Int
    /// Its slots are streams of one connection.
    var isShared = false
    /// Running attempts that wait for a slot here; they go before tasks that have not begun.
    var grantsAwaited = TaskQueue()
    /// It stands among the scheduler's changed lanes.
    var hasChanged = false
    /// Runs while it has no free slot and is not parked.
    private(set) var fullClock = StateClock()
    private(set) var parkedClock = StateClock()
    private var isParked = false
    /// Highest priority first; none is empty but the last one left.
    private var waiting: [PriorityClass] = []

    private struct PriorityClass: Sendable {
        let priority: Double
        var queue: TaskQueue
    }

    init(session: SessionIndex, place: Int, origin: OriginID?, capacity: Int) {
        self.session = session
        self.place = place
        self.origin = origin
        self.capacity = capacity
    }

    /// Nothing may begin here now.
    var isClosed: Bool { isParked || inUse >= capacity }

    /// Whether the task became the one that goes next.
    mutating func enqueue(_ task: TaskIndex, priority: Double) -> Bool {
        var place = 0
        while place < waiting.count, waiting[place].priority > priority, !waiting[place].queue.isEmpty { place += 1 }
        if place < waiting.count, waiting[place].priority == priority {
            waiting[place].queue.append(task)
            return place == 0 && waiting[0].queue.count == 1
        }
        if place < waiting.count, waiting[place].queue.isEmpty { waiting.remove(at: place) }
        waiting.insert(PriorityClass(priority: priority, queue: TaskQueue([task])), at: place)
        return place == 0
    }

    /// The task that goes next, with its priority.
    var head: (priority: Double, task: TaskIndex)? {
        guard let first = waiting.first, let task = first.queue.first else { return nil }
        return (first.priority, task)
    }

    mutating func removeHead() {
        waiting[0].queue.removeFirst()
        if waiting[0].queue.isEmpty, waiting.count > 1 { waiting.removeFirst() }
    }

    mutating func take(at now: Instant) {
        inUse += 1
        peak = max(peak, isShared ? 1 : inUse)
        noteState(at: now)
    }

    /// Until the first answer told that the connection is shared, all but one of the slots in use only waited for it.
    mutating func waitedForOneConnection() { peak = min(peak, 1) }

    mutating func give(at now: Instant) {
        inUse -= 1
        precondition(inUse >= 0, "a slot was given back twice")
        noteState(at: now)
    }

    mutating func park(until due: Instant?, _ now: Instant) {
        isParked = due != nil
        noteState(at: now)
    }

    /// Keeps the clocks right after anything that opens or closes the lane.
    mutating func noteState(at now: Instant) {
        parkedClock.set(isParked, at: now)
        fullClock.set(!isParked && inUse >= capacity, at: now)
    }
}

/// First in, first out, without moving what is left.
struct TaskQueue: Sendable {
    private var items: [TaskIndex]
    private var start = 0

    init(_ items: [TaskIndex] = []) { self.items = items }
    var count: Int { items.count - start }
    var isEmpty: Bool { start == items.count }
    var first: TaskIndex? { isEmpty ? nil : items[start] }
    mutating func append(_ task: TaskIndex) { items.append(task) }
    mutating func removeFirst() {
        start += 1
        if start == items.count {
            items.removeAll(keepingCapacity: true)
            start = 0
        } else if start > 1024, start * 2 > items.count {
            items.removeFirst(start)
            start = 0
        }
    }
    mutating func remove(_ task: TaskIndex) {
        guard let place = items[start...].firstIndex(of: task) else { return }
        items.remove(at: place)
    }
}
