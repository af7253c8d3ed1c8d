import TransferModel

// Tasks with several `urls`: which place is asked next, and what the failure of one leads to.

extension Scheduler {
    func isMirrored(_ task: TaskIndex) -> Bool { !mirrors.isEmpty && mirrors[task] != nil }

    /// Whether the next attempt may be at another place; where not, a failure is judged like that of a task with one.
    func mayGoElsewhere(_ task: TaskIndex) -> Bool { isMirrored(task) && mirrors[task]?.mustStay == false }

    /// Whether the task begins a round, or has one place only: what begins now counts as one of `retry.attempts`.
    func isFreshRound(_ task: TaskIndex) -> Bool { mirrors.isEmpty || mirrors[task]?.isFresh ?? true }

    // MARK: Which one

    /// The origin where the task is to queue: of several places, the first of those that stand best.
    mutating func chooseOrigin(_ task: TaskIndex) -> OriginID? {
        guard isMirrored(task), let round = mirrors[task] else { return plan.tasks[Int(task.raw)].origin }
        let mirror = bestMirror(of: round, for: task)
        mirrors[task]?.current = mirror
        return round.origins[mirror]
    }

    func bestMirror(of round: MirrorRound, for task: TaskIndex) -> Int {
        round.untried.min { standing(of: round.origins[$0], for: task) < standing(of: round.origins[$1], for: task) }
            ?? round.current
    }

    private func standing(of origin: OriginID?, for task: TaskIndex) -> MirrorStanding {
        if conditions.areStrict, shortage(of: task, at: origin) != nil { return .outOfReach }
        guard let origin, Int(origin.raw) < slots.hosts.count else { return .well }
        return slots[origin].health.standing(at: now.instant)
    }

    /// Takes a task that waits for a place to one that stands better by now. Returns whether there is one.
    mutating func goesElsewhere(_ task: TaskIndex) -> Bool {
        guard isMirrored(task), let round = mirrors[task] else { return false }
        let best = standing(of: round.origins[bestMirror(of: round, for: task)], for: task)
        guard best < standing(of: round.origin, for: task) else { return false }
        accountQueueTime(Int(task.raw))
        enqueue(task)
        return true
    }

    /// Takes tasks that wait for a quiet host to another place that stands better. Returns whether any moved.
    mutating func passOverQuietHosts() -> Bool {
        guard mayStart, slots.takeQuietChange(), !mirrors.isEmpty else { return false }
        var hasMoved = false
        for origin in slots.hosts.indices where slots.hosts[origin].health.isQuiet {
            for (task, lane) in mirrored(waitingFor: origin)
            where isQueued(task, in: lane) && goesElsewhere(task) { hasMoved = true }
        }
        return hasMoved
    }

    /// The tasks with several `urls` that wait for the host. A queue keeps entries of tasks that left it, so one that came
    /// back may be in it twice; it is returned once.
    private func mirrored(waitingFor origin: Int) -> [(task: TaskIndex, lane: Int)] {
        var found: Set<TaskIndex> = []
        return slots.hosts[origin].lanes.flatMap { lane in
            slots.lanes[lane].queued { isMirrored($0) && isQueued($0, in: lane) && found.insert($0).inserted }
                .map { ($0, lane) }
        }
    }

    // MARK: An attempt at one

    /// The number of the place at which the task begins; 0 when it has only one.
    mutating func beginAtMirror(_ task: TaskIndex, _ lane: Int) -> Int {
        guard isMirrored(task) else { return 0 }
        if mirrors[task]?.meet() == true { slots.countTask(in: lane) }
        return mirrors[task]?.current ?? 0
    }

    /// A success shows that the place is well, unless it failed since that attempt began.
    mutating func mirrorServed(_ task: TaskIndex) {
        guard isMirrored(task), let origin = mirrors[task]?.origin else { return }
        slots.mirrorServed(origin, since: tasks[task].attemptBeganAt)
    }

    /// `asked` is a `Retry-After` that the policy honours, and `backoff` the pause after a whole round.
    mutating func failedAtMirror(
        _ task: TaskIndex, _ error: TransferError, _ verdict: Verdict, _ meant: Ending?, _ loss: NetworkLoss?,
        asked: TimeSpan?, backoff: TimeSpan
    ) {
        guard let round = mirrors[task], !error.name.isNoFault(of: round.origin) else {
            return finish(task, .failed, error, verdict.status)
        }
        let policy = policy(of: task).retry
        let told = note(error, verdict, loss, asked: asked, policy, at: round, of: task)
        // No place could be asked: the round begins anew when a network leads to one.
        if let loss, waitsForNetwork(task), mirrors[task]?.foundNoRoute == true {
            mirrors[task]?.beginAnew()
            return goOnWithNetwork(task, error, verdict, meant, loss)
        }
        guard policy.mayRepeat(verdict), mayGoOn(task, after: error) else { return giveUp(task) }
        if case .finish(let outcome, let error, let deferral) = meant {
            return finish(task, outcome, error, verdict.status, deferral)
        }
        switch nextTry(of: task) {
        case .allowed: break
        case .deferred(let reason): return finish(task, .deferred, nil, verdict.status, reason)
        case .none: return giveUp(task)
        }
        guard mirrors[task]?.isOver == true else { return startNextAttempt(task, told) }
        backOffAfterRound(task, told, backoff)
    }

    /// Gives back the error as it is told with the attempt.
    private mutating func note(
        _ error: TransferError, _ verdict: Verdict, _ loss: NetworkLoss?, asked: TimeSpan?, _ policy: RetryPolicy,
        at round: MirrorRound, of task: TaskIndex
    ) -> TransferError {
        if loss == nil, let origin = round.origin { slots.mirrorFailed(origin, at: now.instant) }
        var verdict = verdict
        // Another place may have the right file: only the last is asked past the caches.
        if !round.isLastLeft { verdict.mayBeOfACache = false }
        var (told, mayHeal) = (error, policy.canHeal(error, verdict))
        if let asked, asked > policy.maximumRetryAfter {
            told = error.adding(retryAfter: asked, beyond: "`retry.retryAfter.maximum`")
            mayHeal = false
        } else if let asked, isTooLong(asked, retryDeadline(of: task, at: round.origins)) {
            told = error.adding(retryAfter: asked, beyond: "`retry.for` leaves")
            mayHeal = false
        }
        if loss == .noRoute { mayHeal = waitsForNetwork(task) }
        mirrors[task]?.note(
            MirrorRound.Failure(
                mirror: round.current, error: told.asRefusal, status: verdict.status, canHeal: mayHeal,
                quietUntil: asked.map { clock.now.instant + $0 }, foundNoRoute: loss == .noRoute))
        if told != error, mirrors[task]?.isOver == false { told.message += ": the next of `urls` is tried" }
        return told
    }

    /// Whether its round has another place to try, or another round may follow.
    private func mayGoOn(_ task: TaskIndex, after error: TransferError) -> Bool {
        guard let round = mirrors[task], round.isOver else { return true }
        return round.canHeal && Int(tasks[task].tries) < mostTries(of: task, after: error)
            && hasPatience(retryDeadline(of: task, at: round.origins))
    }

    /// To the next place of the same round, at once; or to another attempt that only a network may hold back.
    mutating func startNextAttempt(_ task: TaskIndex, _ error: TransferError) {
        let held = tasks[task].takeWaitInAttempt()
        actions.append(
            .attemptEnded(task, AttemptEnd(outcome: .failed, error: error, backoff: nil, held: held)))
        makeReady(task)
    }

    /// All places failed: the policy's pause, or until one that may heal can be asked.
    private mutating func backOffAfterRound(_ task: TaskIndex, _ error: TransferError, _ backoff: TimeSpan) {
        let asked = (mirrors[task]?.opensAt(now.instant)).map { $0 - now.instant } ?? .zero
        let deadline = retryDeadline(of: task, at: mirrors[task]?.origins ?? [])
        let pause = shortened(backoff, deadline)
        mirrors[task]?.beginAnew()
        if asked > pause {
            backOff(task, error, asked, .retryAfter, until: deadline)
        } else {
            backOff(task, error, pause, .backoff, until: deadline)
        }
    }

    private mutating func giveUp(_ task: TaskIndex) {
        guard let round = mirrors[task], let telling = round.telling else { return }
        var error = telling.error
        let (tried, count) = (round.failures.count, round.origins.count)
        error.message += tried == count ? "; all \(count) `urls` failed" : "; \(tried) of \(count) `urls` tried"
        if let wrong = round.wrongFile { error.message += ", one of them with a wrong file: \(wrong.error.message)" }
        if round.canHeal {
            error = givenUp(task, error, at: round.origins, retryDeadline(of: task, at: round.origins))
        }
        finish(task, .failed, error, telling.status)
    }

    // MARK: Found by another task

    /// Charges a failed probe to each mirrored task that waits for the host: it goes on as if the attempt had been its
    /// own, and the host's park as if it had been the pause between two rounds. Returns how many tasks this would end
    /// that were never tried: those wait on.
    mutating func chargeMirrors(_ origin: OriginID, _ error: TransferError) -> Int {
        guard !mirrors.isEmpty else { return 0 }
        var spared = 0
        for (task, lane) in mirrored(waitingFor: Int(origin.raw)) where isQueued(task, in: lane) {
            let before = (round: mirrors[task], tries: tasks[task].tries)
            if isFreshRound(task) { tasks[task].tries += 1 }
            retries.probeFailed(for: task, of: origin, at: now.instant, slots.hosts)
            let mirror = mirrors[task]?.current ?? 0
            mirrors[task]?.note(MirrorRound.Failure(mirror: mirror, error: error, canHeal: true))
            let mayGoOn = mayGoOn(task, after: error)
            if !mayGoOn, hasOwnTry(task, at: origin, after: error) {
                (mirrors[task], tasks[task].tries) = before
                spared += 1
                continue
            }
            accountQueueTime(Int(task.raw))
            guard mayGoOn else {
                giveUp(task)
                continue
            }
            if mirrors[task]?.isOver == true { mirrors[task]?.beginAnew() }
            enqueue(task)
        }
        return spared
    }
}
