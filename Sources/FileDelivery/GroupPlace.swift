import Glibc
import SystemIO
package import TransferModel

/// Where the members of a group stand and how they get there. All members share one.
package final class GroupPlace: Sendable {
    package let index: GroupIndex
    /// Absolute, without a slash at its end.
    package let folder: String
    package let extraneous: GroupSpecification.Extraneous
    /// Counts as published only when all of it would survive a power cut.
    package let flush: Bool
    /// Where members are kept if the group is not published; `nil` where they are not.
    package let keeping: KeptPlace?

    package init(
        index: GroupIndex, folder: String, extraneous: GroupSpecification.Extraneous = .keep, flush: Bool = false,
        keeping: KeptPlace? = nil
    ) {
        self.keeping = keeping
        self.index = index
        self.folder = folder
        self.extraneous = extraneous
        self.flush = flush
    }
}

/// A member's place in its group's folder, name by name.
struct MemberPath {
    let folders: [RawName]
    let name: RawName
}

extension GroupPlace {
    /// A path that leads out of the folder, or that no system call would take, is an error.
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

/// The members that are staged, as a tree of names.
final class MemberFolder {
    struct Member {
        let task: TaskIndex
        /// Of the file that was kept; `nil` for a new one.
        var kept: FileFacts?
        /// Nothing stood there, and `existing` says that what stands there is not to be replaced.
        var mustBeNew = false
        /// The next run can tell whether it is still the server's.
        var isOfUse = true
    }
    var folders: [RawName: MemberFolder] = [:]
    var files: [RawName: Member] = [:]
    /// Files of members that are not here, and whether all that is not named in the folder may be one of theirs.
    var spared: Set<RawName> = []
    var keepsRest = false

    /// Not only folders and what is spared.
    var hasFiles: Bool { !files.isEmpty || folders.values.contains { $0.hasFiles } }

    /// Nothing in it is a member's, and all of it stays.
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

/// Names the path when a step of a group's publication fails.
func attempting<Result>(
    _ doing: String, _ path: @autoclosure () -> String, _ step: () throws(SystemError) -> Result
) throws(TransferError) -> Result {
    do throws(SystemError) {
        return try step()
    } catch {
        throw TransferError(.groupNotPublished, "\(doing) \(path()) failed: \(error.reason)", errno: error.errno)
    }
}
