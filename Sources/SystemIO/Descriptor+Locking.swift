import Glibc

extension Descriptor {
    /// Locks the file against every other opening of it, in this process too; `false` when another has it. The system
    /// gives the lock up when the descriptor is closed, however that comes about.
    package borrowing func tryLock() throws(SystemError) -> Bool {
        let raw = raw
        do throws(SystemError) {
            try Syscall.check("lock") { flock(raw, LOCK_EX | LOCK_NB) }
            return true
        } catch {
            if error.errno == EWOULDBLOCK { return false }
            throw error
        }
    }

    /// Puts these bytes where the file's content was.
    package borrowing func replaceContent(_ bytes: [UInt8]) throws(SystemError) {
        let raw = raw
        try Syscall.check("truncate") { ftruncate(raw, 0) }
        try Syscall.check("seek") { lseek(raw, 0, SEEK_SET) < 0 ? -1 : 0 }
        try writeAll(bytes)
    }
}
