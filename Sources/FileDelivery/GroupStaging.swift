import Glibc
import SystemIO
import TransferModel

/// The tree that shall take the place of a group's folder, while it is being filled: beside that folder, in a folder
/// that nobody else may look into. Files under way lie next to the tree, not in it.
final class GroupStaging {
    let place: GroupPlace
    /// Where files under way and the tree lie.
    let root: FolderCache.Folder
    let tree: FolderCache.Folder
    static let treeName = RawName("tree")
    private(set) var members = MemberFolder()
    /// Whether a member is another file than the one that stands there.
    private(set) var hasNewMembers = false
    private let beside: FolderCache.Folder
    private let name: RawName
    /// The same folder as `root`, where the members shall outlive the run; locked.
    let kept: KeptFolder?
    private var last: (names: [RawName], folder: FolderCache.Folder)?
    /// The new tree stands there and is not confirmed: nothing may be removed, for the old tree may have to come back.
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
        // The tree leaves the staging in the end.
        _ = try? tree.descriptor.tryLock()
    }

    /// Each costs somebody who sweeps there all the time.
    private static let mostAttempts = 1_000

    /// Locked, for what is locked no other run takes for one that a killed run left. One that was left so is passed over,
    /// and so is one that was taken for such before it was locked.
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

    /// A folder of the tree, made where it is missing.
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

    /// Takes the file or link that stands at the member's place into the tree.
    func keep(
        from old: FolderCache.Folder, _ facts: FileFacts, at path: MemberPath, _ task: TaskIndex
    ) throws(SystemError) {
        let folder = try vacate(path, task)
        try old.carry(path.name, facts, into: folder)
        members.folder(path.folders).files[path.name] = MemberFolder.Member(task: task, kept: facts)
    }

    /// Takes the file that an earlier run kept for the member into the tree. It stays among the kept ones until the group
    /// is published.
    func take(
        from kept: FolderCache.Folder, _ facts: FileFacts, at path: MemberPath, _ member: MemberFolder.Member
    ) throws(SystemError) {
        let folder = try vacate(path, member.task)
        try kept.carry(path.name, facts, into: folder)
        members.folder(path.folders).files[path.name] = member
        hasNewMembers = true
    }

    /// A member that is not in this run, or failed and may: what it wrote before stays.
    func spare(_ path: String?) {
        guard let path, let member = try? place.member(path) else { return members.keepsRest = true }
        if path.utf8.last == UInt8(ascii: "/") {
            members.folder(member.folders + [member.name]).keepsRest = true
        } else {
            members.folder(member.folders).spared.insert(member.name)
        }
    }

    /// A task may come again, with another file; two tasks with one place are an error.
    private func vacate(_ path: MemberPath, _ task: TaskIndex) throws(SystemError) -> FolderCache.Folder {
        let folder = try folder(path.folders)
        let known = members.folder(path.folders)
        guard let earlier = known.files[path.name] else { return folder }
        guard earlier.task == task else { throw SystemError(call: "link", errno: EEXIST) }
        try folder.descriptor.unlink(path.name)
        known.files[path.name] = nil
        return folder
    }

    /// Puts the new members among those that the next run finds; the rest of the tree goes.
    func keepMembers() {
        // Once it was put in the place of the old tree it is the group's own, even where flushing it failed.
        guard let kept, !isHandsOff, (try? root.child(Self.treeName))?.isSame(as: tree) == true else { return }
        keep(members, in: tree, [], kept)
        try? TreeRemoval.remove(Self.treeName, in: root)
    }

    /// The tree comes back into the staging, for its members are to be kept. `false` when it does not.
    func takesBack(_ name: RawName, from folder: FolderCache.Folder) -> Bool {
        guard kept != nil else { return false }
        try? tree.descriptor.setMode(0o700)
        return (try? folder.descriptor.renameFolderIfFree(name, into: root.descriptor, as: Self.treeName)) != nil
    }

    private func keep(_ members: MemberFolder, in folder: FolderCache.Folder, _ names: [RawName], _ kept: KeptFolder) {
        // A folder takes the old one's mode, which may forbid writing.
        try? folder.descriptor.setMode(0o700)
        let new = members.files.filter { $0.value.kept == nil && $0.value.isOfUse }
        if !new.isEmpty, let target = try? kept.folder(names, makes: true) {
            for name in new.keys { try? folder.descriptor.rename(name, into: target.descriptor, as: name) }
        }
        for (name, below) in members.folders {
            if let child = try? folder.child(name) { keep(below, in: child, names + [name], kept) }
        }
    }

    /// Leaves nothing of it. What cannot be removed stays under its temporary name and hurts nobody.
    func remove() {
        guard !isHandsOff else { return }
        try? TreeRemoval.remove(name, in: beside)
    }
}

extension FolderCache.Folder {
    /// Files get a second name: they are the same file in both trees. Symlinks are made again, with their time.
    func carry(_ name: RawName, _ facts: FileFacts, into folder: FolderCache.Folder) throws(SystemError) {
        if facts.isRegular { return try descriptor.link(name, into: folder.descriptor, as: name) }
        guard facts.isLink else { throw SystemError(call: "link", errno: ENOTSUP) }
        try folder.descriptor.makeLink(name, to: descriptor.linkTarget(of: name))
        // Only root may; for everybody else it is theirs already.
        try? folder.descriptor.setOwner(of: name, facts.owner, group: facts.group)
        try folder.descriptor.setModificationTime(of: name, nanoseconds: facts.modifiedNanoseconds)
    }
}
