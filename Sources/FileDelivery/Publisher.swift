import Glibc
import SystemIO
import TransferModel

/// The outcome of giving a file its name.
enum Placing {
    /// The file has its name; whether the destination's content differs from before.
    case placed(changed: Bool)
    /// The existing file is the same in all that counts, and stays.
    case same(FileStamp?, changed: Bool = false)
    /// `existing: skip`, and a file exists.
    case kept(bytes: Int64)
    /// Another task of this run has put its file there, perhaps under another path.
    case taken(by: TaskIndex)
    /// The path is in the folder of a group of which the task is no member.
    case inFolder(of: String)
}

/// The outcome of a published body.
struct Published {
    let record: FileRecord
    /// Whether the existing file stays instead.
    let isKept: Bool
    /// The body for standard output, which gets no name.
    let body: StagedBody?

    init(_ record: FileRecord, isKept: Bool = false, body: StagedBody? = nil) {
        self.record = record
        self.isKept = isKept
        self.body = body
    }
}

/// What the delivery threads share.
struct PublishersCommons: Sendable {
    let names: TemporaryNames
    let space = DiskSpace()
    let leftovers: Leftovers
    let placed = PlacedFiles()
    let keptMembers = KeptMembers()
    let reserved: ReservedPlaces
    /// Returns a task's name for messages.
    let taskName: @Sendable (TaskIndex) -> String
    let lacking: FilesystemLack
    /// How long a group waits for another run that publishes at its place.
    let groupPatience: TimeSpan
}

/// Carries out deliveries one after the other, on one thread: writes, verifies, gives the final name.
final class Publisher {
    let folders: FolderCache
    let names: TemporaryNames
    private let space: DiskSpace
    let groups: Groups
    let keptMembers: KeptMembers
    private let placed: PlacedFiles
    private let reserved: ReservedPlaces
    private let taskName: @Sendable (TaskIndex) -> String
    private(set) var bodies: [StagingID: IncomingBody] = [:]
    /// When the sizes of kept bodies are reported next.
    var partsDue: Instant?
    var adoptions: [Adoption] = []
    /// Files of other programs with which bodies begin.
    var copies: [(copy: PartCopy, placement: BodyPlacement)] = []

    init(_ commons: PublishersCommons, groupHook: GroupHook?) {
        names = commons.names
        space = commons.space
        placed = commons.placed
        keptMembers = commons.keptMembers
        reserved = commons.reserved
        taskName = commons.taskName
        folders = FolderCache(commons.leftovers, lacksUnnamedFiles: commons.lacking.contains(.unnamedFiles))
        groups = Groups(
            folders, names, commons.reserved, commons.keptMembers, hook: groupHook,
            lacksExchange: commons.lacking.contains(.exchange))
    }

    deinit {
        for body in bodies.values { body.removeFile() }
        for adoption in adoptions { adoption.letGo() }
    }

    func beginBatch() { folders.beginBatch() }

    /// Throws if the path is in a group's folder.
    func checkGroups(_ path: String) throws(TransferError) {
        if let group = reserved.group(aroundFile: path) { throw ReservedPlaces.isGroups(path, group) }
    }

    func isInGroup(_ path: String) -> Bool { reserved.group(aroundFile: path) != nil }

    // MARK: The body

    /// Returns the state of a body, which begins with the first order for it.
    func body(_ id: StagingID) -> IncomingBody {
        if let known = bodies[id] { return known }
        let made = IncomingBody(id)
        bodies[id] = made
        return made
    }

    /// Announces a body's length. An error is to be reported now, and nothing for this body later.
    func announce(_ announcement: DeliveryOrder.Announcement) throws(TransferError) {
        let body = body(announcement.id)
        do throws(TransferError) {
            body.reportFailures(to: announcement.task)
            let length = max(0, announcement.length)
            let held = body.staging?.roomHeld(for: length) ?? 0
            try space.announce(body.id, announcement.folder, length: length - held, reserve: announcement.reserve)
            body.expect(length)
            if let path = announcement.path { try refuseOdd(path) }
        } catch {
            fail(body, error)
            body.failureWasReported()
            throw error
        }
    }

    /// Throws if the path belongs to something that no file may replace.
    private func refuseOdd(_ path: String) throws(TransferError) {
        do throws(SystemError) {
            let (path, name) = Folders.split(path)
            let folder = try Descriptor.openFolder(path)
            try Self.refuseOdd(try folder.facts(of: name), name, in: folder)
        } catch {
            // Other problems with the path may be gone by the end.
            guard error.errno == EISDIR || error.errno == ENOTSUP else { return }
            throw FileErrors.naming(error, path)
        }
    }

    private static func refuseOdd(
        _ old: FileFacts, _ name: String, in folder: borrowing Descriptor
    ) throws(SystemError) {
        if old.isFolder { throw SystemError(call: "rename", errno: EISDIR) }
        guard old.isRegular || old.isLink else { throw SystemError(call: "rename", errno: ENOTSUP) }
        // This concerns names that servers chose: a link in a path from the job was followed before.
        if old.isLink, let end = try? folder.facts(of: name, followingLinks: true), !end.isRegular, !end.isFolder {
            throw SystemError(call: "rename", errno: ENOTSUP)
        }
    }

    /// Decodes the body before anything else is done with it. `publish` reports a failure.
    func decode(_ id: StagingID, _ task: TaskIndex, _ decoding: BodyDecoding) {
        let body = body(id)
        body.reportFailures(to: task)
        do throws(TransferError) { try body.decode(decoding) } catch { fail(body, error) }
    }

    /// Makes the body's file readable for its owner alone until it gets its mode.
    func conceal(_ id: StagingID) { body(id).isConcealed = true }

    /// Writes a piece of a body, `at` an offset or after the piece before; `sums`: makes the sum for a later run from
    /// the first piece on. Returns the report to post now: a failure that is not left to `publish`.
    func append(
        _ piece: BodyPiece, to body: IncomingBody, _ placement: BodyPlacement, at offset: Int64? = nil,
        sums: Bool = false
    ) -> DeliveryReport? {
        guard body.failure == nil else { return nil }
        do throws(TransferError) {
            let staging = try staging(of: body, placement, mode: body.isConcealed ? 0o600 : nil)
            // The order that decides whether it is kept for a later run comes after these bytes.
            if sums { staging.beginSum() }
            if let offset {
                try insert(piece, at: offset, in: staging, body, placement)
            } else {
                try write(piece, to: staging, body, placement)
            }
            noteGrowth(body, staging)
            return nil
        } catch {
            fail(body, error)
            return body.takeFailedTask().map { .failed($0, error) }
        }
    }

    /// Begins a body with all bytes of a local file, if they can be shared on the disk: a copy that takes no room. Returns
    /// `false` where they cannot.
    func clone(
        _ file: borrowing Descriptor, size: Int64, to body: IncomingBody, _ placement: BodyPlacement
    ) throws(TransferError) -> Bool {
        let staging = try staging(of: body, placement, mode: body.isConcealed ? 0o600 : nil)
        staging.hash(placement.algorithms, isPacked: false)
        return staging.clone(file, size: size)
    }

    private func write(
        _ piece: BodyPiece, to staging: Staging, _ body: IncomingBody, _ placement: BodyPlacement
    ) throws(TransferError) {
        staging.hash(placement.algorithms, isPacked: body.isEncoded)
        try piece.withBytes { bytes throws(TransferError) in
            staging.noteSent(bytes)
            try body.decoded(bytes) { bytes throws(TransferError) in
                try append(bytes, to: staging, body.id, placement)
            }
        }
    }

    private func append(
        _ bytes: UnsafeRawBufferPointer, to staging: Staging, _ id: StagingID, _ placement: BodyPlacement
    ) throws(TransferError) {
        try takeRoom(for: bytes.count, in: staging, id, placement)
        staging.append(bytes)
        if let failure = staging.failure { throw FileErrors.writing(failure, placement.folder) }
    }

    /// Writes a piece of a body that comes in several streams; such a body is not decoded.
    private func insert(
        _ piece: BodyPiece, at offset: Int64, in staging: Staging, _ body: IncomingBody, _ placement: BodyPlacement
    ) throws(TransferError) {
        staging.hash(placement.algorithms, isPacked: false)
        try piece.withBytes { bytes throws(TransferError) in
            try takeRoom(for: bytes.count, at: offset, in: staging, body.id, placement)
            staging.write(bytes, at: offset)
        }
        // Hash only a part at a time: other bodies wait for this thread.
        staging.catchUp(most: Self.hashedAtOnce)
        if let failure = staging.failure { throw FileErrors.writing(failure, placement.folder) }
    }

    private static let hashedAtOnce: Int64 = 4 << 20

    /// Reserves room for the bytes, or for everything that was announced.
    private func takeRoom(
        for count: Int, at offset: Int64? = nil, in staging: Staging, _ id: StagingID, _ placement: BodyPlacement
    ) throws(TransferError) {
        guard count > 0 else { return }
        let step = staging.roomStep(for: count, at: offset)
        if step.count > 0 { try space.willWrite(id, placement.folder, Int(step.count), reserve: placement.reserve) }
        guard let asked = step.asked, !staging.takeRoom(asked) else { return }
        space.didNotTake(id, step.count - staging.roomStep(for: count, at: offset).count)
    }

    func settle(_ id: StagingID) {
        guard let body = bodies[id], let staging = body.staging else { return }
        staging.settle()
        recordProgress(of: body, in: staging)
    }

    /// Fails a body and frees the room of what was written.
    private func fail(_ body: IncomingBody, _ error: TransferError) {
        body.fail(error)
        space.end(body.id)
    }

    private func staging(
        of body: IncomingBody, _ placement: BodyPlacement, mode: UInt16?
    ) throws(TransferError) -> Staging {
        if let known = body.staging { return known }
        let made = try open(placement, mode: mode)
        if body.partTask != nil { made.beginSum() }
        body.beginWriting(to: made)
        return made
    }

    private func open(_ placement: BodyPlacement, mode: UInt16?) throws(TransferError) -> Staging {
        if let group = placement.group {
            let root = try groups.staging(group).root
            do throws(SystemError) {
                return try Staging(in: root, mode: mode, names: names)
            } catch {
                throw FileErrors.creating(error, group.folder)
            }
        }
        // Before a byte is written: files begun there would be carried over with the group's.
        if reserved.hasGroups, let folder = try? folders.folder(placement.folder),
            let group = folders.group(around: folder, reserved)
        {
            throw ReservedPlaces.isGroups(placement.folder, group)
        }
        do throws(SystemError) {
            return try open(placement.folder, mode: mode)
        } catch {
            throw FileErrors.creating(error, placement.folder)
        }
    }

    private func open(_ folder: String, mode: UInt16?) throws(SystemError) -> Staging {
        do throws(SystemError) {
            return try open(in: folders.folder(folder), mode: mode)
        } catch {
            guard error.errno == ENOENT || error.errno == ENOTDIR else { throw error }
        }
        // The folder was removed after it was opened: make it again, once.
        folders.forget(folder)
        return try open(in: folders.folder(folder), mode: mode)
    }

    private func open(in folder: FolderCache.Folder, mode: UInt16?) throws(SystemError) -> Staging {
        try folders.withRoom(beside: folder) { () throws(SystemError) in
            try Staging(in: folder, mode: mode, names: names)
        }
    }

    /// Discards a body of which nothing is to be kept.
    func discard(_ id: StagingID) {
        forget(id)?.removeFile()
        if !copies.isEmpty { copies.removeAll { $0.copy.id == id } }
        guard !adoptions.isEmpty, let index = adoptions.firstIndex(where: { $0.id == id }) else { return }
        adoptions.remove(at: index).remove()
    }

    /// Ends the accounting of a body and returns its state, if an order for it came before; its file stays.
    @discardableResult
    func forget(_ id: StagingID) -> IncomingBody? {
        space.end(id)
        return bodies.isEmpty ? nil : bodies.removeValue(forKey: id)
    }

    // MARK: The name

    /// Completes, verifies and names a body. The old file stays untouched until the new one is complete and verified.
    /// Returns `nil` when the body's failure was reported before.
    func publish(_ publication: DeliveryOrder.Publication) throws(TransferError) -> Published? {
        let (id, destination) = (publication.id, publication.destination)
        // No dictionary has to know a body that comes in one piece.
        let body = bodies[id] ?? IncomingBody(id)
        defer { forget(id) }
        if body.isFailureReported { return nil }
        if let failure = body.failure { throw failure }
        let placement = BodyPlacement(destination)
        let staging = try staging(of: body, placement, mode: destination.mode)
        do throws(TransferError) {
            try write(publication.rest, to: staging, body, placement)
            try body.finishDecoding(endIsProven: !publication.lengthUnverified) { bytes throws(TransferError) in
                try append(bytes, to: staging, id, placement)
            }
            staging.end()
            if let failure = staging.failure { throw FileErrors.writing(failure, placement.folder) }
            if staging.hasHole { throw TransferError(.unknown, "a part of the body was never written") }
            return try verifyAndPlace(
                staging, publication.task, destination, publication.lengthUnverified, body.note)
        } catch {
            staging.remove()
            throw error
        }
    }

    private func verifyAndPlace(
        _ staging: Staging, _ task: TaskIndex, _ destination: Destination, _ lengthUnverified: Bool,
        _ note: (@Sendable (PartNote) -> Void)?
    ) throws(TransferError) -> Published {
        let checksum = try staging.verifiedChecksum(destination)
        if let examination = destination.examine { try staging.examine(examination) }
        if destination.toStandardOutput {
            let record = FileRecord(
                path: "-", bytes: staging.size, checksum: checksum, changed: true, lengthUnverified: lengthUnverified)
            return Published(record, body: try handOver(staging, destination))
        }
        switch try place(staging, task, destination, note) {
        case .placed(let changed):
            return Published(
                FileRecord(
                    path: destination.path, bytes: staging.size, checksum: checksum, changed: changed,
                    lengthUnverified: lengthUnverified, stamp: destination.isStamped ? staging.stamp : nil))
        case .same(let stamp, let changed):
            return Published(
                FileRecord(
                    path: destination.path, bytes: staging.size, checksum: checksum, changed: changed,
                    lengthUnverified: lengthUnverified, stamp: stamp))
        case .kept(let bytes):
            staging.remove()
            return Published(
                FileRecord(
                    path: destination.path, bytes: bytes, checksum: destination.checksum, changed: false,
                    lengthUnverified: false),
                isKept: true)
        case .taken(let owner):
            throw TransferError(
                .destinationExists,
                "\(destination.path) is already the file of the task `\(taskName(owner))`, under another path: "
                    + "give each a `to` of its own")
        case .inFolder(let group): throw ReservedPlaces.isGroups(destination.path, group)
        }
    }

    /// Takes the verified body for standard output; its file has no name from here on, even where the filesystem lacks
    /// unnamed files.
    private func handOver(_ staging: Staging, _ destination: Destination) throws(TransferError) -> StagedBody {
        do throws(SystemError) {
            if staging.mayHaveLostWrites { try staging.file.confirmWrites() }
            let body = try StagedBody(staging)
            staging.remove()
            return body
        } catch {
            throw FileErrors.writing(error, destination.folder)
        }
    }

    private func place(
        _ staging: Staging, _ task: TaskIndex, _ destination: Destination, _ note: (@Sendable (PartNote) -> Void)?
    ) throws(TransferError) -> Placing {
        if let what = reserved.what(at: destination.path, isNamed: destination.chosenName == nil) {
            if destination.chosenName != nil { throw .nameTaken(destination.path, "is \(what)") }
            throw TransferError(
                .destinationExists, "\(destination.path) is \(what), and no task's file: let it go elsewhere")
        }
        try prepare(staging, destination)
        do throws(SystemError) {
            if destination.group == nil {
                let (folder, name) = Folders.split(destination.path)
                if let note { staging.recordProgress(names, final: name, to: note) }
                return try placeAgain(staging, task, folder, name, destination)
            }
        } catch {
            if error == Self.isForeign { throw .nameTaken(destination.path) }
            throw FileErrors.naming(error, destination.path)
        }
        guard let group = destination.group else { preconditionFailure("without a group it has its name by now") }
        return try groups.place(staging, task, destination, group)
    }

    /// Does everything that a file needs before it gets its name.
    private func prepare(_ staging: Staging, _ destination: Destination) throws(TransferError) {
        do throws(SystemError) {
            // While the old file still exists, and before the time is set, which a late write would change.
            if staging.mayHaveLostWrites { try staging.file.confirmWrites() }
            if let mode = destination.mode { try staging.file.setMode(mode_t(mode)) }
            if let time = destination.modificationTime {
                try staging.file.setModificationTime(nanoseconds: time.nanoseconds)
            }
            if destination.flush || destination.group?.flush == true {
                try flush(staging, isMember: destination.group != nil)
            }
        } catch {
            throw FileErrors.writing(error, destination.folder)
        }
    }

    private func flush(_ staging: Staging, isMember: Bool) throws(SystemError) {
        // Flushing a whole filesystem does not reach the files of one that reports lost writes late.
        if staging.mayHaveLostWrites { return try staging.file.sync() }
        // A filesystem may write a name to the disk before the bytes: if another program flushes it at that moment, a
        // power cut would leave an empty file, or one of zeros. A group is flushed before its swap.
        if !isMember { try staging.file.writeOut() }
    }

    /// Names the file; a folder that vanished since it was opened is made again, since the bytes still exist.
    private func placeAgain(
        _ staging: Staging, _ task: TaskIndex, _ folderPath: String, _ name: String, _ destination: Destination
    ) throws(SystemError) -> Placing {
        do throws(SystemError) {
            return try place(staging, task, in: folders.folder(folderPath), as: name, destination)
        } catch {
            guard error.errno == ENOENT else { throw error }
        }
        folders.forget(folderPath)
        let folder = try folders.folder(folderPath)
        staging.follow(to: folder)
        return try place(staging, task, in: folder, as: name, destination)
    }

    private func place(
        _ staging: Staging, _ task: TaskIndex, in folder: FolderCache.Folder, as name: String,
        _ destination: Destination
    ) throws(SystemError) -> Placing {
        if let group = folders.group(around: folder, reserved) { return .inFolder(of: group) }
        let key = PlacedFiles.key(folder, name)
        let wasPut = destination.chosenName != nil && placed.isOwner(key, task)
        let isOurs = placed.claim(key, task)
        do throws(SystemError) {
            do throws(SystemError) {
                try staging.name(in: folder.descriptor, name)
                if !isOurs { placed.takeOver(key, task) }
                return .placed(changed: true)
            } catch {
                guard error.errno == EEXIST else { throw error }
            }
            if let rival = placed.rival(key, task) { return .taken(by: rival) }
            return try placeOver(staging, in: folder, name, destination, wasPut: wasPut)
        } catch {
            placed.letGo(key, task)
            throw error
        }
    }

    /// The failure where a server's name is that of a file that the task did not bring.
    private static let isForeign = SystemError(call: "replace", errno: EEXIST)

    /// Names the file where the name is taken; `wasPut`: by the task itself, earlier in this run.
    private func placeOver(
        _ staging: Staging, in folder: FolderCache.Folder, _ name: String, _ destination: Destination, wasPut: Bool
    ) throws(SystemError) -> Placing {
        let old = try folder.descriptor.facts(of: name)
        try Self.refuseOdd(old, name, in: folder.descriptor)
        // The file may have been put there for this same task by a process that ended before it could report it. Since
        // that cannot be known, the destination counts as changed.
        let mayBeOwn = old.mayHaveBeenPut(since: destination.untoldSince)
        switch destination.existing {
        case .fail:
            guard mayBeOwn, old.isRegular, staging.hasSameContent(as: name, in: folder) else {
                throw SystemError(call: "link", errno: EEXIST)
            }
            // It is the task's own file, or has the same bytes: no other file was there before.
            staging.remove()
            return .same((try? folder.descriptor.identified(name)).map { FileStamp($0) }, changed: true)
        case .skip:
            guard staging.mayBeSkipped(for: name, in: folder, destination.checksum) else {
                throw SystemError(call: "link", errno: EEXIST)
            }
            guard let facts = try? folder.descriptor.facts(of: name, followingLinks: true) else {
                throw SystemError(call: "link", errno: ENOLINK)
            }
            return .kept(bytes: facts.size)
        case .revalidate, .replace: break
        }
        let isSame = old.isRegular && staging.hasSameContent(as: name, in: folder)
        if let chosen = destination.chosenName, destination.existing == .revalidate, !wasPut,
            !chosen.isOwn(name, in: folder.descriptor)
        {
            guard isSame else { throw Self.isForeign }
            staging.remove()
            // Without a stamp: the next run must not take it for one that this task brought.
            return .same(nil, changed: mayBeOwn)
        }
        try staging.replace(in: folder, name, names)
        return .placed(changed: !isSame || mayBeOwn)
    }

    /// Flushes every filesystem that holds one of these folders, each once; returns the folders for which that failed.
    func flush(_ paths: Set<ExactText>) -> [ExactText: TransferError] {
        var flushed: [UInt64: TransferError?] = [:]
        var failures: [ExactText: TransferError] = [:]
        for path in paths {
            do throws(SystemError) {
                let folder = try folders.folder(path.text)
                if flushed[folder.device] == nil { flushed[folder.device] = .some(flush(folder, path.text)) }
                failures[path] = flushed[folder.device] ?? nil
            } catch {
                failures[path] = FileErrors.flushing(error, path.text)
            }
        }
        return failures
    }

    private func flush(_ folder: FolderCache.Folder, _ path: String) -> TransferError? {
        do throws(SystemError) {
            try folder.descriptor.syncFilesystem()
            return nil
        } catch {
            return FileErrors.flushing(error, path)
        }
    }
}
