import TransferModel

/// A task as the scheduler sees it at one moment.
struct TaskState: Sendable {
    /// Why a task is held back until it is resumed.
    enum Suspension: UInt8, Sendable {
        /// A command suspended it.
        case byCommand
        /// The job file says `suspended: true`: only the next run's user can resume it.
        case byFile
        /// Its server asked for a credential that is not known.
        case forCredential
    }

    enum Phase: Hashable, Sendable {
        /// A task or group that it needs has not ended.
        case blocked
        /// The task's `earliestBegin` has not come.
        case held
        /// A user must resume the task.
        case suspended(Suspension)
        /// Only limits hold the task back.
        case queued
        case running
        case backingOff
        /// No network that it may use is there, or too little power: as the reason says.
        case awaitingConditions(WaitReason)
        /// Verified; waits for the others of its group.
        case staged
        /// A template: what takes its place is being worked out.
        case expanding
        case finished(TaskOutcome)
    }

    /// The slot of a running attempt.
    enum Slot: Hashable, Sendable {
        case none
        case awaited
        /// `isAlone`: it is a connection of its own.
        case held(isAlone: Bool)
    }

    /// The pause before the next attempt.
    struct Backoff: Sendable {
        var end = Instant(nanoseconds: 0)
        var reason = WaitReason.backoff
    }

    /// Changed by `TaskTable.enter`.
    fileprivate(set) var phase = Phase.queued
    /// When the present phase, or the wait for a grant or a record within an attempt, began.
    var since: Instant
    var attemptBeganAt: Instant
    var resourceClock = ResourceClock()
    /// Readings of the clocks of the task's lane and session when its wait for a slot began.
    var laneClock = WaitLedger.Reading()
    var sessionFullClock = TimeSpan.zero
    var waits: [TaskRecord.Wait] = []
    /// How long the running attempt waited for slots.
    var waitInAttempt = TimeSpan.zero
    /// The number of its last attempt.
    var attempt: UInt32 = 0
    /// Attempts that count against `retry.attempts`: one that the scheduler interrupted does not.
    var tries: UInt32 = 0
    /// The lane where the task is queued, holds a slot, waits for one, or held its last; -1 before the first.
    var lane: Int32 = -1
    /// Probes of its host that had failed when it was queued.
    var failedProbes: UInt32 = 0
    /// Probes that failed while it waited: they count as tries until its host answers.
    var chargedProbes: UInt32 = 0
    /// The last back-off, which may not be over.
    var backoff = Backoff()
    /// Whether no permitted route led to the host of its last attempt.
    var hasNoRoute = false
    /// The number of the conditions under which its last attempt began.
    var conditionsMet: UInt32 = 0
    var slot = Slot.none
    /// Whether its request was granted and not answered yet.
    var awaitsAnswer = false
    /// Whether the host sent an interim response or an FTP refusal for the current request.
    var wasHeard = false
    /// Whether its attempt waits until its beginning is recorded and has sent nothing: one that must not be repeated
    /// may still be interrupted.
    private(set) var awaitsRecord = false
    /// Whether the task counts against the limits on running tasks.
    var isCounted = false
    /// Failures of the network since the last answer, where those use up no tries.
    var networkFailures: UInt32 = 0
    /// Set while it is to be held back, whatever its phase; `nil` lets it begin.
    var suspension: Suspension?

    init(since: Instant) {
        self.since = since
        attemptBeganAt = since
    }

    /// How it finished; `nil` before.
    var outcome: TaskOutcome? { if case .finished(let outcome) = phase { outcome } else { nil } }
    var isFinished: Bool { outcome != nil }

    /// The reason for which the present phase waits; `nil` where nothing waits, or only for limits: the lanes' clocks
    /// account for those.
    var waitReason: WaitReason? {
        switch phase {
        case .blocked, .staged, .expanding: .dependency
        case .held: .earliestBegin
        case .suspended(let suspension): suspension == .forCredential ? .credential : .suspended
        case .backingOff: backoff.reason
        case .awaitingConditions(let shortage): shortage
        case .queued, .running, .finished: nil
        }
    }

    var holdsSlot: Bool { if case .held = slot { true } else { false } }

    /// Returns for how long the attempt waited for slots, once: with the attempt's end.
    mutating func takeWaitInAttempt() -> TimeSpan {
        defer { waitInAttempt = .zero }
        return waitInAttempt
    }

    /// Begins the wait of the attempt until its beginning is recorded: it holds its slot, so that no other wait runs.
    mutating func beginRecordWait(at now: Instant) { (awaitsRecord, since) = (true, now) }

    /// Ends that wait, whether or not its beginning was recorded.
    mutating func endRecordWait(at now: Instant) {
        guard awaitsRecord else { return }
        awaitsRecord = false
        waitInAttempt += now - since
        addWait(.flush, now - since)
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

/// Holds the tasks of a run by number and counts those that have finished or are idle.
///
/// `enter` is the only way from one phase to another: it accounts for the wait of the phase that ends and keeps the
/// counts.
struct TaskTable: Sendable {
    private var states: [TaskState]
    private(set) var finishedCount = 0
    /// Tasks that wait for others or for a user: a run in which no other task is left is over.
    private(set) var idleCount = 0
    /// How many of the idle tasks the job file suspended.
    private(set) var suspendedByFileCount = 0

    init(count: Int, at now: Instant) { states = Array(repeating: TaskState(since: now), count: count) }

    var count: Int { states.count }
    var indices: Range<Int> { states.indices }
    /// Tasks whose attempts have not ended, those included of which only local work is left.
    private(set) var runningCount = 0
    var areAnyRunning: Bool { runningCount > 0 }

    subscript(index: Int) -> TaskState {
        _read { yield states[index] }
        _modify { yield &states[index] }
    }

    subscript(task: TaskIndex) -> TaskState {
        _read { yield states[Int(task.raw)] }
        _modify { yield &states[Int(task.raw)] }
    }

    mutating func append(at now: Instant) { states.append(TaskState(since: now)) }

    /// Moves a task to another phase, or begins the same one anew. The time that it waited for a slot is not accounted
    /// here.
    mutating func enter(_ phase: TaskState.Phase, _ index: Int, at now: Instant) {
        if let reason = states[index].waitReason { states[index].addWait(reason, now - states[index].since) }
        count(states[index].phase, -1)
        states[index].phase = phase
        states[index].since = now
        count(phase, 1)
    }

    private mutating func count(_ phase: TaskState.Phase, _ change: Int) {
        switch phase {
        case .finished: finishedCount += change
        case .suspended(.byFile):
            idleCount += change
            suspendedByFileCount += change
        case .blocked, .staged: idleCount += change
        case .running: runningCount += change
        case .held, .suspended, .queued, .backingOff, .awaitingConditions, .expanding: break
        }
    }
}

/// SplitMix64: the same seed gives the same run.
package struct RandomBits: RandomNumberGenerator, Sendable {
    private var state: UInt64
    package init(seed: UInt64) { state = seed }
    /// Returns the next 64 random bits.
    package mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return mixed ^ (mixed >> 31)
    }
}
