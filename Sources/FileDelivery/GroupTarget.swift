import Glibc
import SystemIO
import TransferModel

/// What has the path of a group's folder now, and the folder in which a new tree for it must lie.
struct GroupTarget {
    enum Standing {
        case nothing
        case folder
        /// A symlink: its text, and the name of the folder that it finally leads to.
        case link(text: RawName, FileFacts, folder: RawName)
    }
    /// The folder that contains `to`.
    let parent: FolderCache.Folder
    /// The name of `to` in it.
    let name: RawName
    let standing: Standing
    /// The folder that contains the tree: `parent`, unless a link leads elsewhere.
    let beside: FolderCache.Folder
    /// The tree that is there now.
    let old: FolderCache.Folder?
    /// The link, by which its trees are told from those of others; `nil` if `to` is none.
    var link: GroupLink? {
        guard case .link = standing, let path = try? parent.descriptor.path() else { return nil }
        return GroupLink(in: path, parent.inode, name)
    }

    /// Returns the target with its old tree locked, so that no other run publishes there while it is held; `nil` while
    /// another run does. A publishing run has the tree in place locked at each moment: the old one from here on, and
    /// its own since it was made. A sweep leaves both alone, whatever their names are by then.
    static func claim(_ place: GroupPlace, _ folders: FolderCache) throws(TransferError) -> GroupTarget? {
        let target = try find(at: place, folders)
        // On a filesystem without locks there is nothing to wait for, and no sweep removes folders.
        guard let old = target.old, let isFree = try? old.descriptor.tryLock() else { return target }
        // Another program may have replaced the folder before it was locked.
        guard isFree, let now = try? FolderCache.Folder(.openFolder(place.folder)), now.isSame(as: old) else {
            return nil
        }
        return target
    }

    /// Returns the target after making the folders above `to`. What cannot be replaced in one step is an error.
    static func find(at place: GroupPlace, _ folders: FolderCache) throws(TransferError) -> GroupTarget {
        let (above, last) = Folders.split(place.folder)
        guard !last.isEmpty else { throw refusal("\(place.folder) cannot be a group's folder", errno: EBUSY) }
        let parent = try attempting("opening", above) { () throws(SystemError) in try folders.folder(above) }
        let name = RawName(last)
        let facts: FileFacts
        do throws(SystemError) {
            facts = try parent.descriptor.facts(of: name)
        } catch {
            guard error.errno == ENOENT else { throw refusal("\(place.folder): \(error.reason)", errno: error.errno) }
            return GroupTarget(parent: parent, name: name, standing: .nothing, beside: parent, old: nil)
        }
        if facts.isLink {
            let found = try link(place, parent, name, facts)
            if let beside = try? found.beside.descriptor.path(), let text = beside.text, let link = found.link {
                folders.leftovers.noteExisting(text, treesOf: link)
            }
            return found
        }
        guard facts.isFolder else { throw refusal("\(place.folder) is no folder", errno: ENOTDIR) }
        let old = try attempting("opening", place.folder) { () throws(SystemError) in try parent.child(name) }
        try check(old, beside: parent, place)
        return GroupTarget(parent: parent, name: name, standing: .folder, beside: parent, old: old)
    }

    private static func link(
        _ place: GroupPlace, _ parent: FolderCache.Folder, _ name: RawName, _ facts: FileFacts
    ) throws(TransferError) -> GroupTarget {
        let text = try attempting("reading the link", place.folder) { () throws(SystemError) in
            try parent.descriptor.linkTarget(of: name)
        }
        let old = try attempting("following the link \(place.folder) to", "\(text)") { () throws(SystemError) in
            try FolderCache.Folder(parent.descriptor.folder(behind: name))
        }
        let path = try attempting("following the link", place.folder) { () throws(SystemError) in
            try old.descriptor.path()
        }
        let slash = path.bytes.lastIndex(of: UInt8(ascii: "/")) ?? path.bytes.startIndex
        let folder = RawName(bytes: path.bytes[path.bytes.index(after: slash)...])
        guard path.bytes.count > 1 else { throw refusal("\(place.folder) leads to the root folder", errno: EBUSY) }
        let above = slash == path.bytes.startIndex ? RawName("/") : RawName(bytes: path.bytes[..<slash])
        let beside = try attempting("opening", "\(above)") { () throws(SystemError) in
            try FolderCache.Folder(.openFolder(above))
        }
        try check(old, beside: beside, place)
        let standing = Standing.link(text: text, facts, folder: folder)
        return GroupTarget(parent: parent, name: name, standing: standing, beside: beside, old: old)
    }

    private static func check(
        _ old: FolderCache.Folder, beside: FolderCache.Folder, _ place: GroupPlace
    ) throws(TransferError) {
        guard old.device == beside.device, old.descriptor.mountNumber == beside.descriptor.mountNumber else {
            throw refusal(
                "\(place.folder) is a mount point, which cannot be exchanged: name a folder in it", errno: EXDEV)
        }
        // The old tree is removed, and with it a working folder in it, from which every relative path of this process
        // starts.
        guard let path = try? old.descriptor.path() else { return }
        // No run begins in a working folder whose path is not UTF-8.
        guard let working = try? Folders.working() else { return }
        if working.utf8.starts(with: path.bytes),
            [nil, UInt8(ascii: "/")].contains(
                working.utf8.dropFirst(path.bytes.count).first)
        {
            throw refusal("\(place.folder) holds the working folder, \(working): run it from elsewhere", errno: EBUSY)
        }
    }

    private static func refusal(_ message: String, errno: Int32) -> TransferError {
        TransferError(.groupNotPublished, message, errno: errno)
    }
}

/// A symlink at which groups are published. Its trees may lie beside those of another link of the same name: each is
/// marked with the place of its link, and only that link's trees are ever removed.
struct GroupLink: Sendable {
    let path: RawName
    private let name: String
    let mark: String

    init(in folder: RawName, _ inode: UInt64, _ name: RawName) {
        path = folder.appending(name)
        self.name = name.shortened
        // The inode is included: the same path may be another place on another machine that shares the trees.
        mark = RunLabel.mark("\(inode) \(path)")
    }

    func treeName(_ temporary: String) -> RawName { RawName("\(name)\(temporary)-\(mark)") }

    func made(_ tree: RawName) -> Bool { TemporaryNames.run(in: tree, of: name, mark: mark) != nil }
}

extension RawName {
    /// The name as text, cut so that there is room for what is appended.
    var shortened: String {
        var text = "\(self)"
        while text.utf8.count > 195 { text.unicodeScalars.removeLast() }
        return text
    }
}
