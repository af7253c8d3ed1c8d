import SystemIO
package import TransferModel

/// Files that a process put in place, and told of, before it ended: whether they are there still.
package struct StandingFiles {
    /// By filesystem, whether it could be flushed.
    private var flushed: [UInt64: Bool] = [:]

    package init() {}

    /// As it was put there; with `flush` it would survive a power cut as well, from here on.
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
