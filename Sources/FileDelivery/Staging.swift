import Digests
import Glibc
import SystemIO
import TransferModel

/// A file that is being written beside its destination: without a name where the filesystem allows, so that a killed
/// process leaves nothing; under a temporary name elsewhere.
final class Staging {
    struct TemporaryName {
        /// The folder itself, whatever stands at its path meanwhile.
        let folder: FolderCache.Folder
        let name: String
    }
    let file: Descriptor
    /// Where it began, or where that stands now.
    private var home: FolderCache.Folder
    /// `nil` while it has none.
    private var temporary: TemporaryName?
    /// Of what is there without a hole from the beginning.
    private(set) var size: Int64 = 0
    /// What was written beyond that, and what of it is part of `size` by now but was not hashed.
    private var ahead = WrittenAhead()
    private var room = RoomAhead()
    private var digests = BodyDigests()
    /// Of all that was appended, while it is to be found by a later run.
    private var sum: QuickSum?
    private var notedSize: Int64 = 0
    /// The first write that failed; later ones are not tried.
    private(set) var failure: SystemError?

    init(in folder: FolderCache.Folder, mode: UInt16?, names: TemporaryNames) throws(SystemError) {
        let mode = mode_t(mode ?? 0o644)
        home = folder
        if !folder.lacksUnnamedFiles {
            do throws(SystemError) {
                file = try folder.descriptor.openUnnamed(mode: mode)
                return
            } catch {
                // EISDIR is what kernels without O_TMPFILE say.
                guard error.errno == EOPNOTSUPP || error.errno == EISDIR || error.errno == EINVAL else { throw error }
                folder.lacksUnnamedFiles = true
            }
        }
        while true {
            let name = names.next()
            do throws(SystemError) {
                let made = try folder.descriptor.open(name, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW, mode: mode)
                // Before it was locked somebody may have taken it for one that a killed run left.
                guard Self.isOurs(made, name, folder) else { continue }
                file = made
                temporary = TemporaryName(folder: folder, name: name)
                return
            } catch {
                // Left behind by a run of the same number that was killed.
                guard error.errno == EEXIST else { throw error }
            }
        }
    }

    /// What an earlier run left; `hash` and `update` come before anything else.
    init(
        adopting file: consuming Descriptor, in folder: FolderCache.Folder, _ name: String, size: Int64, _ sum: QuickSum
    ) {
        self.file = file
        home = folder
        temporary = TemporaryName(folder: folder, name: name)
        self.size = size
        self.sum = sum
    }

    /// Locked, and still what its name stands for. What is locked no other run takes away.
    private static func isOurs(_ file: borrowing Descriptor, _ name: String, _ folder: FolderCache.Folder) -> Bool {
        guard (try? file.tryLock()) ?? true, let own = try? file.facts() else { return false }
        return (try? folder.descriptor.facts(of: name))?.isSameFile(as: own) == true
    }

    /// Before the first byte; what is said later does not count.
    func hash(_ algorithms: BodyDigests.Algorithms, isPacked: Bool) { digests.start(algorithms, isPacked: isPacked) }

    /// Bytes as they came, before they are unpacked.
    func noteSent(_ bytes: UnsafeRawBufferPointer) {
        if failure == nil { digests.updateSent(bytes) }
    }

    func append(_ bytes: UnsafeRawBufferPointer) {
        guard failure == nil, bytes.count > 0 else { return }
        do throws(SystemError) {
            try file.writeAll(bytes, at: size)
            grow(bytes)
        } catch {
            failure = error
        }
    }

    private func grow(_ bytes: UnsafeRawBufferPointer) {
        size += Int64(bytes.count)
        digests.updateWritten(bytes)
        sum?.update(bytes)
    }

    // MARK: Room on the disk

    /// So many bytes are to come.
    func expect(_ length: Int64) {
        guard home.kind.findsRoomByBlock, length >= RoomAhead.smallest else { return }
        room.expect(end(after: length))
    }

    /// For so many of those that are to come there is room already, from an attempt before.
    func roomHeld(for length: Int64) -> Int64 { room.held(of: size..<end(after: length)) }

    /// Servers announce what no number holds.
    private func end(after length: Int64) -> Int64 { length > .max - size ? .max : size + length }

    /// Before `count` bytes are appended, or written at `offset`.
    func roomStep(for count: Int, at offset: Int64? = nil) -> RoomAhead.Step {
        let start = offset ?? size
        return room.step(to: start..<(start + Int64(count)), size: size)
    }

    /// Whether the filesystem gives it. Where it does not, the write that needs it says so.
    func takeRoom(_ range: Range<Int64>) -> Bool {
        do throws(SystemError) {
            try file.takeRoom(range)
            return true
        } catch {
            // Of what it did not have it may have given a part.
            if ahead.isEmpty { try? file.cut(at: size) }
            room.wasRefused(range)
            return false
        }
    }

    /// What was taken and not needed is given back.
    private func giveBackRoom() {
        guard failure == nil, room.goesBeyond(size) else { return }
        // It is no less whole with it.
        try? file.cut(at: size)
        room.wasCut(at: size)
    }

    // MARK: Pieces in any order

    /// A piece of a body that comes in several streams. No byte may come twice.
    func write(_ bytes: UnsafeRawBufferPointer, at offset: Int64) {
        guard failure == nil, bytes.count > 0 else { return }
        if offset == size {
            noteSent(bytes)
            return append(bytes)
        }
        do throws(SystemError) {
            try file.writeAll(bytes, at: offset)
            ahead.add(offset..<(offset + Int64(bytes.count)))
        } catch {
            failure = error
        }
    }

    /// Hashes what lies further on and is reached by now, up to `most` bytes of it: a digest is of the file's bytes in
    /// their order. They were written a moment ago, so that no disk is asked.
    func catchUp(most: Int64 = .max) {
        var left = most
        while failure == nil, left > 0, let range = ahead.take(from: size, most: min(left, Self.readAtOnce)) {
            left -= range.upperBound - range.lowerBound
            do throws(SystemError) { try readBack(range) } catch { failure = error }
        }
    }

    private static let readAtOnce: Int64 = 256 << 10

    private func readBack(_ range: Range<Int64>) throws(SystemError) {
        guard digests.areWanted || sum != nil else {
            size = range.upperBound
            return
        }
        var bytes = [UInt8](repeating: 0, count: range.count)
        while size < range.upperBound {
            let (place, left) = (size, Int(range.upperBound - size))
            let read = bytes.withUnsafeMutableBytes { buffer in
                Result { () throws(SystemError) in
                    try file.read(into: UnsafeMutableRawBufferPointer(rebasing: buffer[..<left]), at: place)
                }
            }
            let count = try read.get()
            // The file was truncated meanwhile.
            guard count > 0 else { throw SystemError(call: "read", errno: EIO) }
            bytes.withUnsafeBytes { buffer in
                let came = UnsafeRawBufferPointer(rebasing: buffer[..<count])
                digests.updateSent(came)
                grow(came)
            }
        }
    }

    /// Whether something is missing before what was written.
    var hasHole: Bool { !ahead.isEmpty }

    /// What is there without a hole stays, to be gone on with; what lies beyond goes.
    func settle() {
        catchUp()
        guard failure == nil, !ahead.isEmpty else { return }
        ahead.removeAll()
        do throws(SystemError) { try file.cut(at: size) } catch { failure = error }
        room.wasCut(at: size)
    }

    /// Bytes that are there already and belong to the whole.
    func update(_ bytes: UnsafeRawBufferPointer) {
        digests.updateSent(bytes)
        digests.updateWritten(bytes)
    }

    // MARK: For a later run

    /// Before the first byte: `part` will tell what is there.
    func beginSum() {
        if size == 0, sum == nil { sum = QuickSum() }
    }

    /// Of all that was appended.
    var sumSoFar: Int64? { sum?.shortSoFar }

    /// Whether `part` would tell more than the last time.
    var hasGrown: Bool { size >= PartFile.smallest && size > notedSize && sum != nil && failure == nil }

    /// `nil` when there is too little, or it could not be given a name.
    func part(_ names: TemporaryNames, smallest: Int64 = PartFile.smallest) -> PartFile? {
        guard let sum, failure == nil, size >= smallest, let temporary = try? temporaryName(in: home, names)
        else { return nil }
        notedSize = size
        return PartFile(name: temporary.name, size: size, sum: sum.soFar)
    }

    /// It keeps its temporary name, and is ours no more.
    func leave() {
        giveBackRoom()
        temporary = nil
    }

    /// Its filesystem may have lost what it took.
    var mayHaveLostWrites: Bool { home.tellsLate }

    // MARK: The name

    /// All of it is there.
    func end() {
        catchUp()
        giveBackRoom()
    }

    /// Of all that was appended; a digest that is not the one expected is an error.
    func verifiedChecksum(_ destination: Destination) throws(TransferError) -> Checksum? {
        try digests.verify(destination)
    }

    /// Gives it its final name; EEXIST when something has that.
    func name(in folder: borrowing Descriptor, _ name: String) throws(SystemError) {
        if let temporary {
            try temporary.folder.descriptor.renameIfFree(temporary.name, into: folder, as: name)
            self.temporary = nil
        } else {
            try file.link(into: folder, as: name)
        }
    }

    /// Gives it its final name in the place of what has that.
    func replace(in folder: FolderCache.Folder, _ name: String, _ names: TemporaryNames) throws(SystemError) {
        let temporary = try temporaryName(in: folder, names)
        try temporary.folder.descriptor.rename(temporary.name, into: folder.descriptor, as: name)
        self.temporary = nil
    }

    /// The folder that it began in is not at its path any more: the publication of a group has put another in its place,
    /// with all that was in it, what is under way too.
    func follow(to folder: FolderCache.Folder) {
        guard let known = temporary, let own = try? file.facts(),
            (try? known.folder.descriptor.facts(of: known.name))?.isSameFile(as: own) != true,
            (try? folder.descriptor.facts(of: known.name))?.isSameFile(as: own) == true
        else { return }
        home = folder
        temporary = TemporaryName(folder: folder, name: known.name)
    }

    private func temporaryName(
        in folder: FolderCache.Folder, _ names: TemporaryNames
    ) throws(SystemError) -> TemporaryName {
        if let temporary { return temporary }
        // What is locked no other run takes for one that a killed run left.
        _ = try? file.tryLock()
        while true {
            let made = TemporaryName(folder: folder, name: names.next())
            do throws(SystemError) {
                try file.link(into: folder.descriptor, as: made.name)
                temporary = made
                return made
            } catch {
                guard error.errno == EEXIST else { throw error }
            }
        }
    }

    /// Whether `existing: skip` may pass for a success: what stands there is told as right, if there is a `checksum`.
    func mayBeSkipped(for name: String, in folder: FolderCache.Folder, _ checksum: Checksum?) -> Bool {
        checksum == nil || hasSameContent(as: name, in: folder, followingLinks: true)
    }

    /// Whether the file `name` in `folder` holds the same bytes.
    func hasSameContent(as name: String, in folder: FolderCache.Folder, followingLinks: Bool = false) -> Bool {
        let flags = O_RDONLY | (followingLinks ? O_NONBLOCK : O_NOFOLLOW)
        guard let old = try? folder.descriptor.open(name, flags), (try? old.facts().size) == size else { return false }
        return LocalFiles.haveSameBytes(old, file, size)
    }

    /// Of the file itself, whatever stands under its name by now.
    var stamp: FileStamp? { (try? file.identified()).map { FileStamp($0) } }

    /// Leaves nothing of it.
    func remove() {
        guard let temporary else { return }
        // Already gone is as good.
        try? temporary.folder.descriptor.unlink(temporary.name)
        self.temporary = nil
    }
}
