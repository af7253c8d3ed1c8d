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
