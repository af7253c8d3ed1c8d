/// A file that a task sends, as it was when the task began: by this a later process knows whether it is still that one.
package struct BodyFileMark: Hashable, Sendable {
    /// Of the start of the system under which it was looked at.
    package var boot: Int64
    package var device: UInt64
    package var inode: UInt64
    package var size: Int64
    package var modifiedNanoseconds: Int64
    /// Of its last change of any kind; nobody can set it.
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

    /// What is not as it was, for people; `nil`: it is the same file, unchanged.
    ///
    /// Numbers of devices, and on some filesystems those of files, are given anew when the system starts: then size and
    /// times tell. A file that takes another's place has its own time of change.
    package func difference(from then: BodyFileMark) -> String? {
        if boot == then.boot, device != then.device || inode != then.inode { return "another file stands there" }
        if size != then.size { return "it had \(then.size) bytes and has \(size) now" }
        if modifiedNanoseconds != then.modifiedNanoseconds || changedNanoseconds != then.changedNanoseconds {
            return "it was written or its attributes changed"
        }
        return nil
    }
}
