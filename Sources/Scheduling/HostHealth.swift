import TransferModel

/// Decides whether a host may be asked: it is parked when it asks for quiet or does not answer again and again, takes
/// one request at a time while too many of its answers are failures, and is opened again by what one task's request
/// shows, the probe.
struct HostHealth: Sendable {
    /// Whether the host may be asked.
    enum Quiet: Sendable {
        case no
        /// The host asked for quiet, or did not answer several times in a row: nothing is sent until then.
        case until(Instant)
        /// One request goes ahead of all others, and shows how the host is. Without a task the next request is that
        /// one.
        case probing(TaskIndex?)
        /// The host takes the body of the probe, so others may go as well. The answer is still to come: one that shows
        /// trouble counts as that of a probe.
        case takingBody(of: TaskIndex)
    }

    /// A host that takes connections and hangs up may do so because of what it is asked. When failed probes alone would
    /// end each task that waits, those that were never tried are tried all the same.
    enum OwnTries: Hashable, Sendable {
        case notYet
        /// This many more requests may end without an answer.
        case left(Int)
        /// The host hangs up whatever it is asked.
        case spent
    }

    /// What follows from a request that ended without an answer.
    enum Consequence: Hashable, Sendable {
        case none
        /// One request at a time goes to the host until one is answered well.
        case oneAtATime
        /// The host is to be left alone for a while.
        case park
        /// The host is to be left alone for a while, and the failure counts as one of each task that waits for it.
        case parkAndCharge
    }

    /// Rounds of failures, with no answer in between, after which a host is left alone for a while.
    static let roundsToPark = 3
    /// How long a host at which a mirror failed is tried after the others, unless it served one meanwhile.
    static let lately = TimeSpan.seconds(5 * 60)

    private(set) var quiet = Quiet.no
    /// How often the host was parked without an answer in between.
    private(set) var parks = 0
    /// Its last answers, and the rounds that ended without one.
    private var answers = LastAnswers()
    /// Rounds of failures without an answer. Requests that were under way together are one round.
    private var failedRounds = 0
    private var lastFailureAt: Instant?
    /// Number of failed probes in this run; a task that waits compares it with the number when its wait began.
    private(set) var failedProbes: UInt32 = 0
    /// Value of `failedProbes` when the host answered last: probes that failed before count no more.
    private var forgivenProbes: UInt32 = 0
    private(set) var ownTries = OwnTries.notYet
    /// Whether the host answered in this run, with whatever status.
    private(set) var hasAnswered = false
    /// When a task with several `urls` failed at this host last; `nil` after one that succeeded.
    private var mirrorFailedAt: Instant?

    /// Whether no request may go out now.
    var isQuiet: Bool {
        switch quiet {
        case .no, .probing(nil), .takingBody: false
        case .until, .probing: true
        }
    }

    /// Whether nothing is known against it.
    var isOpen: Bool { if case .no = quiet { true } else { false } }

    /// Whether all may ask it.
    private var isOpenToAll: Bool {
        switch quiet {
        case .no, .takingBody: true
        case .until, .probing: false
        }
    }

    /// Probes that failed since its answer, and since a task counted `failed` of them when it began to wait.
    func charges(since failed: UInt32) -> UInt32 { failedProbes - max(failed, forgivenProbes) }

    /// Whether it answered since `failed` of its probes had failed.
    func hasForgiven(since failed: UInt32) -> Bool { forgivenProbes > failed }

    func isParked(until due: Instant) -> Bool { if case .until(due) = quiet { true } else { false } }

    func isProbed(by task: TaskIndex) -> Bool {
        switch quiet {
        case .probing(task), .takingBody(of: task): true
        case .no, .until, .probing, .takingBody: false
        }
    }

    // MARK: Answers

    /// The host answered or sent a sign of life: whatever that said, it is there.
    mutating func answered() {
        hasAnswered = true
        failedRounds = 0
        forgivenProbes = failedProbes
        ownTries = .notYet
    }

    /// The host's answer was no failure and did not ask for quiet. Returns whether that opened it: its pause is over,
    /// whether or not a timer said so.
    mutating func wentWell(at now: Instant) -> Bool {
        parks = 0
        answers.answerReceived(isWell: true)
        switch quiet {
        case .no: return false
        case .until(let due): guard due <= now else { return false }
        case .probing, .takingBody: break
        }
        open()
        return true
    }

    /// The host answered a request of the task with a failure of its own (5xx) and did not say until when. Returns
    /// whether one request at a time goes to it from now on.
    mutating func answeredBadly(_ task: TaskIndex) -> Bool {
        guard !isProbed(by: task) else {
            quiet = .probing(nil)
            return true
        }
        guard isOpenToAll else { return false }
        answers.answerReceived(isWell: false)
        guard answers.areTooOftenBad else { return false }
        quiet = .probing(nil)
        return true
    }

    private mutating func open() {
        quiet = .no
        answers = LastAnswers()
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
        guard isOpenToAll else { return .none }
        if case .left(let left) = ownTries {
            // Streams of one connection end with it: that shows what one of them did.
            let isOneOfMany = isStream && !beginsRound(begunAt, now)
            if hungUp, isOneOfMany || left > 1 {
                ownTries = .left(isOneOfMany ? left : left - 1)
                return .none
            }
            // A host that refuses connections or is not found does so for every task.
            ownTries = .spent
            return .parkAndCharge
        }
        guard beginsRound(begunAt, now) else { return .none }
        failedRounds += 1
        answers.answerReceived(isWell: false)
        guard answers.areTooOftenBad else { return .none }
        guard failedRounds < Self.roundsToPark else { return .park }
        quiet = .probing(nil)
        return .oneAtATime
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
        open()
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

    /// Bytes of the task's body were sent. Returns whether it was the probe: others need not wait until all of the body
    /// is there.
    mutating func tookBytes(of task: TaskIndex) -> Bool {
        guard case .probing(task) = quiet else { return false }
        quiet = .takingBody(of: task)
        return true
    }

    /// A request of the task was answered as a whole. Returns whether it was the probe: then the host is open.
    mutating func probeSucceeded(by task: TaskIndex) -> Bool {
        guard isProbed(by: task) else { return false }
        open()
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
        case .no, .probing(nil), .takingBody: break
        }
        guard let failed = mirrorFailedAt, now < failed + Self.lately else { return .well }
        return .failedLately
    }
}
