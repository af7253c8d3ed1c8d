internal import CLinuxShims
package import Glibc

/// An open file, folder or socket with exactly one owner; closed when the owner lets go.
package struct Descriptor: ~Copyable, Sendable {
    package let raw: Int32

    /// Takes over a descriptor that is open already.
    package init(owning raw: Int32) { self.raw = raw }

    deinit { if raw >= 0 { close(raw) } }

    /// Opens by a path from the working folder; always close-on-exec.
    package static func open(_ path: String, _ flags: Int32, mode: mode_t = 0) throws(SystemError) -> Descriptor {
        Descriptor(owning: try Syscall.check("open") { unsafe Glibc.open(path, flags | O_CLOEXEC, mode) })
    }

    package static func openFolder(_ path: String) throws(SystemError) -> Descriptor {
        try open(path, O_RDONLY | O_DIRECTORY)
    }

    /// Only to name what is in it, which needs no right to list it.
    package static func openPlace(_ path: String) throws(SystemError) -> Descriptor {
        try open(path, tr_O_PATH | O_DIRECTORY)
    }

    /// Opens `name` below this folder.
    package borrowing func open(_ name: String, _ flags: Int32, mode: mode_t = 0) throws(SystemError) -> Descriptor {
        let folder = raw
        return Descriptor(owning: try Syscall.check("open") { unsafe openat(folder, name, flags | O_CLOEXEC, mode) })
    }

    /// A file below this folder that has no name yet: nothing is left of it when the process dies.
    package borrowing func openUnnamed(mode: mode_t) throws(SystemError) -> Descriptor {
        let folder = raw
        let flags = tr_O_TMPFILE | O_RDWR | O_CLOEXEC
        return Descriptor(owning: try Syscall.check("open") { unsafe openat(folder, ".", flags, mode) })
    }

    /// Writes all of it, however many calls that takes.
    package borrowing func writeAll(_ bytes: UnsafeRawBufferPointer) throws(SystemError) {
        var done = 0
        let raw = raw
        while done < bytes.count {
            let start = unsafe bytes.baseAddress.unsafelyUnwrapped + done
            let left = bytes.count - done
            done += try Syscall.count("write") { unsafe write(raw, start, left) }
        }
    }

    /// The same from `offset` on, wherever the last write ended.
    package borrowing func writeAll(_ bytes: UnsafeRawBufferPointer, at offset: Int64) throws(SystemError) {
        var done = 0
        let raw = raw
        while done < bytes.count {
            let start = unsafe bytes.baseAddress.unsafelyUnwrapped + done
            let place = Int(offset) + done
            let left = bytes.count - done
            done += try Syscall.count("write") { unsafe pwrite(raw, start, left, place) }
        }
    }

    package borrowing func writeAll(_ bytes: ArraySlice<UInt8>, at offset: Int64) throws(SystemError) {
        var failure: SystemError?
        unsafe bytes.withUnsafeBytes { buffer in
            do throws(SystemError) { try unsafe writeAll(buffer, at: offset) } catch { failure = error }
        }
        if let failure { throw failure }
    }

    package borrowing func writeAll(_ bytes: [UInt8]) throws(SystemError) {
        var failure: SystemError?
        unsafe bytes.withUnsafeBytes { buffer in
            do throws(SystemError) { try unsafe writeAll(buffer) } catch { failure = error }
        }
        if let failure { throw failure }
    }

    /// Up to `bytes.count` bytes from `offset`; 0 at the end of the file.
    package borrowing func read(
        into bytes: UnsafeMutableRawBufferPointer, at offset: Int64
    ) throws(SystemError) -> Int {
        let raw = raw
        return try Syscall.count("read") { unsafe pread(raw, bytes.baseAddress, bytes.count, Int(offset)) }
    }

    /// The same of what lies in memory; `nil` where the disk would have to be waited for. A filesystem that cannot tell is
    /// waited for.
    package borrowing func readNow(
        into bytes: UnsafeMutableRawBufferPointer, at offset: Int64
    ) throws(SystemError) -> Int? {
        let raw = raw
        do throws(SystemError) {
            return try Syscall.count("read") { unsafe Int(tr_read_now(raw, bytes.baseAddress, bytes.count, offset)) }
        } catch {
            // What else is wrong with the file the plain call says, and with the kernel it does not mind.
            return error.errno == EAGAIN ? nil : try unsafe read(into: bytes, at: offset)
        }
    }

    /// Cuts the file off, and goes on writing there.
    package borrowing func cut(at size: Int64) throws(SystemError) {
        let raw = raw
        try Syscall.check("truncate") { ftruncate(raw, Int(size)) }
        try Syscall.check("seek") { lseek(raw, Int(size), SEEK_SET) < 0 ? -1 : 0 }
    }

    /// Room on the disk for what will be written there. The file is as long as before.
    package borrowing func takeRoom(_ range: Range<Int64>) throws(SystemError) {
        let raw = raw
        try Syscall.check("fallocate") { tr_take_room(raw, range.lowerBound, Int64(range.count)) }
    }

    package borrowing func facts() throws(SystemError) -> FileFacts {
        var facts = tr_file_facts()
        let raw = raw
        try Syscall.check("stat") { unsafe tr_fstat(raw, &facts) }
        return FileFacts(facts)
    }

    /// Facts of `name` below this folder.
    package borrowing func facts(of name: String, followingLinks: Bool = false) throws(SystemError) -> FileFacts {
        var facts = tr_file_facts()
        let raw = raw
        try Syscall.check("stat") { unsafe tr_fstatat(raw, name, followingLinks ? 1 : 0, &facts) }
        return FileFacts(facts)
    }

    /// With what tells the file from every other that stood or will stand in its place.
    package borrowing func identified() throws(SystemError) -> (facts: FileFacts, identity: Int64) {
        try FileFacts.identified(raw, "", followingLinks: false)
    }

    /// Of `name` below this folder; links are not followed.
    package borrowing func identified(_ name: String) throws(SystemError) -> (facts: FileFacts, identity: Int64) {
        try FileFacts.identified(raw, name, followingLinks: false)
    }

    package borrowing func setModificationTime(nanoseconds: Int64) throws(SystemError) {
        let raw = raw
        let times = Self.modificationTime(nanoseconds)
        try Syscall.check("futimens") { unsafe futimens(raw, times) }
    }

    /// What `futimens` and `utimensat` take: the time of the last access stays.
    static func modificationTime(_ nanoseconds: Int64) -> [timespec] {
        // Rounded down: before 1970 the rest counts forward too.
        let rest = (nanoseconds % 1_000_000_000 + 1_000_000_000) % 1_000_000_000
        let time = timespec(tv_sec: Int((nanoseconds - rest) / 1_000_000_000), tv_nsec: Int(rest))
        return [timespec(tv_sec: 0, tv_nsec: Int(UTIME_OMIT_VALUE)), time]
    }

    package borrowing func setMode(_ mode: mode_t) throws(SystemError) {
        let raw = raw
        try Syscall.check("chmod") { fchmod(raw, mode) }
    }

    /// Of the file `name` below this folder.
    package borrowing func setMode(of name: String, _ mode: mode_t) throws(SystemError) {
        let raw = raw
        try Syscall.check("chmod") { unsafe fchmodat(raw, name, mode, 0) }
    }

    /// Whether this process may write the file `name` below this folder.
    package borrowing func mayWrite(_ name: String) -> Bool { unsafe faccessat(raw, name, W_OK, 0) == 0 }

    /// Gives an unnamed file its name below `folder`; fails with EEXIST when that is taken.
    package borrowing func link(into folder: borrowing Descriptor, as name: String) throws(SystemError) {
        let target = folder.raw
        let file = raw
        // By its descriptor where the kernel lets us (6.10 and later, or with the capability), else through /proc.
        if unsafe linkat(file, "", target, name, tr_AT_EMPTY_PATH) == 0 { return }
        let code = errno
        if code == EEXIST { throw SystemError(call: "link", errno: code) }
        let source = "/proc/self/fd/\(raw)"
        try Syscall.check("link") { unsafe linkat(AT_FDCWD, source, target, name, AT_SYMLINK_FOLLOW) }
    }

    package borrowing func rename(_ old: String, to new: String) throws(SystemError) {
        let folder = raw
        try Syscall.check("rename") { unsafe renameat(folder, old, folder, new) }
    }

    /// Moves `old` of this folder into another of the same filesystem.
    package borrowing func rename(
        _ old: String, into target: borrowing Descriptor, as new: String
    ) throws(SystemError) {
        let (from, to) = (raw, target.raw)
        try Syscall.check("rename") { unsafe renameat(from, old, to, new) }
    }

    /// The same only when nothing has the new name; EEXIST otherwise. Where the filesystem cannot rename so, a
    /// second name and the loss of the first do.
    package borrowing func renameIfFree(
        _ old: String, into target: borrowing Descriptor, as new: String
    ) throws(SystemError) {
        let (from, to) = (raw, target.raw)
        do throws(SystemError) {
            try Syscall.check("rename") { unsafe tr_renameat2(from, old, to, new, UInt32(tr_RENAME_NOREPLACE)) }
        } catch {
            guard error.errno == EINVAL || error.errno == ENOSYS else { throw error }
            try Syscall.check("link") { unsafe linkat(from, old, to, new, 0) }
            try unlink(old)
        }
    }

    package borrowing func unlink(_ name: String) throws(SystemError) {
        let folder = raw
        try Syscall.check("unlink") { unsafe unlinkat(folder, name, 0) }
    }

    /// The bytes of this file are with the disk, if not yet on it, when it returns: whatever the filesystem writes down
    /// about the file from here on, it writes after them. A lost write is an error.
    package borrowing func writeOut() throws(SystemError) {
        let raw = raw
        do throws(SystemError) {
            try Syscall.check("write") { tr_write_out(raw) }
        } catch {
            // Some filesystems know no such thing: then the flush that follows must do.
            guard error.errno == EINVAL || error.errno == ENOSYS || error.errno == ESPIPE else { throw error }
        }
    }

    /// Asks what of this file's writes was lost, as a filesystem tells it to whoever closes the file: the file itself stays
    /// open, so that it can still be done without.
    package borrowing func confirmWrites() throws(SystemError) { try Self.confirmWrites(raw) }

    package static func confirmWrites(_ raw: Int32) throws(SystemError) {
        // An interrupted close has closed all the same, and may not have heard the answer: another is asked.
        try Syscall.check("close") {
            let copy = fcntl(raw, F_DUPFD_CLOEXEC, 0)
            return copy < 0 ? -1 : close(copy)
        }
    }

    /// The disk begins to take these bytes, and nobody waits for it: what cannot be begun now is done later.
    package borrowing func beginWriteOut(from offset: Int64, count: Int64) {
        tr_begin_write_out(raw, offset, count)
    }

    /// Everything written to this descriptor's filesystem is on the disk when it returns; a lost write is an error.
    package borrowing func syncFilesystem() throws(SystemError) {
        let raw = raw
        try Syscall.check("syncfs") { tr_syncfs(raw) }
    }
}

/// `UTIME_OMIT` is a macro with a cast.
private let UTIME_OMIT_VALUE = (1 << 30) - 2

/// What `stat` says, as far as anybody here asks.
package struct FileFacts: Hashable, Sendable {
    package let device: UInt64
    package let inode: UInt64
    package let mode: UInt32
    package let owner: UInt32
    package let group: UInt32
    package let size: Int64
    package let modifiedNanoseconds: Int64
    /// Of the last change to the file or to what the system knows about it; nobody can set it.
    package let changedNanoseconds: Int64

    init(_ facts: tr_file_facts) {
        device = facts.device
        inode = facts.inode
        mode = facts.mode
        owner = facts.owner
        group = facts.group
        size = facts.size
        modifiedNanoseconds = facts.modified_nanoseconds
        changedNanoseconds = facts.changed_nanoseconds
    }

    /// Of what stands at a path; links are followed.
    package static func of(_ path: String) throws(SystemError) -> FileFacts {
        var facts = tr_file_facts()
        try Syscall.check("stat") { unsafe tr_fstatat(AT_FDCWD, path, 1, &facts) }
        return FileFacts(facts)
    }

    /// Of what stands at a path; a symlink at its end is not followed.
    package static func ofName(_ path: String) throws(SystemError) -> FileFacts {
        var facts = tr_file_facts()
        try Syscall.check("stat") { unsafe tr_fstatat(AT_FDCWD, path, 0, &facts) }
        return FileFacts(facts)
    }

    /// Of what stands at a path, with what tells the file from every other that stood or will stand there.
    package static func identified(_ path: String) throws(SystemError) -> (facts: FileFacts, identity: Int64) {
        try identified(AT_FDCWD, path, followingLinks: true)
    }

    /// `path` is below an open folder; an empty one is the descriptor's own file.
    static func identified(
        _ raw: Int32, _ path: String, followingLinks: Bool
    ) throws(SystemError) -> (facts: FileFacts, identity: Int64) {
        var (facts, born) = (tr_file_facts(), Int64(0))
        try Syscall.check("stat") { unsafe tr_statx(raw, path, followingLinks ? 1 : 0, &facts, &born) }
        // The number of a file that is gone is given to a new one, which was made later.
        let identity = (facts.inode &* 0x9E37_79B9_7F4A_7C15) ^ UInt64(bitPattern: born)
        return (FileFacts(facts), Int64(bitPattern: identity))
    }

    package var isRegular: Bool { mode & S_IFMT == S_IFREG }
    package var isPipe: Bool { mode & S_IFMT == S_IFIFO }
    package var isFolder: Bool { mode & S_IFMT == S_IFDIR }
    package var isLink: Bool { mode & S_IFMT == S_IFLNK }
    /// The rights, without the kind.
    package var permissions: mode_t { mode & 0o7777 }

    package func isSameFile(as other: FileFacts) -> Bool { inode == other.inode && device == other.device }
}
