import Glibc
import Synchronization
import SystemIO
import TransferModel

/// What killed runs left in the folders that this run meets: files and folders under way. Whoever is alive has them
/// locked, and what a later run may go on with is known by its path. All threads note folders, one sweeps them.
final class Leftovers: Sendable {
    private enum Knowledge {
        /// Nobody said yet what is to be kept.
        case none
        case kept(Set<RawName>?)
    }
    private struct Place {
        let folder: String
        /// Trees that this link led to lie there.
        let link: GroupLink?
    }
    private struct State {
        var knowledge = Knowledge.none
        var places: [Place] = []
        var noted: Set<RawName> = []
        /// Names that this run has left for the next: nobody has them locked any more.
        var spared: Set<String> = []
    }
    private let state = Mutex(State())
    /// As the names of this run call it.
    private let run: String
    /// Where nobody can say what is to be kept, a file of this size may be somebody's half-done download for so long.
    private static let patience = TimeSpan.seconds(24 * 60 * 60)

    init(run: String) { self.run = run }

    func begin(keeping: Set<String>?) {
        let kept = keeping.map { Set($0.map { RawName($0) }) }
        state.withLock { $0.knowledge = .kept(kept) }
    }

    /// A folder that was there before this run came. A link to a tree in it has trees of its own there.
    func note(_ folder: String, treesOf link: GroupLink? = nil) {
        state.withLock { state in
            if state.noted.insert(link?.path ?? RawName(folder)).inserted {
                state.places.append(Place(folder: folder, link: link))
            }
        }
    }

    /// A folder that this run made: nothing can have been left in it.
    func noteNew(_ folder: String) { state.withLock { _ = $0.noted.insert(RawName(folder)) } }

    /// What is left under this name is for the next run.
    func spare(_ name: String) { state.withLock { _ = $0.spared.insert(name) } }

    private func isSpared(_ name: String) -> Bool { state.withLock { $0.spared.contains(name) } }

    func sweepOne() -> Bool {
        guard let (place, kept) = next() else { return false }
        // A folder that cannot be read is swept by nobody.
        guard let folder = try? FolderCache.Folder(Descriptor.openFolder(place.folder)),
            let names = try? folder.descriptor.names()
        else { return true }
        if let link = place.link { sweepTrees(of: link, names, in: folder) }
        for name in names where name.bytes.starts(with: TemporaryNames.prefix.utf8) {
            if KeptPlace.isName(name) { KeptPlace.removeIfOld(name, in: folder) }
            guard let run = TemporaryNames.run(in: name) else { continue }
            let isKept = kept?.contains(RawName(place.folder).appending(name))
            if isKept != true, !isSpared(name.description) {
                // What runs with another state folder left may be what their next goes on with.
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

    /// Those that the link does not lead to.
    private func sweepTrees(of link: GroupLink, _ names: [RawName], in folder: FolderCache.Folder) {
        for name in names where link.made(name) {
            guard (try? folder.descriptor.facts(of: name))?.isFolder == true else { continue }
            // Looked up with the tree locked: whoever was about to switch the link to it had it locked until then.
            Self.removeFolder(name, in: folder) {
                guard let current = Folders.resolved(link.path) else { return false }
                return Folders.split(current).name != name
            }
        }
    }

    /// Removes what nobody has locked.
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

    /// Nobody can lock a link. Those that stand for a moment while a group's link is switched are left alone: they lead to a
    /// tree that whoever switches has locked, or to the one before, which goes after its link.
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
