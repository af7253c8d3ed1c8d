import AttemptLife
import HTTPRules
import TransferModel

// A request that holds what another task captured, and is answered 401: that task is run again once, and the request is
// tried again with what it captures then.

extension Engine {
    /// Whether the attempt goes on after its error, because it was the refusal of a token that can be renewed.
    func renewsToken(_ attempt: Attempt, _ error: TransferError) -> Bool {
        guard error.name == .unexpectedResponse, attempt.life.lastStatus == 401, attempt.life.isDeclined,
            !attempt.isLookingUp, attempt.object == nil, attempt.streams.segmented == nil,
            !renewals.isRenewing(attempt.task), let source = tokenSource(of: attempt.task), canRun(source)
        else { return false }
        let decision = renewals.refuse(
            attempt.task, error, token: source, seen: attempt.seenRenewals, hasTried: attempt.hasRenewedToken)
        switch decision {
        case .refused: return false
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

    /// The task whose captured value a request of the task holds: in a header, or a secret one anywhere.
    private func tokenSource(of task: TaskIndex) -> TaskIndex? {
        let specification = job.tasks[Int(task.raw)]
        guard specification.options.values.awaitsCaptures else { return nil }
        func source(_ text: SecretText, _ isMeant: (Capture) -> Bool) -> TaskIndex? {
            for case .capture(let id, let name, _) in text.pieces {
                guard let place = renewals.task(id, in: job) else { continue }
                let captures = job.tasks[Int(place.raw)].options.values.captures
                if captures.contains(where: { $0.name == name && isMeant($0) }) { return place }
            }
            return nil
        }
        for field in specification.options.values.headers {
            if let found = source(field.value, { _ in true }) { return found }
        }
        var found: TaskIndex?
        specification.forEachPlace { text in found = found ?? source(text, \.isSecret) }
        return found
    }

    /// Whether the task can be run again: it leaves no file, and sends nothing that is gone.
    private func canRun(_ source: TaskIndex) -> Bool {
        let task = job.tasks[Int(source.raw)]
        let values = task.options.values
        guard task.type != .download, !task.savesAnswer, !task.isTemplate, values.next == nil,
            captured.values(of: task.id) != nil, renewals.isRenewing(source) || attempt(of: source) == nil
        else { return false }
        if case .stream? = values.body { return false }
        return true
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
            endRenewal(source, error, [])
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
        var error: TransferError?
        if case .succeeded = verdict.outcome {} else { error = verdict.error ?? TransferError(.cancelled, "cancelled") }
        endRenewal(source, error, result?.transactions ?? [])
    }

    private func endRenewal(_ source: TaskIndex, _ error: TransferError?, _ transactions: [TransactionMetrics]) {
        guard let renewal = renewals.end(source, succeeded: error == nil) else { return }
        for (task, refusal) in renewal.waiting {
            guard let waiting = attempt(of: task) else { continue }
            if task == renewal.leader { waiting.transactions += transactions }
            waiting.credentialWait.stop(at: now.instant)
            guard let error else {
                tryAgain(waiting)
                continue
            }
            waiting.hasRenewedToken = true
            var refusal = refusal
            refusal.message += "; `\(job.tasks[Int(source.raw)].id)`, run again for it, failed: \(error.message)"
            fail(waiting, refusal)
        }
    }

    // MARK: The attempts that wait

    /// Begins the attempt's request anew, with what is captured now.
    private func tryAgain(_ last: Attempt) {
        last.hasRenewedToken = true
        guard let specification = try? job.tasks[Int(last.task.raw)].filled(from: captured),
            let url = last.pages.url ?? specification.location(mirror: last.mirror).url
        else { return fail(last, TransferError(.dependencyFailed, "what its request needs is not known any more")) }
        releaseSlot(last)
        if last.isDownload, !leaveUntouched(last), keepPartial(last) == nil { discard(last.download.staging) }
        last.sending.takeUntouchedStream()?.leave()
        last.session.giveBack(last.transport.ownPool)
        last.transport.ownPool = nil
        // Its values are those of the first try.
        if case .multipart? = specification.options.values.body { bodies.planned[last.task] = nil }
        let partial = carryovers[last.task]?.takePartialFile(at: last.mirror)
        last.result = placeholder(last)
        let attempt = makeAttempt(
            last.task, last.number, last.mirror, specification, url, partial: partial, startedAt: last.startedAt)
        if let why = last.life.startedOver { attempt.life.noteStartedOver(why) }
        attempt.hasRenewedToken = true
        attempt.transactions = last.transactions
        attempt.bandwidth = last.bandwidth
        attempt.credentialWait = last.credentialWait
        attempts[Int(last.task.raw)] = attempt
        learnPasswords(attempt, url)
        if let problem = planBody(attempt) { return fail(attempt, problem) }
        prepare(attempt)
    }

    /// Notes that an attempt ends: its token was accepted, or it waits for a renewal no longer.
    func noteForRenewals(_ attempt: Attempt, _ verdict: Verdict) {
        if case .succeeded = verdict.outcome, let source = tokenSource(of: attempt.task) {
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
