import AttemptLife
import CurlCore
import FileDelivery
import HTTPRules
import TransferModel

// Downloads with the same `checksum`, or of the same URL: the file is fetched once in a run, and the others copy it.

extension Engine {
    /// Waits for another attempt that fetches a file with the same checksum, or copies such a file. This step is begun
    /// again once the other attempt has ended.
    func awaitEqualFile(_ attempt: Attempt) -> StepOutcome {
        guard let checksum = attempt.download.checksum, checksum.provesBytes, mayCopyEqual(attempt) else {
            return .done
        }
        let key = EqualFiles.Key.checksum(checksum)
        attempt.download.equalKey = key
        switch askForEqual(key, attempt) {
        case .fetch: return .done
        case .wait: beginWait(attempt)
        case .copy(let source): copy(source, attempt)
        }
        giveBackUnusedSlot(attempt)
        return .pending
    }

    /// Waits for another attempt that fetches the same URL, or asks the server whether the file that came of it is still
    /// right.
    func awaitEqualAnswer(_ attempt: Attempt) -> StepOutcome {
        guard let key = answerKey(attempt) else { return .done }
        attempt.download.equalKey = key
        switch askForEqual(key, attempt) {
        case .fetch: return .done
        case .wait:
            beginWait(attempt)
            giveBackUnusedSlot(attempt)
            return .pending
        case .copy(let source):
            guard let condition = source.condition else { return .done }
            attempt.download.offered = source
            attempt.life.ask(under: condition)
            return .done
        }
    }

    private func beginWait(_ attempt: Attempt) {
        attempt.phase = .awaitingEqualFile
        attempt.download.equalFileWait.start(at: now.instant)
    }

    private func askForEqual(_ key: EqualFiles.Key, _ attempt: Attempt) -> EqualFiles.Answer {
        // A member has its place only once its group is published, which may need those that would wait for it.
        equalFiles.ask(key, for: attempt.task, isWaitedFor: attempt.specification.group == nil, at: now.instant)
    }

    /// A slot that nobody uses might be the one that the other's next request needs.
    func giveBackUnusedSlot(_ attempt: Attempt) {
        guard let origin = attempt.origin else { return }
        attempt.origin = nil
        reports.append(.unused(attempt.task, origin))
    }

    /// What the task's response has in common with those of other tasks; `nil` where it may be another for each.
    private func answerKey(_ attempt: Attempt) -> EqualFiles.Key? {
        let specification = attempt.specification
        let values = specification.options.values
        let url = attempt.life.request.url
        guard equalFiles.repeated.contains(url, specification.session), url.isHTTP, values.checksum == nil,
            Revalidation.applies(to: values), values.mirrors.isEmpty, values.segments == 1, values.resume != .adopt,
            attempt.life.resume == nil, attempt.known.asked == nil, mayCopyEqual(attempt)
        else { return nil }
        return .answer(url: url.text, specification.session, headers: values.headers)
    }

    private func mayCopyEqual(_ attempt: Attempt) -> Bool {
        job.copiesEqualFiles && attempt.specification.mayCopyEqualFile && attempt.rules.method == "GET"
            && attempt.session.takesSlot(attempt.life.request.url) && attempt.life.held == nil
    }

    /// Copies the file on the way of every download: into a file without a name, verified there, then put in its place.
    private func copy(_ source: EqualFiles.Source, _ attempt: Attempt) {
        attempt.phase = .delivering
        attempt.download.copying = source
        var destination = plannedDestination(attempt)
        destination.checksum = source.checksum
        // Any date says "take the source's own".
        if attempt.specification.options.values.preserveTime { destination.modificationTime = now.wall }
        outbox.add(.copy(.init(attempt.task, from: source.path, destination, maximum: attempt.life.maximumSize)))
    }

    /// The server says that the file of another task is still right.
    func copyConfirmed(_ source: EqualFiles.Source, _ attempt: Attempt) {
        releaseSlot(attempt)
        copy(source, attempt)
    }

    /// The record of a published file: where it was copied from another task's, that is said.
    func withSource(_ record: FileRecord, _ attempt: Attempt) -> FileRecord {
        guard let source = attempt.download.copying else { return record }
        return record.copied(from: job.tasks[Int(source.task.raw)].id)
    }

    /// The copy is in its place, or verified: what was kept of the file's beginning is of no use.
    func copiedEqual(_ attempt: Attempt) {
        guard attempt.download.copying != nil else { return }
        discard(attempt.download.staging)
        if let record = attempt.known.part {
            attempt.known.part = nil
            removePart(record, of: attempt.task)
        }
    }

    /// The copy failed, most likely since the file was changed or removed meanwhile: the task fetches the file as if there
    /// were no other. Returns `false` where nothing was being copied.
    func fetchesInsteadOfCopying(_ attempt: Attempt) -> Bool {
        // Once it is in its place, a failure is one of the flush.
        guard let source = attempt.download.copying, let key = attempt.download.equalKey,
            case .delivering = attempt.phase
        else { return false }
        attempt.download.copying = nil
        equalFiles.lost(source, key)
        if attempt.download.wasCalledOff {
            cancelled(attempt)
        } else if attempt.download.offered != nil {
            attempt.download.offered = nil
            attempt.phase = .transferring
            goOn(attempt, attempt.life.askForAll())
        } else {
            prepare(attempt)
        }
        return true
    }

    /// An attempt ended: those that wait for it go on, with its file if there is one.
    func endedEqual(_ attempt: Attempt, _ verdict: Verdict) {
        if case .succeeded = verdict.outcome, attempt.specification.group == nil { noteEqual(attempt) }
        for task in equalFiles.ended(attempt.task) { askAgain(task) }
    }

    /// Notes the file of a task as one that others may copy.
    func noteEqual(_ attempt: Attempt) {
        guard job.copiesEqualFiles, attempt.specification.type == .download, let file = attempt.download.file,
            file.isLocal
        else { return }
        if case .answer? = attempt.download.equalKey { return noteEqualAnswer(attempt, file) }
        guard attempt.specification.options.values.checksum != nil, let checksum = file.checksum,
            checksum.provesBytes
        else { return }
        let source = EqualFiles.Source(task: attempt.task, path: file.path, checksum: checksum)
        for task in equalFiles.placed(.checksum(checksum), source) { askAgain(task) }
    }

    /// Notes a file that came whole in one response, by the entity tag of that.
    private func noteEqualAnswer(_ attempt: Attempt, _ file: FileRecord) {
        guard let key = attempt.download.equalKey, attempt.download.copying == nil, let head = attempt.exchange.head,
            head.status == 200
        else { return }
        guard let tag = Self.strongTag(head), let checksum = file.checksum, checksum.provesBytes,
            attempt.exchange.source == nil, attempt.life.offset == 0, !attempt.download.lengthUnverified
        else {
            for task in equalFiles.mustEachFetch(key) { askAgain(task) }
            return
        }
        let condition = RequestCondition(
            url: attempt.life.request.url.text, header: HeaderField(name: "If-None-Match", value: SecretText(tag)),
            asked: attempt.life.asked(head.headers, key: .random(in: 0 ... .max)))
        let source = EqualFiles.Source(
            task: attempt.task, path: file.path, checksum: checksum, condition: condition)
        for task in equalFiles.placed(key, source) { askAgain(task) }
    }

    /// The headers of a response are there: where no tag identifies it, no task need wait for its end.
    func lookForTag(_ attempt: Attempt, _ head: ResponseHead) {
        guard case .answer? = attempt.download.equalKey, let key = attempt.download.equalKey, head.status == 200
        else { return }
        guard Self.strongTag(head) == nil else { return equalFiles.promised(key, by: attempt.task) }
        for task in equalFiles.mustEachFetch(key) { askAgain(task) }
    }

    /// Lets tasks fetch that have waited too long for the headers of another's response.
    func endLongWaits() {
        for task in equalFiles.overdue(at: now.instant) { askAgain(task) }
    }

    private static func strongTag(_ head: ResponseHead) -> String? {
        guard let tag = Revalidation.validators(of: head.headers, status: head.status)?.etag, !tag.hasPrefix("W/")
        else {
            return nil
        }
        return tag
    }

    private func askAgain(_ task: TaskIndex) {
        guard let attempt = attempt(of: task), case .awaitingEqualFile = attempt.phase else { return }
        attempt.download.equalFileWait.stop(at: now.instant)
        prepare(attempt)
    }
}
