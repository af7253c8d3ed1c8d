import Glibc
import SystemIO
import TransferModel

/// What a tree looked like at one time: every entry with all that changes when somebody changes it.
struct TreeSnapshot {
    struct Entry {
        let name: RawName
        let facts: FileFacts
        /// Its place in the list, when it is a folder.
        let folder: Int?

        /// A download's file under way has a name of our form, and whoever writes it changes it all the time.
        var mayBeUnderWay: Bool { facts.isRegular && TemporaryNames.run(in: name) != nil }

        /// Whether somebody who is alive writes it.
        func isUnderWay(in parent: FolderCache.Folder) -> Bool {
            guard mayBeUnderWay,
                let file = try? parent.descriptor.open(name.description, O_RDONLY | O_NOFOLLOW | O_NONBLOCK)
            else { return false }
            return (try? file.tryLock()) == false
        }
    }
    /// The path of the tree, for people.
    private let path: String
    let list: FolderList
    /// One for each of `list`: the folder itself, and what is in it by name.
    private(set) var folders: [(facts: FileFacts, entries: [Entry])] = []
    /// Files that have got another link by us, which the system notes as a change to them.
    private var linked: Set<UInt64> = []

    init(of root: FolderCache.Folder, path: String) throws(TransferError) {
        self.path = path
        list = FolderList(root)
        while folders.count < list.count { try read(folders.count) }
    }

    private mutating func read(_ index: Int) throws(TransferError) {
        let folder = try attempting("opening", path(index)) { () throws(SystemError) in try list.open(index) }
        // Before its names: whatever comes or goes from here on changes the folder's time.
        let facts = try attempting("looking at", path(index)) { () throws(SystemError) in try folder.descriptor.facts()
        }
        let names = try attempting("reading", path(index)) { () throws(SystemError) in
            try folder.descriptor.names().sorted()
        }
        var entries: [Entry] = []
        entries.reserveCapacity(names.count)
        for name in names {
            guard let facts = try? folder.descriptor.facts(of: name) else { throw changed(path(index, name)) }
            entries.append(Entry(name: name, facts: facts, folder: facts.isFolder ? list.add(name, below: index) : nil))
        }
        folders.append((facts, entries))
    }

    /// The folder as it was then; an error when another stands there now.
    func open(_ index: Int) throws(TransferError) -> FolderCache.Folder {
        guard let folder = try? list.open(index), folder.inode == folders[index].facts.inode else {
            throw changed(path(index))
        }
        return folder
    }

    mutating func noteLink(to facts: FileFacts) { linked.insert(facts.inode) }

    func path(_ index: Int, _ name: RawName? = nil) -> String {
        let below = list.path(index, name)
        return below.isEmpty ? path : "\(path)/\(below)"
    }

    func changed(_ path: String) -> TransferError {
        TransferError(.groupChanged, "\(path) was changed by somebody else while the group was being published")
    }

    /// Looks at the tree again, wherever it is now: every folder, every name, every file. What a clock tick hides (a
    /// second write in the same few milliseconds to a file that keeps its size) stays hidden here too.
    func checkUnchanged(_ root: FolderCache.Folder, wasMoved: Bool) throws(TransferError) {
        let now = FolderList(root)
        for index in 1..<max(1, list.count) { _ = now.add(list.name(index), below: list.parent(index)) }
        for (index, folder) in folders.enumerated() {
            guard let found = try? now.open(index), let facts = try? found.descriptor.facts(),
                // A folder that was renamed has changed in that alone.
                isSame(facts, folder.facts, ignoringChangeTime: wasMoved && index == 0)
            else { throw changed(path(index)) }
            try checkEntries(folder.entries, found, index)
        }
    }

    private func checkEntries(
        _ entries: [Entry], _ folder: FolderCache.Folder, _ index: Int
    ) throws(TransferError) {
        guard let names = try? folder.descriptor.names().sorted(), names == entries.map(\.name) else {
            throw changed(path(index))
        }
        // Folders are looked at as such.
        for entry in entries where entry.folder == nil {
            guard let facts = try? folder.descriptor.facts(of: entry.name),
                entry.mayBeUnderWay && facts.isSameFile(as: entry.facts)
                    || isSame(facts, entry.facts, ignoringChangeTime: linked.contains(entry.facts.inode))
            else { throw changed(path(index, entry.name)) }
        }
    }

    private func isSame(_ now: FileFacts, _ then: FileFacts, ignoringChangeTime: Bool) -> Bool {
        now.isSameFile(as: then) && now.mode == then.mode && now.owner == then.owner && now.group == then.group
            && now.size == then.size && now.modifiedNanoseconds == then.modifiedNanoseconds
            && (ignoringChangeTime || now.changedNanoseconds == then.changedNanoseconds)
    }
}
