import AttemptLife
import CurlCore
import FileDelivery
import HTTPRules
import TransferModel

/// Decides with the file that stands in the final place whether a request is needed (`existing`).
final class ExistingFiles: Participant {
    let core: EngineCore
    /// Files that an earlier process of this run may have published.
    let unrecordedFiles: UnrecordedFiles

    init(_ core: EngineCore, _ unrecordedFiles: UnrecordedFiles) {
        self.core = core
        self.unrecordedFiles = unrecordedFiles
    }

    /// Has the file at the destination inspected, if it may make the request needless.
    func inspectDestination(_ attempt: Attempt) -> StepOutcome {
        let specification = attempt.specification
        guard specification.type == .download, mustInspect(specification) else { return .done }
        let checksum: Checksum? =
            if case .literal(let literal) = specification.options.values.checksum { literal } else { nil }
        if participants.objects.isStored(attempt, checksum) { return .ended }
        attempt.phase = .inspecting
        core.outbox.add(
            .inspect(
                .init(
                    attempt.task, path: specification.destination ?? "", checksum,
                    member: participants.groupFiles.member(specification),
                    exceptSince: ownFileMayBeThere(attempt))))
        return .pending
    }

    /// What `existing` protects is not to be fetched to the end: asked at the headers, while the body comes.
    func inspectName(_ attempt: Attempt) {
        guard attempt.isDownload, attempt.exchange.decision == .keep, !attempt.life.isDeclined, attempt.asksForItsName,
            let destination = attempt.download.destination,
            let path = participants.names.pathInFolder(destination.path, attempt)
        else { return }
        let checksum = destination.existing == .skip ? attempt.download.checksum : nil
        core.outbox.add(
            .inspect(
                .init(
                    attempt.task, path: path, checksum, member: destination.member,
                    exceptSince: ownFileMayBeThere(attempt))))
    }

    /// What stands there. Once all of the body is with a delivery thread, that decides.
    func inspectedName(_ attempt: Attempt, _ path: String, _ size: Int64?, _ matches: Bool?) {
        guard case .transferring = attempt.phase, let destination = attempt.download.destination,
            path == participants.names.pathInFolder(destination.path, attempt), attempt.life.isFinalAnswer
        else { return }
        guard let size else { return attempt.announceLength() }
        engine.stopTransfer(attempt)
        guard destination.existing == .skip else {
            return engine.lose(attempt, TransferError(.destinationExists, "\(path) is there already"))
        }
        if attempt.download.checksum != nil, matches != true { return engine.lose(attempt, .skippedFileDiffers(path)) }
        guard participants.names.claim(path, attempt, .nameTaken) else { return }
        _ = attempt.takeRest()
        participants.partials.discard(attempt.download.staging)
        keepExisting(attempt, path, size)
    }

    /// Since when the file that `existing: fail` would protect may be the task's own: the server's answer then decides;
    /// `nil` where it cannot be.
    func ownFileMayBeThere(_ attempt: Attempt) -> WallTime? {
        let specification = attempt.specification
        return specification.options.values.existing == .fail && specification.group == nil
            ? unrecordedFiles[attempt.task] : nil
    }

    /// Whether what stands at the destination may make the request needless.
    func mustInspect(_ task: TaskSpecification) -> Bool {
        guard task.destination?.hasSuffix("/") == false else { return false }
        switch task.options.values.existing {
        case .skip, .fail: return true
        // What is captured comes out of an answer.
        case .revalidate where !task.options.values.needsAnswer:
            if case .literal = task.options.values.checksum { return true }
            return false
        case .revalidate, .replace: return false
        }
    }

    /// What stands in the final place, and whether it has the checksum.
    func inspected(_ attempt: Attempt, size: Int64?, matches: Bool?) {
        if attempt.preparation.next == .inspectListedFile {
            guard let size, matches == true else { return engine.stepDone(.inspectListedFile, attempt) }
            if let record = attempt.known.part {
                attempt.known.part = nil
                participants.partials.removePart(record, of: attempt.task)
            }
            return keepExisting(attempt, attempt.specification.destination ?? "", size)
        }
        guard let size else { return engine.stepDone(.inspectDestination, attempt) }
        let path = attempt.specification.destination ?? ""
        switch attempt.specification.options.values.existing {
        case .fail:
            fail(attempt, TransferError(.destinationExists, "\(path) is there already"))
        case .skip:
            if case .literal? = attempt.specification.options.values.checksum, matches != true {
                return fail(attempt, .skippedFileDiffers(path))
            }
            keepExisting(attempt, path, size)
        case .revalidate where matches == true:
            keepExisting(attempt, path, size)
        case .revalidate, .replace:
            engine.stepDone(.inspectDestination, attempt)
        }
    }

    /// Ends the attempt with the file that stands there.
    func keepExisting(_ attempt: Attempt, _ path: String, _ size: Int64) {
        let options = attempt.specification.options.values
        core.store?.dropPart(of: core.job.tasks[Int(attempt.task.raw)], at: core.now.instant)
        var destination = participants.publication.plannedDestination(attempt)
        if let member = destination.member {
            attempt.download.keepsExisting = true
            attempt.phase = .delivering
            destination.path = path
            // Whichever it is: a copy gets that of the file.
            destination.modificationTime = core.now.wall
            let mayCopy = options.mode != nil && options.existing == .revalidate
            return core.outbox.add(
                .keep(.init(attempt.task, path: path, member, metChecksum(attempt), anew: mayCopy ? destination : nil)))
        }
        let file = FileRecord(
            path: path, bytes: size, checksum: metChecksum(attempt), changed: false, lengthUnverified: false)
        // What `existing: skip` protects is not touched.
        if let mode = options.mode, options.existing == .revalidate {
            attempt.phase = .delivering
            return core.outbox.add(.keepFile(attempt.task, file, mode: mode))
        }
        attempt.download.file = file
        participants.publication.tellFinished(file, attempt)
        engine.finishUnchanged(attempt)
    }

    /// The checksum of a file that stays as it is: the one that it was held against, or that was taken when it was fetched.
    private func metChecksum(_ attempt: Attempt) -> Checksum? {
        if let listed = attempt.download.checksum { return listed }
        if case .literal(let literal) = attempt.specification.options.values.checksum { return literal }
        return attempt.known.asked == nil ? nil : attempt.known.validators?.checksum
    }
}
