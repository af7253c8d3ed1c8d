internal import CLinuxShims
package import Glibc

/// Operations on a folder's entries, for moving and removing whole trees. Where nothing else is said they do not follow
/// symlinks: each call names one entry of this folder.
extension Descriptor {
    /// Opens a folder of this one; throws ENOTDIR when `name` is anything else, even a symlink.
    package borrowing func folder(_ name: RawName) throws(SystemError) -> Descriptor {
        let raw = raw
        let flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC
        return Descriptor(owning: try Syscall.check("open") { unsafe openat(raw, name.characters, flags) })
    }

    /// Opens the folder to which the symlink `name` leads, through any number of links but those of strangers; throws
    /// ENOTDIR when that is no folder.
    package borrowing func folder(behind name: RawName) throws(SystemError) -> Descriptor {
        try Descriptor.openFolder(path().appending(name))
    }

    /// Makes a folder below this one; throws EEXIST when the name is taken.
    package borrowing func makeFolder(_ name: RawName, mode: mode_t = 0o777) throws(SystemError) {
        let raw = raw
        try Syscall.check("mkdir") { unsafe mkdirat(raw, name.characters, mode) }
    }

    /// Returns the facts of the entry `name`, of a symlink itself.
    package borrowing func facts(of name: RawName) throws(SystemError) -> FileFacts {
        var facts = tr_file_facts()
        let raw = raw
        try Syscall.check("stat") { unsafe tr_fstatat(raw, name.characters, 0, &facts) }
        return FileFacts(facts)
    }

    /// Gives the file `name` a second name in `target`.
    package borrowing func link(
        _ name: RawName, into target: borrowing Descriptor, as new: RawName
    ) throws(SystemError) {
        let (from, to) = (raw, target.raw)
        try Syscall.check("link") { unsafe linkat(from, name.characters, to, new.characters, 0) }
    }

    /// Makes a symlink with this text.
    package borrowing func makeLink(_ name: RawName, to target: RawName) throws(SystemError) {
        let raw = raw
        try Syscall.check("symlink") { unsafe symlinkat(target.characters, raw, name.characters) }
    }

    /// Returns the text of the symlink `name`.
    package borrowing func linkTarget(of name: RawName) throws(SystemError) -> RawName {
        let raw = raw
        return try unsafe Self.target { unsafe readlinkat(raw, name.characters, $0, $1) }
    }

    /// Returns the path of this folder at present, as the kernel knows it.
    package borrowing func path() throws(SystemError) -> RawName {
        let link = "/proc/self/fd/\(raw)"
        return try unsafe Self.target { unsafe readlink(link, $0, $1) }
    }

    private static func target(
        _ read: (UnsafeMutablePointer<CChar>, Int) -> Int
    ) throws(SystemError) -> RawName {
        // The longest text that a symlink can hold.
        var buffer = [CChar](repeating: 0, count: Int(PATH_MAX))
        let count = try Syscall.count("readlink") { unsafe read(&buffer, buffer.count) }
        return RawName(bytes: buffer[..<count].map { UInt8(bitPattern: $0) })
    }

    /// Removes the file or link `name`.
    package borrowing func unlink(_ name: RawName) throws(SystemError) {
        let raw = raw
        try Syscall.check("unlink") { unsafe unlinkat(raw, name.characters, 0) }
    }

    /// Removes the folder `name`; throws ENOTEMPTY while it has entries.
    package borrowing func removeFolder(_ name: RawName) throws(SystemError) {
        let raw = raw
        try Syscall.check("rmdir") { unsafe unlinkat(raw, name.characters, AT_REMOVEDIR) }
    }

    /// Moves `old` into `target`, replacing a file or link that has the new name.
    package borrowing func rename(
        _ old: RawName, into target: borrowing Descriptor, as new: RawName
    ) throws(SystemError) {
        let (from, to) = (raw, target.raw)
        try Syscall.check("rename") { unsafe renameat(from, old.characters, to, new.characters) }
    }

    /// Moves a folder only if the new name is free; throws EEXIST otherwise. A filesystem without that operation (NFS)
    /// is asked first whether the name is free; in the moment between, only an empty folder could be replaced.
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

    /// Exchanges two entries in one step, so that both names exist all along. Throws EINVAL or ENOSYS where the
    /// filesystem cannot.
    package borrowing func exchange(
        _ name: RawName, with other: borrowing Descriptor, _ otherName: RawName
    ) throws(SystemError) {
        let (here, there) = (raw, other.raw)
        try Syscall.check("rename") {
            unsafe tr_renameat2(here, name.characters, there, otherName.characters, UInt32(tr_RENAME_EXCHANGE))
        }
    }

    /// Sets the owner of this folder or file.
    package borrowing func setOwner(_ owner: UInt32, group: UInt32) throws(SystemError) {
        let raw = raw
        try Syscall.check("chown") { fchown(raw, owner, group) }
    }

    /// Copies this folder's access lists and user attributes to another folder.
    package borrowing func copyAttributes(to other: borrowing Descriptor) throws(SystemError) {
        let (from, to) = (raw, other.raw)
        try Syscall.check("setxattr") { tr_copy_attributes(from, to) }
    }

    /// Sets the owner of the entry `name` itself, which may be a symlink.
    package borrowing func setOwner(of name: RawName, _ owner: UInt32, group: UInt32) throws(SystemError) {
        let raw = raw
        try Syscall.check("chown") { unsafe fchownat(raw, name.characters, owner, group, AT_SYMLINK_NOFOLLOW) }
    }

    /// Sets the modification time of the entry `name` itself, in nanoseconds since 1970.
    package borrowing func setModificationTime(of name: RawName, nanoseconds: Int64) throws(SystemError) {
        let raw = raw
        let times = Self.modificationTime(nanoseconds)
        try Syscall.check("utimens") { unsafe utimensat(raw, name.characters, times, AT_SYMLINK_NOFOLLOW) }
    }

    /// Waits until the entries of this folder are on the disk.
    package borrowing func sync() throws(SystemError) {
        let raw = raw
        try Syscall.check("fsync") { fsync(raw) }
    }

    /// The number of the mount on which this was opened; 0 when the kernel cannot tell. The same filesystem may be
    /// mounted twice, once inside of the other.
    package var mountNumber: UInt64 { tr_mount_number(raw) }

    /// Returns the names in this folder, in no order, without `.` and `..`.
    package borrowing func names() throws(SystemError) -> [RawName] {
        // Opened anew, so that the read position of this descriptor does not matter.
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
    /// `.`, the folder itself.
    package static let this = RawName(".")
    /// `..`, the folder above.
    package static let above = RawName("..")
}
