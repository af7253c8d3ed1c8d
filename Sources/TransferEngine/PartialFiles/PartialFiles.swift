import AttemptLife
import CurlCore
import FileDelivery
import HTTPRules
import Stores
import TransferModel

/// Keeps half-done files from attempt to attempt, and from run to run.
final class PartialFiles: Participant {
    let core: EngineCore
    /// Resume records of partial files, without their lengths.
    private var partLabels: [StagingID: ResumeRecord] = [:]
    /// The notes of partial files that are long enough.
    private var entries: [StagingID: NotebookEntry] = [:]
    /// Partial files of ended tasks, until it is known how much of them is left for the next run.
    private var leaving: Set<StagingID> = []
    private var stagingCount: UInt32 = 0
    /// Bytes of a noted body that are handed over together, at the most: those, and as many that are being written, are
    /// what a kill costs.
    private static let mostHeld = Int(PartFile.dispensable) / 2

    init(_ core: EngineCore) { self.core = core }

    /// Drops what came of an answer that is not the file.
    func discardBody(_ attempt: Attempt) {
        _ = attempt.takeRest()
        // An earlier attempt's partial file is still useful on the next hop.
        if attempt.life.resume != nil { return }
        discard(attempt.download.staging)
        attempt.download.staging = newStaging(attempt.specification, attempt.task)
    }

    /// Keeps the attempt's partial file for the next attempt, if the rest of it can be requested. Returns where that one
    /// goes on; `nil` where nothing is kept.
    func keepPartial(_ attempt: Attempt) -> ResumePoint? {
        guard attempt.download.destination != nil, !attempt.download.isLost, let point = attempt.resumePoint else {
            return nil
        }
        switch attempt.phase {
        case .transferring, .askingCache, .awaitingGrant, .awaitingCredential: break
        case .awaitingRecord, .inspecting, .recalling, .adopting, .lookingForPart, .copyingPart, .confirming,
            .awaitingSessionState, .awaitingChecksum, .dating, .digesting, .comparing, .measuring,
            .delivering, .flushing, .awaitingOutput:
            return nil
        }
        attempt.handOverRest()
        if attempt.streams.segmented != nil { core.outbox.add(.settle(attempt.download.staging)) }
        partLabels[attempt.download.staging]?.point.unanswered = point.unanswered
        let file = RetryState.PartialFile(
            staging: attempt.download.staging, point: point, mirror: attempt.mirror, brought: attempt.known.brought)
        core.retryStates[attempt.task, default: RetryState()].partialFiles.append(file)
        return point
    }

    /// Makes the identity of a file under a temporary name.
    func newStaging(_ specification: TaskSpecification, _ task: TaskIndex) -> StagingID {
        stagingCount += 1
        return StagingID(stagingCount, of: task, isGrouped: specification.group != nil)
    }

    /// Whether it is worth a look. What no longer fits goes.
    func isOfUse(_ record: ResumeRecord, _ attempt: Attempt) -> Bool {
        let url = attempt.life.request.url
        let specification = attempt.specification
        // Of another place of `urls`: its turn may come.
        let places = specification.options.values.mirrors
        if record.start != url.text, places.contains(where: { $0.url?.text == record.start }) {
            if core.retryStates[attempt.task]?.hasTriedPart != true {
                core.retryStates[attempt.task, default: RetryState()].otherPart = record
            }
            return false
        }
        core.retryStates[attempt.task]?.otherPart = nil
        guard core.retryStates[attempt.task]?.hasTriedPart != true else { return false }
        core.retryStates[attempt.task, default: RetryState()].hasTriedPart = true
        if record.start == url.text, participants.foreign.isShaped(record, as: specification) {
            core.retryStates[attempt.task]?.isPartRecorded = true
            return true
        }
        removePart(record, of: attempt.task)
        attempt.life.startOver(
            record.start == url.text
                ? "the job asks for it in another way than when it began" : "it began at another URL, \(record.start)")
        return false
    }

    /// Removes a partial file that is of no use, or not wanted any more: the job may say `resume: false` now.
    func removePart(_ record: ResumeRecord, of task: TaskIndex) {
        core.retryStates[task, default: RetryState()].isPartRecorded = true
        forgetPart(task)
        core.outbox.add(.removePart("\(record.folder)/\(record.part.name)"))
    }

    /// Verifies that what an earlier run left of the file is still what it was then.
    func adoptPart(_ attempt: Attempt) -> StepOutcome {
        guard let record = attempt.known.part else { return .done }
        attempt.known.part = nil
        attempt.phase = .adopting(record)
        core.outbox.add(
            .adopt(
                .init(
                    attempt.download.staging, attempt.task,
                    BodyPlacement(
                        partFolder(attempt), written: attempt.download.checksum?.algorithm,
                        sent: record.point.sent?.checksum.algorithm,
                        group: participants.publication.plannedDestination(attempt).group),
                    record.part.counting(in: core.store?.boot), keeping: record.keptSize)))
        return .pending
    }

    /// Where a half-done file waits: beside the task's own, or with the other members of its group.
    private func partFolder(_ attempt: Attempt) -> String {
        let destination = participants.publication.plannedDestination(attempt)
        return destination.group.flatMap { core.delivery.keptFolder(of: $0) } ?? destination.folder
    }

    /// The partial file is this attempt's now, or of no use for the reason given.
    func adopted(_ task: TaskIndex, _ part: AdoptedPart) {
        guard let attempt = core.attempt(of: task) else { return }
        if case .copyingPart(let point) = attempt.phase {
            return participants.foreign.copiedForeignPart(attempt, point, part)
        }
        guard case .adopting(let record) = attempt.phase else { return }
        switch part {
        case .useless(let problem):
            forgetPart(task)
            attempt.life.startOver(problem)
        case .taken(let size, let beyond):
            var point = record.point
            point.offset = size
            point.isForeign = participants.foreign.isForeign(record, attempt.specification)
            attempt.life.resume(from: point)
            attempt.known.beyond = beyond
            partLabels[attempt.download.staging] = record
        }
        engine.stepDone(.adoptPart, attempt)
    }

    /// Bytes of a body came. From now on what a killed run leaves of it is noted, and little of it is held back.
    func bytesCame(_ attempt: Attempt) {
        guard attempt.known.isNoted, case .transferring = attempt.phase else { return }
        let staging = attempt.download.staging
        let came = attempt.life.offset + attempt.bodyReceived
        if entries[staging] == nil {
            guard came >= Self.mostHeld, came < attempt.life.announcedLength ?? .max else { return }
            guard let store = core.store, let label = partLabels[staging] else { return }
            let task = core.job.tasks[Int(attempt.task.raw)]
            switch store.enter(label, task, askedAt: attempt.exchange.startedAt) {
            case .never: attempt.known.isNoted = false
            case .later: return
            case .begun(let entry):
                entries[staging] = entry
                core.outbox.add(.notePart(staging) { entry.record($0) })
            }
        }
        if attempt.held >= Self.mostHeld { attempt.handOverHeld() }
    }

    /// The answer's headers tell how it could be continued: from now on that is remembered with how far it is.
    func labelPart(_ attempt: Attempt) {
        guard attempt.known.leavesPart, attempt.specification.type == .download, let store = core.store else { return }
        if attempt.life.startedOver != nil { forgetPart(attempt.task) }
        attempt.known.isNoted = false
        if attempt.life.keepsPart { return }
        // The file under that number begins anew.
        if attempt.life.offset == 0 { crossOut(attempt.download.staging) }
        guard (attempt.life.announcedLength ?? .max) >= PartFile.leastLeft, let point = attempt.continuationPoint,
            let shape = participants.foreign.shape(of: point, attempt.specification, store)
        else { return forgetLabel(of: attempt.download.staging) }
        let start = attempt.specification.location(mirror: attempt.mirror).url?.text ?? point.url
        partLabels[attempt.download.staging] = ResumeRecord(
            start: start, point: point, shape: shape,
            folder: partFolder(attempt), part: PartFile(name: "", size: 0, sum: []))
        attempt.known.isNoted = (point.total ?? .max) > PartFile.dispensable
    }

    /// The attempt ends before it was looked at: the next run finds it as this one did.
    func leaveUntouched(_ attempt: Attempt) -> Bool {
        guard !core.unwanted.contains(attempt.task) else { return false }
        if case .adopting = attempt.phase {
            core.outbox.add(.leave(attempt.download.staging, nil))
        } else if attempt.known.part == nil {
            return false
        }
        core.retryStates[attempt.task]?.isPartRecorded = false
        core.retryStates[attempt.task]?.hasTriedPart = false
        return true
    }

    /// So much of the file is there; `nil` when there is nothing worth keeping.
    func noted(_ staging: StagingID, _ task: TaskIndex, _ part: PartFile?) {
        defer { if leaving.remove(staging) != nil { settle(staging) } }
        guard let store = core.store, let part else { return forgetPart(task) }
        // One that was given up meanwhile.
        guard var record = partLabels[staging] else { return }
        // Only one is remembered.
        if let other = core.retryStates[task]?.otherPart {
            core.retryStates[task]?.otherPart = nil
            removePart(other, of: task)
        }
        record.part = part
        record.point.offset = part.size
        core.retryStates[task, default: RetryState()].isPartRecorded = true
        store.part(record, core.job.tasks[Int(task.raw)], at: core.now.instant)
    }

    /// Forgets how the file could be continued.
    func forgetLabel(of staging: StagingID) {
        if !partLabels.isEmpty { partLabels[staging] = nil }
        crossOut(staging)
    }

    private func crossOut(_ staging: StagingID) {
        if !entries.isEmpty { entries.removeValue(forKey: staging)?.crossOut() }
    }

    /// What the store was told so far is all of the file: its notes end when that is written.
    private func settle(_ staging: StagingID) {
        guard !entries.isEmpty, let entry = entries.removeValue(forKey: staging) else { return }
        core.store?.crossOut(entry, at: core.now.instant)
    }

    /// Deletes a file under its temporary name.
    func discard(_ staging: StagingID) {
        forgetLabel(of: staging)
        core.outbox.add(.discard(staging))
    }

    /// The task is over: its longest partial file stays for the next run, or all are deleted.
    func taskEnded(_ task: TaskIndex, _ outcome: TaskOutcome, _ retryState: RetryState) {
        if outcome == .succeeded, let other = retryState.otherPart { removePart(other, of: task) }
        let (kept, discarded) = retryState.filesAtEnd(keeps: outcome != .succeeded && !core.unwanted.contains(task)) {
            partLabels[$0] != nil
        }
        for file in discarded { discard(file.staging) }
        // The store's record is replaced, or removed, once the kept length is known.
        if retryState.isPartRecorded { core.retryStates[task, default: RetryState()].isPartRecorded = true }
        guard let kept else { return forgetPart(task) }
        // A run that `limits.maximumBytes` ended may keep little of each of many files, again and again: keep any size.
        let atAnySize = core.ledger?.budget.isSpent == true
        leaving.insert(kept.staging)
        core.outbox.add(.leave(kept.staging, task, atAnySize: atAnySize))
    }

    /// Deletes the partial file of a cancelled task that an earlier run left, or this one before it began anew, and that no
    /// attempt has looked at.
    func dropUnseen(_ task: TaskIndex, _ outcome: TaskOutcome) {
        guard outcome != .succeeded, core.unwanted.contains(task), core.retryStates[task]?.hasTriedPart != true else {
            return
        }
        core.store?.dropPart(of: core.job.tasks[Int(task.raw)], at: core.now.instant)
    }

    /// Removes the store's record of the task's partial file.
    func forgetPart(_ task: TaskIndex) {
        guard core.retryStates[task]?.isPartRecorded == true else { return }
        core.retryStates[task]?.isPartRecorded = false
        core.store?.part(nil, core.job.tasks[Int(task.raw)], at: core.now.instant)
    }

    /// The attempt is over: what it has of the file stays for the next one, or goes.
    func attemptEnded(_ attempt: Attempt, _ verdict: inout Verdict) {
        if case .succeeded = verdict.outcome {
            settle(attempt.download.staging)
            return forgetLabel(of: attempt.download.staging)
        }
        guard attempt.isDownload, !leaveUntouched(attempt) else { return }
        let began = attempt.life.resume?.offset ?? 0
        if let kept = keepPartial(attempt) {
            verdict.wentFurther = attempt.life.startedOver == nil && kept.offset > began
        } else {
            discard(attempt.download.staging)
        }
    }
}

extension ResumeRecord {
    /// How much of the partial file is kept. Of a file that is whole but for its name the last byte is asked for
    /// again: that tells whether it is still the server's.
    fileprivate var keptSize: Int64 { point.total == part.size ? part.size - 1 : part.size }
}
