internal import Scheduling
internal import Simulation
internal import TransferModel

// Tasks with several `urls`: each URL once in a round, the pause only after the last.

extension WorldAudit {
    /// The present round of a task with several `urls`, as far as it can be seen from outside.
    struct MirrorPage {
        struct Failure {
            let mirror: Int
            let canHeal: Bool
            /// Whether the server may have asked for a wait that ends after the task's `retry.for`: then it cannot heal.
            let mayBeTooLate: Bool
            let status: Int?
            let foundNoRoute: Bool
        }

        let origins: [OriginID?]
        var current = 0
        /// Failures of the task in this round, in their order.
        var failures: [Failure] = []
        /// Indices of URLs whose file is a wrong one, which no round tries again.
        var wrong: Set<Int> = []
        /// Whether failures of other tasks at one of its hosts may have counted as its own while it waited, and begun
        /// rounds that cannot be seen: from then on any order of its URLs is right.
        var wasCharged = false

        init(_ origins: [OriginID?]) { self.origins = origins }

        var isRoundOver: Bool {
            wasCharged || origins.indices.allSatisfy { hasFailed(at: $0) }
        }
        func hasFailed(at mirror: Int) -> Bool {
            wrong.contains(mirror) || failures.contains { $0.mirror == mirror }
        }
        var canHeal: Bool { wasCharged || failures.contains { $0.canHeal } }
        /// The statuses of those failures that the task's end may tell: the last that could heal, else the first.
        var tellingStatuses: [Int?] {
            let couldHeal = failures.reversed().filter(\.canHeal)
            let sure = couldHeal.firstIndex { !$0.mayBeTooLate }
            if let sure { return couldHeal[...sure].map(\.status) }
            return couldHeal.map(\.status) + [failures.first?.status]
        }
    }

    private static let lately = TimeSpan.seconds(300)

    mutating func startAtMirror(_ task: TaskIndex, _ mirror: Int, _ now: Now) {
        let index = Int(task.raw)
        guard var page = pages[index].mirrors else {
            pages[index].tries += 1
            return hold(mirror == 0, now, "task \(index) has one place and starts at place \(mirror)")
        }
        hold(!page.wrong.contains(mirror), now, "task \(index) asks place \(mirror) again for a wrong file")
        if page.hasFailed(at: mirror) {
            hold(page.isRoundOver, now, "task \(index) starts again at place \(mirror) before it tried all")
            page.failures = []
        }
        if page.failures.isEmpty { pages[index].tries += 1 }
        page.current = mirror
        pages[index].mirrors = page
        checkOrder(index, page, now)
    }

    /// Checks that URLs are tried in the order of the job, those that failed lately last.
    private func checkOrder(_ index: Int, _ page: MirrorPage, _ now: Now) {
        // A host that asked for no requests gets a probe, from a task without a better URL or after that time.
        if page.wasCharged || isUnwell(page.origins[page.current], now) { return }
        let failedLately = hasFailedLately(page.origins[page.current], now)
        for other in page.origins.indices where !page.hasFailed(at: other) && !wasFarther(index, other) {
            let origin = page.origins[other]
            let isWorse = isUnwell(origin, now) || hasFailedLately(origin, now)
            // The task may have begun to wait here because the other URL's host was in trouble.
            let wasWorse = origin.map { origins[Int($0.raw)].hasHadTrouble } ?? false
            let isRight = failedLately ? other == page.current || isWorse : other >= page.current || wasWorse
            hold(isRight, now, "task \(index) starts at place \(page.current) before place \(other)")
        }
    }

    /// Whether the other URL needed a network, missing now or when the task began to wait, that the present one does
    /// not need.
    private func wasFarther(_ index: Int, _ other: Int) -> Bool {
        guard let conditions = plan.conditions, let page = pages[index].mirrors,
            let origin = page.origins[other]
        else { return false }
        let isFar = conditions.isDictated || !plan.localOrigins.contains(origin)
        return isFar && page.origins[page.current].map { plan.localOrigins.contains($0) } ?? true
    }

    private func isUnwell(_ origin: OriginID?, _ now: Now) -> Bool {
        guard let page = origin.map({ origins[Int($0.raw)] }) else { return false }
        return page.mayRest || now.instant < page.restUntil
    }

    private func hasFailedLately(_ origin: OriginID?, _ now: Now) -> Bool {
        guard let failed = origin.flatMap({ origins[Int($0.raw)].mirrorFailedAt }) else { return false }
        return now.instant < failed + Self.lately
    }

    mutating func endedAtMirror(_ task: TaskIndex, _ verdict: Verdict, _ now: Now) {
        let index = Int(task.raw)
        guard let page = pages[index].mirrors else { return }
        let origin = page.origins[page.current].map { Int($0.raw) }
        switch verdict.outcome {
        case .cancelled: break
        case .succeeded:
            if let origin, let failed = origins[origin].mirrorFailedAt, failed <= pages[index].startedAt {
                origins[origin].mirrorFailedAt = nil
            }
        case .failed(let error):
            let loss = networks[index].loss
            if loss == .gone, waitsForNetwork(task) { return }
            if let origin, loss == nil {
                origins[origin].mirrorFailedAt = now.instant
                origins[origin].hasHadTrouble = true
            }
            let canHeal = loss == .noRoute ? waitsForNetwork(task) : mayHeal(error, verdict, policy(task).retry)
            if error.name == .checksumMismatch, !canHeal { pages[index].mirrors?.wrong.insert(page.current) }
            let failure = MirrorPage.Failure(
                mirror: page.current, canHeal: canHeal, mayBeTooLate: mayBeTooLate(index, verdict, now),
                status: verdict.status, foundNoRoute: loss == .noRoute)
            pages[index].mirrors?.failures.append(failure)
        }
    }

    private func mayBeTooLate(_ index: Int, _ verdict: Verdict, _ now: Now) -> Bool {
        guard let asked = verdict.retryAfter, policy(TaskIndex(raw: UInt32(index))).retry.honorsRetryAfter else {
            return false
        }
        return isOutOfPatience(index, after: asked, now)
    }

    /// The longest that a server may have asked to wait.
    private func askedLongest(_ index: Int) -> TimeSpan {
        let policy = plan.policies[plan.tasks[index].policy].retry
        return policy.honorsRetryAfter ? policy.maximumRetryAfter : .zero
    }

    private func mayHeal(_ error: TransferError, _ verdict: Verdict, _ policy: RetryPolicy) -> Bool {
        if policy.honorsRetryAfter, let asked = verdict.retryAfter, asked > policy.maximumRetryAfter { return false }
        guard error.name == .unexpectedResponse else { return error.name.canHeal }
        return verdict.status.map { policy.statuses.contains($0) } ?? false
    }

    /// Notes that a request to a host in trouble failed, which may count for each task that waits there.
    mutating func chargeMirrors(_ origin: Int, of probe: TaskIndex) {
        for index in pages.indices where pages[index].phase == .waiting || index == Int(probe.raw) {
            guard let page = pages[index].mirrors else { continue }
            if page.origins.contains(where: { $0.map { Int($0.raw) } == origin }) {
                pages[index].mirrors?.wasCharged = true
            }
        }
    }

    /// Checks what follows a failed attempt: the next URL at once, or a pause when all have failed.
    mutating func goesOn(_ task: TaskIndex, _ backoff: TimeSpan?, _ now: Now) {
        let index = Int(task.raw)
        guard let page = pages[index].mirrors else { return }
        hold(!wasOver(for: task), now, "task \(index) is to be tried again after the end began")
        guard let backoff else {
            let isLeft = page.wasCharged || !page.isRoundOver
            return hold(isLeft, now, "task \(index) goes on at once and has tried all its places")
        }
        let policy = policy(task).retry
        hold(page.isRoundOver, now, "task \(index) pauses before it tried all its places")
        hold(page.canHeal, now, "task \(index) begins another round, and nothing could heal")
        hold(pages[index].tries < policy.attempts ?? .max, now, "task \(index) begins round \(pages[index].tries + 1)")
        let asked = policy.honorsRetryAfter ? policy.maximumRetryAfter : .zero
        hold(backoff <= max(policy.maximumBackoff, asked), now, "task \(index) pauses longer than its policy")
        checkPatience(index, backoff, now)
        if policy.jitter == .none, !page.wasCharged {
            let least = min(policy.ceiling(afterFailures: pages[index].tries), patienceLeft(index, now))
            hold(backoff >= least, now, "task \(index) pauses \(backoff.seconds) s, not \(least.seconds) s")
        }
        pages[index].mirrors?.failures = []
        pages[index].backoffUntil = now.instant + backoff
    }

    mutating func checkGivenUp(_ task: TaskIndex, _ page: MirrorPage, _ conclusion: Conclusion, _ now: Now) {
        let index = Int(task.raw)
        guard pages[index].hasFailed else { return }
        let mayBeTolerated =
            page.wasCharged || page.tellingStatuses.contains { conclusion.tolerated == allows(task, $0) }
            || hasReasonToEnd(task, now) && conclusion.tolerated == allows(task, pages[index].verdict?.status)
        hold(mayBeTolerated, now, "task \(index) is tolerated: \(conclusion.tolerated)")
        let isSpent =
            page.wasCharged || pages[index].tries >= policy(task).retry.attempts ?? .max
            || !page.canHeal || isOutOfPatience(index, after: askedLongest(index), now)
        hold(
            hasReasonToEnd(task, now) || page.isRoundOver && isSpent, now,
            "task \(index) was given up with places to try")
    }
}
