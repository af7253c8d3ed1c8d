import Glibc

/// The free room of a filesystem.
package struct FreeSpace: Hashable, Sendable {
    /// The filesystem's device number, as in `FileFacts` of its files.
    package let device: UInt64
    /// Bytes free for a user without privileges; at most `Int64.max`.
    package let bytes: Int64
    /// Whether no file can be made, however many bytes are free: the filesystem has a fixed number of inodes and all
    /// are used.
    package let hasNoInodes: Bool

    /// Returns the room of the filesystem that holds `path`, or its nearest existing folder. Makes nothing.
    package static func at(_ path: String) throws(SystemError) -> FreeSpace {
        var path = path
        while true {
            do throws(SystemError) {
                return try exactly(path)
            } catch {
                guard error.errno == ENOENT, path != "/", path != "." else { throw error }
                path = Folders.split(path).folder
            }
        }
    }

    private static func exactly(_ path: String) throws(SystemError) -> FreeSpace {
        let device = try FileFacts.of(path).device
        var status = statvfs()
        try Syscall.check("statvfs") { unsafe statvfs(path, &status) }
        let (bytes, isOver) = UInt64(status.f_bavail).multipliedReportingOverflow(by: UInt64(status.f_frsize))
        return FreeSpace(
            device: device, bytes: isOver ? .max : Int64(clamping: bytes),
            // Filesystems that make inodes as they go report a total of zero.
            hasNoInodes: status.f_files > 0 && status.f_favail == 0)
    }
}
