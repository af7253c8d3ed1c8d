import Glibc
import SystemIO
import TransferModel

/// How far the publication of a group has come; for tests, which let others act there, or stop it as a kill would.
package enum GroupStep: CaseIterable, Sendable {
    /// The new tree is complete.
    case prepared
    /// The old tree was found as it had been.
    case looked
    /// The new tree stands there.
    case swapped
    /// The old tree was once more found as it had been; it is still there.
    case confirmed
}

/// `false` ends the publication there and then, with nothing cleaned up and nothing answered.
package typealias GroupHook = @Sendable (GroupStep) -> Bool

/// The groups that are being staged, and their publication.
final class Groups {
    private let folders: FolderCache
    private let names: TemporaryNames
    private let reserved: ReservedPlaces
    private let hook: GroupHook?
    private let lacksExchange: Bool
    private let kept: KeptMembers
    private var stagings: [GroupIndex: GroupStaging] = [:]
    /// Of groups that were not published: half-done files may still come to lie in their folders.
    private var ended: [GroupIndex: GroupStaging] = [:]

    init(
        _ folders: FolderCache, _ names: TemporaryNames, _ reserved: ReservedPlaces, _ kept: KeptMembers,
        hook: GroupHook?, lacksExchange: Bool
    ) {
        self.kept = kept
        self.lacksExchange = lacksExchange
        self.reserved = reserved
        self.folders = folders
        self.names = names
        self.hook = hook
    }

    deinit {
        for staging in stagings.values { giveUp(staging) }
        for staging in ended.values {
            if let folder = staging.kept, kept.keep(folder, of: staging.place) { continue }
            remove(staging)
        }
    }

    private func remove(_ staging: GroupStaging) {
        guard !staging.isHandsOff else { return }
        kept.forget(staging.place)
        staging.remove()
    }

    /// Made when it is first asked for.
    func staging(_ place: GroupPlace) throws(TransferError) -> GroupStaging {
        if let known = stagings[place.index] { return known }
        let target = try GroupTarget.look(at: place, folders)
        let made = try attempting("staging beside", place.folder) { () throws(SystemError) in
            try GroupStaging(
                place, beside: target.beside, kept.claim(place, beside: target.beside), names,
                lacksUnnamedFiles: folders.lacksUnnamedFiles)
        }
        stagings[place.index] = made
        return made
    }

    /// The group is not published: its verified members are kept for the next run, if they may be.
    func discard(_ place: GroupPlace, keepingMembers: Bool = true) {
        if let staging = stagings.removeValue(forKey: place.index) {
            return keepingMembers ? giveUp(staging) : remove(staging)
        }
        if !keepingMembers { kept.remove(place) }
        // A run that stages nothing still clears away what a killed one left.
        if (try? Descriptor.openFolder(Folders.split(place.folder).folder)) != nil {
            _ = try? GroupTarget.look(at: place, folders)
        }
    }

    private func giveUp(_ staging: GroupStaging) {
        guard !staging.isHandsOff else { return }
        guard staging.kept != nil else { return remove(staging) }
        staging.keepMembers()
        ended[staging.place.index] = staging
    }

    // MARK: Members

    /// A member that is as it shall be: where it stands, or where an earlier run kept it.
    func keep(
        _ task: TaskIndex, _ path: String, _ of: GroupMember, _ met: Checksum?
    ) throws(TransferError) -> FileRecord {
        let place = of.place
        let member = try place.member(path)
        if let folder = kept.folder(of: path, of) {
            return try take(task, path, member, from: folder, of, met)
        }
        guard let standing = try standing(at: member, path, place), standing.facts.isRegular || standing.facts.isLink
        else { throw TransferError(.groupChanged, "\(path) is there no more") }
        try keep(standing, member, path, task, place)
        return FileRecord(
            path: path, bytes: standing.size(member.name), checksum: met, changed: false, lengthUnverified: false)
    }

    private func take(
        _ task: TaskIndex, _ path: String, _ member: MemberPath, from folder: FolderCache.Folder, _ of: GroupMember,
        _ met: Checksum?
    ) throws(TransferError) -> FileRecord {
        let place = of.place
        let standing = try standing(at: member, path, place)
        if let standing { try refuseObstacle(standing, path, place) }
        let staging = try staging(place)
        do throws(SystemError) {
            let facts = try folder.descriptor.facts(of: member.name)
            guard facts.isRegular else { throw SystemError(call: "link", errno: ENOTSUP) }
            let isSame = standing.map { areSame($0, member.name, folder, facts) } ?? false
            let entry = MemberFolder.Member(task: task, mustBeNew: of.existing == .skip && standing == nil)
            try staging.take(from: folder, facts, at: member, entry)
            return FileRecord(
                path: path, bytes: facts.size, checksum: met, changed: !isSame, lengthUnverified: false)
        } catch {
            throw memberError(error, path)
        }
    }

    /// Whether what stands at a member's place has the bytes of the kept file.
    private func areSame(_ standing: Standing, _ name: RawName, _ folder: FolderCache.Folder, _ facts: FileFacts)
        -> Bool
    {
        if standing.facts.isSameFile(as: facts) { return true }
        let text = name.description
        guard standing.facts.isRegular, standing.facts.size == facts.size,
            let old = try? standing.folder.descriptor.open(text, O_RDONLY | O_NOFOLLOW),
            let new = try? folder.descriptor.open(text, O_RDONLY | O_NOFOLLOW)
        else { return false }
        return LocalFiles.haveSameBytes(old, new, facts.size)
    }

    /// A folder, device, pipe or socket at a member's place stays, with `extraneous: keep`, and is in the member's way.
    private func refuseObstacle(_ standing: Standing, _ path: String, _ place: GroupPlace) throws(TransferError) {
        guard standing.isObstacle, place.extraneous == .keep else { return }
        throw memberError(SystemError(call: "rename", errno: standing.facts.isFolder ? EISDIR : ENOTSUP), path)
    }

    private func keep(
        _ standing: Standing, _ member: MemberPath, _ path: String, _ task: TaskIndex, _ place: GroupPlace
    ) throws(TransferError) {
        let staging = try staging(place)
        do throws(SystemError) {
            try staging.keep(from: standing.folder, standing.facts, at: member, task)
        } catch {
            throw memberError(error, path)
        }
    }

    /// A file that is verified takes its place in the group's tree, if what stands there now lets it.
    func place(
        _ file: Staging, _ task: TaskIndex, _ destination: Destination, _ place: GroupPlace
    ) throws(TransferError) -> Placing {
        let path = destination.path
        let member = try place.member(path)
        let protects = destination.existing == .fail || destination.existing == .skip
        let standing = try standing(at: member, path, place)
        if let standing {
            try refuseObstacle(standing, path, place)
            if destination.existing == .fail { throw memberError(SystemError(call: "link", errno: EEXIST), path) }
            if destination.existing == .skip, !standing.isObstacle {
                let name = member.name.description
                guard file.mayBeSkipped(for: name, in: standing.folder, destination.checksum) else {
                    throw memberError(SystemError(call: "link", errno: EEXIST), path)
                }
                guard let facts = try? standing.folder.descriptor.facts(of: name, followingLinks: true), facts.isRegular
                else { throw .leadsNowhere(path) }
                try keep(standing, member, path, task, place)
                return .kept(bytes: facts.size)
            }
        }
        let isSame =
            standing.map { $0.facts.isRegular && file.hasSameContent(as: member.name.description, in: $0.folder) }
            ?? false
        if let standing, isSame, looksAlike(file, standing.facts, destination) {
            try keep(standing, member, path, task, place)
            file.remove()
            return .same((try? standing.folder.descriptor.identified(member.name.description)).map { FileStamp($0) })
        }
        let staging = try staging(place)
        do throws(SystemError) {
            let entry = MemberFolder.Member(
                task: task, mustBeNew: protects && standing == nil, isOfUse: destination.isOfUseToNextRun)
            try staging.add(file, at: member, entry)
        } catch {
            throw memberError(error, path)
        }
        return .placed(changed: !isSame)
    }

    /// Then the old file serves as well, and a group of such members need not be exchanged.
    private func looksAlike(_ file: Staging, _ old: FileFacts, _ destination: Destination) -> Bool {
        guard let new = try? file.file.facts(), new.mode == old.mode, new.owner == old.owner else { return false }
        return destination.modificationTime.map { $0.nanoseconds == old.modifiedNanoseconds } ?? true
    }

    /// What stands at a member's place in the tree that is there now.
    private struct Standing {
        let folder: FolderCache.Folder
        let facts: FileFacts
        /// No file, and no link that could be one.
        var isObstacle: Bool { !facts.isRegular && !facts.isLink }

        /// As an ordinary download tells it: that of what a link leads to.
        func size(_ name: RawName) -> Int64 {
            guard facts.isLink else { return facts.size }
            return (try? folder.descriptor.facts(of: name.description, followingLinks: true).size) ?? facts.size
        }
    }

    /// Looked up anew for each member: a tree that somebody exchanged is another.
    private func standing(
        at member: MemberPath, _ path: String, _ place: GroupPlace
    ) throws(TransferError) -> Standing? {
        do throws(SystemError) {
            var folder = try FolderCache.Folder(.openFolder(place.folder))
            for name in member.folders { folder = try folder.child(name) }
            return Standing(folder: folder, facts: try folder.descriptor.facts(of: member.name))
        } catch {
            // A file or link where the member needs a folder stays behind with all that no member names.
            let mayStay = error.errno == ENOTDIR && place.extraneous == .remove
            guard error.errno == ENOENT || mayStay else { throw memberError(error, path) }
            return nil
        }
    }

    private func memberError(_ error: SystemError, _ path: String) -> TransferError {
        switch error.errno {
        case ENOSPC, EDQUOT: DiskSpace.full(error, Folders.split(path).folder)
        case EEXIST where error.call == "link" || error.call == "rename":
            TransferError(.destinationExists, "\(path) is there already", errno: error.errno)
        case EISDIR: TransferError(.cannotMoveFile, "\(path) is a folder", errno: error.errno)
        case ENOTSUP: TransferError(.cannotMoveFile, "\(path) is a device, pipe or socket", errno: error.errno)
        case ENOTDIR:
            TransferError(.cannotMoveFile, "\(path) would be below a file or a symlink", errno: error.errno)
        default: TransferError(.cannotMoveFile, "staging \(path) failed: \(error.reason)", errno: error.errno)
        }
    }

    /// Opens a file to be read; one of a group where it is staged, as long as that is not published.
    func open(_ path: String, _ place: GroupPlace?) throws(TransferError) -> LocalFiles.OpenFile {
        guard let place, let staging = stagings[place.index] else { return try LocalFiles.open(path) }
        let member = try place.member(path)
        return try LocalFiles.open(path) { () throws(SystemError) in
            try staging.folder(member.folders).descriptor.open(member.name.description, O_RDONLY | O_NONBLOCK)
        }
    }

    // MARK: Publishing

    enum Publication {
        case done
        /// The hook ended it.
        case stopped
        /// Another run is publishing there.
        case held
    }

    /// A group without members is left as it stands: an empty list must not empty a folder. Afterwards nothing is staged,
    /// whatever came of it, unless the place is held.
    func publish(_ place: GroupPlace, absent: [String?] = []) throws(TransferError) -> Publication {
        guard let staging = stagings[place.index] else { return .done }
        do throws(TransferError) {
            let publication = try publish(staging, absent)
            if case .held = publication { return .held }
            stagings[place.index] = nil
            if case .done = publication {
                ended[place.index] = nil
                remove(staging)
            }
            return publication
        } catch {
            discard(place)
            throw error
        }
    }

    private func publish(_ staging: GroupStaging, _ absent: [String?]) throws(TransferError) -> Publication {
        if !staging.hasNewMembers, staging.place.extraneous == .keep {
            try flush(staging)
            return .done
        }
        guard let target = try GroupTarget.claim(staging.place, folders) else { return .held }
        // Its lock goes with it.
        defer { withExtendedLifetime(target) {} }
        if staging.place.extraneous == .remove { for path in absent { staging.spare(path) } }
        return try publish(staging, at: target) ? .done : .stopped
    }

    /// `false` when the hook ended it.
    private func publish(_ staging: GroupStaging, at target: GroupTarget) throws(TransferError) -> Bool {
        try spareReserved(staging.place)
        var snapshot: TreeSnapshot?
        if let old = target.old {
            var carrying = try CarryOver(staging, from: old)
            try carrying.run()
            snapshot = carrying.snapshot
            if !carrying.hasChange {
                try flush(staging)
                return true
            }
        }
        try flush(staging)
        guard goesOn(.prepared) else { return false }
        try look(again: target, snapshot, staging.place)
        guard goesOn(.looked) else { return false }
        return try swap(staging, target, snapshot)
    }

    /// A run is asked for that before it begins; links may lead elsewhere by now, and a later process goes on with it.
    private func spareReserved(_ place: GroupPlace) throws(TransferError) {
        guard place.extraneous == .remove, let held = reserved.first(in: place.folder) else { return }
        throw TransferError(
            .groupNotPublished,
            "`extraneous: remove` would take \(held.what) away, \(held.path): keep it outside \(place.folder)")
    }

    /// One flush for all: an fsync for each file and folder costs many times that.
    private func flush(_ staging: GroupStaging) throws(TransferError) {
        guard staging.place.flush else { return }
        try attempting("flushing", staging.place.folder) { () throws(SystemError) in
            try staging.root.descriptor.syncFilesystem()
        }
    }

    /// Everything is as it was when it was carried over.
    private func look(
        again target: GroupTarget, _ snapshot: TreeSnapshot?, _ place: GroupPlace
    ) throws(TransferError) {
        guard let snapshot, let old = target.old else { return }
        let now = try? FolderCache.Folder(.openFolder(place.folder))
        guard let now, now.isSame(as: old) else { throw snapshot.changed(place.folder) }
        try snapshot.checkUnchanged(now, wasMoved: false)
    }

    /// Other runs wait; but between the last look and the swap anybody else may still write. Therefore the old tree is
    /// looked at once more when nobody can reach it by its path any longer, and put back if it differs. What remains:
    /// for that moment others see the new tree, and what they write into it is lost if it is taken back; and whoever
    /// holds a folder of the old tree open can write into it after that look, and loses what he writes.
    private func swap(
        _ staging: GroupStaging, _ target: GroupTarget, _ snapshot: TreeSnapshot?
    ) throws(TransferError) -> Bool {
        var swap = GroupSwap(staging, target, names, lacksExchange: lacksExchange)
        do throws(TransferError) {
            try swap.perform(mode: snapshot?.folders[0].facts.permissions)
            guard goesOn(.swapped) else { return false }
            try swap.confirm(snapshot)
        } catch {
            swap.undo()
            throw error
        }
        guard goesOn(.confirmed) else { return false }
        defer { swap.clear() }
        if staging.place.flush { try swap.flush() }
        return true
    }

    private func goesOn(_ step: GroupStep) -> Bool { hook?(step) ?? true }
}
