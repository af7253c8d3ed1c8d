import AttemptLife
import CurlCore
import FileDelivery
import HTTPRules
import Stores
import TransferModel

// A partial download outlives its run: the next one goes on with it.

extension Engine {
    /// Whether it is worth a look. What no longer fits goes.
    func isOfUse(_ record: ResumeRecord, _ attempt: Attempt) -> Bool {
        let url = attempt.life.request.url
        let specification = attempt.specification
        // Of another place of `urls`: its turn may come.
        let places = specification.options.values.mirrors
        if record.start != url.text, places.contains(where: { $0.url?.text == record.start }) {
            if carryovers[attempt.task]?.hasTriedPart != true {
                carryovers[attempt.task, default: Carryover()].otherPart = record
            }
            return false
        }
        carryovers[attempt.task]?.otherPart = nil
        guard carryovers[attempt.task]?.hasTriedPart != true else { return false }
        carryovers[attempt.task, default: Carryover()].hasTriedPart = true
        if record.start == url.text, isShaped(record, as: specification) {
            carryovers[attempt.task]?.isPartRecorded = true
            return true
        }
        removePart(record, of: attempt.task)
        attempt.life.startOver(
            record.start == url.text
                ? "the job asks for it in another way than when it began" : "it began at another URL, \(record.start)")
        return false
    }

    /// It is of no use, or not wanted any more: the job may say `resume: false` now.
    func removePart(_ record: ResumeRecord, of task: TaskIndex) {
        carryovers[task, default: Carryover()].isPartRecorded = true
        forgetPart(task)
        outbox.add(.removePart("\(record.folder)/\(record.part.name)"))
    }

    /// Verifies that what an earlier run left of the file is still what it was then.
    func adoptPart(_ attempt: Attempt) -> StepOutcome {
        guard let record = attempt.known.part else { return .done }
        attempt.known.part = nil
        attempt.phase = .adopting(record)
        outbox.add(
            .adopt(
                .init(
                    attempt.download.staging, attempt.task,
                    BodyPlacement(
                        partFolder(attempt), written: attempt.download.checksum?.algorithm,
                        sent: record.point.sent?.checksum.algorithm, group: plannedDestination(attempt).group),
                    record.part, keeping: record.keptSize)))
        return .pending
    }

    /// Where a half-done file waits: beside the task's own, or with the other members of its group.
    private func partFolder(_ attempt: Attempt) -> String {
        let destination = plannedDestination(attempt)
        return destination.group.flatMap { delivery.keptFolder(of: $0) } ?? destination.folder
    }

    /// It is whole and in our hands, or of no use for the reason given.
    func adopted(_ task: TaskIndex, _ problem: String?) {
        guard let attempt = attempt(of: task) else { return }
        if case .copyingPart(let point) = attempt.phase { return copiedForeignPart(attempt, point, problem) }
        guard case .adopting(let record) = attempt.phase else { return }
        if let problem {
            forgetPart(task)
            attempt.life.startOver(problem)
            return stepDone(.adoptPart, attempt)
        }
        var point = record.point
        point.offset = record.keptSize
        point.isForeign = isForeign(record, attempt.specification)
        attempt.life.resume(from: point)
        partLabels[attempt.download.staging] = record
        stepDone(.adoptPart, attempt)
    }

    /// The answer's headers tell how it could be continued: from now on that is remembered with how far it is.
    func labelPart(_ attempt: Attempt) {
        guard attempt.known.leavesPart, attempt.specification.type == .download, let memory else { return }
        if attempt.life.startedOver != nil { forgetPart(attempt.task) }
        if attempt.life.keepsPart { return }
        guard (attempt.life.announcedLength ?? .max) >= PartFile.leastLeft, let point = attempt.continuationPoint,
            let shape = shape(of: point, attempt.specification, memory)
        else { return forgetLabel(of: attempt.download.staging) }
        let start = attempt.specification.location(mirror: attempt.mirror).url?.text ?? point.url
        partLabels[attempt.download.staging] = ResumeRecord(
            start: start, point: point, shape: shape,
            folder: partFolder(attempt), part: PartFile(name: "", size: 0, sum: []))
    }

    /// The attempt ends before it was looked at: the next run finds it as this one did.
    func leaveUntouched(_ attempt: Attempt) -> Bool {
        guard !unwanted.contains(attempt.task) else { return false }
        if case .adopting = attempt.phase {
            outbox.add(.leave(attempt.download.staging, nil))
        } else if attempt.known.part == nil {
            return false
        }
        carryovers[attempt.task]?.isPartRecorded = false
        carryovers[attempt.task]?.hasTriedPart = false
        return true
    }

    /// So much of the file is there; `nil` when there is nothing worth keeping.
    func noted(_ staging: StagingID, _ task: TaskIndex, _ part: PartFile?) {
        guard let memory, let part else { return forgetPart(task) }
        // One that was given up meanwhile.
        guard var record = partLabels[staging] else { return }
        // Only one is remembered.
        if let other = carryovers[task]?.otherPart {
            carryovers[task]?.otherPart = nil
            removePart(other, of: task)
        }
        record.part = part
        record.point.offset = part.size
        carryovers[task, default: Carryover()].isPartRecorded = true
        memory.part(record, job.tasks[Int(task.raw)], at: now.instant)
    }

    func forgetLabel(of staging: StagingID) {
        if !partLabels.isEmpty { partLabels[staging] = nil }
    }

    func discard(_ staging: StagingID) {
        forgetLabel(of: staging)
        outbox.add(.discard(staging))
    }

    func forgetPart(_ task: TaskIndex) {
        guard carryovers[task]?.isPartRecorded == true else { return }
        carryovers[task]?.isPartRecorded = false
        memory?.part(nil, job.tasks[Int(task.raw)], at: now.instant)
    }
}

extension ResumeRecord {
    /// How much of the partial file is kept. Of a file that is whole but for its name the last byte is asked for
    /// again: that tells whether it is still the server's.
    fileprivate var keptSize: Int64 { point.total == part.size ? part.size - 1 : part.size }
}
