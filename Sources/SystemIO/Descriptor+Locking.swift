import Glibc

extension Descriptor {
    /// Locks the file against every other opening of it, in this process too; returns `false` when another has it. The
    /// kernel releases the lock when the descriptor is closed, however that comes about.
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

    /// Waits until no other opening of the file has it locked, and locks it.
    package borrowing func lock() throws(SystemError) {
        let raw = raw
        try Syscall.check("lock") { flock(raw, LOCK_EX) }
    }

    /// Waits until no exclusive lock is left and takes a shared one.
    package borrowing func lockTogether() throws(SystemError) {
        let raw = raw
        try Syscall.check("lock") { flock(raw, LOCK_SH) }
    }

    /// Writes over the beginning of the file and keeps the rest. Emptying the file first would cost half a millisecond:
    /// ext4 then writes the new content out when the file is closed.
    package borrowing func overwrite(_ bytes: [UInt8]) throws(SystemError) {
        let raw = raw
        try Syscall.check("seek") { lseek(raw, 0, SEEK_SET) < 0 ? -1 : 0 }
        try writeAll(bytes)
    }
}
