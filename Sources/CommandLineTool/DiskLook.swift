import Digests
import Glibc
import HTTPRules
import Planning
import RunControl
import Stores
import SystemIO
import TransferModel

/// Looks at the files of a job's tasks and at what the store keeps of them. Writes nothing, and asks no server.
struct DiskLook {
    private let job: Job
    private let store: ReadOnlyStore?
    /// Why the store could not be read, as a sentence; `nil` if it could, or if there is none.
    private(set) var problem: String?
    /// Bytes that may still be read for checksums: what takes longer is left to the run.
    private var readable = Self.mostRead
    private var last: (options: TaskOptions, shape: Int64)?
    private let remembers: Bool
    /// The files and cached responses that can be compared with the server's, by task; filled only if the look
    /// `remembers`.
    private(set) var standing: [Int: StandingFile] = [:]

    private static let mostRead: Int64 = 64 << 20
    private static let longestRead: Int64 = 1 << 20

    /// `folder`: the state folder; `nil` where there is no place for state.
    init(_ job: Job, in folder: StateFolder?, remembers: Bool = false) {
        self.job = job
        self.remembers = remembers
        guard let folder else {
            store = nil
            return
        }
        do throws(StoreError) {
            store = try MemoryPlace.of(job, in: folder).flatMap { place throws(StoreError) in
                try ReadOnlyStore.of(place)
            }
        } catch {
            store = nil
            problem = "what earlier runs recorded: \(error)"
        }
    }

    /// Returns the plan of the whole job.
    mutating func plan(now: WallTime) -> JobPlan {
        var outlooks: [TaskOutlook] = []
        outlooks.reserveCapacity(job.tasks.count)
        for index in job.tasks.indices {
            let facts = facts(of: index)
            outlooks.append(TaskOutlook.of(job.tasks[index], facts, now: now))
            if remembers { standing[index] = facts.comparable }
        }
        var plan = JobPlan(job, outlooks)
        plan.disks = rooms(outlooks)
        plan.removals = GroupRemovals(job).all()
        if let problem { plan.notes.append(problem) }
        return plan
    }

    // MARK: One task

    private mutating func facts(of index: Int) -> DiskFacts {
        var facts = DiskFacts()
        let values = job.tasks[index].options.values
        guard values.template == nil else { return facts }
        if job.tasks[index].type == .download {
            lookAtFile(index, values, &facts)
        } else {
            facts.bodyLength = Self.length(values.body)
        }
        guard let url = job.tasks[index].location.url else { return facts }
        let session = job.tasks[index].session
        switch job.tasks[index].type {
        case .download: break
        case .data:
            if values.body == nil {
                facts.guessesLifetime = job.sessions[Int(session.raw)].cache.guessesLifetime
                facts.cached =
                    (recorded { () throws(StoreError) in try store?.responses(session, url: url.text) } ?? []).map(
                        \.response)
            }
        case .upload: lookAtUpload(index, values, url.text, &facts)
        }
        return facts
    }

    private mutating func lookAtFile(_ index: Int, _ values: TaskOptions.Values, _ facts: inout DiskFacts) {
        guard let destination = job.tasks[index].destination else { return lookAtObject(index, values, &facts) }
        let key = StoreKey.of(destination: destination, job.tasks[index].location)
        let known = recorded { () throws(StoreError) in try store?.file(job.tasks[index].session, key: key) }
        facts.kept = known?.kept
        if let record = known?.part, isOfUse(record, index, values) {
            (facts.partial, facts.partialTotal) = (record.part.size, record.point.total)
        }
        var path = destination
        if destination.utf8.last == UInt8(ascii: "/") {
            guard let name = facts.kept?.name else {
                if Self.isBelowFile(destination) { facts.standing = .belowFile }
                return
            }
            path += name
        }
        guard let found = try? FileFacts.identified(path) else {
            facts.standing = Self.isBelowFile(path) ? .belowFile : .nothing
            return
        }
        guard found.facts.isRegular else {
            facts.standing = .noFile
            return
        }
        facts.standing = .file(
            FileStamp(
                size: found.facts.size, modifiedNanoseconds: found.facts.modifiedNanoseconds,
                identity: found.identity))
        if case .literal(let checksum)? = values.checksum, values.existing == .revalidate {
            facts.proof = proof(path, found.facts.size, checksum)
        }
    }

    /// Whether an earlier run put the object that the download becomes.
    private func lookAtObject(_ index: Int, _ values: TaskOptions.Values, _ facts: inout DiskFacts) {
        guard let url = try? values.object?.url() else { return }
        let sent = recorded { () throws(StoreError) in try store?.sent(job.tasks[index].session, to: url.text) }
        facts.wasSent = sent != nil
    }

    /// Whether a file stands where the path has a folder.
    private static func isBelowFile(_ path: String) -> Bool {
        do throws(SystemError) {
            _ = try FileFacts.ofName(path)
            return false
        } catch {
            return error.errno == ENOTDIR
        }
    }

    private mutating func isOfUse(_ record: ResumeRecord, _ index: Int, _ values: TaskOptions.Values) -> Bool {
        guard values.resume != .no, values.decompress == .no else { return false }
        let places = values.mirrors.isEmpty ? [job.tasks[index].location] : values.mirrors
        guard places.contains(where: { $0.url?.text == record.start }) else { return false }
        let folder = record.folder == "/" ? "" : record.folder
        guard let facts = try? FileFacts.of("\(folder)/\(record.part.name)"), facts.size >= record.part.size else {
            return false
        }
        let shape = shape(of: job.tasks[index].options)
        return record.shape == shape || values.checksum != nil && record.shape == ForeignPart.shape(shape)
    }

    private mutating func shape(of options: TaskOptions) -> Int64 {
        if let last, last.options === options { return last.shape }
        let shape = Revalidation.shape(of: options.values)
        last = (options, shape)
        return shape
    }

    /// Computes the file's checksum where that takes no time worth speaking of.
    private mutating func proof(_ path: String, _ size: Int64, _ checksum: Checksum) -> DiskFacts.ChecksumProof {
        guard size <= min(Self.longestRead, readable), let digest = try? StreamingDigest(checksum.algorithm),
            let bytes = try? WholeFile.read(path, limit: Int(Self.longestRead))
        else { return .notComputed }
        readable -= size
        digest.update(bytes)
        return digest.finish() == checksum ? .met : .missed
    }

    private func lookAtUpload(_ index: Int, _ values: TaskOptions.Values, _ url: String, _ facts: inout DiskFacts) {
        guard case .file(let text)? = values.body, let path = text.plain, let file = try? FileFacts.of(path) else {
            return
        }
        let session = job.tasks[index].session
        let key = UploadKey(task: job.tasks[index].id, url: url, file: path)
        if values.resumable { facts.uploaded = store?.upload(session, key)?.point.sent }
        guard values.ownExisting == .revalidate,
            let sent = recorded({ () throws(StoreError) in try store?.sent(session, to: url) })
        else {
            return
        }
        let mark = BodyFileMark(
            boot: sent.file.boot, device: file.device, inode: file.inode, size: file.size,
            modifiedNanoseconds: file.modifiedNanoseconds, changedNanoseconds: file.changedNanoseconds)
        facts.wasSent = sent.compare(mark, at: path, shape: SentUpload.shape(of: values.headers)) != .other
    }

    /// Length of a body that is known before the run.
    private static func length(_ body: RequestBody?) -> Int64? {
        switch body {
        case .file(let path)?: path.plain.flatMap { try? FileFacts.of($0) }?.size
        case .data(let text)?: text.awaitsCapture ? nil : Int64(text.revealed.utf8.count)
        case .base64(let bytes)?: Int64(bytes.count)
        case .stream(_, let length)?: length
        case .json?, .form?, .multipart?, nil: nil
        }
    }

    /// A row that cannot be read counts as none: the run says why.
    private func recorded<Found>(_ find: () throws(StoreError) -> Found?) -> Found? {
        (try? find()) ?? nil
    }

    // MARK: Room

    /// Room of the filesystems that the job's downloads go to, and what is known to come there.
    func rooms(_ outlooks: [TaskOutlook]) -> [JobPlan.DiskRoom] {
        var needed: [String: Int64] = [:]
        for index in job.tasks.indices where job.tasks[index].type == .download {
            guard let bytes = outlooks[index].bytesToMove, bytes > 0, let destination = job.tasks[index].destination
            else { continue }
            let folder = Folders.split(destination).folder
            let (sum, isOver) = (needed[folder] ?? 0).addingReportingOverflow(bytes)
            needed[folder] = isOver ? .max : sum
        }
        var rooms: [UInt64: JobPlan.DiskRoom] = [:]
        for (folder, bytes) in needed.sorted(by: { $0.key < $1.key }) {
            guard let space = try? FreeSpace.at(folder) else { continue }
            var room = rooms[space.device] ?? JobPlan.DiskRoom(folder: folder, needed: 0, free: space.bytes)
            let (sum, isOver) = room.needed.addingReportingOverflow(bytes)
            room.needed = isOver ? .max : sum
            rooms[space.device] = room
        }
        return rooms.values.sorted { $0.folder < $1.folder }
    }
}

extension DiskFacts {
    /// The validators of the cached response or the file, for comparing with the server's; `nil` without either.
    fileprivate var comparable: StandingFile? {
        if let response = cached.max(by: { $0.date < $1.date }) {
            return StandingFile(
                size: response.bodyLength, etag: response.headers.first("etag"),
                lastModified: response.headers.first("last-modified"))
        }
        guard case .file(let stamp) = standing else { return nil }
        guard let kept, kept.file.looksLike(stamp) else { return StandingFile(stamp) }
        return StandingFile(size: stamp.size, etag: kept.etag, lastModified: kept.lastModified)
    }
}
