import Glibc
import SystemIO
import TransferModel

/// The tree that is to replace a group's folder, while it is being filled. It lies beside that folder, in a folder that
/// only this user can read; files under way lie next to the tree, not in it.
final class GroupStaging {
    let place: GroupPlace
    /// The folder with the tree and the files under way.
    let root: FolderCache.Folder
    let tree: FolderCache.Folder
    static let treeName = RawName("tree")
    private(set) var members = MemberFolder()
    /// Whether a member is another file than the one that is there now.
    private(set) var hasNewMembers = false
    private let beside: FolderCache.Folder
    private let name: RawName
    /// The kept folder, which is locked and the same as `root`, where members may outlive the run.
    let kept: KeptFolder?
    private var last: (names: [RawName], folder: FolderCache.Folder)?
    /// Whether the new tree is in place and not confirmed: nothing may be removed, since the old tree may have to come
    /// back.
    var isHandsOff = false

    init(
        _ place: GroupPlace, beside: FolderCache.Folder, _ kept: KeptFolder?, _ names: TemporaryNames,
        lacksUnnamedFiles: Bool
    ) throws(SystemError) {
        self.place = place
        self.beside = beside
        self.kept = kept
        if let kept {
            name = kept.name
            root = try FolderCache.Folder(kept.descriptor.folder(.this), lacksUnnamedFiles: lacksUnnamedFiles)
        } else {
            let made = try Self.makeRoot(in: beside, names, lacksUnnamedFiles: lacksUnnamedFiles)
            (name, root) = (made.name, made.folder)
        }
        tree = try root.madeChild(Self.treeName)
        // A lock of its own, since the tree leaves the staging in the end.
        _ = try? tree.descriptor.tryLock()
    }

    // An attempt fails only when another run sweeps at that very moment.
    private static let mostAttempts = 1_000

    /// Makes a folder and locks it, since other runs sweep unlocked ones as remains of killed runs. A name that is
    /// taken by a remain is skipped, and so is a new folder that was swept before it was locked.
    private static func makeRoot(
        in beside: FolderCache.Folder, _ names: TemporaryNames, lacksUnnamedFiles: Bool
    ) throws(SystemError) -> (name: RawName, folder: FolderCache.Folder) {
        var failure = SystemError(call: "mkdir", errno: EEXIST)
        for _ in 0..<mostAttempts {
            let name = RawName(names.next())
            do throws(SystemError) {
                try beside.descriptor.makeFolder(name, mode: 0o700)
                let folder = try FolderCache.Folder(
                    beside.descriptor.folder(name), lacksUnnamedFiles: lacksUnnamedFiles)
                guard (try? folder.descriptor.tryLock()) ?? true else { continue }
                if try beside.child(name).isSame(as: folder) { return (name, folder) }
            } catch {
                guard error.errno == EEXIST || error.errno == ENOENT else { throw error }
                failure = error
            }
        }
        throw failure
    }

    /// Returns a folder of the tree, making it if it is missing.
    func folder(_ names: [RawName]) throws(SystemError) -> FolderCache.Folder {
        if let last, last.names == names { return last.folder }
        var folder = tree
        for name in names { folder = try folder.madeChild(name) }
        last = (names, folder)
        return folder
    }

    /// Gives a verified file its name in the tree.
    func add(_ file: Staging, at path: MemberPath, _ member: MemberFolder.Member) throws(SystemError) {
        let folder = try vacate(path, member.task)
        try file.name(in: folder.descriptor, path.name.description)
        members.folder(path.folders).files[path.name] = member
        hasNewMembers = true
    }

    /// Takes the file or link that has the member's path now into the tree.
    func keep(
        from old: FolderCache.Folder, _ facts: FileFacts, at path: MemberPath, _ task: TaskIndex
    ) throws(SystemError) {
        let folder = try vacate(path, task)
        try old.carry(path.name, facts, into: folder)
        members.folder(path.folders).files[path.name] = MemberFolder.Member(task: task, kept: facts)
    }

    /// Takes the file that an earlier run kept for the member into the tree. It also stays among the kept ones until
    /// the group is published.
    func addKept(
        from kept: FolderCache.Folder, _ facts: FileFacts, at path: MemberPath, _ member: MemberFolder.Member
    ) throws(SystemError) {
        let folder = try vacate(path, member.task)
        try kept.carry(path.name, facts, into: folder)
        members.folder(path.folders).files[path.name] = member
        hasNewMembers = true
    }

    /// Keeps the earlier file of a member that is not in this run, or failed and may.
    func spare(_ path: String?) {
        guard let path, let member = try? place.member(path) else { return members.keepsRest = true }
        if path.utf8.last == UInt8(ascii: "/") {
            members.folder(member.folders + [member.name]).keepsRest = true
        } else {
            members.folder(member.folders).spared.insert(member.name)
        }
    }

    /// Frees the member's place in the tree: a task may come again with another file, but two tasks with one place are
    /// an error.
    private func vacate(_ path: MemberPath, _ task: TaskIndex) throws(SystemError) -> FolderCache.Folder {
        let folder = try folder(path.folders)
        let known = members.folder(path.folders)
        guard let earlier = known.files[path.name] else { return folder }
        guard earlier.task == task else { throw SystemError(call: "link", errno: EEXIST) }
        try folder.descriptor.unlink(path.name)
        known.files[path.name] = nil
        return folder
    }

    /// Moves the new members to those that the next run finds, and removes the rest of the tree.
    func keepMembers() {
        // After it has replaced the old tree it is the group's own, even if flushing it failed.
        guard let kept, !isHandsOff, (try? root.child(Self.treeName))?.isSame(as: tree) == true else { return }
        keep(members, in: tree, [], kept)
        try? TreeRemoval.remove(Self.treeName, in: root)
    }

    /// Moves the tree back into the staging because its members are to be kept; returns whether that worked.
    func takesBack(_ name: RawName, from folder: FolderCache.Folder) -> Bool {
        guard kept != nil else { return false }
        try? tree.descriptor.setMode(0o700)
        return (try? folder.descriptor.renameFolderIfFree(name, into: root.descriptor, as: Self.treeName)) != nil
    }

    private func keep(_ members: MemberFolder, in folder: FolderCache.Folder, _ names: [RawName], _ kept: KeptFolder) {
        // The folder may have the mode of the old one, which may forbid writing.
        try? folder.descriptor.setMode(0o700)
        let new = members.files.filter { $0.value.kept == nil && $0.value.isOfUse }
        if !new.isEmpty, let target = try? kept.folder(names, makes: true) {
            for name in new.keys { try? folder.descriptor.rename(name, into: target.descriptor, as: name) }
        }
        for (name, below) in members.folders {
            if let child = try? folder.child(name) { keep(below, in: child, names + [name], kept) }
        }
    }

    /// Removes the staging. What cannot be removed stays under its temporary name, where it does no harm.
    func remove() {
        guard !isHandsOff else { return }
        try? TreeRemoval.remove(name, in: beside)
    }
}

extension FolderCache.Folder {
    /// Carries an entry into another folder. A file gets a second name, so that both trees have the same file; a
    /// symlink is made again, with its time.
    func carry(_ name: RawName, _ facts: FileFacts, into folder: FolderCache.Folder) throws(SystemError) {
        if facts.isRegular { return try descriptor.link(name, into: folder.descriptor, as: name) }
        guard facts.isLink else { throw SystemError(call: "link", errno: ENOTSUP) }
        try folder.descriptor.makeLink(name, to: descriptor.linkTarget(of: name))
        // Only root may set an owner; another user's link is the user's own already.
        try? folder.descriptor.setOwner(of: name, facts.owner, group: facts.group)
        try folder.descriptor.setModificationTime(of: name, nanoseconds: facts.modifiedNanoseconds)
    }
}
