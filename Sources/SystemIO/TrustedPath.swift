internal import CLinuxShims
package import Glibc

/// Opens folders by paths in which no other user decides where they lead.
///
/// A user who may write in a folder such as `/tmp` could put a link there that leads to somebody else's files: what is
/// written, replaced or removed behind it would be theirs. The kernel refuses to follow that only where
/// `fs.protected_symlinks` is set, and only in folders with the sticky bit.
package enum TrustedPath {
    /// The number of links that the kernel follows, too.
    static let mostLinks = 40

    /// Returns whether a link may be followed: one of the user or of root; another one only where nobody but the owner
    /// of its folder and root could have put it there, and that owner is the user or root.
    package static func isTrusted(linkOwner: UInt32, folderOwner: UInt32, folderMode: UInt32, user: UInt32) -> Bool {
        [user, 0].contains(linkOwner) || folderMode & 0o022 == 0 && [user, 0].contains(folderOwner)
    }

    /// Opens the folder at `path`; throws an error with `foreignLink` where a link on the way may not be followed.
    static func open(_ path: RawName, _ flags: Int32) throws(SystemError) -> Descriptor {
        if let room = Confinement.room { return try room.openFolder(path, flags) }
        return try openOutside(path, flags)
    }

    /// Does the same wherever the path leads, also out of the room that this process is in.
    static func openOutside(_ path: RawName, _ flags: Int32) throws(SystemError) -> Descriptor {
        do throws(SystemError) {
            // Nearly no path has a link in it: one call proves that, and opens the folder.
            return Descriptor(
                owning: try Syscall.check("open") { unsafe tr_open_without_links(path.characters, flags | folderFlags) }
            )
        } catch {
            // The two others come from old kernels and from sandboxes that do not know the call.
            guard [ELOOP, ENOSYS, EPERM].contains(error.errno) else { throw error }
        }
        return try walk(path).open(.this, flags | folderFlags)
    }

    private static let folderFlags = O_DIRECTORY | O_CLOEXEC

    /// Opens the folder at `path`; where it is missing, makes it and missing folders above it. A folder that another
    /// process made meanwhile is accepted.
    static func openOrMake(
        _ path: RawName, _ flags: Int32, mode: mode_t, isNew: inout Bool
    ) throws(SystemError) -> Descriptor {
        do throws(SystemError) {
            return try open(path, flags)
        } catch {
            guard error.errno == ENOENT else { throw error }
        }
        isNew = true
        return try make(path, flags, mode: mode)
    }

    private static func make(_ path: RawName, _ flags: Int32, mode: mode_t) throws(SystemError) -> Descriptor {
        let missing = SystemError(call: "mkdir", errno: ENOENT)
        let trimmed = RawName(bytes: Array(path.bytes.reversed().drop { $0 == slash }.reversed()))
        guard !trimmed.bytes.isEmpty else { throw missing }
        let (above, name) = Folders.split(trimmed)
        var isNew = false
        let parent = try openOrMake(above, tr_O_PATH, mode: mode, isNew: &isNew)
        do throws(SystemError) {
            try parent.makeFolder(name, mode: mode)
        } catch {
            guard error.errno == EEXIST else { throw error }
        }
        do throws(SystemError) {
            return try parent.open(name, flags | folderFlags | O_NOFOLLOW)
        } catch {
            // A link that leads nowhere has the name.
            throw [ENOTDIR, ELOOP].contains(error.errno) ? missing : error
        }
    }

    private static let slash = UInt8(ascii: "/")

    /// Returns the folder at `path`, opened name by name.
    private static func walk(_ path: RawName) throws(SystemError) -> Descriptor {
        var rest = parts(of: path)
        var folder = try start(of: path)
        var links = 0
        while let name = rest.popLast() {
            do throws(SystemError) {
                folder = try folder.open(name, tr_O_PATH | folderFlags | O_NOFOLLOW)
                continue
            } catch {
                guard [ENOTDIR, ELOOP].contains(error.errno) else { throw error }
            }
            // A link of the kernel's own, such as `/proc/self/fd/3`, leads to what is open, whatever its text says.
            if FilesystemKind.of(folder) == .proc {
                folder = try folder.open(name, tr_O_PATH | folderFlags)
                continue
            }
            links += 1
            guard links <= mostLinks else { throw SystemError(call: "open", errno: ELOOP) }
            let target = try target(of: name, in: folder)
            guard !target.bytes.isEmpty else { throw SystemError(call: "open", errno: ENOTDIR) }
            if target.bytes.first == slash { folder = try start(of: target) }
            rest += parts(of: target)
        }
        return folder
    }

    /// The names in a path, the last one first.
    private static func parts(of path: RawName) -> [RawName] {
        path.bytes.split(separator: slash).map { RawName(bytes: $0) }.filter { $0 != .this }.reversed()
    }

    private static func start(of path: RawName) throws(SystemError) -> Descriptor {
        try Descriptor.openOutside(path.bytes.first == slash ? RawName("/") : .this, tr_O_PATH | O_DIRECTORY)
    }

    /// Returns the text of the link `name`, if it may be followed; throws ENOTDIR where that is no link.
    static func target(of name: RawName, in folder: borrowing Descriptor) throws(SystemError) -> RawName {
        // Everything is asked of this open link, even if another takes its place meanwhile.
        let link = try folder.open(name, tr_O_PATH | O_NOFOLLOW)
        let (facts, home) = (try link.facts(), try folder.facts())
        guard facts.isLink else { throw SystemError(call: "open", errno: ENOTDIR) }
        guard
            isTrusted(linkOwner: facts.owner, folderOwner: home.owner, folderMode: home.mode, user: geteuid())
        else {
            let path = (try? folder.path().appending(name)) ?? name
            throw SystemError(call: "open", errno: EPERM, foreignLink: path.description)
        }
        return try link.linkTarget(of: RawName(""))
    }
}

/// Finds links of strangers on the way to files that are only looked at. The folder looked at last is remembered, so that
/// its other files cost no call.
package struct TrustedFolders: Sendable {
    private var last: [UInt8] = []

    package init() {}

    /// Returns the link of another user on the way to the folder of `path`, if there is one.
    package mutating func foreignLink(above path: String) -> String? {
        guard let slash = path.utf8.lastIndex(of: UInt8(ascii: "/")), !path.utf8[..<slash].elementsEqual(last) else {
            return nil
        }
        do throws(SystemError) {
            _ = try Descriptor.openPlace(RawName(bytes: path.utf8[...slash]))
        } catch {
            if let link = error.foreignLink { return link }
        }
        last = Array(path.utf8[..<slash])
        return nil
    }
}

extension Descriptor {
    /// Opens a folder for listing and syncing. No link of a stranger on its path is followed, see `TrustedPath`.
    package static func openFolder(_ path: RawName) throws(SystemError) -> Descriptor {
        try TrustedPath.open(path, O_RDONLY)
    }

    /// Opens a folder for listing and syncing. No link of a stranger on its path is followed.
    package static func openFolder(_ path: String) throws(SystemError) -> Descriptor { try openFolder(RawName(path)) }

    /// Opens a folder only for naming its entries (`O_PATH`), which needs no right to list it. No link of a stranger on
    /// its path is followed.
    package static func openPlace(_ path: RawName) throws(SystemError) -> Descriptor {
        try TrustedPath.open(path, tr_O_PATH)
    }

    /// Opens a folder only for naming its entries. No link of a stranger on its path is followed.
    package static func openPlace(_ path: String) throws(SystemError) -> Descriptor { try openPlace(RawName(path)) }

    /// Opens a folder for listing and syncing; where it is missing, makes it and missing folders above it, and sets
    /// `isNew`. No link of a stranger on its path is followed.
    package static func makeFolder(
        _ path: String, mode: mode_t = 0o777, isNew: inout Bool
    ) throws(SystemError) -> Descriptor {
        try TrustedPath.openOrMake(RawName(path), O_RDONLY, mode: mode, isNew: &isNew)
    }

    /// Opens a folder as the function above does.
    package static func makeFolder(_ path: String, mode: mode_t = 0o777) throws(SystemError) -> Descriptor {
        var isNew = false
        return try makeFolder(path, mode: mode, isNew: &isNew)
    }

    /// Opens `name` below this folder.
    borrowing func open(_ name: RawName, _ flags: Int32) throws(SystemError) -> Descriptor {
        let raw = raw
        return Descriptor(
            owning: try Syscall.check("open") { unsafe openat(raw, name.characters, flags | O_CLOEXEC) })
    }
}
