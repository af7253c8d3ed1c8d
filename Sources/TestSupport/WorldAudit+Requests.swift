import Scheduling
import Simulation
import TransferModel

// Requests: which may be sent, where and when.

extension WorldAudit {
    /// Whether the task must end for the process that takes over: none of the tasks that must come to their end is
    /// running.
    func mustMakeWay(_ task: TaskIndex) -> Bool {
        guard let way, !way.contains(task) else { return false }
        return !way.contains { pages[Int($0.raw)].phase == .running }
    }

    /// Whether an attempt has begun and not ended.
    package var seesAttempts: Bool { pages.contains { $0.phase == .running } }

    mutating func start(_ task: TaskIndex, _ attempt: Int, _ mirror: Int, _ now: Now) {
        let index = Int(task.raw)
        let page = pages[index]
        hold(page.phase == .waiting, now, "task \(index) starts and is \(page.phase)")
        hold(page.verdict == nil, now, "task \(index) starts before its last attempt was told")
        hold(attempt == page.attempts + 1, now, "task \(index) starts attempt \(attempt) after \(page.attempts)")
        hold(!page.isSuspended, now, "task \(index) starts and is suspended")
        hold(isOpen(facts(task).session, now), now, "task \(index) starts outside its window")
        hold(!isOver(for: task, now), now, "task \(index) starts after the end began")
        let isLeft = mustMakeWay(task) || way?.contains(task) == true
        hold(!isLeft, now, "task \(index) starts and is left to the next process")
        if let until = page.backoffUntil { hold(until <= now.instant, now, "task \(index) starts in its back-off") }
        if let begin = moment(policy(task).earliestBegin) {
            hold(begin <= now.wall, now, "task \(index) starts before its `earliestBegin`")
        }
        checkNeeds(task, now)
        pages[index].phase = .running
        pages[index].attempts = attempt
        startAtMirror(task, mirror, now)
        hold(pages[index].tries <= policy(task).retry.attempts ?? .max, now, "task \(index) has no attempt left")
        pages[index].startedAt = now.instant
        pages[index].backoffUntil = nil
        pages[index].isCancelled = false
        pages[index].isAlone = false
        let origin = plan.origin(of: task, mirror: mirror)
        pages[index].origin = origin
        startUnder(task, origin, now)
        if page.begunAt == nil { pages[index].begunAt = now.instant }
        pages[index].isCounted = true
        runningCount += 1
        let session = Int(facts(task).session.raw)
        sessionRunning[session] += 1
        hold(runningCount <= plan.maximumConcurrentTasks, now, "\(runningCount) tasks run")
        hold(
            sessionRunning[session] <= plan.sessions[session].maximumConcurrentTasks ?? .max, now,
            "\(sessionRunning[session]) tasks of session \(session) run")
        if let origin { send(task, origin, now) }
    }

    private mutating func checkNeeds(_ task: TaskIndex, _ now: Now) {
        if runsAfterFailure(task) {
            return hold(isConditionMet(task), now, "task \(task.raw) starts, and its `when` is not met")
        }
        for need in facts(task).needs {
            let page = pages[Int(need.raw)]
            let isVerified = page.phase == .staged && facts(need).group == facts(task).group
            let isDone = page.conclusion.map { $0.outcome == .succeeded || $0.tolerated } ?? false
            hold(isDone || isVerified, now, "task \(task.raw) starts before task \(need.raw), which it needs")
        }
        for group in facts(task).neededGroups {
            hold(groups[Int(group.raw)].isThere, now, "task \(task.raw) starts before its group was published")
        }
    }

    mutating func grant(_ task: TaskIndex, _ origin: OriginID, _ now: Now) {
        let index = Int(task.raw)
        // A task that ended in the same turn returns its slot with its end.
        guard pages[index].phase == .running else { return }
        hold(pages[index].wanted == origin, now, "task \(index) was granted what it did not ask for")
        pages[index].wanted = nil
        send(task, origin, now)
    }

    /// Notes a request that is sent, and checks that it may be.
    private mutating func send(_ task: TaskIndex, _ origin: OriginID, _ now: Now) {
        let index = Int(task.raw)
        let number = Int(origin.raw)
        hold(!pages[index].isSuspended || pages[index].isCancelled, now, "task \(index) sends and is suspended")
        hold(
            isOpen(facts(task).session, now) || pages[index].isCancelled, now, "task \(index) sends outside its window")
        pages[index].holdsSlot = true
        pages[index].origin = origin
        (pages[index].awaitsAnswer, pages[index].wasHeard) = (true, false)
        checkQuiet(task, number, now)
        occupy(task, origin, isAlone: pages[index].isAlone, now)
    }

    /// Counts one more request at the origin, under the task's own slot or a lent one.
    mutating func occupy(_ task: TaskIndex, _ origin: OriginID, isAlone: Bool, _ now: Now) {
        let number = Int(origin.raw)
        checkQuota(number, now)
        origins[number].unanswered += 1
        let lane = lane(task, origin)
        lanes[lane].slots += 1
        if isAlone { lanes[lane].alone += 1 }
        checkSlots(task, lane, number, now)
        let isWithin = origins[number].bucket?.take(1, now.instant) ?? true
        hold(isWithin, now, "more requests to host \(number) than `limits.hosts` lets through")
        let isLaneWithin = lanes[lane].bucket?.take(1, now.instant) ?? true
        hold(isLaneWithin, now, "more requests to host \(number) than `requestsPerSecond`")
    }

    private mutating func checkQuiet(_ task: TaskIndex, _ origin: Int, _ now: Now) {
        hold(
            origins[origin].quietUntil <= now.instant, now, "host \(origin) asked for quiet and task \(task.raw) sends")
        guard origins[origin].isParked, !origins[origin].isTakingBody else { return }
        hold(origins[origin].probe == nil, now, "host \(origin) has trouble, and task \(task.raw) is a second probe")
        origins[origin].probe = task
    }

    private mutating func checkQuota(_ origin: Int, _ now: Now) {
        guard var quota = origins[origin].quota else { return }
        if origins[origin].quotaUntil <= now.instant {
            guard let next = origins[origin].nextQuota else {
                origins[origin].quota = nil
                return
            }
            quota = next.limit
            while origins[origin].quotaUntil <= now.instant {
                origins[origin].quotaUntil = origins[origin].quotaUntil + next.window
            }
        }
        hold(quota > 0, now, "host \(origin) takes no more requests")
        origins[origin].quota = quota - 1
    }

    private mutating func checkSlots(_ task: TaskIndex, _ lane: Int, _ origin: Int, _ now: Now) {
        let session = plan.sessions[Int(facts(task).session.raw)]
        let page = lanes[lane]
        let isWithin =
            origins[origin].isShared
            ? page.slots - page.alone <= max(session.streamsPerConnection, session.maximumConnectionsPerHost)
            : page.slots <= session.maximumConnectionsPerHost
        hold(isWithin, now, "\(page.slots) requests at host \(origin) in one session")
        if let found = page.found, !origins[origin].isShared {
            hold(page.slots <= found, now, "\(page.slots) requests at host \(origin), where \(found) were found to do")
        }
        for (limited, limits) in setting.hostLimits where Int(limited.raw) == origin {
            guard let most = limits.maximumConnections else { continue }
            let all = (0..<plan.sessions.count).reduce(0) { $0 + connections($1 * origins.count + origin, origin) }
            hold(all <= most, now, "\(all) connections to host \(origin), \(most) are allowed")
        }
    }

    /// Checks a step of a number that is found: it is told from where it was, and stays within its bounds.
    mutating func connectionsChanged(
        _ session: SessionIndex, _ origin: OriginID, _ step: ConnectionController.Step, _ now: Now
    ) {
        let lane = Int(session.raw) * origins.count + Int(origin.raw)
        guard let range = plan.sessions[Int(session.raw)].connectionRange else {
            return hold(false, now, "the number of connections of session \(session.raw) is fixed and changes")
        }
        hold(lanes[lane].found == step.from, now, "connections to host \(origin.raw) change from \(step.from)")
        let isWithin = step.to >= range.minimum && step.to <= range.maximum && step.to != step.from
        hold(isWithin, now, "connections to host \(origin.raw) change to \(step.to)")
        let isRefusal = [.tooManyRequests, .unavailable, .noAnswer, .noGain, .slower].contains(step.reason)
        hold(isRefusal == (step.to < step.from), now, "\(step.reason.rawValue) changes \(step.from) to \(step.to)")
        lanes[lane].found = step.to
    }

    private func connections(_ lane: Int, _ origin: Int) -> Int {
        let page = lanes[lane]
        return origins[origin].isShared ? min(1, page.slots - page.alone) + page.alone : page.slots
    }

    // MARK: Answers

    mutating func release(_ task: TaskIndex) {
        let index = Int(task.raw)
        guard pages[index].holdsSlot, let origin = pages[index].origin else { return }
        endLoans(task, origin)
        pages[index].holdsSlot = false
        let lane = lane(task, origin)
        lanes[lane].slots -= 1
        if pages[index].isAlone { lanes[lane].alone -= 1 }
        if pages[index].awaitsAnswer {
            pages[index].awaitsAnswer = false
            origins[Int(origin.raw)].unanswered -= 1
        }
    }

    mutating func answered(_ task: TaskIndex, _ answer: Answer, _ now: Now) {
        let index = Int(task.raw)
        guard pages[index].holdsSlot, let origin = pages[index].origin.map({ Int($0.raw) }) else { return }
        if answer.isFurther, pages[index].lentUnanswered > 0 {
            pages[index].lentUnanswered -= 1
            origins[origin].unanswered -= 1
        } else if pages[index].awaitsAnswer {
            pages[index].awaitsAnswer = false
            origins[origin].unanswered -= 1
        }
        if let quota = answer.quota, policy(task).retry.honorsRetryAfter {
            origins[origin].quota = max(0, quota.remaining - origins[origin].unanswered)
            origins[origin].quotaUntil = now.instant + quota.resetsAfter
            origins[origin].nextQuota = nil
            if let limit = quota.limit, let window = quota.window { origins[origin].nextQuota = (limit, window) }
        }
        heard(origin, now)
        (pages[index].charged, pages[index].chargedSince) = (0, nil)
        guard answer.status != 429, !Self.isServerError(answer.status) else { return }
        answeredWell(origin, now)
    }

    mutating func heard(_ task: TaskIndex, _ now: Now) {
        let index = Int(task.raw)
        guard pages[index].holdsSlot, let origin = pages[index].origin.map({ Int($0.raw) }) else { return }
        (pages[index].wasHeard, pages[index].charged, pages[index].chargedSince) = (true, 0, nil)
        heard(origin, now)
        answeredWell(origin, now)
    }

    static func isServerError(_ status: Int?) -> Bool { status.map { (500...599).contains($0) } ?? false }

    private mutating func answeredWell(_ origin: Int, _ now: Now) {
        origins[origin].noteAnswer(isBad: false)
        if origins[origin].restUntil <= now.instant { origins[origin].mayRest = false }
        guard origins[origin].quietUntil <= now.instant else { return }
        if origins[origin].isParked { origins[origin].lastAnswers = [] }
        origins[origin].isParked = false
        (origins[origin].probe, origins[origin].isTakingBody) = (nil, false)
    }

    /// The origin takes the body of its probe.
    mutating func tookBytes(_ task: TaskIndex) {
        let page = pages[Int(task.raw)]
        guard page.holdsSlot, page.awaitsAnswer, let origin = page.origin.map({ Int($0.raw) }),
            origins[origin].probe == task
        else { return }
        // What others are answered meanwhile may begin the next trial.
        (origins[origin].isTakingBody, origins[origin].isExact) = (true, false)
    }

    /// A request was answered with a failure of the server that asks for no pause, or a round of them ended without an
    /// answer. Returns whether that is too often.
    mutating func answeredBadly(_ origin: Int) -> Bool {
        guard !origins[origin].isParked || origins[origin].isTakingBody else { return false }
        guard origins[origin].isExact else {
            (origins[origin].mayRest, origins[origin].hasHadTrouble) = (true, true)
            return false
        }
        origins[origin].noteAnswer(isBad: true)
        let count = origins[origin].lastAnswers.count { $0 }
        guard count >= 3, 5 * count > origins[origin].lastAnswers.count else { return false }
        origins[origin].isParked = true
        origins[origin].probe = nil
        return true
    }

    /// Notes what the end of an attempt says about the host that it last used.
    mutating func judgeHost(_ task: TaskIndex, _ verdict: Verdict, _ now: Now) {
        guard let origin = pages[Int(task.raw)].origin.map({ Int($0.raw) }) else { return }
        let wasProbe = origins[origin].probe == task
        if wasProbe { (origins[origin].probe, origins[origin].isTakingBody) = (nil, false) }
        guard case .failed(let error) = verdict.outcome, networks[Int(task.raw)].loss == nil else { return }
        let policy = policy(task).retry
        let asked = policy.honorsRetryAfter ? verdict.retryAfter : nil
        let rest = now.instant + max(asked ?? .zero, policy.maximumBackoff)
        if asked != nil || verdict.status == 429 {
            guard asked ?? .zero <= policy.maximumRetryAfter else { return }
            origins[origin].isParked = true
            (origins[origin].isExact, origins[origin].isTakingBody) = (false, false)
            origins[origin].restUntil = max(origins[origin].restUntil, rest)
            // A probe that is still under way was sent before this trouble showed.
            origins[origin].probe = nil
            if let asked { origins[origin].quietUntil = max(origins[origin].quietUntil, now.instant + asked) }
        } else if Self.isServerError(verdict.status) {
            if !wasProbe {
                _ = answeredBadly(origin)
            } else if verdict.status == 503 {
                origins[origin].isExact = false
                origins[origin].restUntil = max(origins[origin].restUntil, rest)
            }
        } else if verdict.status == nil, !pages[Int(task.raw)].wasHeard, Self.deadNames.contains(error.name) {
            origins[origin].restUntil = max(origins[origin].restUntil, rest)
            if wasProbe { origins[origin].isExact = false }
            for other in pages.indices where pages[other].phase == .waiting {
                guard mayAsk(other, origin) else { continue }
                if plan.tasks[other].origin.map({ Int($0.raw) }) == origin { pages[other].charged += 1 }
                pages[other].chargedSince = pages[other].chargedSince ?? now.instant
            }
            if origins[origin].hasHadTrouble { chargeMirrors(origin, of: task) }
            noteUnheard(origin, error, now)
            if origins[origin].mayGiveOwnTries {
                // Whether the host still allows own tries only the scheduler knows.
                origins[origin].mayRest = true
                origins[origin].hasHadTrouble = true
                // The failure may have begun a round, to which the requests under way now belong.
                origins[origin].lastFailureAt = now.instant
                return
            }
            guard !origins[origin].isParked || origins[origin].isTakingBody else { return }
            if let last = origins[origin].lastFailureAt, pages[Int(task.raw)].startedAt < last { return }
            origins[origin].lastFailureAt = now.instant
            noteFailedRound(origin)
        }
    }

    /// Notes a round of failures without an answer. Five in a row are more than a fifth of any twenty answers.
    private mutating func noteFailedRound(_ origin: Int) {
        origins[origin].failedRounds += 1
        if answeredBadly(origin) {
            // From the third on the origin is left alone for a time that cannot be seen.
            origins[origin].isExact = origins[origin].failedRounds < 3
        } else if origins[origin].failedRounds >= 5, !origins[origin].isTakingBody {
            // The failures while it allowed own tries may have been the first round, or none.
            origins[origin].isParked = !origins[origin].hadOwnTries || origins[origin].failedRounds > 5
        }
    }

    private mutating func heard(_ origin: Int, _ now: Now) {
        origins[origin].failedRounds = 0
        if origins[origin].heardAt != now.instant { origins[origin].unheardBefore = origins[origin].unheard }
        origins[origin].heardAt = now.instant
        origins[origin].unheard = 0
        if origins[origin].firstAnsweredAt == nil { origins[origin].firstAnsweredAt = now.instant }
        origins[origin].mayGiveOwnTries = false
        // The failures of others no longer count for tasks that were not tried since.
        for other in pages.indices where pages[other].attempts == 0 && pages[other].mirrors == nil {
            if plan.tasks[other].origin.map({ Int($0.raw) }) == origin {
                (pages[other].charged, pages[other].chargedSince) = (0, nil)
            }
        }
    }

    /// Whether the origin is one of the task's own places.
    private func mayAsk(_ index: Int, _ origin: Int) -> Bool {
        if let mirrors = pages[index].mirrors { return mirrors.origins.contains { $0.map { Int($0.raw) } == origin } }
        return plan.tasks[index].origin.map { Int($0.raw) } == origin
    }

    private mutating func noteUnheard(_ origin: Int, _ error: TransferError, _ now: Now) {
        guard error.name == .networkConnectionLost else { return origins[origin].unheard = .max / 2 }
        origins[origin].unheard += 1
        guard origins[origin].isParked || origins[origin].mayRest,
            pages.indices.contains(where: { wantsOwnTry($0, at: origin, now) })
        else { return }
        origins[origin].mayGiveOwnTries = true
        origins[origin].hadOwnTries = true
        origins[origin].isExact = false
        origins[origin].isParked = false
    }

    /// Whether the task was never tried, and may have no other try left.
    private func wantsOwnTry(_ index: Int, at origin: Int, _ now: Now) -> Bool {
        guard pages[index].phase == .waiting, pages[index].attempts == 0 else { return false }
        let task = TaskIndex(raw: UInt32(index))
        if let mirrors = plan.mirrors[task] { return mirrors.contains { $0.map { Int($0.raw) } == origin } }
        return plan.tasks[index].origin.map { Int($0.raw) } == origin
            && (pages[index].tries + pages[index].charged >= policy(task).retry.attempts ?? .max
                || isOutOfPatience(index, after: .zero, now))
    }

    /// Whether a task that was never tried may fail because its host hangs up: only after enough ends without an
    /// answer.
    func isLostRightly(_ task: TaskIndex, _ conclusion: Conclusion, _ now: Now) -> Bool {
        guard let error = conclusion.error, error.name == .networkConnectionLost, conclusion.attempts == 0,
            pages[Int(task.raw)].mirrors == nil, let origin = facts(task).origin.map({ origins[Int($0.raw)] })
        else { return true }
        let least = min(plan.ownTries.answered, plan.ownTries.unanswered)
        // The task may have been given up before the host answered in the same moment, or after an answer that was
        // followed by ends in no time.
        if origin.heardAt == now.instant, origin.unheardBefore >= least { return true }
        return origin.unheard >= (origin.hasAnswered ? plan.ownTries.answered : plan.ownTries.unanswered)
    }

    static let deadNames: Set<ErrorName> = [
        .timedOut, .cannotFindHost, .cannotConnectToHost, .networkConnectionLost, .dnsLookupFailed,
        .cannotFindProxy, .cannotConnectToProxy, .proxyCouldNotConnect,
    ]
}
