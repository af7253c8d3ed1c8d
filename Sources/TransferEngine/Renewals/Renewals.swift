import AttemptLife
import HTTPRules
import TransferModel

/// Runs the task again that captured a token, once, when a request that holds the token is answered 401; the request is
/// then tried again with what the task captures now.
final class Renewals: Participant {
    let core: EngineCore
    /// The renewals that are under way, and those that ended.
    private(set) var underWay = TokenRenewals()

    init(_ core: EngineCore) { self.core = core }

    /// How many tokens were renewed in the run.
    var count: Int { underWay.count }

    /// Whether the task has ended, and is run again for others.
    func isRenewing(_ task: TaskIndex) -> Bool { underWay.isRenewing(task) }

    /// The task for which a slot was asked in the name of `task`: its own wait goes on when the slot is there.
    func performer(of task: TaskIndex) -> TaskIndex {
        let performer = underWay.performer(of: task)
        if performer != task { core.attempt(of: task)?.credentialWait.start(at: core.now.instant) }
        return performer
    }

    /// Whether the attempt goes on after its error, because it was the refusal of a token that can be renewed, or has
    /// ended as the last renewal did.
    func renewsToken(_ attempt: Attempt, _ error: TransferError) -> Bool {
        guard error.name == .unexpectedResponse, attempt.life.lastStatus == 401, attempt.life.isDeclined,
            attempt.life.showedWhoItIs,
            !attempt.isLookingUp, attempt.object == nil, attempt.streams.segmented == nil,
            !underWay.isRenewing(attempt.task), let source = underWay.source(of: attempt.task, in: core.job),
            core.job.tasks[Int(source.raw)].canRunAgain,
            core.captured.values(of: core.job.tasks[Int(source.raw)].id) != nil,
            underWay.isRenewing(source) || core.attempt(of: source) == nil
        else { return false }
        let decision = underWay.refuse(
            attempt.task, error, token: source, seen: attempt.renewal.seen, hasTried: attempt.renewal.hasTriedAgain,
            isRetry: attempt.number > 1)
        switch decision {
        case .refused:
            guard let failure = underWay.failure(of: source) else { return false }
            failTask(attempt, error, as: failure, of: source)
        case .again: tryAgain(attempt)
        case .wait, .begin:
            participants.announcements.tellHeld(attempt)
            core.releaseSlot(attempt)
            attempt.phase = .awaitingCredential
            attempt.credentialWait.start(at: core.now.instant)
            if decision == .begin { beginRenewal(source) }
        }
        return true
    }

    /// Fails an attempt that got no new token as the task failed that captures it: what can heal is tried again.
    private func failTask(_ attempt: Attempt, _ refusal: TransferError, as failure: Verdict, of source: TaskIndex) {
        let source = core.job.tasks[Int(source.raw)]
        var error = participants.explanations.shown(refusal, attempt)
        let words =
            "\(error.message); `\(source.id)`, run again for a new token, failed: \(failure.error?.message ?? "")"
        if case .failed(let other) = failure.outcome { error = other }
        error.message = words
        var verdict = Verdict(
            .failed(error), status: failure.status, retryAfter: failure.retryAfter,
            sentSomething: failure.sentSomething,
            isIdempotent: failure.isIdempotent || source.options.values.policies.retry.nonIdempotent)
        verdict.tookEffect = failure.tookEffect || attempt.life.tookEffect
        verdict.lostNetwork = failure.lostNetwork
        verdict.isOfOtherHost = true
        engine.endAttempt(attempt, verdict)
    }

    // MARK: The task that is run again

    private func beginRenewal(_ source: TaskIndex) {
        do throws(TransferError) {
            let specification = try core.job.tasks[Int(source.raw)].filled(from: core.captured)
            guard let url = specification.location(mirror: 0).url else {
                throw TransferError(.badURL, "`\(specification.id)` has no URL")
            }
            let attempt = engine.makeAttempt(source, 1, 0, specification, url, partial: nil, startedAt: core.now)
            core.attempts[Int(source.raw)] = attempt
            // A cache would give the token that was refused.
            if attempt.rules.method == "GET" { attempt.life.passCaches(because: "its token was refused") }
            participants.credentials.learnPasswords(attempt, url)
            if let problem = participants.bodies.planBody(attempt) { throw problem }
            engine.prepare(attempt)
        } catch {
            core.attempts[Int(source.raw)] = nil
            endRenewal(source, Verdict(.failed(error)), [])
        }
    }

    /// Says to the scheduler what a task that is run again reports, under the name of the attempt that waits for it.
    func settleRenewals() {
        if underWay.isIdle { return }
        var place = 0
        while place < core.reports.count {
            guard let task = core.reports[place].task, underWay.isRenewing(task) else {
                place += 1
                continue
            }
            if case .ended(_, let verdict) = core.reports[place] {
                core.reports.remove(at: place)
                renewed(task, verdict)
            } else if let report = core.reports[place].renamed(underWay.leader(of: task)) {
                // From here to the grant the scheduler counts the leader's wait.
                if case .needsGrant(let leader, _, _) = report {
                    core.attempt(of: leader)?.credentialWait.stop(at: core.now.instant)
                }
                core.reports[place] = report
                place += 1
            } else {
                core.reports.remove(at: place)
            }
        }
    }

    private func renewed(_ source: TaskIndex, _ verdict: Verdict) {
        let result = engine.takeResult(of: source)
        core.retryStates[source] = nil
        participants.bodies.plans.ended(source)
        endRenewal(source, verdict, result?.transactions ?? [])
    }

    private func endRenewal(_ source: TaskIndex, _ verdict: Verdict, _ transactions: [TransactionMetrics]) {
        let failure: Verdict? = if case .succeeded = verdict.outcome { nil } else { verdict }
        guard let renewal = underWay.end(source, failure: failure) else { return }
        for (task, refusal) in renewal.waiting {
            guard let waiting = core.attempt(of: task) else { continue }
            if task == renewal.leader { waiting.transactions += transactions }
            waiting.credentialWait.stop(at: core.now.instant)
            if let failure { failTask(waiting, refusal, as: failure, of: source) } else { tryAgain(waiting) }
        }
    }

    // MARK: The attempts that wait

    /// Begins the attempt's request anew, with what is captured now.
    func tryAgain(_ last: Attempt, isRenewed: Bool = true) {
        if isRenewed { last.renewal.hasTriedAgain = true }
        core.captured.page = last.pages.number
        guard let specification = try? core.job.tasks[Int(last.task.raw)].filled(from: core.captured),
            let url = last.pages.url ?? specification.location(mirror: last.mirror).url
        else {
            return engine.fail(last, TransferError(.dependencyFailed, "what its request needs is not known any more"))
        }
        core.releaseSlot(last)
        if last.isDownload, !participants.partials.leaveUntouched(last), participants.partials.keepPartial(last) == nil
        {
            participants.partials.discard(last.download.staging)
        }
        // Its values are those of the first try.
        if case .multipart? = specification.options.values.body { participants.bodies.plans.planned[last.task] = nil }
        let partial = core.retryStates[last.task]?.takePartialFile(at: last.mirror)
        participants.pages.beginAnew(
            specification, url, after: last, partial: partial, isTriedAgain: last.renewal.hasTriedAgain)
    }

    /// Notes that a request of the attempt has ended: its token was accepted, or it waits for a renewal no longer.
    func requestAnswered(_ attempt: Attempt) {
        if underWay.isUnused { return }
        // A failure of the server's own says nothing about the token.
        if let status = attempt.life.lastStatus, status != 401, status < 500, attempt.life.showedWhoItIs,
            let source = underWay.source(of: attempt.task, in: core.job)
        {
            underWay.accept(token: source, seen: attempt.renewal.seen)
        }
        guard !underWay.isRenewing(attempt.task), let source = underWay.leave(attempt.task) else { return }
        // The slot was this attempt's: the next one that waits begins the other task anew.
        if let renewing = core.attempt(of: source) {
            engine.stopTransfer(renewing)
            core.releaseSlot(renewing)
            renewing.session.giveBack(renewing.transport.ownPool)
            renewing.result = participants.pages.placeholder(renewing)
        }
        core.attempts[Int(source.raw)] = nil
        core.reports = core.reports.compactMap { $0.task == source ? $0.renamed(attempt.task) : $0 }
        if underWay.isRenewing(source) { beginRenewal(source) }
    }
}

extension TaskSpecification {
    /// Whether the task can be run again for what it captures: it leaves no file, and sends nothing that is gone.
    fileprivate var canRunAgain: Bool { !isTemplate && whyNotRunAgain == nil }
}

extension ExecutorReport {
    /// The task that it is about; `nil` where it is about an origin or a group.
    fileprivate var task: TaskIndex? {
        switch self {
        case .moved(let task, _), .needsGrant(let task, _, _), .released(let task, _), .unused(let task, _),
            .couldUse(let task, _, _), .gaveBack(let task, _, _), .turnedAway(let task, _, _, _),
            .awaitsRecord(let task), .isRecorded(let task), .turnedPage(let task), .sentBody(let task),
            .transferred(let task), .awaitsOutput(let task), .answered(let task, _), .heard(let task),
            .ended(let task, _):
            task
        case .protocolIs, .published: nil
        }
    }

    /// The report as one about another task; `nil` for what means nothing of a task that is run again.
    fileprivate func renamed(_ task: TaskIndex) -> ExecutorReport? {
        switch self {
        case .moved(_, let bytes): .moved(task, bytes: bytes)
        case .needsGrant(_, let origin, let isAlone): .needsGrant(task, origin, isAlone: isAlone)
        case .released(_, let origin): .released(task, origin)
        case .unused(_, let origin): .unused(task, origin)
        case .answered(_, let answer): .answered(task, answer)
        case .heard: .heard(task)
        case .protocolIs, .published: self
        case .couldUse, .gaveBack, .turnedAway, .awaitsRecord, .isRecorded, .turnedPage, .sentBody, .transferred,
            .awaitsOutput, .ended:
            nil
        }
    }
}
