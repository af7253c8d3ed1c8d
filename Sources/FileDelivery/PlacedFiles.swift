import Synchronization
import TransferModel

/// The owner of each published file, over all threads: two paths may lead to one place, by a symlink, a `..` behind one
/// or a mount, which shows only in the opened folders.
///
/// A name in a folder is known by a digest of 64 bits. It is only consulted where a file exists already, so that two of
/// a million files with the same digest would do harm in one of millions of runs.
final class PlacedFiles: Sendable {
    private let owners = Mutex<[Int: TaskIndex]>([:])

    static func key(_ folder: FolderCache.Folder, _ name: String) -> Int {
        var hasher = Hasher()
        hasher.combine(folder.device)
        hasher.combine(folder.inode)
        hasher.combine(ExactText(name))
        return hasher.finalize()
    }

    /// Claims a place before the file gets its name; returns `false` when it is another task's already.
    func claim(_ key: Int, _ task: TaskIndex) -> Bool {
        owners.withLock { owners in
            let owner = owners[key] ?? task
            owners[key] = owner
            return owner == task
        }
    }

    /// Returns whether the task put a file there, or is about to.
    func isOwner(_ key: Int, _ task: TaskIndex) -> Bool { owners.withLock { $0[key] == task } }

    /// Makes the task the owner, since the other owner's file does not exist any more.
    func takeOver(_ key: Int, _ task: TaskIndex) { owners.withLock { $0[key] = task } }

    /// Gives a claim up after the file got no name.
    func letGo(_ key: Int, _ task: TaskIndex) {
        owners.withLock { owners in
            if owners[key] == task { owners[key] = nil }
        }
    }

    /// Returns another task of this run that owns the file, if any.
    func rival(_ key: Int, _ task: TaskIndex) -> TaskIndex? {
        owners.withLock { owners in owners[key].flatMap { $0 == task ? nil : $0 } }
    }
}
