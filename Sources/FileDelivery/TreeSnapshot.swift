import Glibc
import SystemIO
import TransferModel

/// The state of a tree at one time: every entry with everything that a change to it would alter.
struct TreeSnapshot {
    struct Entry {
        let name: RawName
        let facts: FileFacts
        /// The folder's index in `list`; `nil` if it is no folder.
        let folder: Int?

        /// Whether it may be a download's file under way, by the form of its name: its writer changes it all the time.
        var mayBeUnderWay: Bool { facts.isRegular && TemporaryNames.run(in: name) != nil }

        /// Whether a living run has it locked.
        func isUnderWay(in parent: FolderCache.Folder) -> Bool {
            guard mayBeUnderWay,
                let file = try? parent.descriptor.open(name.description, O_RDONLY | O_NOFOLLOW | O_NONBLOCK)
            else { return false }
            return (try? file.tryLock()) == false
        }
    }
    /// The path of the tree, for messages.
    private let path: String
    let list: FolderList
    /// For each folder of `list`: its own facts, and its entries by name.
    private(set) var folders: [(facts: FileFacts, entries: [Entry])] = []
    /// Files that got another link by this run, which the system notes as a change to them.
    private var linked: Set<UInt64> = []

    init(of root: FolderCache.Folder, path: String) throws(TransferError) {
        self.path = path
        list = FolderList(root)
        while folders.count < list.count { try read(folders.count) }
    }

    private mutating func read(_ index: Int) throws(TransferError) {
        let folder = try attempting("opening", path(index)) { () throws(SystemError) in try list.open(index) }
        // Before the names are read: any later change to them changes the folder's time.
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

    /// Opens a folder; throws when another one has its place now.
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

    /// Throws unless the tree, wherever it is now, has the same folders, names and files. A change within one clock
    /// tick (a second write in the same few milliseconds to a file that keeps its size) goes unnoticed here too.
    func checkUnchanged(_ root: FolderCache.Folder, wasMoved: Bool) throws(TransferError) {
        let now = FolderList(root)
        for index in 1..<max(1, list.count) { _ = now.add(list.name(index), below: list.parent(index)) }
        for (index, folder) in folders.enumerated() {
            guard let found = try? now.open(index), let facts = try? found.descriptor.facts(),
                // Renaming a folder changes only its change time.
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
        // Folders are checked on their own.
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
