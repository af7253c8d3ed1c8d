import TransferModel

/// Something that falls due. One whose task, lane or origin has moved on is void.
struct Timer: HeapElement, Sendable {
    enum Kind: UInt8, Sendable {
        /// Of a task.
        case retry, resource, begin
        /// Of an origin: its park, and its rate or quota.
        case unpark, originGate
        /// Of a lane: its rate.
        case laneGate
        /// Of the run.
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
        /// Of a task.
        case begin
        /// Of a session.
        case window
        /// Of the run.
        case finishBy
    }
    let due: WallTime
    let kind: Kind
    let index: UInt32

    func isBefore(_ other: DateTimer) -> Bool { due < other.due }
}
