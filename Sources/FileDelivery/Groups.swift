import Glibc
import SystemIO
import TransferModel

/// The steps of a group's publication, at which tests let other programs act, or stop it as a kill would.
package enum GroupStep: CaseIterable, Sendable {
    /// The new tree is complete.
    case prepared
    /// The old tree was found unchanged.
    case looked
    /// The new tree is in place.
    case swapped
    /// The old tree was found unchanged once more; it has not been removed.
    case confirmed
}

/// Called at each step; `false` ends the publication at once, without cleaning up or answering.
package typealias GroupHook = @Sendable (GroupStep) -> Bool

/// The groups that are being staged, and their publication. Belongs to the first delivery thread.
final class Groups {
    private let folders: FolderCache
    private let names: TemporaryNames
    private let reserved: ReservedPlaces
    private let hook: GroupHook?
    private let lacksExchange: Bool
    private let kept: KeptMembers
    private var stagings: [GroupIndex: GroupStaging] = [:]
    /// Groups that were not published: files that are still under way may yet be put into their folders.
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

    /// Returns the group's staging, made at the first call.
    func staging(_ place: GroupPlace) throws(TransferError) -> GroupStaging {
        if let known = stagings[place.index] { return known }
        let target = try GroupTarget.find(at: place, folders)
        let made = try attempting("staging beside", place.folder) { () throws(SystemError) in
            try GroupStaging(
                place, beside: target.beside, kept.claim(place, beside: target.beside), names,
                lacksUnnamedFiles: folders.lacksUnnamedFiles)
        }
        stagings[place.index] = made
        return made
    }

    /// Discards an unpublished group: its verified members are kept for the next run, if they may be.
    func discard(_ place: GroupPlace, keepingMembers: Bool = true) {
        if let staging = stagings.removeValue(forKey: place.index) {
            return keepingMembers ? giveUp(staging) : remove(staging)
        }
        if !keepingMembers { kept.remove(place) }
        // A run that stages nothing still sweeps the remains of a killed one.
        if (try? Descriptor.openFolder(Folders.split(place.folder).folder)) != nil {
            _ = try? GroupTarget.find(at: place, folders)
        }
    }

    private func giveUp(_ staging: GroupStaging) {
        guard !staging.isHandsOff else { return }
        guard staging.kept != nil else { return remove(staging) }
        staging.keepMembers()
        ended[staging.place.index] = staging
    }

    // MARK: Members

    /// Stages a member that is already right: the file at its path, or the one that an earlier run kept.
    func keep(
        _ task: TaskIndex, _ path: String, _ of: GroupMember, _ met: Checksum?
    ) throws(TransferError) -> FileRecord {
        let place = of.place
        let member = try place.member(path)
        if let folder = kept.folder(of: path, of) {
            return try stageKept(task, path, member, from: folder, of, met)
        }
        guard let standing = try standing(at: member, path, place), standing.facts.isRegular || standing.facts.isLink
        else { throw TransferError(.groupChanged, "\(path) is there no more") }
        try keep(standing, member, path, task, place)
        return FileRecord(
            path: path, bytes: standing.size(member.name), checksum: met, changed: false, lengthUnverified: false)
    }

    private func stageKept(
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
            try staging.addKept(from: folder, facts, at: member, entry)
            return FileRecord(
                path: path, bytes: facts.size, checksum: met, changed: !isSame, lengthUnverified: false)
        } catch {
            throw memberError(error, path)
        }
    }

    /// Whether the file at a member's path has the bytes of the kept file.
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

    /// Throws if a folder, device, pipe or socket has a member's path, which `extraneous: keep` does not allow to be
    /// replaced.
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

    /// Puts a verified file into the group's tree, if the file at its path now allows that.
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
        if let standing, let chosen = destination.chosenName, destination.existing == .revalidate,
            !chosen.isOwn(member.name.description, in: standing.folder.descriptor)
        {
            guard isSame else { throw .nameTaken(path) }
            try keep(standing, member, path, task, place)
            file.remove()
            return .same(nil)
        }
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

    /// Whether the old file can take the new one's place, so that a group of unchanged members is not exchanged.
    private func looksAlike(_ file: Staging, _ old: FileFacts, _ destination: Destination) -> Bool {
        guard let new = try? file.file.facts(), new.mode == old.mode, new.owner == old.owner else { return false }
        return destination.modificationTime.map { $0.nanoseconds == old.modifiedNanoseconds } ?? true
    }

    /// The entry that has a member's path in the present tree.
    private struct Standing {
        let folder: FolderCache.Folder
        let facts: FileFacts
        /// Whether it is neither a file nor a link.
        var isObstacle: Bool { !facts.isRegular && !facts.isLink }

        /// Returns the size as for an ordinary download: that of the file that a link leads to.
        func size(_ name: RawName) -> Int64 {
            guard facts.isLink else { return facts.size }
            return (try? folder.descriptor.facts(of: name.description, followingLinks: true).size) ?? facts.size
        }
    }

    /// Returns the entry at a member's path, looked up anew for each member, since another program may exchange the
    /// tree.
    private func standing(
        at member: MemberPath, _ path: String, _ place: GroupPlace
    ) throws(TransferError) -> Standing? {
        do throws(SystemError) {
            var folder = try FolderCache.Folder(.openFolder(place.folder))
            for name in member.folders { folder = try folder.child(name) }
            return Standing(folder: folder, facts: try folder.descriptor.facts(of: member.name))
        } catch {
            // A file or link where the member needs a folder is left behind with everything that no member names.
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

    /// Opens a file for reading; a group's file from its staging, as long as the group is not published.
    func open(_ path: String, _ place: GroupPlace?) throws(TransferError) -> LocalFiles.OpenFile {
        guard let place, let staging = stagings[place.index] else { return try LocalFiles.open(path) }
        let member = try place.member(path)
        return try LocalFiles.open(path) { () throws(SystemError) in
            try staging.folder(member.folders).descriptor.open(member.name.description, O_RDONLY | O_NONBLOCK)
        }
    }

    // MARK: Publishing

    enum Publication {
        case done(removed: RemovedFiles?)
        /// The hook ended the publication.
        case stopped
        /// Another run is publishing there.
        case held
    }

    /// Publishes a group. One without members is left as it is: an empty list must not empty a folder. Afterwards
    /// nothing is staged, whatever the outcome, unless another run holds the place.
    func publish(_ place: GroupPlace, absent: [String?] = []) throws(TransferError) -> Publication {
        guard let staging = stagings[place.index] else { return .done(removed: place.removed) }
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
            return .done(removed: nil)
        }
        guard let target = try GroupTarget.claim(staging.place, folders) else { return .held }
        // The target keeps the lock.
        defer { withExtendedLifetime(target) {} }
        if staging.place.extraneous == .remove { for path in absent { staging.spare(path) } }
        return try publish(staging, at: target)
    }

    /// Publishes the staged tree.
    private func publish(_ staging: GroupStaging, at target: GroupTarget) throws(TransferError) -> Publication {
        try spareReserved(staging.place)
        var removed = staging.place.removed
        var snapshot: TreeSnapshot?
        if let old = target.old {
            var carrying = try GroupTreeCompletion(staging, from: old)
            try carrying.run()
            try carrying.checkRemovals()
            snapshot = carrying.snapshot
            if removed != nil { removed = carrying.removedFiles }
            if !carrying.hasChange {
                try flush(staging)
                return .done(removed: removed)
            }
        }
        try flush(staging)
        guard goesOn(.prepared) else { return .stopped }
        try checkUnchanged(target, snapshot, staging.place)
        guard goesOn(.looked) else { return .stopped }
        return try swap(staging, target, snapshot) ? .done(removed: removed) : .stopped
    }

    /// Throws if the publication would remove a reserved file. A run checks that before it begins, but links may lead
    /// elsewhere by now, and a later process may continue the run.
    private func spareReserved(_ place: GroupPlace) throws(TransferError) {
        guard place.extraneous == .remove, let held = reserved.first(in: place.folder) else { return }
        throw TransferError(
            .groupNotPublished,
            "`extraneous: remove` would take \(held.what) away, \(held.path): keep it outside \(place.folder)")
    }

    /// Flushes the whole filesystem: an fsync for each file and folder costs many times that.
    private func flush(_ staging: GroupStaging) throws(TransferError) {
        guard staging.place.flush else { return }
        try attempting("flushing", staging.place.folder) { () throws(SystemError) in
            try staging.root.descriptor.syncFilesystem()
        }
    }

    /// Throws unless the old tree is as it was when it was carried over.
    private func checkUnchanged(
        _ target: GroupTarget, _ snapshot: TreeSnapshot?, _ place: GroupPlace
    ) throws(TransferError) {
        guard let snapshot, let old = target.old else { return }
        let now = try? FolderCache.Folder(.openFolder(place.folder))
        guard let now, now.isSame(as: old) else { throw snapshot.changed(place.folder) }
        try snapshot.checkUnchanged(now, wasMoved: false)
    }

    /// Swaps the trees. Other runs wait, but between the last look and the swap any other program may still write.
    /// Therefore the old tree is looked at once more when it can no longer be reached by its path, and put back if it
    /// differs. What remains: for that moment other programs see the new tree, and what they write into it is lost if
    /// it is taken back; and a program that holds a folder of the old tree open can write into it after that look, and
    /// loses what it writes.
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

extension GroupPlace {
    /// What a publication that removes nothing has removed; `nil` for a group that never removes files.
    fileprivate var removed: RemovedFiles? { extraneous == .remove ? RemovedFiles() : nil }
}
