import TransferModel

/// The lanes of a session, the order of those with a task to start, and how many of its tasks run.
struct SessionSlots: Sendable {
    private(set) var lanes: [Int] = []
    var ready = CandidateHeap()
    private(set) var fullClock = StateClock()
    private(set) var running = 0
    /// Outside its `window`.
    var isClosed = false
    private let facts: SchedulingPlan.Session
    private var numbers: [OriginID?: Int] = [:]
    /// The lane found last: most tasks of a job go where the one before went.
    private var last: (origin: OriginID?, lane: Int)?

    init(_ facts: SchedulingPlan.Session) { self.facts = facts }

    private var limit: Int { facts.maximumConcurrentTasks ?? .max }
    var isFull: Bool { running >= limit }
    /// How many more of its tasks may run.
    var room: Int { max(0, limit - running) }

    var maximumConnectionsPerHost: Int { facts.maximumConnectionsPerHost }
    var connectionRange: ConnectionRange? { facts.connectionRange }
    var requestsPerSecond: RequestRate? { facts.requestsPerSecond }

    /// How many requests may be under way to one host. On a shared HTTP/2 connection they are streams, and connections
    /// are something else.
    func capacity(over version: HTTPProtocol?) -> (slots: Int, isShared: Bool) {
        guard version == .http2 else { return (facts.maximumConnectionsPerHost, false) }
        return (max(facts.streamsPerConnection, facts.maximumConnectionsPerHost), true)
    }

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

/// Measures for how long a condition has held in all: a task's share is the difference of two readings.
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
