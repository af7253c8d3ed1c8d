import TransferModel

/// Decides whether a host may be asked: it is parked when it asks for quiet or does not answer again and again, and
/// opened again by what one task's request shows, the probe.
struct HostHealth: Sendable {
    /// Whether the host may be asked.
    enum Quiet: Sendable {
        case no
        /// It asked for quiet, or did not answer again and again.
        case until(Instant)
        /// The quiet is over: one request goes ahead of all others, and shows whether it lasts. Without a task the next
        /// request is that one.
        case probing(TaskIndex?)
    }

    /// A host that takes connections and hangs up may do so because of what it is asked. When failed probes alone would
    /// end each task that waits, those that were never tried are tried all the same.
    enum OwnTries: Hashable, Sendable {
        case notYet
        /// So many more may end without an answer.
        case left(Int)
        /// It hangs up whatever it is asked.
        case spent
    }

    /// What follows from a request that ended without an answer.
    enum Consequence: Hashable, Sendable {
        case none
        /// The host is to be left alone for a while.
        case park
        /// The same, and the failure counts as one of each task that waits for the host.
        case parkAndCharge
    }

    /// Rounds of failures without an answer after which a host is probed by one task instead of tried by all.
    static let failuresToPark = 3
    /// For so long a host at which a mirror failed goes behind the others, unless it served one meanwhile.
    static let lately = TimeSpan.seconds(5 * 60)

    private(set) var quiet = Quiet.no
    /// How often it was parked without an answer in between.
    private(set) var parks = 0
    /// Rounds of failures without an answer. Requests that were under way together are one round.
    private var failedRounds = 0
    private var lastFailureAt: Instant?
    /// Counts up; a task that waits compares it with what it was when its wait began.
    private(set) var failedProbes: UInt32 = 0
    /// Of those, how many had failed when it answered last: they do not count any more.
    private var forgivenProbes: UInt32 = 0
    private(set) var ownTries = OwnTries.notYet
    /// It answered in this run, whatever it said.
    private(set) var hasAnswered = false
    /// When a task that has other places to try failed here last.
    private var mirrorFailedAt: Instant?

    /// Whether no request may go out now.
    var isQuiet: Bool {
        switch quiet {
        case .no, .probing(nil): false
        case .until, .probing: true
        }
    }

    /// Whether nothing is known against it.
    var isOpen: Bool { if case .no = quiet { true } else { false } }

    /// Probes that failed since its answer, and since a task counted `failed` of them when it began to wait.
    func charges(since failed: UInt32) -> UInt32 { failedProbes - max(failed, forgivenProbes) }

    /// Whether it answered since `failed` of its probes had failed.
    func hasForgiven(since failed: UInt32) -> Bool { forgivenProbes > failed }

    func isParked(until due: Instant) -> Bool { if case .until(due) = quiet { true } else { false } }

    func isProbed(by task: TaskIndex) -> Bool { if case .probing(task) = quiet { true } else { false } }

    // MARK: Answers

    /// It answered or sent a sign of life: whatever that said, the host is there.
    mutating func answered() {
        hasAnswered = true
        failedRounds = 0
        forgivenProbes = failedProbes
        ownTries = .notYet
    }

    /// Its answer did not ask for quiet. Returns whether that opened it: its pause is over, whether or not a timer said
    /// so.
    mutating func wentWell(at now: Instant) -> Bool {
        parks = 0
        switch quiet {
        case .no: return false
        case .until(let due): guard due <= now else { return false }
        case .probing: break
        }
        quiet = .no
        return true
    }

    // MARK: Failures

    /// A request of the task ended without an answer. `hungUp`: the host had taken the connection. `isStream`: other
    /// requests may have ended with the same connection.
    mutating func requestFailed(
        of task: TaskIndex, begunAt: Instant, at now: Instant, hungUp: Bool, isStream: Bool
    ) -> Consequence {
        if isProbed(by: task) {
            failedProbes += 1
            return .parkAndCharge
        }
        guard isOpen else { return .none }
        if case .left(let left) = ownTries {
            // Streams of one connection end with it: that shows what one of them did.
            let isOneOfMany = isStream && !beginsRound(begunAt, now)
            if hungUp, isOneOfMany || left > 1 {
                ownTries = .left(isOneOfMany ? left : left - 1)
                return .none
            }
            // What refuses or is not found does so whatever it is asked.
            ownTries = .spent
            return .parkAndCharge
        }
        guard beginsRound(begunAt, now) else { return .none }
        failedRounds += 1
        return failedRounds >= Self.failuresToPark ? .park : .none
    }

    /// Whether the failure is the first of its round: what began before the last one was part of the same breakdown.
    private mutating func beginsRound(_ begunAt: Instant, _ now: Instant) -> Bool {
        if let last = lastFailureAt, begunAt < last { return false }
        lastFailureAt = now
        return true
    }

    /// Opens the host for tasks that were never tried, as often as `most` says.
    mutating func giveOwnTries(_ most: (unanswered: Int, answered: Int)) {
        ownTries = .left(hasAnswered ? most.answered : most.unanswered)
        quiet = .no
    }

    // MARK: Parks and probes

    /// Parks the host; without a delay it is probed at once. Returns `false` where it is parked for as long already.
    mutating func park(for delay: TimeSpan, at now: Instant) -> Bool {
        if case .until(let present) = quiet, present >= now + delay { return false }
        parks += 1
        quiet = delay > .zero ? .until(now + delay) : .probing(nil)
        return true
    }

    mutating func endPark() { quiet = .probing(nil) }

    /// A request of the task goes out. Returns whether it is the probe.
    mutating func beginProbe(by task: TaskIndex) -> Bool {
        guard case .probing(nil) = quiet else { return false }
        quiet = .probing(task)
        return true
    }

    /// A request of the task was answered as a whole. Returns whether it was the probe: then the host is open.
    mutating func probeSucceeded(by task: TaskIndex) -> Bool {
        guard isProbed(by: task) else { return false }
        quiet = .no
        return true
    }

    /// A request of the task ended without telling anything about its host. Returns whether it was to be the probe:
    /// then the next request is.
    mutating func endProbe(of task: TaskIndex) -> Bool {
        guard isProbed(by: task) else { return false }
        quiet = .probing(nil)
        return true
    }

    // MARK: As one of several places

    mutating func mirrorFailed(at now: Instant) { mirrorFailedAt = now }

    /// A success shows that the place is well, unless it failed since that attempt began.
    mutating func mirrorServed(since begunAt: Instant) {
        if let failed = mirrorFailedAt, failed <= begunAt { mirrorFailedAt = nil }
    }

    /// How the host stands among the places of a task.
    func standing(at now: Instant) -> MirrorStanding {
        switch quiet {
        case .until(let due): return .quiet(until: due)
        case .probing(_?): return .quiet(until: now)
        case .no, .probing(nil): break
        }
        guard let failed = mirrorFailedAt, now < failed + Self.lately else { return .well }
        return .failedLately
    }
}
