import TransferModel

/// Something that falls due. One whose task, lane or origin has moved on is void.
struct Timer: HeapElement, Sendable {
    enum Kind: UInt8, Sendable {
        /// A task's back-off, `timeoutForResource` or `earliestBegin` is over.
        case retry, resource, begin
        /// An origin's park is over, or its rate or quota lets the next request through.
        case unpark, originGate
        /// A lane's rate lets the next request through.
        case laneGate
        /// A deadline of the run has come.
        case timeout, finishBy
    }
    let due: Instant
    let kind: Kind
    /// A task's number, an origin's or a lane's.
    let index: UInt32
    let attempt: UInt32

    init(due: Instant, kind: Kind, index: UInt32 = 0, attempt: UInt32 = 0) {
        self.due = due
        self.kind = kind
        self.index = index
        self.attempt = attempt
    }

    func isBefore(_ other: Timer) -> Bool { due < other.due }
}

/// Something that falls due at a date, whatever becomes of the clock until then.
struct DateTimer: HeapElement, Sendable {
    enum Kind: UInt8, Sendable {
        /// A task's `earliestBegin` has come.
        case begin
        /// A session's window opens or closes.
        case window
        /// A deadline of the run has come.
        case finishBy
    }
    let due: WallTime
    let kind: Kind
    let index: UInt32

    func isBefore(_ other: DateTimer) -> Bool { due < other.due }
}

/// Everything that falls due, at an instant or on a date.
///
/// A timer is void once its task, lane or origin has moved on. The scheduler knows which are; here they are only
/// counted, so that a million finished tasks leave no million timers behind.
struct TimerQueues: Sendable {
    private var timers = Heap<Timer>()
    private var dates = Heap<DateTimer>()
    /// How many timers in `timers` are known to be void.
    private var voidCount = 0

    mutating func add(_ timer: Timer) { timers.push(timer) }
    mutating func add(_ timer: DateTimer) { dates.push(timer) }

    /// A timer that was added before is void from now on.
    mutating func timerBecameVoid() { voidCount += 1 }

    /// Removes and returns the next timer that is due at `now`, void ones too.
    mutating func popDue(at now: Instant) -> Timer? {
        guard let first = timers.first, first.due <= now else { return nil }
        return timers.pop()
    }

    /// Removes and returns the next timer whose date has come.
    mutating func popDue(on now: WallTime) -> DateTimer? {
        guard let first = dates.first, first.due <= now else { return nil }
        return dates.pop()
    }

    /// Whether something depends on the date: a clock that is set must be noticed then.
    var waitForDate: Bool { dates.first != nil }

    /// When the next timer is due, if the clocks go on as they do; `nil` without any.
    func nextDue(after now: Now) -> Instant? {
        let dated = dates.first.map { now.instant + max(.zero, $0.due - now.wall) }
        guard let timed = timers.first?.due else { return dated }
        return dated.map { min($0, timed) } ?? timed
    }

    /// Removes void timers: all of them where most are, else those that would be next.
    mutating func removeVoid(where isVoid: (Timer) -> Bool) {
        if voidCount > 64, voidCount > timers.count / 2 {
            timers = Heap(timers.items.filter { !isVoid($0) })
            voidCount = 0
        }
        while let timer = timers.first, isVoid(timer) { _ = timers.pop() }
    }
}
