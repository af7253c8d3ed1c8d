import Digests
import Glibc
import SystemIO
import TransferModel

/// A file that is being written beside its destination: without a name where the filesystem allows that, so that a
/// killed process leaves nothing, else under a temporary name.
final class Staging {
    struct TemporaryName {
        /// The open folder itself, whatever is at its path meanwhile.
        let folder: FolderCache.Folder
        let name: String
    }
    let file: Descriptor
    /// The folder in which it began, or the one that has replaced it.
    private var home: FolderCache.Folder
    /// The file's temporary name; `nil` while it has none.
    private var temporary: TemporaryName?
    /// The number of bytes from the beginning without a hole.
    private(set) var size: Int64 = 0
    /// What was written beyond `size`, and ranges before it that were not hashed yet.
    private var ahead = WrittenAhead()
    private var room = RoomAhead()
    private var digests = BodyDigests()
    /// The sum of all appended bytes, if the body may be kept for a later run or no other digest of the file is made.
    private var sum: QuickSum?
    private var notedSize: Int64 = 0
    /// The noted beginnings, for a later run.
    private var beginnings = PartBeginnings()
    /// What tells the file from others of its name; read when the first note is made.
    private var identity: Int64?
    /// The end of what notes say was written beyond `size`: so far the file is not cut, for a note holds until another is
    /// made, and what is written behind a cut would make zeros of what it names.
    private var promised: Int64 = 0
    /// The first write that failed; later ones are not tried.
    private(set) var failure: SystemError?

    init(in folder: FolderCache.Folder, mode: UInt16?, names: TemporaryNames) throws(SystemError) {
        let mode = mode_t(mode ?? 0o644)
        home = folder
        if !folder.lacksUnnamedFiles {
            do throws(SystemError) {
                let made = try folder.descriptor.openUnnamed(mode: mode)
                guard DescriptorLimit.allowsTransfer(made.raw) else { throw SystemError(call: "open", errno: EMFILE) }
                file = made
                return
            } catch {
                // EISDIR comes from kernels without O_TMPFILE.
                guard error.errno == EOPNOTSUPP || error.errno == EISDIR || error.errno == EINVAL else { throw error }
                folder.lacksUnnamedFiles = true
            }
        }
        while true {
            let name = names.next()
            do throws(SystemError) {
                let made = try folder.descriptor.open(name, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW, mode: mode)
                // Before it was locked, another run may have swept it as a killed run's.
                guard Self.isOurs(made, name, folder) else { continue }
                file = made
                temporary = TemporaryName(folder: folder, name: name)
                return
            } catch {
                // Left by a killed run of the same number.
                guard error.errno == EEXIST else { throw error }
            }
        }
    }

    /// Takes over the partial file of an earlier run; `hash` and `update` are called before anything else.
    init(
        adopting file: consuming Descriptor, in folder: FolderCache.Folder, _ part: PartFile, size: Int64,
        _ sum: QuickSum
    ) {
        let name = part.name
        beginnings = PartBeginnings(part.earlier)
        beginnings.cut(at: size)
        self.file = file
        home = folder
        temporary = TemporaryName(folder: folder, name: name)
        self.size = size
        self.sum = sum
    }

    /// Takes less of that file over: `hash` and `update` begin anew.
    func restart(size: Int64, _ sum: QuickSum) {
        self.size = size
        self.sum = sum
        digests = BodyDigests()
        beginnings.cut(at: size)
    }

    /// Locks the file, so that no other run sweeps it, and checks that it still has its name.
    private static func isOurs(_ file: borrowing Descriptor, _ name: String, _ folder: FolderCache.Folder) -> Bool {
        guard (try? file.tryLock()) ?? true, let own = try? file.facts() else { return false }
        return (try? folder.descriptor.facts(of: name))?.isSameFile(as: own) == true
    }

    /// Sets the digests; called before the first byte, further calls do nothing.
    func hash(_ algorithms: BodyDigests.Algorithms, isPacked: Bool) {
        if digests.start(algorithms, isPacked: isPacked), !digests.namesFile { beginSum() }
    }

    /// Takes bytes as they were sent, before decoding.
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

    /// Announces that `length` more bytes will come.
    func expect(_ length: Int64) {
        guard home.kind.findsRoomByBlock, length >= RoomAhead.smallest else { return }
        room.expect(end(after: length))
    }

    /// Returns for how many of the next `length` bytes room was reserved already, by an earlier attempt.
    func roomHeld(for length: Int64) -> Int64 { room.held(of: size..<end(after: length)) }

    /// The end of the announced bytes; servers announce lengths that no number holds.
    private func end(after length: Int64) -> Int64 { length > .max - size ? .max : size + length }

    /// Returns what to reserve before `count` bytes are appended, or written at `offset`.
    func roomStep(for count: Int, at offset: Int64? = nil) -> RoomAhead.Step {
        let start = offset ?? size
        return room.step(to: start..<(start + Int64(count)), size: size)
    }

    /// Reserves a range; returns whether the filesystem did. If not, the write that needs the room fails itself.
    func takeRoom(_ range: Range<Int64>) -> Bool {
        do throws(SystemError) {
            try file.takeRoom(range)
            return true
        } catch {
            // It may have reserved a part of what it could not give.
            if ahead.isEmpty, size >= promised { try? file.cut(at: size) }
            room.wasRefused(range)
            return false
        }
    }

    /// Frees room that was reserved and not needed.
    private func giveBackRoom() {
        guard failure == nil, size >= promised, room.goesBeyond(size) else { return }
        // If that fails, the file is complete all the same.
        try? file.cut(at: size)
        room.wasCut(at: size)
    }

    // MARK: Pieces in any order

    /// Writes a piece of a body that comes in several streams. No byte may come twice.
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

    /// Takes all bytes of another file, without writing them where the filesystem can share them. They are read and hashed
    /// at the end. Returns `false` where it cannot: nothing has changed then.
    func clone(_ other: borrowing Descriptor, size count: Int64) -> Bool {
        guard failure == nil, size == 0, ahead.isEmpty, count > 0, (try? file.clone(other)) != nil else { return false }
        guard (try? file.facts().size) == count else {
            // It was changed since it was measured.
            do throws(SystemError) { try file.cut(at: 0) } catch { failure = error }
            return false
        }
        ahead.add(0..<count)
        return true
    }

    /// Hashes bytes written earlier at higher offsets that are contiguous by now, up to `most` of them: a digest needs
    /// the file's bytes in order. They were written a moment ago, so that they are read from memory.
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

    /// Whether bytes are missing before the last written ones.
    var hasHole: Bool { !ahead.isEmpty }

    /// Keeps the beginning without a hole, to be continued, and cuts off what lies beyond, unless it was noted.
    func settle() {
        catchUp()
        guard failure == nil, !ahead.isEmpty else { return }
        ahead.removeAll()
        guard size >= promised else { return }
        do throws(SystemError) { try file.cut(at: size) } catch { failure = error }
        room.wasCut(at: size)
    }

    /// Hashes bytes that the file has already.
    func update(_ bytes: UnsafeRawBufferPointer) {
        digests.updateSent(bytes)
        digests.updateWritten(bytes)
    }

    // MARK: For a later run

    /// Begins the sum for `part`; has an effect before the first byte alone.
    func beginSum() {
        if size == 0, sum == nil { sum = QuickSum() }
    }

    /// Ranges that were written beyond `size`.
    var beyond: [Range<Int64>] { ahead.ranges }

    /// Takes ranges that an earlier run wrote beyond `size`.
    func adopt(beyond ranges: [Range<Int64>]) {
        for range in ranges { ahead.add(range) }
        promised = max(promised, ranges.last?.upperBound ?? 0)
    }

    /// Notes how far the file is, and gives it a temporary name if it has none. `final`: the name that it is given next.
    func recordProgress(_ names: TemporaryNames, final: String? = nil, to note: (PartNote) -> Void) {
        guard failure == nil, size > 0, let sum else { return }
        if identity == nil { identity = (try? file.identified())?.identity }
        guard let identity else { return }
        beginnings.add(PartFile.Beginning(size: size, sum: sum.soFar))
        let named = final.flatMap { name in stamp.map { PartNote.Final(name: name, stamp: $0) } }
        // A write there may still be lost, and nobody would notice.
        let beyond = home.tellsLate ? [] : ahead.ranges
        // First the note: a name that it does not know would be swept.
        _ = try? temporaryName(in: home, names) { name in
            promised = max(promised, beyond.last?.upperBound ?? 0)
            note(PartNote(part: part(name, sum), identity: identity, beyond: beyond, final: named))
        }
    }

    private func part(_ name: String, _ sum: QuickSum) -> PartFile {
        PartFile(name: name, size: size, sum: sum.soFar, earlier: beginnings.all.filter { $0.size < size })
    }

    /// Whether `part` would return a larger file than the last time.
    var hasGrown: Bool { size >= PartFile.smallest && size > notedSize && sum != nil && failure == nil }

    /// Gives the file a temporary name if it has none, and returns it as a partial file; `nil` when it is too small or
    /// naming failed.
    func part(_ names: TemporaryNames, smallest: Int64 = PartFile.smallest) -> PartFile? {
        guard let sum, failure == nil, size >= smallest, let temporary = try? temporaryName(in: home, names)
        else { return nil }
        notedSize = size
        return part(temporary.name, sum)
    }

    /// Leaves the file under its temporary name: `remove` no longer removes it.
    func leave() {
        giveBackRoom()
        temporary = nil
    }

    /// Whether its filesystem may report lost writes late.
    var mayHaveLostWrites: Bool { home.tellsLate }

    // MARK: The name

    /// Completes the file after its last byte.
    func end() {
        catchUp()
        giveBackRoom()
    }

    /// Ends the digests and returns the checksum for the report: a digest that was named, else the sum. Throws if one is
    /// not as expected.
    func verifiedChecksum(_ destination: Destination) throws(TransferError) -> Checksum? {
        try digests.verify(destination) ?? sum?.checksum
    }

    /// Gives the file its final name; throws EEXIST when that is taken.
    func name(in folder: borrowing Descriptor, _ name: String) throws(SystemError) {
        if let temporary {
            try temporary.folder.descriptor.renameIfFree(temporary.name, into: folder, as: name)
            self.temporary = nil
        } else {
            try file.link(into: folder, as: name)
        }
    }

    /// Gives the file its final name, replacing the file that has it.
    func replace(in folder: FolderCache.Folder, _ name: String, _ names: TemporaryNames) throws(SystemError) {
        let temporary = try temporaryName(in: folder, names)
        try temporary.folder.descriptor.rename(temporary.name, into: folder.descriptor, as: name)
        self.temporary = nil
    }

    /// Follows the temporary file after its folder was replaced: a group's publication has put another one there, with
    /// all its entries, files under way included.
    func follow(to folder: FolderCache.Folder) {
        guard let known = temporary, let own = try? file.facts(),
            (try? known.folder.descriptor.facts(of: known.name))?.isSameFile(as: own) != true,
            (try? folder.descriptor.facts(of: known.name))?.isSameFile(as: own) == true
        else { return }
        home = folder
        temporary = TemporaryName(folder: folder, name: known.name)
    }

    /// Returns the temporary name, which the file gets now if it has none; `willBe` is told the name before that.
    @discardableResult
    private func temporaryName(
        in folder: FolderCache.Folder, _ names: TemporaryNames, willBe: (String) -> Void = { _ in }
    ) throws(SystemError) -> TemporaryName {
        if let temporary {
            willBe(temporary.name)
            return temporary
        }
        // Other runs sweep unlocked files as remains of killed runs.
        _ = try? file.tryLock()
        while true {
            let made = TemporaryName(folder: folder, name: names.next())
            willBe(made.name)
            do throws(SystemError) {
                try file.link(into: folder.descriptor, as: made.name)
                temporary = made
                return made
            } catch {
                guard error.errno == EEXIST else { throw error }
            }
        }
    }

    /// Whether `existing: skip` may succeed: with a `checksum`, the existing file must have the same bytes.
    func mayBeSkipped(for name: String, in folder: FolderCache.Folder, _ checksum: Checksum?) -> Bool {
        checksum == nil || hasSameContent(as: name, in: folder, followingLinks: true)
    }

    /// Whether the file `name` in `folder` has the same bytes.
    func hasSameContent(as name: String, in folder: FolderCache.Folder, followingLinks: Bool = false) -> Bool {
        let flags = O_RDONLY | (followingLinks ? O_NONBLOCK : O_NOFOLLOW)
        guard let old = try? folder.descriptor.open(name, flags), (try? old.facts().size) == size else { return false }
        return LocalFiles.haveSameBytes(old, file, size)
    }

    /// The stamp of the file itself, whatever has its name by now.
    var stamp: FileStamp? { (try? file.identified()).map { FileStamp($0) } }

    /// Removes the file's temporary name, and with it the file.
    func remove() {
        guard let temporary else { return }
        // A file that is gone already is no failure.
        try? temporary.folder.descriptor.unlink(temporary.name)
        self.temporary = nil
    }
}
