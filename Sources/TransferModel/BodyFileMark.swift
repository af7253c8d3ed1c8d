/// The state of a file that a task sends, taken when the task began: by it a later process decides whether the file is
/// still the same.
package struct BodyFileMark: Hashable, Sendable {
    /// The number of the system's start under which the file was looked at.
    package var boot: Int64
    /// The number of the file's device; it may change when the system starts anew.
    package var device: UInt64
    /// The file's number on its device.
    package var inode: UInt64
    /// Size in bytes.
    package var size: Int64
    /// Time of the last change of the content, in nanoseconds since 1970.
    package var modifiedNanoseconds: Int64
    /// Time of the last change of any kind (`ctime`), in nanoseconds since 1970; no program can set it.
    package var changedNanoseconds: Int64

    package init(
        boot: Int64, device: UInt64, inode: UInt64, size: Int64, modifiedNanoseconds: Int64, changedNanoseconds: Int64
    ) {
        self.boot = boot
        self.device = device
        self.inode = inode
        self.size = size
        self.modifiedNanoseconds = modifiedNanoseconds
        self.changedNanoseconds = changedNanoseconds
    }

    /// Returns what has changed since `then`, in words for people, or `nil` when it is the same file, unchanged.
    ///
    /// The system gives device numbers anew at each start, and on some filesystems file numbers: after a restart only
    /// size and times count. A file that takes the place of another has its own time of change.
    package func difference(from then: BodyFileMark) -> String? {
        if boot == then.boot, device != then.device || inode != then.inode { return "another file stands there" }
        if size != then.size { return "it had \(then.size) bytes and has \(size) now" }
        if modifiedNanoseconds != then.modifiedNanoseconds || changedNanoseconds != then.changedNanoseconds {
            return "it was written or its attributes changed"
        }
        return nil
    }
}
