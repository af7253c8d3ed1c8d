/// A file's size, the time of its last change and its identity: by these a file is recognised without being read. A
/// program that writes into it and sets size and time back is not noticed.
package struct FileStamp: Hashable, Sendable {
    /// Size in bytes.
    package var size: Int64
    /// Time of the last change of the content, in nanoseconds since 1970.
    package var modifiedNanoseconds: Int64
    /// A hash of the inode number and the time of creation; `nil` where it was not read.
    package var identity: Int64?
    package init(size: Int64, modifiedNanoseconds: Int64, identity: Int64? = nil) {
        self.size = size
        self.modifiedNanoseconds = modifiedNanoseconds
        self.identity = identity
    }

    /// Decides whether size and time of change are equal, so that only the content could tell the two files apart.
    package func looksLike(_ other: FileStamp) -> Bool {
        size == other.size && modifiedNanoseconds == other.modifiedNanoseconds
    }

    /// Decides whether the two are certainly different files: one was put in the place of the other, even as a copy.
    /// `false` where either identity is unknown.
    package func isAnother(than other: FileStamp) -> Bool {
        guard let identity, let known = other.identity else { return false }
        return identity != known
    }
}
