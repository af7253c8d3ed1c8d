internal import CLinuxShims
package import Glibc

/// What whole trees need of a folder. Nothing here goes through a symlink: each call names one entry of this folder.
extension Descriptor {
    /// Opens by a path whose every link is followed.
    package static func openFolder(_ path: RawName) throws(SystemError) -> Descriptor {
        let flags = O_RDONLY | O_DIRECTORY | O_CLOEXEC
        return Descriptor(owning: try Syscall.check("open") { unsafe Glibc.open(path.characters, flags) })
    }

    /// Only to name what is in it, which needs no right to list it.
    package static func openPlace(_ path: RawName) throws(SystemError) -> Descriptor {
        let flags = tr_O_PATH | O_DIRECTORY | O_CLOEXEC
        return Descriptor(owning: try Syscall.check("open") { unsafe Glibc.open(path.characters, flags) })
    }

    /// A folder of this one; ENOTDIR when `name` is anything else, a symlink too.
    package borrowing func folder(_ name: RawName) throws(SystemError) -> Descriptor {
        let raw = raw
        let flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC
        return Descriptor(owning: try Syscall.check("open") { unsafe openat(raw, name.characters, flags) })
    }

    /// What the symlink `name` leads to, however many links that takes; ENOTDIR when it is no folder.
    package borrowing func folder(behind name: RawName) throws(SystemError) -> Descriptor {
        let raw = raw
        let flags = O_RDONLY | O_DIRECTORY | O_CLOEXEC
        return Descriptor(owning: try Syscall.check("open") { unsafe openat(raw, name.characters, flags) })
    }

    package borrowing func makeFolder(_ name: RawName, mode: mode_t = 0o777) throws(SystemError) {
        let raw = raw
        try Syscall.check("mkdir") { unsafe mkdirat(raw, name.characters, mode) }
    }

    package borrowing func facts(of name: RawName) throws(SystemError) -> FileFacts {
        var facts = tr_file_facts()
        let raw = raw
        try Syscall.check("stat") { unsafe tr_fstatat(raw, name.characters, 0, &facts) }
        return FileFacts(facts)
    }

    /// A second name, in `target`, for the file `name`.
    package borrowing func link(
        _ name: RawName, into target: borrowing Descriptor, as new: RawName
    ) throws(SystemError) {
        let (from, to) = (raw, target.raw)
        try Syscall.check("link") { unsafe linkat(from, name.characters, to, new.characters, 0) }
    }

    package borrowing func makeLink(_ name: RawName, to target: RawName) throws(SystemError) {
        let raw = raw
        try Syscall.check("symlink") { unsafe symlinkat(target.characters, raw, name.characters) }
    }

    /// Where the symlink `name` points, as it was written.
    package borrowing func linkTarget(of name: RawName) throws(SystemError) -> RawName {
        let raw = raw
        return try unsafe Self.target { unsafe readlinkat(raw, name.characters, $0, $1) }
    }

    /// Where this folder stands now, by the kernel's own word.
    package borrowing func path() throws(SystemError) -> RawName {
        let link = "/proc/self/fd/\(raw)"
        return try unsafe Self.target { unsafe readlink(link, $0, $1) }
    }

    private static func target(
        _ read: (UnsafeMutablePointer<CChar>, Int) -> Int
    ) throws(SystemError) -> RawName {
        // The longest that a symlink can hold.
        var buffer = [CChar](repeating: 0, count: Int(PATH_MAX))
        let count = try Syscall.count("readlink") { unsafe read(&buffer, buffer.count) }
        return RawName(bytes: buffer[..<count].map { UInt8(bitPattern: $0) })
    }

    package borrowing func unlink(_ name: RawName) throws(SystemError) {
        let raw = raw
        try Syscall.check("unlink") { unsafe unlinkat(raw, name.characters, 0) }
    }

    /// Fails with ENOTEMPTY while something is in it.
    package borrowing func removeFolder(_ name: RawName) throws(SystemError) {
        let raw = raw
        try Syscall.check("rmdir") { unsafe unlinkat(raw, name.characters, AT_REMOVEDIR) }
    }

    /// Puts `old` in the place of whatever file or link has the new name.
    package borrowing func rename(
        _ old: RawName, into target: borrowing Descriptor, as new: RawName
    ) throws(SystemError) {
        let (from, to) = (raw, target.raw)
        try Syscall.check("rename") { unsafe renameat(from, old.characters, to, new.characters) }
    }

    /// The same for a folder, only when nothing has the new name; EEXIST otherwise. A filesystem that cannot rename so
    /// (NFS) is asked first; in the moment between, only a folder that is empty could be replaced.
    package borrowing func renameFolderIfFree(
        _ old: RawName, into target: borrowing Descriptor, as new: RawName
    ) throws(SystemError) {
        let (from, to) = (raw, target.raw)
        do throws(SystemError) {
            try Syscall.check("rename") {
                unsafe tr_renameat2(from, old.characters, to, new.characters, UInt32(tr_RENAME_NOREPLACE))
            }
            return
        } catch {
            guard error.errno == EINVAL || error.errno == ENOSYS else { throw error }
        }
        guard (try? target.facts(of: new)) == nil else { throw SystemError(call: "rename", errno: EEXIST) }
        try rename(old, into: target, as: new)
    }

    /// Both are there all along, each in the other's place afterwards. EINVAL or ENOSYS where the filesystem cannot.
    package borrowing func exchange(
        _ name: RawName, with other: borrowing Descriptor, _ otherName: RawName
    ) throws(SystemError) {
        let (here, there) = (raw, other.raw)
        try Syscall.check("rename") {
            unsafe tr_renameat2(here, name.characters, there, otherName.characters, UInt32(tr_RENAME_EXCHANGE))
        }
    }

    /// Of this folder or file.
    package borrowing func setOwner(_ owner: UInt32, group: UInt32) throws(SystemError) {
        let raw = raw
        try Syscall.check("chown") { fchown(raw, owner, group) }
    }

    /// The other folder gets what this one has of access lists and of a user's own attributes.
    package borrowing func copyAttributes(to other: borrowing Descriptor) throws(SystemError) {
        let (from, to) = (raw, other.raw)
        try Syscall.check("setxattr") { tr_copy_attributes(from, to) }
    }

    /// Of the entry `name` itself, which may be a symlink.
    package borrowing func setOwner(of name: RawName, _ owner: UInt32, group: UInt32) throws(SystemError) {
        let raw = raw
        try Syscall.check("chown") { unsafe fchownat(raw, name.characters, owner, group, AT_SYMLINK_NOFOLLOW) }
    }

    package borrowing func setModificationTime(of name: RawName, nanoseconds: Int64) throws(SystemError) {
        let raw = raw
        let times = Self.modificationTime(nanoseconds)
        try Syscall.check("utimens") { unsafe utimensat(raw, name.characters, times, AT_SYMLINK_NOFOLLOW) }
    }

    /// The entries of this folder are on the disk when it returns.
    package borrowing func sync() throws(SystemError) {
        let raw = raw
        try Syscall.check("fsync") { fsync(raw) }
    }

    /// Which mount this was opened on; 0 when the kernel cannot tell. The same filesystem may be mounted twice, once of
    /// it inside of the other.
    package var mountNumber: UInt64 { tr_mount_number(raw) }

    /// The names in this folder, in no order.
    package borrowing func names() throws(SystemError) -> [RawName] {
        // A description of its own, so that where it was read to does not matter to the next who asks.
        let raw = raw
        let flags = O_RDONLY | O_DIRECTORY | O_CLOEXEC
        let own = try Syscall.check("open") { unsafe openat(raw, ".", flags) }
        guard let stream = unsafe fdopendir(own) else {
            let code = errno
            close(own)
            throw SystemError(call: "opendir", errno: code)
        }
        defer { unsafe closedir(stream) }
        var names: [RawName] = []
        while true {
            errno = 0
            guard let entry = unsafe readdir(stream) else {
                let code = errno
                if code != 0 { throw SystemError(call: "readdir", errno: code) }
                return names
            }
            let name = unsafe WholeFile.name(of: entry)
            if name != .this, name != .above { names.append(name) }
        }
    }
}

extension RawName {
    package static let this = RawName(".")
    package static let above = RawName("..")
}
