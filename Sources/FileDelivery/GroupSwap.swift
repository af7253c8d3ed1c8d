import Glibc
import SystemIO
import TransferModel

/// The step in which a group's new tree replaces the old one, and the way back.
struct GroupSwap {
    private let staging: GroupStaging
    private let target: GroupTarget
    private let names: TemporaryNames
    /// For tests: treat all filesystems as unable to exchange names.
    private let lacksExchange: Bool
    /// In the folder of `to`: the link that is renamed over it, and after the exchange the old link.
    private var spareLink: RawName?
    /// The facts of the link that this run made.
    private var ownLink: FileFacts?
    /// In `beside`: the tree after it left the staging; after an exchange of folders, the old tree.
    private var treeName: RawName?
    /// The old folder after an exchange.
    private var aside: FolderCache.Folder?
    /// Whether the filesystem cannot exchange names, so that the old link is gone instead of put aside.
    private var isReplaced = false

    init(_ staging: GroupStaging, _ target: GroupTarget, _ names: TemporaryNames, lacksExchange: Bool) {
        self.lacksExchange = lacksExchange
        self.staging = staging
        self.target = target
        self.names = names
    }

    private var folder: String { staging.place.folder }

    /// Puts the new tree in place; `mode` is that of the old folder.
    mutating func perform(mode: mode_t?) throws(TransferError) {
        switch target.standing {
        case .nothing: try moveIn()
        case .folder: try exchangeFolders(mode)
        case .link(let text, let facts, _): try switchLink(text, facts, mode)
        }
    }

    /// Checks that what was replaced is what was looked at, and unchanged; otherwise goes back.
    mutating func confirm(_ snapshot: TreeSnapshot?) throws(TransferError) {
        guard let snapshot, let old = target.old else { return }
        do throws(TransferError) {
            let isFolder = if case .folder = target.standing { true } else { false }
            try checkIdentity(snapshot)
            // A folder above may have been exchanged meanwhile, and the new tree be in the one that is removed.
            guard let now = try? FolderCache.Folder(.openFolder(folder)), now.isSame(as: staging.tree) else {
                throw snapshot.changed(folder)
            }
            try snapshot.checkUnchanged(old, wasMoved: isFolder)
        } catch {
            try goBack()
            throw error
        }
        staging.isHandsOff = false
    }

    private func checkIdentity(_ snapshot: TreeSnapshot) throws(TransferError) {
        switch target.standing {
        case .nothing: return
        case .folder:
            guard let old = target.old, aside?.isSame(as: old) == true else { throw snapshot.changed(folder) }
        case .link(_, let facts, _):
            guard let spareLink, !isReplaced else { return }
            let taken = try? target.parent.descriptor.facts(of: spareLink)
            // A link cannot be held open, so that a new one may have got its inode number.
            guard let taken, taken.isSameFile(as: facts), taken.modifiedNanoseconds == facts.modifiedNanoseconds else {
                throw snapshot.changed(folder)
            }
        }
    }

    // MARK: Nothing was there

    private func moveIn() throws(TransferError) {
        do throws(SystemError) {
            try staging.root.descriptor.renameFolderIfFree(
                GroupStaging.treeName, into: target.parent.descriptor, as: target.name)
        } catch {
            guard error.errno == EEXIST else { throw failure("naming \(folder)", error) }
            throw TransferError(
                .groupChanged, "\(folder) was made by somebody else while the group was being published")
        }
    }

    // MARK: A folder

    /// Exchanges the folders beside each other: a user without write permission in the old folder may rename it there,
    /// but not move it to another folder.
    private mutating func exchangeFolders(_ mode: mode_t?) throws(TransferError) {
        let tree = try settle(mode) { RawName($0) }
        do throws(SystemError) {
            try exchange(target.parent, tree)
        } catch {
            // Folders of an overlay's lower layer cannot be exchanged.
            guard [EINVAL, ENOSYS, EXDEV].contains(error.errno) else { throw failure("exchanging \(folder)", error) }
            throw TransferError(
                .groupNotPublished,
                "the file system of \(folder) cannot exchange folders: make it a symlink to a folder",
                errno: error.errno)
        }
        staging.isHandsOff = true
        aside = try? target.parent.child(tree)
        // The old tree is locked. Another one must not be swept as a killed run's either, since it has to come back.
        if let aside, target.old?.isSame(as: aside) != true { _ = try? aside.descriptor.tryLock() }
    }

    /// Exchanges `name` with what has the name `to`.
    private func exchange(_ folder: FolderCache.Folder, _ name: RawName) throws(SystemError) {
        if lacksExchange { throw SystemError(call: "rename", errno: EINVAL) }
        try folder.descriptor.exchange(name, with: target.parent.descriptor, target.name)
    }

    // MARK: A symlink

    private mutating func switchLink(
        _ text: RawName, _ facts: FileFacts, _ mode: mode_t?
    ) throws(TransferError) {
        // The tree's name tells which link it belongs to, and that a run made it.
        guard let link = target.link else {
            throw TransferError(.groupNotPublished, "the folder of the link \(folder) is there no more")
        }
        let tree = try settle(mode) { link.treeName($0) }
        let spare = try makeLink(to: linkText(text, tree))
        spareLink = spare
        ownLink = try? target.parent.descriptor.facts(of: spare)
        do throws(SystemError) {
            try exchange(target.parent, spare)
            staging.isHandsOff = true
            return
        } catch {
            guard error.errno == EINVAL || error.errno == ENOSYS else { throw failure("switching \(folder)", error) }
        }
        // Between this look and the renaming, a link that another program puts there is lost.
        guard (try? target.parent.descriptor.facts(of: target.name)) == facts else {
            throw TransferError(.groupChanged, "\(folder) was changed by somebody else")
        }
        try attempting("switching", folder) { () throws(SystemError) in
            try target.parent.descriptor.rename(spare, into: target.parent.descriptor, as: target.name)
        }
        isReplaced = true
        staging.isHandsOff = true
    }

    /// Moves the tree out of the staging. Only then may it get a mode without permissions for its owner.
    private mutating func settle(_ mode: mode_t?, _ named: (String) -> RawName) throws(TransferError) -> RawName {
        while true {
            let name = named(names.next())
            do throws(SystemError) {
                try staging.root.descriptor.renameFolderIfFree(
                    GroupStaging.treeName, into: target.beside.descriptor, as: name)
                treeName = name
                if let mode { try staging.tree.descriptor.setMode(mode) }
                return name
            } catch {
                guard error.errno == EEXIST else { throw failure("naming the new folder of \(folder)", error) }
            }
        }
    }

    /// Returns the text for the new link: the old text with another last name, if that leads to the tree's folder, else
    /// an absolute path.
    private func linkText(_ old: RawName, _ tree: RawName) throws(TransferError) -> RawName {
        var bytes = Array(old.bytes)
        while bytes.count > 1, bytes.last == UInt8(ascii: "/") { bytes.removeLast() }
        let slash = bytes.lastIndex(of: UInt8(ascii: "/"))
        let above = slash.map { bytes[...$0] } ?? []
        let probe = above.isEmpty ? RawName.this : RawName(bytes: above)
        if let found = try? FolderCache.Folder(target.parent.descriptor.folder(behind: probe)),
            found.inode == target.beside.inode, found.device == target.beside.device
        {
            return RawName(bytes: above + tree.bytes)
        }
        let path = try attempting("finding", folder) { () throws(SystemError) in try target.beside.descriptor.path() }
        return RawName(bytes: Array(path.bytes) + [UInt8(ascii: "/")] + tree.bytes)
    }

    private func makeLink(to text: RawName) throws(TransferError) -> RawName {
        while true {
            let name = RawName(names.next())
            do throws(SystemError) {
                try target.parent.descriptor.makeLink(name, to: text)
                return name
            } catch {
                guard error.errno == EEXIST else { throw failure("making a symlink beside \(folder)", error) }
            }
        }
    }

    // MARK: Afterwards

    /// Goes back to the old tree. If another program has put something else there, that stays: it would otherwise be
    /// removed with the new tree.
    private mutating func goBack() throws(TransferError) {
        guard holdsOurs(target.name) else {
            throw noWayBack("and is not what this run put there any more: it stays as it is", errno: nil)
        }
        do throws(SystemError) {
            switch target.standing {
            case .nothing: return
            case .folder: if let treeName { try exchange(target.parent, treeName) }
            case .link(let text, _, _): try putBack(text)
            }
            staging.isHandsOff = false
        } catch {
            throw noWayBack("and going back failed: \(error.reason)", errno: error.errno)
        }
    }

    /// Whether `name` in the folder of `to` is this run's tree, or the link to it.
    private func holdsOurs(_ name: RawName) -> Bool {
        guard let found = try? target.parent.descriptor.facts(of: name) else { return false }
        if case .link = target.standing {
            return ownLink.map {
                found.isSameFile(as: $0) && found.modifiedNanoseconds == $0.modifiedNanoseconds
            } ?? false
        }
        return (try? staging.tree.descriptor.facts())?.isSameFile(as: found) == true
    }

    private func noWayBack(_ why: String, errno: Int32?) -> TransferError {
        keepOld()
        let place = (try? (aside ?? target.old)?.descriptor.path()).map { "; the old tree is \($0)" } ?? ""
        return TransferError(
            .groupNotPublished, "\(folder) was changed by somebody else, \(why)\(place)", errno: errno)
    }

    /// Gives the old tree a name that no sweep removes.
    private func keepOld() {
        let lasting = RawName("\(target.name.shortened).kept\(names.next())")
        switch target.standing {
        case .nothing: return
        case .folder:
            guard let treeName else { return }
            try? target.parent.descriptor.renameFolderIfFree(treeName, into: target.parent.descriptor, as: lasting)
        case .link(_, _, let folder):
            // A program that switched the link may have led it back to the old tree.
            guard target.link?.made(folder) == true, let old = target.old,
                (try? FolderCache.Folder(target.parent.descriptor.folder(behind: target.name)))?.isSame(as: old) != true
            else { return }
            try? target.beside.descriptor.renameFolderIfFree(folder, into: target.beside.descriptor, as: lasting)
        }
    }

    private mutating func putBack(_ text: RawName) throws(SystemError) {
        let folder = target.parent
        guard let spare = spareLink else { return }
        if isReplaced {
            try folder.descriptor.makeLink(spare, to: text)
            try folder.descriptor.rename(spare, into: folder.descriptor, as: target.name)
            spareLink = nil
        } else {
            try exchange(folder, spare)
        }
    }

    /// Removes all traces of this run after nothing was swapped, or everything was put back.
    func undo() {
        guard !staging.isHandsOff else { return }
        if let spareLink, !isReplaced, holdsOurs(spareLink) { try? target.parent.descriptor.unlink(spareLink) }
        guard let treeName, let tree = try? target.beside.child(treeName), tree.isSame(as: staging.tree) else { return }
        if staging.takesBack(treeName, from: target.beside) { return }
        try? TreeRemoval.remove(treeName, in: target.beside)
    }

    /// Removes what the new tree replaced. A folder that a link led to is removed only if an earlier publication at
    /// this same link made it: any other belongs to a user or to another link.
    func clear() {
        if case .folder = target.standing, let treeName { try? TreeRemoval.remove(treeName, in: target.parent) }
        guard case .link(_, _, let folder) = target.standing else { return }
        if let spareLink, !isReplaced { try? target.parent.descriptor.unlink(spareLink) }
        guard target.link?.made(folder) == true, let old = target.old,
            let facts = try? target.beside.descriptor.facts(of: folder)
        else { return }
        if facts.inode == old.inode, facts.owner == geteuid() {
            try? TreeRemoval.remove(folder, in: target.beside)
        }
    }

    /// Waits until the names are on the disk. Its failure is the only one that leaves the new tree in place.
    func flush() throws(TransferError) {
        do throws(SystemError) {
            try target.parent.descriptor.sync()
            if target.beside !== target.parent { try target.beside.descriptor.sync() }
        } catch {
            throw TransferError(
                .cannotWriteToFile, "\(folder) is published, but flushing it failed: \(error.reason)",
                errno: error.errno)
        }
    }

    private func failure(_ doing: String, _ error: SystemError) -> TransferError {
        TransferError(.groupNotPublished, "\(doing) failed: \(error.reason)", errno: error.errno)
    }
}
