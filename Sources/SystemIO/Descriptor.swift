internal import CLinuxShims
package import Glibc

/// An open file, folder or socket with exactly one owner, which closes it at the end of its lifetime.
package struct Descriptor: ~Copyable, Sendable {
    /// The descriptor's number, valid only as long as this value lives.
    package let raw: Int32

    /// Takes ownership of an open descriptor.
    package init(owning raw: Int32) { self.raw = raw }

    deinit { if raw >= 0 { close(raw) } }

    /// Opens a path relative to the working folder; always close-on-exec. In a confined process, see `Confinement`, only what
    /// is in its room.
    package static func open(_ path: String, _ flags: Int32, mode: mode_t = 0) throws(SystemError) -> Descriptor {
        try open(RawName(path), flags, mode: mode)
    }

    /// Opens a path as the function above does.
    static func open(_ path: RawName, _ flags: Int32, mode: mode_t = 0) throws(SystemError) -> Descriptor {
        if let room = Confinement.room { return try room.open(path, flags, mode: mode) }
        return try openOutside(path, flags, mode: mode)
    }

    /// Opens a path that a job names, or a value of its run: in a confined process only what is beneath the room's folder,
    /// and nothing that the process reads for itself.
    package static func openOfJob(_ path: String, _ flags: Int32) throws(SystemError) -> Descriptor {
        guard let room = Confinement.room else { return try open(path, flags) }
        return try room.open(RawName(path), flags, ofJob: true)
    }

    /// Opens a path wherever it leads, also out of the room that this process is in.
    static func openOutside(_ path: RawName, _ flags: Int32, mode: mode_t = 0) throws(SystemError) -> Descriptor {
        Descriptor(owning: try Syscall.check("open") { unsafe Glibc.open(path.characters, flags | O_CLOEXEC, mode) })
    }

    /// Opens `name` below this folder.
    package borrowing func open(_ name: String, _ flags: Int32, mode: mode_t = 0) throws(SystemError) -> Descriptor {
        let folder = raw
        return Descriptor(owning: try Syscall.check("open") { unsafe openat(folder, name, flags | O_CLOEXEC, mode) })
    }

    /// Opens a file without a name below this folder: nothing is left of it when the process dies.
    package borrowing func openUnnamed(mode: mode_t) throws(SystemError) -> Descriptor {
        let folder = raw
        let flags = tr_O_TMPFILE | O_RDWR | O_CLOEXEC
        return Descriptor(owning: try Syscall.check("open") { unsafe openat(folder, ".", flags, mode) })
    }

    /// Writes all bytes at the current position, in as many calls as that takes.
    package borrowing func writeAll(_ bytes: UnsafeRawBufferPointer) throws(SystemError) {
        var done = 0
        let raw = raw
        while done < bytes.count {
            let start = unsafe bytes.baseAddress.unsafelyUnwrapped + done
            let left = bytes.count - done
            done += try Syscall.count("write") { unsafe write(raw, start, left) }
        }
    }

    /// Writes all bytes from `offset` on, regardless of the current position.
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

    /// Writes all bytes from `offset` on, regardless of the current position.
    package borrowing func writeAll(_ bytes: ArraySlice<UInt8>, at offset: Int64) throws(SystemError) {
        var failure: SystemError?
        unsafe bytes.withUnsafeBytes { buffer in
            do throws(SystemError) { try unsafe writeAll(buffer, at: offset) } catch { failure = error }
        }
        if let failure { throw failure }
    }

    /// Writes all bytes at the current position.
    package borrowing func writeAll(_ bytes: [UInt8]) throws(SystemError) {
        var failure: SystemError?
        unsafe bytes.withUnsafeBytes { buffer in
            do throws(SystemError) { try unsafe writeAll(buffer) } catch { failure = error }
        }
        if let failure { throw failure }
    }

    /// Reads up to `bytes.count` bytes from `offset`; returns 0 at the end of the file.
    package borrowing func read(
        into bytes: UnsafeMutableRawBufferPointer, at offset: Int64
    ) throws(SystemError) -> Int {
        let raw = raw
        return try Syscall.count("read") { unsafe pread(raw, bytes.baseAddress, bytes.count, Int(offset)) }
    }

    /// Reads like `read(into:at:)`, but only what is in memory; returns `nil` where that would wait for the disk. A
    /// filesystem that cannot tell is waited for.
    package borrowing func readNow(
        into bytes: UnsafeMutableRawBufferPointer, at offset: Int64
    ) throws(SystemError) -> Int? {
        let raw = raw
        do throws(SystemError) {
            return try Syscall.count("read") { unsafe Int(tr_read_now(raw, bytes.baseAddress, bytes.count, offset)) }
        } catch {
            // Other errors come from the file or from an old kernel: the plain call reports the former and works with
            // the latter.
            return error.errno == EAGAIN ? nil : try unsafe read(into: bytes, at: offset)
        }
    }

    /// Cuts the file to `size` bytes and sets the position to its end.
    package borrowing func cut(at size: Int64) throws(SystemError) {
        let raw = raw
        try Syscall.check("truncate") { ftruncate(raw, Int(size)) }
        try Syscall.check("seek") { lseek(raw, Int(size), SEEK_SET) < 0 ? -1 : 0 }
    }

    /// Reserves room on the disk for what will be written there, without changing the file's length.
    package borrowing func takeRoom(_ range: Range<Int64>) throws(SystemError) {
        let raw = raw
        try Syscall.check("fallocate") { tr_take_room(raw, range.lowerBound, Int64(range.count)) }
    }

    /// Gives this empty file the bytes of another one, which the two share on the disk until one of them is written to.
    /// Throws where the filesystem cannot do that, or where the files are on two.
    package borrowing func clone(_ other: borrowing Descriptor) throws(SystemError) {
        let (raw, from) = (raw, other.raw)
        try Syscall.check("clone") { tr_clone_bytes(raw, from) }
    }

    /// Returns the facts of this file or folder.
    package borrowing func facts() throws(SystemError) -> FileFacts {
        var facts = tr_file_facts()
        let raw = raw
        try Syscall.check("stat") { unsafe tr_fstat(raw, &facts) }
        return FileFacts(facts)
    }

    /// Returns the facts of `name` below this folder.
    package borrowing func facts(of name: String, followingLinks: Bool = false) throws(SystemError) -> FileFacts {
        var facts = tr_file_facts()
        let raw = raw
        try Syscall.check("stat") { unsafe tr_fstatat(raw, name, followingLinks ? 1 : 0, &facts) }
        return FileFacts(facts)
    }

    /// Returns the facts of this file and a number that tells it from every other file that had or will have its name.
    package borrowing func identified() throws(SystemError) -> (facts: FileFacts, identity: Int64) {
        try FileFacts.identified(raw, "", followingLinks: false)
    }

    /// Returns the facts and identity of `name` below this folder, without following links.
    package borrowing func identified(_ name: String) throws(SystemError) -> (facts: FileFacts, identity: Int64) {
        try FileFacts.identified(raw, name, followingLinks: false)
    }

    /// Sets the modification time, in nanoseconds since 1970.
    package borrowing func setModificationTime(nanoseconds: Int64) throws(SystemError) {
        let raw = raw
        let times = Self.modificationTime(nanoseconds)
        try Syscall.check("futimens") { unsafe futimens(raw, times) }
    }

    /// Returns the argument for `futimens` and `utimensat`; the time of the last access stays.
    static func modificationTime(_ nanoseconds: Int64) -> [timespec] {
        // Rounded down: before 1970 the fraction counts forward too.
        let rest = (nanoseconds % 1_000_000_000 + 1_000_000_000) % 1_000_000_000
        let time = timespec(tv_sec: Int((nanoseconds - rest) / 1_000_000_000), tv_nsec: Int(rest))
        return [timespec(tv_sec: 0, tv_nsec: Int(UTIME_OMIT_VALUE)), time]
    }

    /// Sets the permissions of this file or folder.
    package borrowing func setMode(_ mode: mode_t) throws(SystemError) {
        let raw = raw
        try Syscall.check("chmod") { fchmod(raw, mode) }
    }

    /// Sets the permissions of the file `name` below this folder.
    package borrowing func setMode(of name: String, _ mode: mode_t) throws(SystemError) {
        let raw = raw
        try Syscall.check("chmod") { unsafe fchmodat(raw, name, mode, 0) }
    }

    /// Returns whether this process may write the file `name` below this folder.
    package borrowing func mayWrite(_ name: String) -> Bool { unsafe faccessat(raw, name, W_OK, 0) == 0 }

    /// Gives an unnamed file its name below `folder`; throws EEXIST when the name is taken.
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

    /// Renames an entry of this folder, replacing a file that has the new name.
    package borrowing func rename(_ old: String, to new: String) throws(SystemError) {
        let folder = raw
        try Syscall.check("rename") { unsafe renameat(folder, old, folder, new) }
    }

    /// Moves `old` of this folder into another folder of the same filesystem.
    package borrowing func rename(
        _ old: String, into target: borrowing Descriptor, as new: String
    ) throws(SystemError) {
        let (from, to) = (raw, target.raw)
        try Syscall.check("rename") { unsafe renameat(from, old, to, new) }
    }

    /// Moves `old` only if the new name is free; throws EEXIST otherwise. Where the filesystem lacks that operation,
    /// the file gets a second name and loses the first.
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

    /// Removes the file or link `name` below this folder.
    package borrowing func unlink(_ name: String) throws(SystemError) {
        let folder = raw
        try Syscall.check("unlink") { unsafe unlinkat(folder, name, 0) }
    }

    /// Waits until the disk has received the bytes of this file, be it only in its own cache: metadata that the
    /// filesystem writes later comes after them. Throws for a lost write.
    package borrowing func writeOut() throws(SystemError) {
        let raw = raw
        do throws(SystemError) {
            try Syscall.check("write") { tr_write_out(raw) }
        } catch {
            // Some filesystems lack this call: then the flush that follows must do.
            guard error.errno == EINVAL || error.errno == ENOSYS || error.errno == ESPIPE else { throw error }
        }
    }

    /// Throws if a write to this file was lost, as a filesystem reports it on closing the file. The file itself stays
    /// open.
    package borrowing func confirmWrites() throws(SystemError) { try Self.confirmWrites(raw) }

    /// Does the same for a descriptor that the caller does not own.
    package static func confirmWrites(_ raw: Int32) throws(SystemError) {
        // An interrupted close has closed the copy all the same and may have missed the answer: then another copy is
        // closed.
        try Syscall.check("close") {
            let copy = fcntl(raw, F_DUPFD_CLOEXEC, 0)
            return copy < 0 ? -1 : close(copy)
        }
    }

    /// Starts writing these bytes to the disk without waiting; what cannot be started now is written later.
    package borrowing func beginWriteOut(from offset: Int64, count: Int64) {
        tr_begin_write_out(raw, offset, count)
    }

    /// Waits until everything written to this descriptor's filesystem is on the disk; throws for a lost write.
    package borrowing func syncFilesystem() throws(SystemError) {
        let raw = raw
        try Syscall.check("syncfs") { tr_syncfs(raw) }
    }
}

/// `UTIME_OMIT` is a macro with a cast.
private let UTIME_OMIT_VALUE = (1 << 30) - 2

/// The fields of `stat` that the program uses.
package struct FileFacts: Hashable, Sendable {
    /// The number of the filesystem's device.
    package let device: UInt64
    /// The file's number in its filesystem.
    package let inode: UInt64
    /// The kind and the permissions, as `st_mode`.
    package let mode: UInt32
    /// The owner's user number.
    package let owner: UInt32
    /// The owning group's number.
    package let group: UInt32
    /// Length in bytes.
    package let size: Int64
    /// Time of the last change to the content, in nanoseconds since 1970; programs can set it.
    package let modifiedNanoseconds: Int64
    /// Time of the last change to the file or its metadata, in nanoseconds since 1970; no program can set it.
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

    /// Returns the facts of the file at a path; links are followed.
    package static func of(_ path: String) throws(SystemError) -> FileFacts {
        var facts = tr_file_facts()
        try Syscall.check("stat") { unsafe tr_fstatat(AT_FDCWD, path, 1, &facts) }
        return FileFacts(facts)
    }

    /// Returns the facts of the entry at a path; a symlink at its end is not followed.
    package static func ofName(_ path: String) throws(SystemError) -> FileFacts {
        var facts = tr_file_facts()
        try Syscall.check("stat") { unsafe tr_fstatat(AT_FDCWD, path, 0, &facts) }
        return FileFacts(facts)
    }

    /// Returns the facts of the file at a path and a number that tells it from every other file that had or will have
    /// that path.
    package static func identified(_ path: String) throws(SystemError) -> (facts: FileFacts, identity: Int64) {
        try identified(AT_FDCWD, path, followingLinks: true)
    }

    /// Returns the facts and identity of the entry at a path; a symlink at its end is not followed.
    package static func identifiedName(_ path: String) throws(SystemError) -> (facts: FileFacts, identity: Int64) {
        try identified(AT_FDCWD, path, followingLinks: false)
    }

    /// Returns facts and identity of `path` below an open folder; an empty path names the descriptor's own file.
    static func identified(
        _ raw: Int32, _ path: String, followingLinks: Bool
    ) throws(SystemError) -> (facts: FileFacts, identity: Int64) {
        var (facts, born) = (tr_file_facts(), Int64(0))
        try Syscall.check("stat") { unsafe tr_statx(raw, path, followingLinks ? 1 : 0, &facts, &born) }
        // A removed file's inode number may be reused by a new file, which has a later birth time.
        let identity = (facts.inode &* 0x9E37_79B9_7F4A_7C15) ^ UInt64(bitPattern: born)
        return (FileFacts(facts), Int64(bitPattern: identity))
    }

    /// Whether it is a regular file.
    package var isRegular: Bool { mode & S_IFMT == S_IFREG }
    /// Whether it is a pipe.
    package var isPipe: Bool { mode & S_IFMT == S_IFIFO }
    /// Whether it is a folder.
    package var isFolder: Bool { mode & S_IFMT == S_IFDIR }
    /// Whether it is a device such as a terminal or `/dev/null`.
    package var isCharacterDevice: Bool { mode & S_IFMT == S_IFCHR }
    /// Whether it is a symlink.
    package var isLink: Bool { mode & S_IFMT == S_IFLNK }
    /// The permissions, without the kind.
    package var permissions: mode_t { mode & 0o7777 }

    /// Returns whether both facts are of the same file, whatever its names.
    package func isSameFile(as other: FileFacts) -> Bool { inode == other.inode && device == other.device }
}
