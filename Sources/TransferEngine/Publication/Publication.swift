import AttemptLife
import CurlCore
import FileDelivery
import HTTPRules
import SystemIO
import TextFormats
import TransferModel

/// Gives a whole body its final name, or hands it to the report.
final class Publication: Participant {
    let core: EngineCore
    /// Files published since the delivery threads were last told not to wait for more.
    private var unhurriedFlushes = 0

    init(_ core: EngineCore) { self.core = core }

    /// Emits files that were published while the run was being left: the next process must know of them.
    func tellPlaced(_ report: DeliveryReport) {
        switch report {
        case .published(let task, let record, isKept: false):
            if let attempt = core.attempt(of: task) { core.emit(.fileFinished(record), attempt) }
        case .groupPublished(let group, nil, let removed):
            for member in participants.groupFiles.members(of: group) { participants.groupFiles.tellFile(member) }
            participants.groupFiles.tellPublished(group, removed)
        default: break
        }
    }

    /// Where a download goes, as far as the task alone says; a folder gets its name from the answer.
    func plannedDestination(_ attempt: Attempt) -> Destination {
        if attempt.specification.toStandardOutput { return participants.output.outputDestination(attempt) }
        let options = attempt.specification.options
        var destination = Destination(path: attempt.specification.destination ?? "")
        // An upload's `existing` is about what the server has.
        destination.existing = attempt.specification.savesAnswer ? .replace : options.values.existing
        destination.mode = options.values.mode
        destination.checksum = attempt.download.checksum
        destination.flush = attempt.isFlushed
        destination.reserve = core.job.limits.minimumFreeDisk ?? 0
        destination.group = attempt.specification.group.map { core.groups[Int($0.raw)].place }
        // Or another process may have to know it again.
        destination.isStamped =
            attempt.known.isKept || attempt.session.configuration.kind == .background || attempt.object != nil
        destination.untoldSince = participants.existing.unrecordedFiles[attempt.task]
        return destination
    }

    /// The body is whole: it becomes the file, or the answer in the report.
    func deliver(_ attempt: Attempt) {
        core.releaseSlot(attempt)
        guard attempt.isDownload else {
            if let failure = attempt.endDecoding() ?? attempt.endParts() { return fail(attempt, failure) }
            return participants.answers.examine(
                attempt, charset: participants.answers.charset(attempt),
                source: attempt.exchange.source ?? (attempt.life.uploadResumedFrom > 0 ? .resumed : .network))
        }
        // One that was adopted may have to come once more, and another page may follow.
        let mayGoOn =
            attempt.life.resume?.isForeign == true || attempt.specification.options.values.next != nil
            || attempt.object != nil
        if !mayGoOn { core.reports.append(.transferred(attempt.task)) }
        // Nobody can say which of its bytes are wrong.
        if let miss = attempt.partMiss { return engine.lose(attempt, miss) }
        guard var destination = named(attempt) else { return }
        if attempt.specification.options.values.preserveTime {
            destination.modificationTime = attempt.saidHeaders?.first("last-modified").flatMap { HTTPDate.parse($0) }
        }
        if destination.group != nil { destination.isOfUseToNextRun = isOfUseToNextRun(destination, attempt) }
        guard participants.answers.examine(&destination, attempt, charset: participants.answers.charset(attempt)) else {
            return
        }
        attempt.phase = .delivering
        core.outbox.add(
            .publish(
                .init(
                    attempt.task, attempt.download.staging, destination, rest: attempt.takeRest(),
                    lengthUnverified: attempt.download.lengthUnverified)))
    }

    /// Whether a member whose group is not published can be known again.
    private func isOfUseToNextRun(_ destination: Destination, _ attempt: Attempt) -> Bool {
        if destination.checksum != nil || destination.existing == .skip { return true }
        guard attempt.known.isKept, let headers = attempt.saidHeaders else { return false }
        return headers.first("etag") != nil || headers.first("last-modified") != nil
    }

    /// The complete destination; fails the attempt when a folder's file has no usable name.
    func named(_ attempt: Attempt) -> Destination? {
        guard var destination = attempt.download.destination else { return nil }
        if destination.toStandardOutput { return destination }
        guard destination.path.hasSuffix("/") else {
            let isKnown = core.job.tasks[Int(attempt.task.raw)].destination == destination.path
            return isKnown || participants.names.claim(destination.path, attempt) ? destination : nil
        }
        guard let path = participants.names.pathInFolder(destination.path, attempt) else {
            fail(attempt, TransferError(.cannotCreateFile, "neither the server nor the URL gives the file a name"))
            return nil
        }
        destination.path = path
        destination.chosenName = participants.names.chosenName(path, attempt)
        return participants.names.claim(destination.path, attempt, .nameTaken) ? destination : nil
    }

    /// A local file answers like a server, without a status.
    func announceFile(_ attempt: Attempt, length: Int64?) {
        let url = attempt.life.request.url
        guard url.schemeIs("file") else { return }
        let name = url.lastPathComponent
        core.emit(
            .response(
                ResponseRecord(
                    status: nil, url: url.text, method: "GET", mimeType: fileType(url),
                    charset: nil, expectedLength: length, suggestedFilename: name, contentEncoding: nil,
                    headers: .empty)), attempt)
        participants.announcements.noteBecoming(attempt)
    }

    /// What the name of a local file says of its type.
    func fileType(_ url: ResourceURL) -> String? { url.lastPathComponent.map { FileTypes.type(ofPath: $0) } }

    /// The file has its final name.
    func published(_ task: TaskIndex, _ record: FileRecord, isKept: Bool) {
        guard let attempt = core.attempt(of: task) else { return }
        attempt.download.file = record
        participants.answers.takeFindings(attempt)
        attempt.noteUnpacked(record.bytes)
        if attempt.exchange.head == nil { announceFile(attempt, length: record.bytes) }
        tellFinished(record, attempt)
        if isKept { return engine.finishUnchanged(attempt) }
        if attempt.isFlushed {
            attempt.phase = .flushing
            unhurriedFlushes += 1
            attempt.download.flushStartedAt = core.now.instant
            if core.retryStates[task]?.isPartRecorded == true {
                participants.keptFiles.keepValidators(attempt, isFlushed: false)
            }
        } else {
            participants.keptFiles.keepValidators(attempt, isFlushed: false)
            engine.succeed(attempt)
        }
    }

    /// What is still to become an object is not finished.
    func tellFinished(_ file: FileRecord, _ attempt: Attempt) {
        if attempt.object?.leg != .fetching { core.emit(.fileFinished(file), attempt) }
    }

    /// The file has survived a power cut from here on.
    func flushed(_ task: TaskIndex) {
        guard let attempt = core.attempt(of: task) else { return }
        participants.keptFiles.keepValidators(attempt, isFlushed: true)
        engine.succeed(attempt)
    }

    /// Tells the delivery threads not to wait for more files before they flush.
    func hurryFlushes() {
        guard unhurriedFlushes > 0 else { return }
        unhurriedFlushes = 0
        core.outbox.add(.hurry)
    }
}
