import AttemptLife
import HTTPRules
import TransferModel

// A request that holds what another task captured, and is answered 401: that task is run again once, and the request is
// tried again with what it captures then.

extension Engine {
    /// Whether the attempt goes on after its error, because it was the refusal of a token that can be renewed, or has
    /// ended as the last renewal did.
    func renewsToken(_ attempt: Attempt, _ error: TransferError) -> Bool {
        guard error.name == .unexpectedResponse, attempt.life.lastStatus == 401, attempt.life.isDeclined,
            !attempt.isLookingUp, attempt.object == nil, attempt.streams.segmented == nil,
            !renewals.isRenewing(attempt.task), let source = renewals.source(of: attempt.task, in: job),
            job.tasks[Int(source.raw)].canRunAgain, captured.values(of: job.tasks[Int(source.raw)].id) != nil,
            renewals.isRenewing(source) || self.attempt(of: source) == nil
        else { return false }
        let decision = renewals.refuse(
            attempt.task, error, token: source, seen: attempt.seenRenewals, hasTried: attempt.hasRenewedToken,
            isRetry: attempt.number > 1)
        switch decision {
        case .refused:
            guard let failure = renewals.failure(of: source) else { return false }
            fail(attempt, error, as: failure, of: source)
        case .again: tryAgain(attempt)
        case .wait, .begin:
            tellHeld(attempt)
            releaseSlot(attempt)
            attempt.phase = .awaitingCredential
            attempt.credentialWait.start(at: now.instant)
            if decision == .begin { beginRenewal(source) }
        }
        return true
    }

    /// Fails an attempt that got no new token as the task failed that captures it: what can heal is tried again.
    private func fail(_ attempt: Attempt, _ refusal: TransferError, as failure: Verdict, of source: TaskIndex) {
        let source = job.tasks[Int(source.raw)]
        var error = told(refusal, attempt)
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
        finish(attempt, verdict)
    }

    // MARK: The task that is run again

    private func beginRenewal(_ source: TaskIndex) {
        do throws(TransferError) {
            let specification = try job.tasks[Int(source.raw)].filled(from: captured)
            guard let url = specification.location(mirror: 0).url else {
                throw TransferError(.badURL, "`\(specification.id)` has no URL")
            }
            let attempt = makeAttempt(source, 1, 0, specification, url, partial: nil, startedAt: now)
            attempts[Int(source.raw)] = attempt
            // A cache would give the token that was refused.
            if attempt.rules.method == "GET" { attempt.life.passCaches(because: "its token was refused") }
            learnPasswords(attempt, url)
            if let problem = planBody(attempt) { throw problem }
            prepare(attempt)
        } catch {
            attempts[Int(source.raw)] = nil
            endRenewal(source, Verdict(.failed(error)), [])
        }
    }

    /// Says to the scheduler what a task that is run again reports, under the name of the attempt that waits for it.
    func settleRenewals() {
        var place = 0
        while place < reports.count {
            guard let task = reports[place].task, renewals.isRenewing(task) else {
                place += 1
                continue
            }
            if case .ended(_, let verdict) = reports[place] {
                reports.remove(at: place)
                renewed(task, verdict)
            } else if let report = reports[place].renamed(renewals.leader(of: task)) {
                // From here to the grant the scheduler counts the leader's wait.
                if case .needsGrant(let leader, _, _) = report {
                    attempt(of: leader)?.credentialWait.stop(at: now.instant)
                }
                reports[place] = report
                place += 1
            } else {
                reports.remove(at: place)
            }
        }
    }

    private func renewed(_ source: TaskIndex, _ verdict: Verdict) {
        let result = takeResult(of: source)
        carryovers[source] = nil
        bodies.ended(source)
        endRenewal(source, verdict, result?.transactions ?? [])
    }

    private func endRenewal(_ source: TaskIndex, _ verdict: Verdict, _ transactions: [TransactionMetrics]) {
        let failure: Verdict? = if case .succeeded = verdict.outcome { nil } else { verdict }
        guard let renewal = renewals.end(source, failure: failure) else { return }
        for (task, refusal) in renewal.waiting {
            guard let waiting = attempt(of: task) else { continue }
            if task == renewal.leader { waiting.transactions += transactions }
            waiting.credentialWait.stop(at: now.instant)
            if let failure { fail(waiting, refusal, as: failure, of: source) } else { tryAgain(waiting) }
        }
    }

    // MARK: The attempts that wait

    /// Begins the attempt's request anew, with what is captured now.
    private func tryAgain(_ last: Attempt) {
        last.hasRenewedToken = true
        captured.page = last.pages.number
        guard let specification = try? job.tasks[Int(last.task.raw)].filled(from: captured),
            let url = last.pages.url ?? specification.location(mirror: last.mirror).url
        else { return fail(last, TransferError(.dependencyFailed, "what its request needs is not known any more")) }
        releaseSlot(last)
        if last.isDownload, !leaveUntouched(last), keepPartial(last) == nil { discard(last.download.staging) }
        // Its values are those of the first try.
        if case .multipart? = specification.options.values.body { bodies.planned[last.task] = nil }
        let partial = carryovers[last.task]?.takePartialFile(at: last.mirror)
        begin(specification, url, after: last, partial: partial, isTriedAgain: true)
    }

    /// Notes that a request of the attempt has ended: its token was accepted, or it waits for a renewal no longer.
    func noteForRenewals(_ attempt: Attempt) {
        // A failure of the server's own says nothing about the token.
        if let status = attempt.life.lastStatus, status != 401, status < 500,
            let source = renewals.source(of: attempt.task, in: job)
        {
            renewals.accept(token: source, seen: attempt.seenRenewals)
        }
        guard !renewals.isRenewing(attempt.task), let source = renewals.leave(attempt.task) else { return }
        // The slot was this attempt's: the next one that waits begins the other task anew.
        if let renewing = self.attempt(of: source) {
            stopTransfer(renewing)
            releaseSlot(renewing)
            renewing.session.giveBack(renewing.transport.ownPool)
            renewing.result = placeholder(renewing)
        }
        attempts[Int(source.raw)] = nil
        reports = reports.compactMap { $0.task == source ? $0.renamed(attempt.task) : $0 }
        if renewals.isRenewing(source) { beginRenewal(source) }
    }
}

extension TaskSpecification {
    /// Whether the task can be run again for what it captures: it leaves no file, and sends nothing that is gone.
    fileprivate var canRunAgain: Bool {
        guard type != .download, !savesAnswer, !isTemplate, options.values.next == nil else { return false }
        if case .stream? = options.values.body { return false }
        return true
    }
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
