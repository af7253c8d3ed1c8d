import TransferModel

// What is known of an origin: its protocol, its quota, and whether it wants to be left alone.

extension Scheduler {
    /// Rounds of failures without an answer after which a host is probed by one task instead of stormed by all.
    private static let failuresToPark = 3

    mutating func know(_ origin: OriginID) {
        while origins.count <= Int(origin.raw) {
            var state = OriginState()
            if origins.count < originLimits.count, let limits = originLimits[origins.count] { state.apply(limits) }
            origins.append(state)
        }
    }

    /// On one shared HTTP/2 connection many streams may run: connections and streams are different things.
    mutating func learn(_ origin: OriginID, _ version: HTTPProtocol) {
        know(origin)
        let number = Int(origin.raw)
        guard origins[number].version != version else { return }
        let isFirst = origins[number].version == nil
        origins[number].version = version
        for lane in origins[number].lanes {
            if isFirst, version == .http2 { lanes[lane].waitedForOneConnection() }
            let before = lanes[lane].connections
            (lanes[lane].capacity, lanes[lane].isShared) = capacity(lanes[lane].session, version)
            origins[number].connections += lanes[lane].connections - before
        }
        noteAll(lanesOf: origin)
    }

    /// The head of an answer: whatever it says, the host is there.
    mutating func answered(_ task: TaskIndex, _ answer: Answer) {
        let index = Int(task.raw)
        guard tasks[index].holdsSlot, let origin = lanes[Int(tasks[index].lane)].origin else { return }
        let number = Int(origin.raw)
        let isLent = answer.isFurther && answeredLent(task)
        if !isLent, tasks[index].awaitsAnswer {
            tasks[index].awaitsAnswer = false
            origins[number].unanswered -= 1
        }
        if let quota = answer.quota, plan.policies[policyNumber(of: task)].retry.honorsRetryAfter {
            origins[number].learn(quota, now.instant)
            noteAll(lanesOf: origin)
        }
        origins[number].isThere()
        tasks[index].chargedProbes = 0
        guard answer.status != 429, answer.status != 503 else { return }
        openHost(number)
    }

    /// It is no answer yet, and shows as well that the host is there.
    mutating func heard(_ task: TaskIndex) {
        let index = Int(task.raw)
        guard tasks[index].holdsSlot, let origin = lanes[Int(tasks[index].lane)].origin else { return }
        tasks[index].wasHeard = true
        tasks[index].chargedProbes = 0
        origins[Int(origin.raw)].isThere()
        openHost(Int(origin.raw))
    }

    private mutating func openHost(_ number: Int) {
        origins[number].parks = 0
        if origins[number].mayBeProbed(at: now.instant) {
            setQuiet(number, .no)
            noteAll(lanesOf: OriginID(raw: UInt32(number)))
        }
    }

    /// A whole answer shows that the host is well, whether or not its head was told.
    mutating func wholeAnswer(_ task: TaskIndex) {
        let index = Int(task.raw)
        guard tasks[index].phase == .running, let origin = lanes[Int(tasks[index].lane)].origin else { return }
        // Or it came out of a cache.
        if tasks[index].holdsSlot { origins[Int(origin.raw)].isThere() }
        guard case .probing(task) = origins[Int(origin.raw)].quiet else { return }
        setQuiet(Int(origin.raw), .no)
        noteAll(lanesOf: origin)
    }

    // MARK: Parked hosts

    mutating func setQuiet(_ number: Int, _ quiet: OriginState.Quiet) {
        origins[number].quiet = quiet
        quietHasChanged = true
    }

    /// What the failure of an attempt says of its host. `asked` is a `Retry-After` that the policy honours.
    mutating func judgeHost(
        of task: TaskIndex, _ error: TransferError, _ verdict: Verdict, asked: TimeSpan?, backoff: TimeSpan
    ) {
        let index = Int(task.raw)
        guard let origin = lanes[Int(tasks[index].lane)].origin else { return }
        let number = Int(origin.raw)
        let policy = policy(of: task).retry
        if asked != nil || verdict.saysBusy {
            // A wait that no task would take holds back nobody.
            guard asked ?? .zero <= policy.maximumRetryAfter else { return endProbe(task, origin) }
            return park(origin, for: asked ?? backoff)
        }
        guard verdict.status == nil, !tasks[index].wasHeard, error.name.saysNobodyAnswered else {
            return endProbe(task, origin)
        }
        if case .probing(task) = origins[number].quiet {
            origins[number].failedProbes += 1
            parkUnanswered(origin, policy)
            probesToCharge.append((origin, error))
        } else if case .no = origins[number].quiet {
            if case .left(let left) = origins[number].ownTries {
                return ownTryFailed(of: task, error, origin, policy, left: left)
            }
            // What began before the last failure was part of the same breakdown.
            guard beginsRound(task, number) else { return }
            origins[number].failedRounds += 1
            if origins[number].failedRounds >= Self.failuresToPark { parkUnanswered(origin, policy) }
        }
    }

    /// Whether the failure is the first of its round.
    mutating func beginsRound(_ task: TaskIndex, _ origin: Int) -> Bool {
        if let last = origins[origin].lastFailureAt, tasks[Int(task.raw)].attemptBeganAt < last { return false }
        origins[origin].lastFailureAt = now.instant
        return true
    }

    /// A further request of an attempt that goes on was one too many. Its host is left alone like any other that says so.
    mutating func turnedAway(_ task: TaskIndex, _ origin: OriginID, _ retryAfter: TimeSpan?) {
        let policy = policy(of: task).retry
        let asked = policy.honorsRetryAfter ? retryAfter : nil
        guard tasks[Int(task.raw)].holdsSlot, asked ?? .zero <= policy.maximumRetryAfter else { return }
        park(origin, for: asked ?? backoff(policy, attempt: tasks[Int(task.raw)].tries))
    }

    /// A request that ended without telling anything about its host was no probe.
    mutating func endProbe(_ task: TaskIndex, _ origin: OriginID) {
        guard case .probing(task) = origins[Int(origin.raw)].quiet else { return }
        setQuiet(Int(origin.raw), .probing(nil))
        noteAll(lanesOf: origin)
    }

    /// The end of an attempt that tells nothing about its last host.
    mutating func tellsNothing(_ task: TaskIndex) {
        if let origin = lanes[Int(tasks[Int(task.raw)].lane)].origin { endProbe(task, origin) }
    }

    mutating func parkUnanswered(_ origin: OriginID, _ policy: RetryPolicy) {
        let parks = UInt32(origins[Int(origin.raw)].parks + 1)
        let ceiling = Self.ceiling(policy, attempt: parks)
        // A random part as in back-off, but never so short that it is none.
        let half = TimeSpan(nanoseconds: ceiling.nanoseconds / 2)
        let delay = policy.jitter == .none ? ceiling : half + TimeSpan(nanoseconds: chance(half.nanoseconds))
        park(origin, for: delay)
    }

    /// Nothing is sent to the origin for so long, whichever session it is for.
    mutating func park(_ origin: OriginID, for delay: TimeSpan) {
        let number = Int(origin.raw)
        let due = now.instant + delay
        if case .until(let present) = origins[number].quiet, present >= due { return }
        origins[number].parks += 1
        setQuiet(number, delay > .zero ? .until(due) : .probing(nil))
        if delay > .zero { timers.add(Timer(due: due, kind: .unpark, index: origin.raw)) }
        for lane in origins[number].lanes { refresh(lane) }
        noteAll(lanesOf: origin)
    }

    mutating func unpark(_ number: Int) {
        setQuiet(number, .probing(nil))
        noteAll(lanesOf: OriginID(raw: UInt32(number)))
    }
}

extension OriginState {
    mutating func apply(_ limits: OriginLimits) {
        maximumConnections = limits.maximumConnections
        rate = limits.requestsPerSecond.map { RateGate($0) }
    }
}

extension Verdict {
    /// The server has more to do than it can.
    var saysBusy: Bool { status == 429 || status == 503 }
}
