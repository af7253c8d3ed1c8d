import Glibc
import SystemIO
package import TransferModel

/// The folder of a group and how its members get there. All members share one object.
package final class GroupPlace: Sendable {
    /// The group's number in the job.
    package let index: GroupIndex
    /// The absolute path of the folder, without a final slash.
    package let folder: String
    /// What happens to files in the folder that are no member's.
    package let extraneous: GroupSpecification.Extraneous
    /// How many of those files may be removed; `nil`: any number.
    package let maximumRemovals: GroupSpecification.RemovalLimit?
    /// Whether the group counts as published only when all of it would survive a power cut.
    package let flush: Bool
    /// Where members are kept if the group is not published; `nil` where they are not kept.
    package let keeping: KeptPlace?

    package init(
        index: GroupIndex, folder: String, extraneous: GroupSpecification.Extraneous = .keep,
        maximumRemovals: GroupSpecification.RemovalLimit? = nil, flush: Bool = false,
        keeping: KeptPlace? = nil
    ) {
        self.keeping = keeping
        self.index = index
        self.folder = folder
        self.extraneous = extraneous
        self.maximumRemovals = maximumRemovals
        self.flush = flush
    }
}

/// A member's path in its group's folder, as names.
struct MemberPath {
    let folders: [RawName]
    let name: RawName
}

extension GroupPlace {
    /// Returns a member's path below the folder; a path that leads out of the folder or that no system call accepts is
    /// an error.
    func member(_ path: String) throws(TransferError) -> MemberPath {
        let prefix = "\(folder)/".utf8
        guard path.utf8.starts(with: prefix), !path.utf8.contains(0), path.utf8.count < Int(PATH_MAX) else {
            throw noPlace(path)
        }
        let parts = path.utf8.dropFirst(prefix.count).split(separator: UInt8(ascii: "/"))
        var names = parts.map { RawName(bytes: $0) }.filter { $0 != .this }
        guard !names.contains(.above), let name = names.popLast() else { throw noPlace(path) }
        return MemberPath(folders: names, name: name)
    }

    private func noPlace(_ path: String) -> TransferError {
        TransferError(.cannotCreateFile, "\(path) is no place below the group's folder \(folder)")
    }
}

/// A folder of staged members, in the tree of names.
final class MemberFolder {
    struct Member {
        let task: TaskIndex
        /// The facts of the old file that was kept; `nil` for a new file.
        var kept: FileFacts?
        /// Whether there was no file, and `existing` forbids replacing one that appears before publication.
        var mustBeNew = false
        /// Whether the next run can tell if the file is still the server's.
        var isOfUse = true
    }
    var folders: [RawName: MemberFolder] = [:]
    var files: [RawName: Member] = [:]
    /// Files of members that are not in this run. With `keepsRest` every file that is not named in the folder may be
    /// one of theirs.
    var spared: Set<RawName> = []
    var keepsRest = false

    /// Whether there is a file in it or below, not only folders and spared names.
    var hasFiles: Bool { !files.isEmpty || folders.values.contains { $0.hasFiles } }

    /// Returns a folder without members of which everything is kept.
    static var keepingAll: MemberFolder {
        let folder = MemberFolder()
        folder.keepsRest = true
        return folder
    }

    func folder(_ names: [RawName]) -> MemberFolder {
        var folder = self
        for name in names {
            let next = folder.folders[name] ?? MemberFolder()
            folder.folders[name] = next
            folder = next
        }
        return folder
    }
}

/// Runs a step of a group's publication; its failure names what was done and the path.
func attempting<Result>(
    _ doing: String, _ path: @autoclosure () -> String, _ step: () throws(SystemError) -> Result
) throws(TransferError) -> Result {
    do throws(SystemError) {
        return try step()
    } catch {
        throw TransferError(.groupNotPublished, "\(doing) \(path()) failed: \(error.reason)", errno: error.errno)
    }
}
