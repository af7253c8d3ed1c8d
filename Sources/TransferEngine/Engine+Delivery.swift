import AttemptLife
import CurlCore
import FileDelivery
import Glibc
import HTTPRules
import SystemIO
import TextFormats
import TransferModel

extension Engine {
    /// Two files can be written at once where a job has many: a file's pages are filled by whoever writes it. A few files
    /// are not worth a thread, and where there is none it has little to do.
    static func deliveryThreads(for job: Job) -> Int {
        let files = job.tasks.indices.lazy.filter { job.tasks[$0].type == .download }.prefix(manyFiles).count
        return files < manyFiles ? 1 : 2
    }
    private static let manyFiles = 32

    /// The lowest rate that the task is under.
    func rate(_ task: TaskSpecification) -> Int64? {
        let session = sessions[Int(task.session.raw)].configuration.bandwidth
        return [job.limits.bandwidth, session, task.options.values.bandwidth].compactMap { $0?.lowest }.min()
    }

    func newStaging(_ specification: TaskSpecification, _ task: TaskIndex) -> StagingID {
        stagingCount += 1
        return StagingID(stagingCount, of: task, isGrouped: specification.group != nil)
    }

    /// The task as a member of its group; `nil` for one that has none.
    func member(_ specification: TaskSpecification) -> GroupMember? {
        specification.group.map { GroupMember(groups[Int($0.raw)].place, specification.options.values.existing) }
    }

    /// Where a download goes, as far as the task alone says; a folder gets its name from the answer.
    func plannedDestination(_ attempt: Attempt) -> Destination {
        if attempt.specification.toStandardOutput { return outputDestination(attempt) }
        let options = attempt.specification.options
        var destination = Destination(path: attempt.specification.destination ?? "")
        // An upload's `existing` is about what the server has.
        destination.existing = attempt.specification.savesAnswer ? .replace : options.values.existing
        destination.mode = options.values.mode
        destination.checksum = attempt.download.checksum
        destination.flush = attempt.isFlushed
        destination.reserve = job.limits.minimumFreeDisk ?? 0
        destination.group = attempt.specification.group.map { groups[Int($0.raw)].place }
        // Or another process may have to know it again.
        destination.isStamped =
            attempt.known.isKept || attempt.session.configuration.kind == .background || attempt.object != nil
        destination.untoldSince = unrecordedFiles[attempt.task]
        return destination
    }

    /// The body is whole: it becomes the file, or the answer in the report.
    func deliver(_ attempt: Attempt) {
        releaseSlot(attempt)
        guard attempt.isDownload else {
            if let failure = attempt.endDecoding() ?? attempt.endParts() { return fail(attempt, failure) }
            return examine(
                attempt, charset: charset(attempt),
                source: attempt.exchange.source ?? (attempt.life.uploadResumedFrom > 0 ? .resumed : .network))
        }
        // One that was adopted may have to come once more, and another page may follow.
        let mayGoOn =
            attempt.life.resume?.isForeign == true || attempt.specification.options.values.next != nil
            || attempt.object != nil
        if !mayGoOn { reports.append(.transferred(attempt.task)) }
        // Nobody can say which of its bytes are wrong.
        if let miss = attempt.partMiss { return lose(attempt, miss) }
        guard var destination = named(attempt) else { return }
        if attempt.specification.options.values.preserveTime {
            destination.modificationTime = attempt.saidHeaders?.first("last-modified").flatMap { HTTPDate.parse($0) }
        }
        if destination.group != nil { destination.isOfUseToNextRun = isOfUseToNextRun(destination, attempt) }
        guard examine(&destination, attempt, charset: charset(attempt)) else { return }
        attempt.phase = .delivering
        outbox.add(
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

    /// Nothing of what came is of use to a later attempt or run.
    func lose(_ attempt: Attempt, _ miss: TransferError) {
        attempt.download.isLost = true
        fail(attempt, miss)
    }

    /// The complete destination; fails the attempt when a folder's file has no usable name.
    func named(_ attempt: Attempt) -> Destination? {
        guard var destination = attempt.download.destination else { return nil }
        if destination.toStandardOutput { return destination }
        guard destination.path.hasSuffix("/") else {
            let isKnown = job.tasks[Int(attempt.task.raw)].destination == destination.path
            return isKnown || claim(destination.path, attempt) ? destination : nil
        }
        guard let path = pathInFolder(destination.path, attempt) else {
            fail(attempt, TransferError(.cannotCreateFile, "neither the server nor the URL gives the file a name"))
            return nil
        }
        destination.path = path
        destination.chosenName = chosenName(path, attempt)
        return claim(destination.path, attempt, .nameTaken) ? destination : nil
    }

    /// An answer of a delivery thread.
    func delivered(_ report: DeliveryReport) {
        switch report {
        case .published(let task, let record, let isKept): published(task, record, isKept: isKept)
        case .readyForOutput(let task, let record, let body): readyForOutput(task, record, body)
        case .written(let task, let error): written(task, error)
        case .flushed(let task):
            guard let attempt = attempt(of: task) else { return }
            keepValidators(attempt, isFlushed: true)
            succeed(attempt)
        case .failed(let task, let error):
            guard let attempt = attempt(of: task) else { return }
            if couldNotCompare(attempt) { return }
            if attempt.tokenFetch != nil { return lackToken(attempt, error) }
            takeFindings(attempt)
            if fetchesWholeInstead(attempt, error) { return }
            // No room for it, or no right to write: what is still on its way is of no use.
            stopTransfer(attempt)
            attempt.download.isLost = true
            fail(attempt, explainedRead(error, attempt))
        case .inspected(let task, let path, let size, let matches):
            guard let attempt = attempt(of: task) else { return }
            guard case .inspecting = attempt.phase else { return inspectedName(attempt, path, size, matches) }
            inspected(attempt, size: size, matches: matches)
        case .digested(let task, let digest): digested(task, digest)
        case .fetched(let task): fetched(task)
        case .looked(let task, let stamp, let found): looked(task, stamp, found)
        case .adopted(let task, let problem): adopted(task, problem)
        case .part(let staging, let task, let part): noted(staging, task, part)
        case .staged(let task, let record): staged(task, record)
        case .groupPublished(let group, let error, let removed): published(group, error, removed)
        case .contents(let task, let bytes):
            guard let attempt = attempt(of: task) else { return }
            if attempt.tokenFetch != nil { return readAssertion(bytes, attempt) }
            // A download reads nothing else but checksums.
            guard attempt.specification.type != .download else { return gotChecksums(bytes, attempt) }
            if let miss = localMiss(attempt, bytes) { return fail(attempt, miss) }
            attempt.exchange.body = bytes
            attempt.exchange.received = Int64(bytes.count)
            announceFile(attempt, length: Int64(bytes.count))
            examine(attempt, charset: nil, source: .local)
        case .examined(let task):
            guard let attempt = attempt(of: task), case .delivering = attempt.phase else { return }
            examined(attempt)
        }
    }

    /// A local file answers like a server, without a status.
    func announceFile(_ attempt: Attempt, length: Int64?) {
        let url = attempt.life.request.url
        guard url.schemeIs("file") else { return }
        let name = url.lastPathComponent
        emit(
            .response(
                ResponseRecord(
                    status: nil, url: url.text, method: "GET", mimeType: fileType(url),
                    charset: nil, expectedLength: length, suggestedFilename: name, contentEncoding: nil,
                    headers: .empty)), attempt)
        noteBecoming(attempt)
    }

    /// What the name of a local file says of its type.
    func fileType(_ url: ResourceURL) -> String? { url.lastPathComponent.map { FileTypes.type(ofPath: $0) } }

    private func localMiss(_ attempt: Attempt, _ bytes: [UInt8]) -> TransferError? {
        attempt.rules.miss(attempt.saidHeaders ?? .empty, size: Int64(bytes.count), start: bytes)
    }

    private func published(_ task: TaskIndex, _ record: FileRecord, isKept: Bool) {
        guard let attempt = attempt(of: task) else { return }
        attempt.download.file = record
        takeFindings(attempt)
        attempt.noteUnpacked(record.bytes)
        if attempt.exchange.head == nil { announceFile(attempt, length: record.bytes) }
        tellFinished(record, attempt)
        if isKept { return finishUnchanged(attempt) }
        if attempt.isFlushed {
            attempt.phase = .flushing
            unhurriedFlushes += 1
            attempt.download.flushStartedAt = now.instant
            if carryovers[task]?.isPartRecorded == true { keepValidators(attempt, isFlushed: false) }
        } else {
            keepValidators(attempt, isFlushed: false)
            succeed(attempt)
        }
    }

    /// A member is verified: its part is done, its file is not there yet.
    private func staged(_ task: TaskIndex, _ record: FileRecord) {
        guard let attempt = attempt(of: task) else { return }
        attempt.download.file = record
        takeFindings(attempt)
        attempt.noteUnpacked(record.bytes)
        if attempt.download.keepsExisting {
            // A file that an earlier run kept is another than the one that stands there.
            let source = record.changed ? ResultSource.resumed : .unchanged
            return finish(attempt, Verdict(.succeeded, status: attempt.life.lastStatus), source: source)
        }
        if attempt.exchange.head == nil { announceFile(attempt, length: record.bytes) }
        // The next run knows the member by that if the group is not published.
        if attempt.download.destination?.group?.keeping != nil { keepValidators(attempt, isFlushed: false) }
        succeed(attempt)
    }

    /// A member that failed and may, or is not in this run, leaves the old file as it was.
    func publish(_ group: EngineGroup) {
        let missing = group.members.filter { attempts[Int($0.raw)]?.download.file == nil }
        let absent = job.groups[Int(group.place.index.raw)].absent + missing.map { job.tasks[Int($0.raw)].destination }
        outbox.add(.publishGroup(group.place, absent: absent))
    }

    /// What `cancel` ends leaves nothing.
    func discard(_ group: EngineGroup) {
        outbox.add(.discardGroup(group.place, keepingMembers: !group.members.contains { unwanted.contains($0) }))
    }

    private func published(_ group: GroupIndex, _ error: TransferError?, _ removed: RemovedFiles?) {
        if error == nil {
            for attempt in members(of: group) {
                tellFile(attempt)
                let isFlushed = attempt.session.configuration.durability == .flush
                if attempt.download.keepsExisting {
                    noteCopy(attempt, isFlushed: isFlushed)
                } else {
                    let isKept = attempt.download.destination?.group?.keeping != nil
                    if isFlushed || !isKept { keepValidators(attempt, isFlushed: isFlushed) }
                }
            }
        }
        if error == nil { tellPublished(group, removed) }
        reports.append(.published(group, error))
    }

    func succeed(_ attempt: Attempt) {
        let source = attempt.exchange.head == nil ? ResultSource.local : attempt.life.offset > 0 ? .resumed : .network
        finish(attempt, Verdict(.succeeded, status: attempt.life.lastStatus), source: attempt.exchange.source ?? source)
    }

    /// What is still to become an object is not finished.
    private func tellFinished(_ file: FileRecord, _ attempt: Attempt) {
        if attempt.object?.leg != .fetching { emit(.fileFinished(file), attempt) }
    }

    func finishUnchanged(_ attempt: Attempt) {
        finish(attempt, Verdict(.succeeded, status: attempt.life.lastStatus), source: .unchanged)
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

    private func inspected(_ attempt: Attempt, size: Int64?, matches: Bool?) {
        if attempt.preparation.next == .inspectListedFile {
            guard let size, matches == true else { return stepDone(.inspectListedFile, attempt) }
            if let record = attempt.known.part {
                attempt.known.part = nil
                removePart(record, of: attempt.task)
            }
            return keepExisting(attempt, attempt.specification.destination ?? "", size)
        }
        guard let size else { return stepDone(.inspectDestination, attempt) }
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
            stepDone(.inspectDestination, attempt)
        }
    }

    func keepExisting(_ attempt: Attempt, _ path: String, _ size: Int64) {
        let options = attempt.specification.options.values
        memory?.dropPart(of: job.tasks[Int(attempt.task.raw)], at: now.instant)
        var destination = plannedDestination(attempt)
        if let member = destination.member {
            attempt.download.keepsExisting = true
            attempt.phase = .delivering
            destination.path = path
            // Whichever it is: a copy gets that of the file.
            destination.modificationTime = now.wall
            let mayCopy = options.mode != nil && options.existing == .revalidate
            return outbox.add(
                .keep(.init(attempt.task, path: path, member, metChecksum(attempt), anew: mayCopy ? destination : nil)))
        }
        let file = FileRecord(
            path: path, bytes: size, checksum: metChecksum(attempt), changed: false, lengthUnverified: false)
        // What `existing: skip` protects is not touched.
        if let mode = options.mode, options.existing == .revalidate {
            attempt.phase = .delivering
            return outbox.add(.keepFile(attempt.task, file, mode: mode))
        }
        attempt.download.file = file
        tellFinished(file, attempt)
        finishUnchanged(attempt)
    }

    /// The checksum of a file that stays as it is: the one that it was held against, or that was taken when it was fetched.
    private func metChecksum(_ attempt: Attempt) -> Checksum? {
        if let listed = attempt.download.checksum { return listed }
        if case .literal(let literal) = attempt.specification.options.values.checksum { return literal }
        return attempt.known.asked == nil ? nil : attempt.known.validators?.checksum
    }
}
