import Synchronization
import TransferModel

/// Whose file stands under which name, over all threads: two paths may lead to one place, by a symlink, a `..` behind one
/// or a mount, and only whoever opened the folders sees that.
///
/// A name in a folder is known by a digest of 64 bits. It is only asked about where something stands already, so that two
/// of a million files that share one would harm nobody but in one run of millions.
final class PlacedFiles: Sendable {
    private let owners = Mutex<[Int: TaskIndex]>([:])

    static func key(_ folder: FolderCache.Folder, _ name: String) -> Int {
        var hasher = Hasher()
        hasher.combine(folder.device)
        hasher.combine(folder.inode)
        hasher.combine(ExactText(name))
        return hasher.finalize()
    }

    /// Before the file gets its name. `false` when it is another task's already.
    func claim(_ key: Int, _ task: TaskIndex) -> Bool {
        owners.withLock { owners in
            let owner = owners[key] ?? task
            owners[key] = owner
            return owner == task
        }
    }

    /// The other's file is there no more.
    func take(_ key: Int, _ task: TaskIndex) { owners.withLock { $0[key] = task } }

    /// Nothing came of it.
    func letGo(_ key: Int, _ task: TaskIndex) {
        owners.withLock { owners in
            if owners[key] == task { owners[key] = nil }
        }
    }

    /// Another task of this run whose file it is.
    func rival(_ key: Int, _ task: TaskIndex) -> TaskIndex? {
        owners.withLock { owners in owners[key].flatMap { $0 == task ? nil : $0 } }
    }
}
