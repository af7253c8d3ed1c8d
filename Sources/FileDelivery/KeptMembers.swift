import Glibc
import Synchronization
import SystemIO
package import TransferModel

/// Where an unpublished group keeps its verified members for the next run of the job.
package struct KeptPlace: Sendable {
    /// The folder's name, beside the group's own folder: the same one in each run of the job.
    package let name: String
    /// The path of a symlink in the state folder that leads to the kept folder, by which `reset` finds it.
    package let register: String
    /// Greatest number of bytes that all groups of a run keep.
    package let maximum: Int64
    /// The maximum without a setting: 10 GiB.
    package static let defaultMaximum: Int64 = 10 << 30

    private static let prefix = "\(TemporaryNames.prefix)kept-"
    static let age = TimeSpan.seconds(7 * 24 * 60 * 60)

    /// `group` is the group's folder, `state` the state folder.
    package init(group: String, job: String, state: String, maximum: Int64 = defaultMaximum) {
        let mark = RunLabel.mark(group)
        name = "\(Self.prefix)\(RunLabel.mark("\(state) \(job)"))-\(mark)"
        register = "\(Self.registry(state))/\(Self.registered(job))\(mark)"
        self.maximum = maximum
    }

    private static func registry(_ state: String) -> String { "\(state)/kept" }
    private static func registered(_ job: String) -> String { "\(RunLabel.mark(job))-" }

    static func isName(_ name: RawName) -> Bool { name.bytes.starts(with: prefix.utf8) }

    /// Removes everything that the groups of a job keep. A folder that a run has locked stays.
    package static func removeAll(of job: String, state: String) {
        let registry = registry(state)
        for name in Folders.names(in: registry) where name.hasPrefix(registered(job)) {
            guard let folder = try? Descriptor.openFolder(registry),
                let target = try? folder.linkTarget(of: RawName(name))
            else { continue }
            let (path, last) = Folders.split(target)
            if isName(last), let beside = try? FolderCache.Folder(Descriptor.openFolder(path)) {
                Leftovers.remove(last, in: beside)
            }
            try? folder.unlink(RawName(name))
        }
    }

    /// Removes a kept folder that no run has used for `age`.
    static func removeIfOld(_ name: RawName, in folder: FolderCache.Folder) {
        guard let facts = try? folder.descriptor.facts(of: name), facts.isFolder, isOld(facts) else { return }
        Leftovers.remove(name, in: folder)
    }

    static func isOld(_ facts: FileFacts) -> Bool {
        Clocks.wall().nanoseconds - facts.modifiedNanoseconds > age.nanoseconds
    }
}

/// A task's file as a member of its group.
package struct GroupMember: Sendable {
    /// The group.
    package let place: GroupPlace
    /// The task's policy, which decides whether a file that an earlier run kept counts as the member's.
    package let existing: ExistingPolicy

    package init(_ place: GroupPlace, _ existing: ExistingPolicy) {
        self.place = place
        self.existing = existing
    }
}

/// The folder of a group's kept members: only its user can access it, and it is locked as long as this object lives.
///
/// It has `members`, the verified files that earlier runs kept, by their paths in the group, and while a run stages the
/// group its `tree` and the files under way. The tree of a run that was killed becomes part of `members`.
final class KeptFolder: Sendable {
    /// The folder that contains it.
    let beside: RawName
    let name: RawName
    /// The open folder itself, which holds the lock.
    let descriptor: Descriptor
    private let members: RawName
    static let membersName = RawName("members")

    var path: RawName { beside.appending(name) }

    /// Opens and locks the folder; `nil` if it does not exist, another run has it locked, or it is not this user's own.
    init?(_ name: RawName, in beside: RawName) {
        guard let place = try? FolderCache.Folder(Descriptor.openFolder(beside)),
            let found = try? place.descriptor.folder(name),
            let facts = try? found.facts(), facts.owner == geteuid(), facts.permissions & 0o077 == 0,
            (try? found.tryLock()) ?? true,
            // Another run may have removed it before it was locked.
            let now = try? place.descriptor.facts(of: name), now.isSameFile(as: facts)
        else { return nil }
        self.beside = beside
        self.name = name
        descriptor = found
        members = beside.appending(name).appending(Self.membersName)
        if KeptPlace.isOld(facts) { removeMembers() }
        gatherTree()
    }

    /// Returns the path of a member's kept file; `nil` when there is none.
    func file(_ member: MemberPath) -> String? {
        let path = member.folders.reduce(members) { $0.appending($1) }.appending(member.name)
        guard let text = path.text, (try? FileFacts.ofName(text))?.isRegular == true else { return nil }
        return text
    }

    /// Returns the folder of kept members in which a member's file would be.
    func folder(_ names: [RawName], makes: Bool = false) throws(SystemError) -> FolderCache.Folder {
        var folder = try root()
        for name in [Self.membersName] + names { folder = try makes ? folder.madeChild(name) : folder.child(name) }
        return folder
    }

    private func root() throws(SystemError) -> FolderCache.Folder { try FolderCache.Folder(descriptor.folder(.this)) }

    private func removeMembers() {
        guard let root = try? root() else { return }
        try? TreeRemoval.remove(Self.membersName, in: root)
    }

    /// Moves a killed run's staged files to the kept members: they were verified before they got their names. A file
    /// that is in the group's own folder as well is the same file and does no harm here.
    private func gatherTree() {
        guard let root = try? root(),
            let tree = try? root.child(GroupStaging.treeName)
        else { return }
        let list = FolderList(tree)
        var next = 0
        while next < list.count {
            defer { next += 1 }
            guard let from = try? list.open(next) else { continue }
            try? from.descriptor.setMode(0o700)
            for name in (try? from.descriptor.names()) ?? [] {
                guard let facts = try? from.descriptor.facts(of: name) else { continue }
                if facts.isFolder { _ = list.add(name, below: next) }
                guard facts.isRegular, let into = try? folder(list.names(next), makes: true) else { continue }
                try? from.descriptor.rename(name, into: into.descriptor, as: name)
            }
        }
        try? TreeRemoval.remove(GroupStaging.treeName, in: root)
    }

    /// Removes files until the rest has no more than `most` bytes. Returns the bytes that stay; `nil` when no file
    /// does.
    func trim(to most: Int64) -> Int64? {
        guard let root = try? root() else { return nil }
        var (bytes, count) = (Int64(0), 0)
        let list = FolderList(root)
        var next = 0
        while next < list.count {
            defer { next += 1 }
            guard let folder = try? list.open(next), let names = try? folder.descriptor.names() else { continue }
            for name in names {
                guard let facts = try? folder.descriptor.facts(of: name) else { continue }
                if facts.isFolder {
                    _ = list.add(name, below: next)
                } else if facts.isRegular, facts.size <= most - bytes {
                    (bytes, count) = (bytes + facts.size, count + 1)
                } else {
                    try? folder.descriptor.unlink(name)
                }
            }
        }
        return count > 0 ? bytes : nil
    }
}

/// The kept members of all groups of a run, for any delivery thread; a group's folder is opened at its first use.
final class KeptMembers: Sendable {
    private struct State {
        /// The opened folders; `nil` for a group that was looked up and has none.
        var folders: [GroupIndex: KeptFolder?] = [:]
        var paths: [GroupIndex: String?] = [:]
        /// Bytes that the groups of this run keep.
        var bytes: Int64 = 0
    }
    private let state = Mutex(State())

    private func folder(of place: GroupPlace) -> KeptFolder? {
        guard let keeping = place.keeping else { return nil }
        return state.withLock { state in
            if let known = state.folders[place.index] { return known }
            let found = KeptFolder(RawName(keeping.name), in: Self.beside(place))
            state.folders[place.index] = .some(found)
            return found
        }
    }

    /// Returns the folder that contains the group's tree, or will.
    private static func beside(_ place: GroupPlace) -> RawName {
        if let tree = Folders.resolved(place.folder) { return Folders.split(tree).folder }
        return Folders.resolvedAsFarAsThere(RawName(Folders.split(place.folder).folder))
    }

    /// Returns the path of the folder in which members under way lie; `nil` where none are kept.
    func path(of place: GroupPlace) -> String? {
        guard let keeping = place.keeping else { return nil }
        return state.withLock { state in
            if let known = state.paths[place.index] { return known }
            let path = Self.beside(place).appending(RawName(keeping.name)).text
            state.paths[place.index] = .some(path)
            return path
        }
    }

    /// Returns where a member's file is: at `path`, or where an earlier run kept it.
    func path(_ path: String, _ member: GroupMember?) -> String {
        guard let member, let name = try? member.place.member(path), let folder = folder(of: member.place) else {
            return path
        }
        switch member.existing {
        case .revalidate: return folder.file(name) ?? path
        case .skip: return (try? FileFacts.ofName(path)) == nil ? folder.file(name) ?? path : path
        case .fail, .replace: return path
        }
    }

    /// Returns the folder of a member's kept file, if that is the file to use.
    func folder(of path: String, _ member: GroupMember) -> FolderCache.Folder? {
        guard self.path(path, member) != path, let name = try? member.place.member(path) else { return nil }
        return try? folder(of: member.place)?.folder(name.folders)
    }

    /// Returns the group's kept folder, making it if it does not exist; `nil` when it cannot be had.
    func claim(_ place: GroupPlace, beside: FolderCache.Folder) -> KeptFolder? {
        guard let keeping = place.keeping else { return nil }
        guard let path = try? beside.descriptor.path() else { return nil }
        if let known = folder(of: place) { return known.beside == path ? known : nil }
        let name = RawName(keeping.name)
        guard (try? beside.descriptor.makeFolder(name, mode: 0o700)) != nil, let made = KeptFolder(name, in: path)
        else { return nil }
        state.withLock { $0.folders[place.index] = .some(made) }
        return made
    }

    /// Removes what earlier runs kept of a group that is given up.
    func remove(_ place: GroupPlace) {
        guard let folder = folder(of: place) else { return }
        if let beside = try? FolderCache.Folder(Descriptor.openFolder(folder.beside)) {
            try? TreeRemoval.remove(folder.name, in: beside)
        }
        forget(place)
    }

    /// Forgets a published group, of which nothing is kept.
    func forget(_ place: GroupPlace) {
        guard let keeping = place.keeping else { return }
        state.withLock { $0.folders[place.index] = nil }
        let (registry, name) = Folders.split(keeping.register)
        try? Descriptor.openFolder(registry).unlink(name)
    }

    /// Keeps the members of an unpublished group as far as there is room; `false` when no file is kept.
    func keep(_ folder: KeptFolder, of place: GroupPlace) -> Bool {
        guard let keeping = place.keeping else { return false }
        let room = state.withLock { keeping.maximum - $0.bytes }
        guard let bytes = folder.trim(to: room) else { return false }
        state.withLock { $0.bytes += bytes }
        register(folder, keeping)
        return true
    }

    /// Releases the locks, so that the next run may have the folders.
    func close() { state.withLock { $0.folders = [:] } }

    private func register(_ folder: KeptFolder, _ keeping: KeptPlace) {
        let (registry, name) = Folders.split(keeping.register)
        guard let place = try? Descriptor.makeFolder(registry, mode: 0o700) else { return }
        try? place.unlink(RawName(name))
        try? place.makeLink(RawName(name), to: folder.path)
    }
}
