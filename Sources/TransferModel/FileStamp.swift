/// Of a file that was not flushed: a power cut may take its bytes and leave its size and time. After the system was
/// started anew it counts as the same only by what is in it.
package struct ContentMark: Hashable, Sendable {
    /// Of the start of the system under which the file was written.
    package var boot: Int64
    /// `nil` where no sum could be made.
    package var sum: Int64?
    package init(boot: Int64, sum: Int64?) {
        self.boot = boot
        self.sum = sum
    }
}

/// A file's size and the time of its last change: by these a file is known again without being read. Whoever changes
/// it and sets both back is not noticed.
package struct FileStamp: Hashable, Sendable {
    package var size: Int64
    package var modifiedNanoseconds: Int64
    package init(size: Int64, modifiedNanoseconds: Int64) {
        self.size = size
        self.modifiedNanoseconds = modifiedNanoseconds
    }
}
