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

/// A file's size, the time of its last change and what tells it from another file: by these a file is known again without
/// being read. Whoever writes into it and sets size and time back is not noticed.
package struct FileStamp: Hashable, Sendable {
    package var size: Int64
    package var modifiedNanoseconds: Int64
    /// Of the file's number and the time at which it was made. `nil` where nobody asked for it.
    package var identity: Int64?
    package init(size: Int64, modifiedNanoseconds: Int64, identity: Int64? = nil) {
        self.size = size
        self.modifiedNanoseconds = modifiedNanoseconds
        self.identity = identity
    }

    /// Whether nothing but what is in them can tell two files from each other, if they are two.
    package func looksLike(_ other: FileStamp) -> Bool {
        size == other.size && modifiedNanoseconds == other.modifiedNanoseconds
    }

    /// Surely two files: one was put in the other's place, be it a copy of it.
    package func isAnother(than other: FileStamp) -> Bool {
        guard let identity, let known = other.identity else { return false }
        return identity != known
    }
}
