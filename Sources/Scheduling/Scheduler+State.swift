import TransferModel

/// A task as the scheduler sees it at one moment.
struct TaskState: Sendable {
    enum Phase: UInt8, Sendable {
        case blocked, queued, running, backingOff, finished
    }
    var phase = Phase.queued
    var attempt: UInt32 = 0
    var openNeeds: UInt32
    /// When the present phase began.
    var since: Instant
    /// The lane's full time when the task was queued in it.
    var fullTimeAtQueue = TimeSpan.zero
    /// The slot it holds, by lane; -1 is none.
    var heldLane: Int32 = -1
    var awaitedLane: Int32 = -1
    /// It counts against the limits on running tasks.
    var isCounted = false
    var cancelError: TransferError?
    var waits: [TaskRecord.Wait] = []
    var begunAt: Instant?
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

struct LaneKey: Hashable, Sendable {
    let session: SessionIndex
    let origin: OriginID?
}

/// A lane that may have a task to start, and its place in the order: priority, then the lane with fewer running
/// (so that no host holds up another), then file order.
struct ReadyLane: Sendable {
    let lane: Int
    let stamp: UInt32
    let priority: Double
    let inUse: Int
    let task: TaskIndex

    func isBefore(_ other: ReadyLane) -> Bool {
        if priority != other.priority { return priority > other.priority }
        if inUse != other.inUse { return inUse < other.inUse }
        return task < other.task
    }
}

/// Something that falls due. A timer whose task has moved on is void: `attempt` tells.
struct Timer: Sendable {
    enum Kind: UInt8, Sendable { case retry, resource }
    let due: Instant
    let task: TaskIndex
    let kind: Kind
    let attempt: UInt32
}

/// Who waits for whom, as one array with a range per task.
struct Dependants: Sendable {
    private var starts: [UInt32]
    private var items: [TaskIndex]

    init(_ tasks: [SchedulingPlan.Task]) {
        starts = Array(repeating: 0, count: tasks.count + 1)
        items = []
        guard tasks.contains(where: { !$0.needs.isEmpty }) else { return }
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
