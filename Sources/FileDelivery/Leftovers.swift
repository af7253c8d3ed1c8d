import Glibc
import Synchronization
import SystemIO
import TransferModel

/// Removes what killed runs left in the folders that this run uses: files and folders under way. Living runs have
/// theirs locked, and what a later run may continue is known by its path. All threads note folders, one sweeps them.
final class Leftovers: Sendable {
    private enum Knowledge {
        /// What is to be kept is not known yet.
        case none
        case kept(Set<RawName>?)
    }
    private struct Place {
        let folder: String
        /// A link whose trees lie there.
        let link: GroupLink?
    }
    private struct State {
        var knowledge = Knowledge.none
        var places: [Place] = []
        /// The folders and links that were noted.
        var noted: Set<RawName> = []
        /// Names that this run has left for the next, which are not locked any more.
        var spared: Set<String> = []
    }
    private let state = Mutex(State())
    /// The label of this run in its names.
    private let run: String
    /// How long a file of at least `PartFile.leastLeft` stays where it is not known what to keep: it may be a partial
    /// download.
    private static let patience = TimeSpan.seconds(24 * 60 * 60)

    init(run: String) { self.run = run }

    func allowSweep(keeping: Set<String>?) {
        let kept = keeping.map { Set($0.map { RawName($0) }) }
        state.withLock { $0.knowledge = .kept(kept) }
    }

    /// Notes a folder that existed before this run. A link to a tree in it may have earlier trees there.
    func noteExisting(_ folder: String, treesOf link: GroupLink? = nil) {
        state.withLock { state in
            if state.noted.insert(link?.path ?? RawName(folder)).inserted {
                state.places.append(Place(folder: folder, link: link))
            }
        }
    }

    /// Notes a folder that this run made: no remains can be in it.
    func noteNew(_ folder: String) { state.withLock { _ = $0.noted.insert(RawName(folder)) } }

    /// Keeps what this run leaves under this name for the next run.
    func spare(_ name: String) { state.withLock { _ = $0.spared.insert(name) } }

    private func isSpared(_ name: String) -> Bool { state.withLock { $0.spared.contains(name) } }

    func sweepOne() -> Bool {
        guard let (place, kept) = next() else { return false }
        // A folder that cannot be read is not swept.
        guard let folder = try? FolderCache.Folder(Descriptor.openFolder(place.folder)),
            let names = try? folder.descriptor.names()
        else { return true }
        if let link = place.link { sweepTrees(of: link, names, in: folder) }
        for name in names where name.bytes.starts(with: TemporaryNames.prefix.utf8) {
            if KeptPlace.isName(name) { KeptPlace.removeIfOld(name, in: folder) }
            guard let run = TemporaryNames.run(in: name) else { continue }
            let isKept = kept?.contains(RawName(place.folder).appending(name))
            if isKept != true, !isSpared(name.description) {
                // A run with another state folder may have left it for its own next run.
                Self.remove(name, in: folder, isKnown: isKept != nil && RunLabel.haveOneState(run, self.run))
            }
        }
        return true
    }

    private func next() -> (Place, Set<RawName>?)? {
        state.withLock { state in
            guard case .kept(let kept) = state.knowledge, let place = state.places.popLast() else { return nil }
            return (place, kept)
        }
    }

    /// Removes the trees that the link does not lead to.
    private func sweepTrees(of link: GroupLink, _ names: [RawName], in folder: FolderCache.Folder) {
        for name in names where link.made(name) {
            guard (try? folder.descriptor.facts(of: name))?.isFolder == true else { continue }
            // Looked up with the tree locked: a run that is about to switch the link to it keeps it locked until then.
            Self.removeFolder(name, in: folder) {
                guard let current = Folders.resolved(link.path) else { return false }
                return Folders.split(current).name != name
            }
        }
    }

    /// Removes a file, folder or link of a killed run; what is locked stays.
    static func remove(_ name: RawName, in folder: FolderCache.Folder, isKnown: Bool = true) {
        guard let facts = try? folder.descriptor.facts(of: name), facts.owner == geteuid() else { return }
        if facts.isFolder { return removeFolder(name, in: folder) }
        if facts.isLink { return removeLink(name, facts, in: folder) }
        guard facts.isRegular, isKnown || facts.size < PartFile.leastLeft || isOld(facts),
            let file = try? folder.descriptor.open(name.description, O_RDONLY | O_NOFOLLOW | O_NONBLOCK),
            (try? file.tryLock()) == true, (try? file.facts())?.isSameFile(as: facts) == true
        else { return }
        try? folder.descriptor.unlink(name)
    }

    private static func removeFolder(
        _ name: RawName, in folder: FolderCache.Folder, if isUseless: () -> Bool = { true }
    ) {
        guard let tree = try? folder.descriptor.folder(name), (try? tree.tryLock()) == true, isUseless() else { return }
        try? TreeRemoval.remove(name, in: folder)
    }

    /// Removes a link, which cannot be locked. Links that exist for a moment while a group's link is switched are left
    /// alone: they lead to a tree that the switching run has locked, or to the one before, which is removed after its
    /// link.
    private static func removeLink(_ name: RawName, _ facts: FileFacts, in folder: FolderCache.Folder) {
        if isOld(facts) || leadsNowhere(name, in: folder) { try? folder.descriptor.unlink(name) }
    }

    private static func leadsNowhere(_ name: RawName, in folder: FolderCache.Folder) -> Bool {
        do throws(SystemError) {
            _ = try folder.descriptor.folder(behind: name)
            return false
        } catch {
            return error.errno == ENOENT
        }
    }

    private static func isOld(_ facts: FileFacts) -> Bool {
        Clocks.wall().nanoseconds - facts.changedNanoseconds > patience.nanoseconds
    }
}
