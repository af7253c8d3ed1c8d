import TransferModel

/// A task as the scheduler sees it at one moment.
struct TaskState: Sendable {
    enum Phase: UInt8, Sendable {
        /// Needs are open.
        case blocked
        /// Its time has not come.
        case held
        /// Somebody must resume it.
        case suspended
        /// Only limits hold it back.
        case queued
        case running
        case backingOff
        /// No network that it may use is there, or too little power.
        case awaitingConditions
        /// Verified; waits for the others of its group.
        case staged
        /// A template: what takes its place is being worked out.
        case expanding
        case finished
    }
    /// When the present phase, or the wait for a grant within an attempt, began.
    var since: Instant
    var attemptBeganAt: Instant
    /// When `timeoutForResource` is over; while that clock stands, what is left of it.
    var resourceTime: Int64 = 0
    /// What the clocks of its lane and its session showed when its wait for a slot began.
    var laneClock = WaitLedger.Reading()
    var sessionFullClock = TimeSpan.zero
    var waits: [TaskRecord.Wait] = []
    /// Time within the running attempt in which it waited.
    var held = TimeSpan.zero
    /// The number of its last attempt.
    var attempt: UInt32 = 0
    /// Attempts that count against `retry.attempts`: one that was interrupted by us does not.
    var tries: UInt32 = 0
    /// Where it is queued, holds a slot, waits for one, or held its last.
    var lane: Int32 = -1
    /// Probes of its host that had failed when it was queued.
    var failedProbes: UInt32 = 0
    /// Probes that failed while it waited: they count as tries until its host answers.
    var chargedProbes: UInt32 = 0
    var phase = Phase.queued
    /// Once it has finished: how, for tasks that are added later and need it.
    var outcome: TaskOutcome?
    /// The end of its last back-off.
    var retryAt = Instant(nanoseconds: 0)
    /// What the present back-off waits for.
    var backoffReason = WaitReason.backoff
    /// What it waits for when it awaits other conditions.
    var shortOf = WaitReason.network
    /// No route that it may take led to the host of its last attempt.
    var hasNoRoute = false
    /// The number of the conditions under which its last attempt began.
    var conditionsMet: UInt32 = 0
    var holdsSlot = false
    var awaitsGrant = false
    /// The slot it holds or waits for is to be a connection of its own.
    var isAlone = false
    /// Its request was granted and not answered yet.
    var awaitsAnswer = false
    /// And its host said something all the same.
    var wasHeard = false
    /// It counts against the limits on running tasks.
    var isCounted = false
    /// Its `timeoutForResource` has begun.
    var hasBegun = false
    var resourceClockRuns = false
    /// Failures of the network's since somebody answered last, where those use up no tries.
    var networkFailures: UInt32 = 0
    /// It is to be held back: by the job file, or by a command.
    var isSuspended = false
    /// It is, because nobody knew a credential.
    var lacksCredential = false
    /// Nobody but the next run's user can resume it: the job file suspended it.
    var isSuspendedByFile = false

    init(since: Instant) {
        self.since = since
        attemptBeganAt = since
    }

    /// Told once: with the end of the attempt it belongs to.
    mutating func takeHeld() -> TimeSpan {
        defer { held = .zero }
        return held
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
