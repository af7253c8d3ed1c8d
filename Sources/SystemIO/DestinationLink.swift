internal import CLinuxShims
import Glibc

/// Follows a destination that is a symlink to the file that is to be replaced.
///
/// The links are read one by one, each from its open folder: a user who may write in a folder such as `/tmp` could put
/// a link there that leads to another user's file. The kernel refuses to follow that only where `fs.protected_symlinks`
/// is set.
package enum DestinationLink {
    /// Why the link cannot be followed to a file.
    package enum Problem: Error, Hashable, Sendable {
        /// It leads to a device, pipe or socket.
        case noFile
        case folder
        /// The link belongs to another user, in a folder that others may write.
        case foreign(link: String)
        /// The folder of the link's target does not exist or cannot be opened.
        case noFolder(String, SystemError)
        case unreadable(SystemError)
        case tooManyLinks
        /// The path of the link's target is not UTF-8.
        case noText
    }

    /// The number of links that the kernel follows, too.
    private static let mostLinks = 40

    /// Returns the path of the file that the symlink `path` leads to, which need not exist; `nil` where `path` is no
    /// link. A device, pipe or socket is a problem even without a link; folders are left to the caller.
    package static func end(of path: String) throws(Problem) -> String? {
        guard let facts = try? FileFacts.ofName(path), !facts.isRegular, !facts.isFolder else { return nil }
        guard facts.isLink else { throw .noFile }
        var place = RawName(path)
        for _ in 0...mostLinks {
            let (above, name) = Folders.split(place)
            let folder = try openFolder(above)
            let home = (try? folder.path()) ?? above
            switch try step(name, in: folder, home) {
            case .file:
                guard let text = home.appending(name).text else { throw .noText }
                return text
            case .link(let target):
                place = target.bytes.first == UInt8(ascii: "/") ? target : home.appending(target)
            }
        }
        throw .tooManyLinks
    }

    private enum Step {
        case file
        case link(RawName)
    }

    private static func openFolder(_ path: RawName) throws(Problem) -> Descriptor {
        do throws(SystemError) {
            return try Descriptor.openPlace(path)
        } catch {
            throw .noFolder(path.description, error)
        }
    }

    private static func step(
        _ name: RawName, in folder: borrowing Descriptor, _ home: RawName
    ) throws(Problem) -> Step {
        // A link of the kernel's own, such as `/proc/self/fd/1`, leads to an open file, whatever its text says.
        if FilesystemKind.of(folder) == .proc { throw .noFile }
        guard let text = name.text, !text.isEmpty else { throw name.bytes.isEmpty ? .folder : .noText }
        do throws(SystemError) {
            // Everything is asked of this open link, even if another takes its place meanwhile.
            let entry = try folder.open(text, tr_O_PATH | O_NOFOLLOW)
            let facts = try entry.facts()
            if facts.isRegular { return .file }
            if facts.isFolder { throw SystemError(call: "open", errno: EISDIR) }
            guard facts.isLink else { throw SystemError(call: "open", errno: ENOTSUP) }
            guard try isTrusted(facts, in: folder.facts(), user: geteuid()) else {
                throw SystemError(call: "open", errno: EPERM)
            }
            return .link(try entry.linkTarget(of: RawName("")))
        } catch {
            switch error.errno {
            case ENOENT: return .file
            case EISDIR: throw .folder
            case ENOTSUP: throw .noFile
            case EPERM: throw .foreign(link: home.appending(name).description)
            default: throw .unreadable(error)
            }
        }
    }

    /// Returns whether a link may be followed: where others may write, only links of the user, of root and of the
    /// folder's owner.
    package static func isTrusted(_ link: FileFacts, in folder: FileFacts, user: UInt32) -> Bool {
        isTrusted(linkOwner: link.owner, folderOwner: folder.owner, folderMode: folder.mode, user: user)
    }

    /// Returns the same for single values.
    package static func isTrusted(linkOwner: UInt32, folderOwner: UInt32, folderMode: UInt32, user: UInt32) -> Bool {
        folderMode & 0o022 == 0 || [user, 0, folderOwner].contains(linkOwner)
    }
}
