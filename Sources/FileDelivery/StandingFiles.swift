import SystemIO
package import TransferModel

/// Checks whether files that an earlier process put in place, and reported before it ended, are still there.
package struct StandingFiles {
    /// Whether flushing a filesystem worked, by its device number.
    private var flushed: [UInt64: Bool] = [:]

    package init() {}

    /// Returns whether the file is as it was put there; with `flush` it is also made to survive a power cut.
    package mutating func hold(_ file: FileRecord, flush: Bool) -> Bool {
        let (path, name) = Folders.split(file.path)
        guard let stamp = file.stamp, let folder = try? Descriptor.openFolder(path),
            let facts = try? folder.facts(of: name), facts.isRegular,
            stamp.looksLike(FileStamp(size: facts.size, modifiedNanoseconds: facts.modifiedNanoseconds))
        else { return false }
        return !flush || isFlushed(folder, facts.device)
    }

    private mutating func isFlushed(_ folder: borrowing Descriptor, _ device: UInt64) -> Bool {
        if let known = flushed[device] { return known }
        let isFlushed = (try? folder.syncFilesystem()) != nil
        flushed[device] = isFlushed
        return isFlushed
    }
}
