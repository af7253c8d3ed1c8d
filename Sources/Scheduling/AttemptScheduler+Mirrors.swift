import TransferModel

// Tasks with several `urls`: which place is asked next, and what the failure of one leads to.

extension AttemptScheduler {
    /// Whether the task has several `urls` and has not finished.
    func isMirrored(_ task: TaskIndex) -> Bool { !mirrors.isEmpty && mirrors[task] != nil }

    /// Whether the next attempt may be at another place; where not, a failure is judged like that of a task with one.
    func mayGoElsewhere(_ task: TaskIndex) -> Bool { isMirrored(task) && mirrors[task]?.mustStay == false }

    /// Whether the task begins a round, or has one place only: what begins now counts as one of `retry.attempts`.
    func isFreshRound(_ task: TaskIndex) -> Bool { mirrors.isEmpty || mirrors[task]?.isFresh ?? true }

    // MARK: Which one

    /// The origin where the task is to queue: of several places, the first of those that stand best.
    mutating func chooseOrigin(_ task: TaskIndex, _ run: borrowing RunState) -> OriginID? {
        guard isMirrored(task), let round = mirrors[task] else { return run.plan.tasks[Int(task.raw)].origin }
        let mirror = bestMirror(of: round, for: task, run)
        mirrors[task]?.current = mirror
        return round.origins[mirror]
    }

    /// Returns the place that stands best of those that the round has still to try.
    func bestMirror(of round: MirrorRound, for task: TaskIndex, _ run: borrowing RunState) -> Int {
        round.best { standing(of: $0, for: task, run) }
    }

    private func standing(of origin: OriginID?, for task: TaskIndex, _ run: borrowing RunState) -> MirrorStanding {
        if shortage(of: task, at: origin, run) != nil { return .outOfReach }
        guard let origin, Int(origin.raw) < slots.hosts.count else { return .well }
        return slots[origin].health.standing(at: run.now.instant)
    }

    /// Moves a task that waits for a place to one that stands better by now. Returns whether there is one.
    mutating func goesElsewhere(_ task: TaskIndex, _ run: inout RunState) -> Bool {
        guard isMirrored(task), let round = mirrors[task] else { return false }
        let best = standing(of: round.origins[bestMirror(of: round, for: task, run)], for: task, run)
        guard best < standing(of: round.origin, for: task, run) else { return false }
        leavePhase(task, &run)
        enqueue(task, &run)
        return true
    }

    /// Moves tasks that wait for a quiet host to another place that stands better. Returns whether any moved.
    mutating func passOverQuietHosts(_ run: inout RunState) -> Bool {
        guard slots.takeQuietChange(), !mirrors.isEmpty else { return false }
        var hasMoved = false
        for origin in slots.hosts.indices where slots.hosts[origin].health.isQuiet {
            for (task, lane) in mirrored(waitingFor: origin, run)
            where run.isQueued(task, in: lane) && goesElsewhere(task, &run) { hasMoved = true }
        }
        return hasMoved
    }

    /// The tasks with several `urls` that wait for the host. A queue keeps entries of tasks that left it, so one that
    /// came back may be in it twice; it is returned once.
    func mirrored(waitingFor origin: Int, _ run: borrowing RunState) -> [(task: TaskIndex, lane: Int)] {
        guard !mirrors.isEmpty else { return [] }
        var found: Set<TaskIndex> = []
        var waiting: [(task: TaskIndex, lane: Int)] = []
        for lane in slots.hosts[origin].lanes {
            for task in slots.lanes[lane].queued(where: { isMirrored($0) && run.isQueued($0, in: lane) })
            where found.insert(task).inserted { waiting.append((task, lane)) }
        }
        return waiting
    }

    // MARK: An attempt at one

    /// The number of the place at which the task begins; 0 when it has only one.
    mutating func beginAtMirror(_ task: TaskIndex, _ lane: Int) -> Int {
        guard isMirrored(task) else { return 0 }
        if mirrors[task]?.meet() == true { slots.countTask(in: lane) }
        return mirrors[task]?.current ?? 0
    }

    /// The task's attempt is over: notes whether the next one has to be at the same place.
    mutating func attemptEndedAtMirror(_ task: TaskIndex, _ verdict: Verdict, _ run: borrowing RunState) {
        guard isMirrored(task) else { return }
        let mayOnlyGoOn = verdict.mayOnlyGoOn && !run.plan[policyOf: task].retry.nonIdempotent
        mirrors[task]?.mustStay = mayOnlyGoOn || verdict.isOfStore
    }

    /// A success shows that the place is well, unless it failed since that attempt began.
    mutating func mirrorServed(_ task: TaskIndex, _ run: borrowing RunState) {
        guard isMirrored(task), let origin = mirrors[task]?.origin else { return }
        slots.mirrorServed(origin, since: run.tasks[task].attemptBeganAt)
    }

    /// Returns what follows where the next attempt may be at another place.
    mutating func failedAtMirror(_ failed: FailedAttempt, _ run: inout RunState) -> AfterFailure {
        let task = failed.task
        guard let round = mirrors[task], !failed.error.name.isNoFault(of: round.origin) else {
            return .finish(.failed, failed.error, nil, status: failed.verdict.status)
        }
        if failed.loss == nil, let origin = round.origin { slots.mirrorFailed(origin, at: run.now.instant) }
        let deadline = retryDeadline(of: task, at: round.origins, run)
        let policy = run.plan[policyOf: task].retry
        let waitsForNetwork = waitsForNetwork(task, run)
        let error =
            mirrors[task]?.failed(failed, policy, deadline, waitsForNetwork: waitsForNetwork) ?? failed.error
        // No place could be asked: the round begins anew when a network leads to one.
        if failed.loss != nil, waitsForNetwork, mirrors[task]?.foundNoRoute == true {
            mirrors[task]?.beginAnew()
            return tryAgainWithNetwork(failed, &run)
        }
        guard policy.mayRepeat(failed.verdict), mayGoOn(task, after: failed.error, run) else {
            return giveUp(task, run)
        }
        // Where the run lets nothing begin again, the round's end is what people are told.
        if failed.nextTry == .none, !failed.isToldToEnd { return giveUp(task, run) }
        if let ending = failed.givenEnding(otherwise: failed.error) { return ending }
        guard mirrors[task]?.isOver == true else { return .tryAgain(error) }
        return backOffAfterRound(task, error, failed.backoff, deadline)
    }

    /// Whether its round has another place to try, or another round may follow.
    private func mayGoOn(_ task: TaskIndex, after error: TransferError, _ run: borrowing RunState) -> Bool {
        guard let round = mirrors[task], round.isOver else { return true }
        return round.canHeal && Int(run.tasks[task].tries) < mostTries(of: task, after: error, run)
            && !retryDeadline(of: task, at: round.origins, run).isOver
    }

    /// All places failed: the policy's pause, or until one that may heal can be asked.
    private mutating func backOffAfterRound(
        _ task: TaskIndex, _ error: TransferError, _ backoff: TimeSpan, _ deadline: RetryDeadline
    ) -> AfterFailure {
        let asked = (mirrors[task]?.opensAt(deadline.now)).map { $0 - deadline.now } ?? .zero
        let pause = deadline.shortened(backoff)
        mirrors[task]?.beginAnew()
        if asked > pause { return .backOff(error, asked, .retryAfter, until: deadline.end) }
        return .backOff(error, pause, .backoff, until: deadline.end)
    }

    private func giveUp(_ task: TaskIndex, _ run: borrowing RunState) -> AfterFailure {
        guard let round = mirrors[task], let decisive = round.decisiveFailure else {
            return .finish(.failed, nil, nil, status: nil)
        }
        let error = round.finalError(decisive, retryDeadline(of: task, at: round.origins, run))
        return .finish(.failed, error, nil, status: decisive.status)
    }

    // MARK: Found by another task

    /// What follows where a probe failed for a task with several `urls` that waits for the host.
    enum Charge: Sendable {
        /// The task waits for another place, or for the next round.
        case waits
        /// The task would end without a try: it waits on for the host.
        case spared
        case finish(AfterFailure)
    }

    /// Charges a failed probe to a task with several `urls` that waits for the host: it goes on as if the attempt had
    /// been its own, and the host's park as if it had been the pause between two rounds.
    mutating func chargeProbe(
        of origin: OriginID, _ error: TransferError, toMirrored task: TaskIndex, _ run: inout RunState
    ) -> Charge {
        let before = (round: mirrors[task], tries: run.tasks[task].tries)
        if isFreshRound(task) { run.tasks[task].tries += 1 }
        retries.probeFailed(for: task, of: origin, at: run.now.instant, slots.hosts)
        let mirror = mirrors[task]?.current ?? 0
        mirrors[task]?.placeFailed(MirrorRound.Failure(mirror: mirror, error: error, canHeal: true))
        let mayGoOn = mayGoOn(task, after: error, run)
        if !mayGoOn, hasOwnTry(task, at: origin, after: error, run) {
            (mirrors[task], run.tasks[task].tries) = before
            return .spared
        }
        leavePhase(task, &run)
        guard mayGoOn else { return .finish(giveUp(task, run)) }
        if mirrors[task]?.isOver == true { mirrors[task]?.beginAnew() }
        enqueue(task, &run)
        return .waits
    }
}
