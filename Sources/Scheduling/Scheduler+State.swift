import TransferModel

/// A task as the scheduler sees it at one moment.
struct TaskState: Sendable {
    enum Phase: UInt8, Sendable {
        case blocked, queued, running, backingOff, finished
    }
    /// When the present phase began.
    var since: Instant
    /// What the clocks of its lane and its session showed when it was queued.
    var hostFullAtQueue = TimeSpan.zero
    var hostParkedAtQueue = TimeSpan.zero
    var sessionFullAtQueue = TimeSpan.zero
    var waits: [TaskRecord.Wait] = []
    var attempt: UInt32 = 0
    var openNeeds: UInt32
    /// Where it is queued, holds a slot, waits for one, or held its last.
    var lane: Int32 = -1
    var phase = Phase.queued
    var holdsSlot = false
    var awaitsGrant = false
    /// It counts against the limits on running tasks.
    var isCounted = false
    /// Its `timeoutForResource` runs.
    var hasBegun = false
    /// What the present back-off waits for.
    var backoffReason = WaitReason.backoff

    init(openNeeds: UInt32, since: Instant) {
        self.openNeeds = openNeeds
        self.since = since
    }

    mutating func addWait(_ reason: WaitReason, _ duration: TimeSpan) {
        guard duration > .zero else { return }
        if let place = waits.firstIndex(where: { $0.reason == reason }) {
            waits[place].duration += duration
        } else {
            waits.append(TaskRecord.Wait(reason: reason, duration: duration))
        }
    }
}

/// A session's lanes, and how many of its tasks run.
struct SessionState: Sendable {
    private(set) var lanes: [Int] = []
    var ready = LaneHeap()
    private(set) var fullClock = StateClock()
    private var running = 0
    private let limit: Int
    private var numbers: [OriginID?: Int] = [:]
    /// Most tasks of a job go where the one before went.
    private var last: (origin: OriginID?, lane: Int)?

    init(limit: Int) { self.limit = limit }

    var isFull: Bool { running >= limit }

    mutating func laneNumber(of origin: OriginID?) -> Int? {
        if let last, last.origin == origin { return last.lane }
        guard let known = numbers[origin] else { return nil }
        last = (origin, known)
        return known
    }

    mutating func add(lane: Int, of origin: OriginID?) {
        lanes.append(lane)
        numbers[origin] = lane
        last = (origin, lane)
    }

    mutating func began(at now: Instant) {
        running += 1
        if isFull { fullClock.set(true, at: now) }
    }

    mutating func ended(at now: Instant) {
        running -= 1
        if !isFull { fullClock.set(false, at: now) }
    }
}

/// What all sessions know of an origin.
struct OriginState: Sendable {
    var lanes: [Int] = []
    var version: HTTPProtocol?
    /// The server asked for quiet until then.
    var parkedUntil: Instant?
}

/// How long something has been so, in all: a task's share is the difference of two readings.
struct StateClock: Sendable {
    private var total = TimeSpan.zero
    private var since: Instant?

    mutating func set(_ isSo: Bool, at now: Instant) {
        if isSo {
            if since == nil { since = now }
        } else if let began = since {
            total += now - began
            since = nil
        }
    }

    func reading(at now: Instant) -> TimeSpan { since.map { total + (now - $0) } ?? total }
}

/// Something that falls due. One whose task or origin has moved on is void.
struct Timer: HeapElement, Sendable {
    enum Kind: UInt8, Sendable { case retry, resource, unpark }
    let due: Instant
    let kind: Kind
    /// A task's number, or an origin's.
    let index: UInt32
    let attempt: UInt32

    func isBefore(_ other: Timer) -> Bool { due < other.due }
}

/// Who waits for whom, as one array with a range per task.
struct Dependants: Sendable {
    private var starts: [UInt32]
    private var items: [TaskIndex]

    init(_ tasks: [SchedulingPlan.Task]) {
        starts = []
        items = []
        guard tasks.contains(where: { !$0.needs.isEmpty }) else { return }
        starts = Array(repeating: 0, count: tasks.count + 1)
        for task in tasks { for need in task.needs { starts[Int(need.raw) + 1] += 1 } }
        for index in 1..<starts.count { starts[index] += starts[index - 1] }
        items = Array(repeating: TaskIndex(raw: 0), count: Int(starts.last ?? 0))
        var next = starts
        for (index, task) in tasks.enumerated() {
            for need in task.needs {
                items[Int(next[Int(need.raw)])] = TaskIndex(raw: UInt32(index))
                next[Int(need.raw)] += 1
            }
        }
    }

    func of(_ task: TaskIndex) -> ArraySlice<TaskIndex> {
        items.isEmpty ? [] : items[Int(starts[Int(task.raw)])..<Int(starts[Int(task.raw) + 1])]
    }
}

/// SplitMix64: the same seed gives the same run.
package struct RandomBits: RandomNumberGenerator, Sendable {
    private var state: UInt64
    package init(seed: UInt64) { state = seed }
    package mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return mixed ^ (mixed >> 31)
    }
}
