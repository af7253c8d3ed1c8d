import Glibc

/// How much room a filesystem has.
package struct FreeSpace: Hashable, Sendable {
    /// The device number that `FileFacts` tells of each file there.
    package let device: UInt64
    /// For a user without privileges; more than 2⁶³ bytes count as that.
    package let bytes: Int64
    /// No file can be made there, whatever is free: it has a number of inodes, and all are used.
    package let hasNoInodes: Bool

    /// Of the filesystem that `path`, or what stands nearest above it, lies on. Nothing is made.
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
            // Some make them as they go and tell of none.
            hasNoInodes: status.f_files > 0 && status.f_favail == 0)
    }
}
