import Glibc
import SystemIO
import TransferModel

/// Open folders by path, so that ten thousand files in one folder open it once. Belongs to one thread.
final class FolderCache {
    final class Folder {
        let descriptor: Descriptor
        let device: UInt64
        let inode: UInt64
        /// Whether the filesystem may lose a write that succeeded, and report that on closing the file. Only writers
        /// need to know.
        private(set) lazy var tellsLate = kind.tellsLate
        private(set) lazy var kind = FilesystemKind.of(descriptor)
        /// Set once the filesystem turned out to lack unnamed files.
        var lacksUnnamedFiles: Bool
        /// The batch of orders in which the folder was last found at its path.
        fileprivate var seenInBatch: UInt64
        /// The group in whose folder it lies, and the batch in which that was looked up.
        fileprivate var surroundings: (batch: UInt64, group: String?)?

        init(
            _ descriptor: consuming Descriptor, batch: UInt64 = 0, lacksUnnamedFiles: Bool = false
        ) throws(SystemError) {
            let facts = try descriptor.facts()
            device = facts.device
            inode = facts.inode
            seenInBatch = batch
            self.lacksUnnamedFiles = lacksUnnamedFiles
            self.descriptor = descriptor
        }
    }

    let leftovers: Leftovers
    private var folders: [ExactText: Folder] = [:]
    private var last: (path: String, folder: Folder)?
    private var batch: UInt64 = 1
    /// Few enough to stay far from the limit on open files, though each delivery thread has a cache.
    private let capacity = max(2, min(128, DescriptorLimit.present / 16))
    /// For tests: treat all filesystems as lacking unnamed files.
    let lacksUnnamedFiles: Bool

    init(_ leftovers: Leftovers, lacksUnnamedFiles: Bool = false) {
        self.leftovers = leftovers
        self.lacksUnnamedFiles = lacksUnnamedFiles
    }

    /// Begins a batch, in which each folder is looked up anew once: another program may have moved it since the last
    /// batch, and an open folder stays usable wherever it is.
    func beginBatch() { batch += 1 }

    /// Returns the folder at `path`, making it and missing folders above it. No link of a stranger is followed there; a
    /// folder that is known was opened so, and is found again by its identity.
    func folder(_ path: String) throws(SystemError) -> Folder {
        if let last, last.path.isExactly(path), isStillThere(last.folder, path) { return last.folder }
        let key = ExactText(path)
        if let known = folders[key], isStillThere(known, path) {
            last = (path, known)
            return known
        }
        let opened = try withRoom { () throws(SystemError) in try open(path) }
        if folders.count >= capacity { folders.removeAll(keepingCapacity: true) }
        folders[key] = opened
        last = (path, opened)
        return opened
    }

    /// Opens a file; if there are no descriptors left, closes cached folders and tries again.
    func withRoom<Opened>(
        beside folder: Folder? = nil, _ open: () throws(SystemError) -> Opened
    ) throws(SystemError) -> Opened {
        do throws(SystemError) {
            return try open()
        } catch {
            guard error.errno == EMFILE || error.errno == ENFILE,
                folders.values.contains(where: { $0 !== folder })
            else { throw error }
        }
        folders.removeAll()
        last = nil
        return try open()
    }

    private func isStillThere(_ folder: Folder, _ path: String) -> Bool {
        if folder.seenInBatch == batch { return true }
        guard let facts = try? FileFacts.of(path), facts.inode == folder.inode, facts.device == folder.device else {
            return false
        }
        folder.seenInBatch = batch
        return true
    }

    /// Returns the group in whose folder this folder lies; looked up once in a batch.
    func group(around folder: Folder, _ reserved: ReservedPlaces) -> String? {
        guard reserved.hasGroups else { return nil }
        if let known = folder.surroundings, known.batch == batch { return known.group }
        let group = reserved.group(around: folder.descriptor)
        folder.surroundings = (batch, group)
        return group
    }

    /// Forgets a folder that was removed or replaced, so that it is opened anew.
    func forget(_ path: String) {
        folders[ExactText(path)] = nil
        if last?.path.isExactly(path) == true { last = nil }
    }

    private func open(_ path: String) throws(SystemError) -> Folder {
        var isNew = false
        let folder = try made(Descriptor.makeFolder(path, isNew: &isNew))
        if isNew { leftovers.noteNew(path) } else { leftovers.noteExisting(path) }
        return folder
    }

    private func made(_ descriptor: consuming Descriptor) throws(SystemError) -> Folder {
        try Folder(descriptor, batch: batch, lacksUnnamedFiles: lacksUnnamedFiles)
    }
}

extension FolderCache.Folder {
    func isSame(as other: FolderCache.Folder) -> Bool { inode == other.inode && device == other.device }

    /// Opens the folder `name` in this one, never through a symlink.
    func child(_ name: RawName) throws(SystemError) -> FolderCache.Folder {
        try FolderCache.Folder(descriptor.folder(name))
    }

    /// Opens the folder `name` in this one, making it if it does not exist.
    func madeChild(_ name: RawName) throws(SystemError) -> FolderCache.Folder {
        do throws(SystemError) {
            return try child(name)
        } catch {
            guard error.errno == ENOENT else { throw error }
        }
        try descriptor.makeFolder(name)
        return try child(name)
    }
}
