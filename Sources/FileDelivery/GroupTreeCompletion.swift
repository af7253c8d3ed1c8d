import Glibc
import SystemIO
import TransferModel

/// Completes a group's new tree with what it shares with the old one.
///
/// | in the old tree | `keep` | `remove` |
/// | --- | --- | --- |
/// | a member's old file or symlink | gives way to the member | the same |
/// | another file | gets a second name in the new tree | stays behind |
/// | another symlink | is made again as it was, with owner and time | stays behind |
/// | a folder | made again, even if empty, with mode, owner and (unless changed) time | only where a member is in it |
/// | a device, pipe or socket | fails the group | stays behind |
/// | a folder where a member is a file, or the reverse | fails the group | stays behind |
///
/// A download of another run under way in the folder continues in the new tree, whatever happens to files that no
/// member names. A file of a member that is not in this run, or failed and may, is kept with `remove` too. Access lists
/// and a user's extended attributes stay: files are the same files, and folders get what the old ones had.
struct GroupTreeCompletion {
    private enum Fate {
        /// The folder is in the new tree too; the members in it or below it.
        case carried(MemberFolder?)
        case left
    }
    private let staging: GroupStaging
    private(set) var snapshot: TreeSnapshot
    private var fates: [Fate]
    /// The folders in which an entry came, went or was replaced.
    private var touched: Set<Int> = []
    /// Whether the new tree will differ from the old one.
    private(set) var hasChange: Bool
    /// Files and symlinks that stay behind and whose names no member has, in folders of the new tree.
    private var removed = RemovedFiles()

    init(_ staging: GroupStaging, from old: FolderCache.Folder) throws(TransferError) {
        self.staging = staging
        snapshot = try TreeSnapshot(of: old, path: staging.place.folder)
        fates = Array(repeating: .left, count: snapshot.folders.count)
        fates[0] = .carried(staging.members)
        hasChange = staging.hasNewMembers
    }

    private var keeps: Bool { staging.place.extraneous == .keep }

    mutating func run() throws(TransferError) {
        for index in snapshot.folders.indices { try carry(index) }
        // From the deepest up: a folder's mode may forbid access to its entries.
        for index in snapshot.folders.indices.reversed() {
            if case .carried = fates[index] { try completeFolder(index) }
        }
    }

    /// All files and symlinks that stay behind and whose names no member has.
    var removedFiles: RemovedFiles {
        var all = removed
        for (index, folder) in snapshot.folders.enumerated() {
            // Of a folder that stays behind nothing was looked at.
            guard case .left = fates[index] else { continue }
            for entry in folder.entries where entry.folder == nil { all.add(snapshot.list.path(index, entry.name)) }
        }
        return all
    }

    /// Throws if the publication would remove more files than the group's `maximumRemovals`.
    func checkRemovals() throws(TransferError) {
        guard let limit = staging.place.maximumRemovals else { return }
        let removed = removedFiles.count
        let total = snapshot.folders.reduce(0) { $0 + $1.entries.count { $0.folder == nil } }
        guard limit.forbids(removed, of: total) else { return }
        throw TransferError(
            .groupNotPublished,
            "\(removed) of the \(total) files in \(staging.place.folder)\(TransferError.removalsWords)\(limit)"
        )
    }

    private mutating func carry(_ index: Int) throws(TransferError) {
        guard case .carried(let members) = fates[index] else { return }
        let old = try snapshot.open(index)
        let new = try attempting("making", snapshot.path(index)) { () throws(SystemError) in
            try staging.folder(snapshot.list.names(index))
        }
        var known = 0
        let keepsRest = keeps || members?.keepsRest == true
        for entry in snapshot.folders[index].entries {
            if let member = members?.files[entry.name] {
                known += 1
                try meet(member, entry, index)
            } else if let below = members?.folders[entry.name] {
                if below.hasFiles { known += 1 }
                if keepsRest { below.keepsRest = true }
                try descend(into: below, entry, index)
            } else if keepsRest || isSpared(entry, members) || entry.isUnderWay(in: old) {
                try keep(entry, index, from: old, into: new)
            } else {
                if entry.folder == nil { removed.add(snapshot.list.path(index, entry.name)) }
                leave(index)
            }
        }
        // Members whose names were not found: new ones, or kept ones that another program removed meanwhile.
        let wanted = members?.folders.values.count { $0.hasFiles } ?? 0
        if known < (members?.files.count ?? 0) + wanted { leave(index) }
    }

    private func isSpared(_ entry: TreeSnapshot.Entry, _ members: MemberFolder?) -> Bool {
        entry.folder == nil && members?.spared.contains(entry.name) == true
    }

    /// Notes that an entry of the folder will not be as it was.
    private mutating func leave(_ index: Int) {
        touched.insert(index)
        hasChange = true
    }

    private mutating func meet(
        _ member: MemberFolder.Member, _ entry: TreeSnapshot.Entry, _ index: Int
    ) throws(TransferError) {
        if let kept = member.kept {
            // A member found unchanged must still be the file that has the name.
            guard entry.facts.isSameFile(as: kept), entry.facts.size == kept.size,
                entry.facts.modifiedNanoseconds == kept.modifiedNanoseconds
            else { throw snapshot.changed(snapshot.path(index, entry.name)) }
            if kept.isRegular { snapshot.noteLink(to: kept) }
            return
        }
        if member.mustBeNew { throw snapshot.changed(snapshot.path(index, entry.name)) }
        if keeps, !entry.facts.isRegular, !entry.facts.isLink { throw obstacle(entry, index) }
        leave(index)
    }

    private mutating func descend(
        into members: MemberFolder, _ entry: TreeSnapshot.Entry, _ index: Int
    ) throws(TransferError) {
        if let folder = entry.folder {
            fates[folder] = .carried(members)
        } else if keeps {
            throw obstacle(entry, index)
        } else {
            removed.add(snapshot.list.path(index, entry.name))
            leave(index)
        }
    }

    private mutating func keep(
        _ entry: TreeSnapshot.Entry, _ index: Int, from old: FolderCache.Folder, into new: FolderCache.Folder
    ) throws(TransferError) {
        if let folder = entry.folder {
            fates[folder] = .carried(keeps ? nil : .keepingAll)
            return
        }
        guard entry.facts.isRegular || entry.facts.isLink else {
            if keeps { throw obstacle(entry, index) }
            return leave(index)
        }
        do throws(SystemError) {
            try old.carry(entry.name, entry.facts, into: new)
        } catch {
            let path = snapshot.path(index, entry.name)
            if error.errno == ENOENT { throw snapshot.changed(path) }
            try attempting("carrying over", path) { () throws(SystemError) in throw error }
        }
        guard entry.facts.isRegular else { return }
        // Between the look and the link another file may have got that name.
        guard let facts = try? new.descriptor.facts(of: entry.name), facts.isSameFile(as: entry.facts) else {
            throw snapshot.changed(snapshot.path(index, entry.name))
        }
        snapshot.noteLink(to: facts)
    }

    private func obstacle(_ entry: TreeSnapshot.Entry, _ index: Int) -> TransferError {
        let path = snapshot.path(index, entry.name)
        if entry.facts.isFolder {
            return TransferError(.groupNotPublished, "\(path) is a folder, where a member is a file", errno: EISDIR)
        }
        let isFile = entry.facts.isRegular || entry.facts.isLink
        return isFile
            ? TransferError(.groupNotPublished, "\(path) is no folder, where members are in one", errno: ENOTDIR)
            : TransferError(
                .groupNotPublished, "\(path) is a device, pipe or socket, which cannot be carried over", errno: ENOTSUP)
    }

    /// Gives the new folder the owner, attributes, mode and time of the old one.
    private func completeFolder(_ index: Int) throws(TransferError) {
        let facts = snapshot.folders[index].facts
        try attempting("completing", snapshot.path(index)) { () throws(SystemError) in
            let new = try staging.folder(snapshot.list.names(index))
            // Only root may give a folder away; another user's new folder is the user's own already.
            try? new.descriptor.setOwner(facts.owner, group: facts.group)
            // Before the mode, whose bits for the group bound what an access list allows.
            try snapshot.list.open(index).descriptor.copyAttributes(to: new.descriptor)
            // The tree itself is still to be moved, for which its owner must be able to write in it.
            try new.descriptor.setMode(index == 0 ? facts.permissions | 0o700 : facts.permissions)
            if !touched.contains(index) {
                try new.descriptor.setModificationTime(nanoseconds: facts.modifiedNanoseconds)
            }
        }
    }
}
