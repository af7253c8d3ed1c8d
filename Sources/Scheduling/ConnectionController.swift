package import TransferModel

/// Finds how many connections to one host are worth having at a time, between two bounds, by what the host bears.
///
/// It measures in rounds: for so many answers, or so long, how much the host delivers while all connections that the
/// present number allows are in use. From one round to the next the number is raised while that brings more: by half at
/// first, then by one. A raise that brings nothing is taken back, and the next try waits for longer each time. What the
/// host refuses (429, 503, no answer) lowers the number by a quarter at once, and a number that was too high stays
/// out of reach for a time that doubles with each refusal there: it never swings into a storm of 429s.
///
/// A pure state machine: the caller tells what happened and the time, and takes the steps that follow.
package struct ConnectionController: Sendable {
    /// A change of the number, and why.
    package struct Step: Hashable, Sendable {
        /// The number before.
        package var from: Int
        /// The number from now on.
        package var to: Int
        /// Why it changes.
        package var reason: ConnectionStep.Reason
        package init(from: Int, to: Int, reason: ConnectionStep.Reason) {
            self.from = from
            self.to = to
            self.reason = reason
        }
    }

    /// What was measured since a round began.
    private struct Round: Sendable {
        var beganAt: Instant
        var bytes: Int64 = 0
        var answers = 0
        var latency = TimeSpan.zero
        var measuredLatencies = 0
        /// Time in which all connections were in use.
        var full = TimeSpan.zero

        /// A request costs its host something beside its bytes.
        var work: Double { Double(bytes) + 32_768 * Double(answers) }
        var meanLatency: Double? {
            measuredLatencies == 0 ? nil : latency.seconds / Double(measuredLatencies)
        }
    }

    /// What the host refused.
    private struct Refusals: Sendable {
        /// Up to this number raises need no proof: the host bore it before.
        var proven = 0
        /// The highest number that the host may bear, as far as is known.
        var ceiling: Int
        /// No higher number is tried until then; `nil` where none was refused.
        var ceilingUntil: Instant?
        /// How long the next number that is too high is not tried again.
        var ban = ConnectionController.bans.first
        /// When a refusal last lowered the number: what was sent before says nothing new.
        var loweredAt: Instant
        /// When the host last refused a number that it had borne for a while.
        var sparedAt: Instant?
        /// The share of requests that were refused, of late.
        var share = 0.0

        /// Notes a refusal at `limit`. One that the host had borne for a while is as high as it may be, and comes back
        /// after the fall; twice in a row it is too high, as one is that it refuses at once.
        mutating func refused(at limit: Int, isBorne: Bool, proven before: Int, minimum: Int, _ now: Instant) {
            loweredAt = now
            if isBorne, sparedAt.map({ now >= $0 + .seconds(30) }) ?? true {
                (sparedAt, proven, ceiling) = (now, limit, min(ceiling, limit))
                ceilingUntil = max(ceilingUntil ?? now, now + ban)
            } else {
                ceiling = max(minimum, min(ceiling, limit - 1))
                ceilingUntil = now + ban
                ban = min(TimeSpan(nanoseconds: ban.nanoseconds * 2), ConnectionController.bans.longest)
                proven = min(ceiling, max(proven, before))
            }
        }
    }

    /// The shortest and longest time for which a raise that brought nothing is not tried again.
    private static let holds = (first: TimeSpan.seconds(20), longest: TimeSpan.seconds(300))
    /// The shortest and longest time for which a number that the host refused is not tried again.
    private static let bans = (first: TimeSpan.seconds(30), longest: TimeSpan.seconds(600))
    /// How much of the gain that so many more connections could bring at best must show.
    private static let leastGain = 0.35

    /// The bounds of the number.
    package let range: ConnectionRange
    /// How many connections may be in use at a time.
    package private(set) var limit: Int
    private var inUse = 0
    private var lastChange: Instant
    private var round: Round
    /// A round begins when what the last step changed has settled.
    private var settlesAt: Instant?
    /// The number before the last raise and what the host delivered a second; `nil` when no raise is to be judged.
    private var before: (limit: Int, score: Double)?
    /// Nothing was refused and no raise was in vain so far: raises are large.
    private var isFinding = true
    private var heldUntil: Instant?
    private var hold = Self.holds.first
    private var refusals: Refusals
    private var raisedAt: Instant?
    private var steppedAt: Instant
    /// The best round so far, and the lowest mean latency.
    private var bestScore = 0.0
    private var leastLatency: Double?

    package init(_ range: ConnectionRange, at now: Instant) {
        self.range = range
        limit = range.first
        refusals = Refusals(ceiling: range.maximum, loweredAt: now)
        lastChange = now
        steppedAt = now
        round = Round(beganAt: now)
    }

    // MARK: What happens

    /// Something that happened to a request, as a measurement.
    enum Event: Sendable {
        /// Bytes of its body moved.
        case moved(Int64)
        /// The host answered it, as in `answered`.
        case answered(after: TimeSpan?)
        /// The host refused it, as in `refused`.
        case refused(ConnectionStep.Reason, begunAt: Instant)
    }

    /// Takes in what happened and returns the change of the number that follows.
    mutating func receive(_ event: Event, at now: Instant) -> Step? {
        switch event {
        case .moved(let bytes): moved(bytes)
        case .answered(let latency): answered(after: latency)
        case .refused(let reason, let begunAt): return refused(reason, begunAt: begunAt, at: now)
        }
        return judge(at: now)
    }

    /// A request takes a connection.
    package mutating func took(at now: Instant) {
        advance(to: now)
        inUse += 1
    }

    /// A request gives its connection back.
    package mutating func gave(at now: Instant) {
        advance(to: now)
        inUse -= 1
    }

    /// Bytes of bodies moved.
    package mutating func moved(_ bytes: Int64) { round.bytes += bytes }

    /// The host answered, with anything but 429 and 503; `latency` is how long that took, where it is known.
    package mutating func answered(after latency: TimeSpan?) {
        round.answers += 1
        refusals.share *= 0.95
        guard let latency else { return }
        round.latency += latency
        round.measuredLatencies += 1
    }

    private mutating func advance(to now: Instant) {
        if inUse >= limit, now > lastChange { round.full += now - lastChange }
        lastChange = max(lastChange, now)
    }

    /// The host refused a request that was sent at `begunAt`. Requests that were under way together are one refusal.
    package mutating func refused(_ reason: ConnectionStep.Reason, begunAt: Instant, at now: Instant) -> Step? {
        advance(to: now)
        refusals.share = refusals.share * 0.95 + 0.05
        guard begunAt >= refusals.loweredAt else { return nil }
        // A host may err now and then, however few connections it has.
        let isNew = raisedAt.map { now < $0 + .seconds(10) } ?? false
        guard reason == .tooManyRequests || isNew || refusals.share >= 0.08 else { return nil }
        refusals.refused(
            at: limit, isBorne: now >= steppedAt + .seconds(8), proven: before?.limit ?? limit, minimum: range.minimum,
            now)
        (isFinding, before, heldUntil) = (false, nil, nil)
        round = Round(beganAt: now)
        return step(to: max(range.minimum, min(refusals.ceiling, Int(Double(limit) * 0.75))), reason, at: now)
    }

    // MARK: Judging

    /// Judges the round if it is over.
    package mutating func judge(at now: Instant) -> Step? {
        advance(to: now)
        if let settlesAt {
            guard now >= settlesAt else { return nil }
            self.settlesAt = nil
            round = Round(beganAt: now)
            return nil
        }
        let elapsed = now - round.beganAt
        guard isEnough(elapsed) else { return nil }
        let ended = round
        round = Round(beganAt: now)
        // Where fewer requests are under way than may be, the number is not what counts.
        guard ended.full.seconds >= 0.7 * elapsed.seconds else {
            before = nil
            return nil
        }
        let score = ended.work / elapsed.seconds
        if limit > refusals.ceiling, now >= steppedAt + .seconds(8) {
            (refusals.ceiling, refusals.ban) = (limit, Self.bans.first)
        }
        let best = bestScore
        bestScore = max(best, score)
        if let mean = ended.meanLatency { leastLatency = min(leastLatency ?? mean, mean) }
        if let before { return judgeRaise(from: before, score, at: now) }
        if isSlower(ended, score, than: best) {
            (bestScore, leastLatency) = (0, nil)
            isFinding = false
            postpone(at: now)
            return step(to: max(range.minimum, min(limit - 1, Int(Double(limit) * 0.75))), .slower, at: now)
        }
        if let heldUntil, now < heldUntil { return nil }
        return raise(from: score, isFinding ? .moreThroughput : .triedAgain, at: now)
    }

    private func isEnough(_ elapsed: TimeSpan) -> Bool {
        guard elapsed >= .milliseconds(500) else { return false }
        if round.answers >= max(12, 4 * limit) { return true }
        // Where bodies are long, their bytes tell enough.
        let isOfBytes = Double(round.bytes) >= 0.9 * round.work && round.bytes > 0
        return isOfBytes && elapsed >= .seconds(5) || elapsed >= .seconds(30)
    }

    private mutating func judgeRaise(from before: (limit: Int, score: Double), _ score: Double, at now: Instant)
        -> Step?
    {
        self.before = nil
        let ideal = Double(limit) / Double(before.limit) - 1
        if score / before.score - 1 >= Self.leastGain * ideal {
            hold = Self.holds.first
            return raise(from: score, .moreThroughput, at: now)
        }
        // A large raise may have gone too far: from where it began the next are by one.
        if limit - before.limit > 1 { heldUntil = nil } else { postpone(at: now) }
        isFinding = false
        return step(to: before.limit, .noGain, at: now)
    }

    /// Whether answers take much longer than they did, while less comes than came: the host has too much to do.
    private func isSlower(_ ended: Round, _ score: Double, than best: Double) -> Bool {
        guard limit > range.minimum, let mean = ended.meanLatency, let least = leastLatency else { return false }
        return mean > 2 * least && score < 0.8 * best
    }

    private mutating func postpone(at now: Instant) {
        heldUntil = now + hold
        hold = min(TimeSpan(nanoseconds: hold.nanoseconds * 2), Self.holds.longest)
    }

    private mutating func raise(from score: Double, _ reason: ConnectionStep.Reason, at now: Instant) -> Step? {
        var top = refusals.ceiling
        // A number that was refused is tried again one by one, when its time is over.
        if let until = refusals.ceilingUntil, now >= until { top = min(range.maximum, top + 1) }
        let target = min(top, isFinding ? limit + max(1, limit / 2) : limit + 1)
        guard target > limit else { return nil }
        if target > refusals.proven { before = (limit, score) }
        raisedAt = now
        return step(to: target, reason, at: now)
    }

    private mutating func step(to target: Int, _ reason: ConnectionStep.Reason, at now: Instant) -> Step? {
        let settling = TimeSpan(nanoseconds: Int64(min(3, max(0.2, leastLatency ?? 0.5)) * 1e9))
        settlesAt = now + settling
        guard target != limit else { return nil }
        steppedAt = now
        defer { limit = target }
        return Step(from: limit, to: target, reason: reason)
    }
}
