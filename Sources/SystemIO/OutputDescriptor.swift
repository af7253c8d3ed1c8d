import Glibc

/// A descriptor that another program reads from, such as standard output. It stays open: the process does not own it.
///
/// A non-blocking descriptor is waited for, since the program may share it with others that made it so.
package struct OutputDescriptor: Sendable {
    private let raw: Int32

    package init(_ raw: Int32) { self.raw = raw }

    /// This process's standard output.
    package static let standardOutput = OutputDescriptor(1)

    /// Writes some of `bytes` and returns how many. Blocks while the reader has no room; a non-blocking descriptor is
    /// waited for 100 ms at most, and then 0 is returned.
    package func write(some bytes: UnsafeRawBufferPointer) throws(SystemError) -> Int {
        do throws(SystemError) {
            return try Syscall.count("write") { unsafe Glibc.write(raw, bytes.baseAddress, bytes.count) }
        } catch {
            guard error.errno == EAGAIN else { throw error }
            var entry = pollfd(fd: raw, events: Int16(POLLOUT), revents: 0)
            _ = unsafe poll(&entry, 1, 100)
            return 0
        }
    }

    /// Throws if a write was lost, which some filesystems report only on the file's close.
    package func confirmWrites() throws(SystemError) { try Descriptor.confirmWrites(raw) }
}

extension Descriptor {
    /// Returns another descriptor of the same open file, with an owner of its own.
    package borrowing func duplicate() throws(SystemError) -> Descriptor {
        let raw = raw
        return Descriptor(owning: try Syscall.check("dup") { fcntl(raw, F_DUPFD_CLOEXEC, 0) })
    }
}
