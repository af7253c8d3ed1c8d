internal import CLinuxShims
package import Glibc

/// The place of a file that is to be written: its open folder and its name there. Links were followed, those of
/// strangers were not, see `TrustedPath`. Whatever is done by folder and name happens there, whatever becomes of the
/// path meanwhile.
package struct WrittenPlace: ~Copyable, Sendable {
    /// What has the name now.
    package enum Kind: Hashable, Sendable {
        case nothing, file, folder
        /// A file, pipe or terminal that this process was given open, as `/dev/stdout` and `/dev/fd/3` name one.
        case given
        /// A device such as `/dev/null`, which only root can make.
        case device
        /// A pipe, socket or disk.
        case other
    }
    /// Why a path leads to no such place.
    package enum Problem: Error, Hashable, Sendable {
        case noName
        /// The link belongs to another user.
        case foreign(link: String)
        /// The folder does not exist or cannot be opened.
        case noFolder(String, SystemError)
        case unreadable(SystemError)
        case tooManyLinks
        /// The path of the link's target is not UTF-8.
        case noText

        /// The problem as a failed call.
        package var asError: SystemError {
            switch self {
            case .noName: SystemError(call: "open", errno: EISDIR)
            case .foreign(let link): SystemError(call: "open", errno: EPERM, foreignLink: link)
            case .noFolder(_, let error), .unreadable(let error): error
            case .tooManyLinks: SystemError(call: "open", errno: ELOOP)
            case .noText: SystemError(call: "open", errno: EILSEQ)
            }
        }
    }
    /// The folder, open for naming its entries only.
    package let folder: Descriptor
    /// The name in the folder.
    package let name: String
    /// What has the name.
    package let kind: Kind

    /// Returns where the file at `path` is to be written; with `makingFolders` missing folders above it are made. The
    /// folder of a link's target must exist.
    package static func find(_ path: String, makingFolders: Bool = false) throws(Problem) -> WrittenPlace {
        var (path, makes) = (RawName(path), makingFolders)
        for _ in 0...TrustedPath.mostLinks {
            let (above, last) = Folders.split(path)
            guard let name = last.text else { throw .noText }
            guard !name.isEmpty else { throw .noName }
            let folder = try open(above, makes)
            guard let kind = try kind(of: last, in: folder) else {
                makes = false
                let target = try target(of: last, in: folder)
                let isAbsolute = target.bytes.first == UInt8(ascii: "/")
                path = isAbsolute ? target : ((try? folder.path()) ?? above).appending(target)
                continue
            }
            return WrittenPlace(folder: folder, name: name, kind: kind)
        }
        throw .tooManyLinks
    }

    private static func open(_ path: RawName, _ makes: Bool) throws(Problem) -> Descriptor {
        do throws(SystemError) {
            var isNew = false
            guard makes else { return try Descriptor.openPlace(path) }
            return try TrustedPath.openOrMake(path, tr_O_PATH, mode: 0o777, isNew: &isNew)
        } catch {
            if let link = error.foreignLink { throw .foreign(link: link) }
            if error.errno == ELOOP { throw .tooManyLinks }
            throw .noFolder(path.description, error)
        }
    }

    /// Returns what has the name; `nil` for a link that is to be followed.
    private static func kind(of name: RawName, in folder: borrowing Descriptor) throws(Problem) -> Kind? {
        let facts: FileFacts
        do throws(SystemError) {
            facts = try folder.facts(of: name)
        } catch {
            guard error.errno == ENOENT else { throw .unreadable(error) }
            return .nothing
        }
        if facts.isRegular { return .file }
        if facts.isFolder { return .folder }
        if facts.isCharacterDevice { return .device }
        guard facts.isLink else { return .other }
        // A link of the kernel's own leads to an open file, whatever its text says.
        return FilesystemKind.of(folder) == .proc ? .given : nil
    }

    private static func target(of name: RawName, in folder: borrowing Descriptor) throws(Problem) -> RawName {
        do throws(SystemError) {
            return try TrustedPath.target(of: name, in: folder)
        } catch {
            if let link = error.foreignLink { throw .foreign(link: link) }
            throw .unreadable(error)
        }
    }

    /// The path without links; throws where it is not UTF-8 text.
    package borrowing func path() throws(Problem) -> String {
        guard let home = try? folder.path(), let text = home.appending(RawName(name)).text else { throw .noText }
        return text
    }

    /// Whether every user may write in the folder, so that others see and read what is made there.
    package borrowing func isOpenToAll() -> Bool { (try? folder.facts().mode & 0o002 != 0) ?? true }

    /// Opens what has the name for writing, or makes the file. A pipe is opened only where this process was given it: at
    /// any other one the program would wait for a reader that may never come.
    package borrowing func open(_ flags: Int32, mode: mode_t = 0) throws(SystemError) -> Descriptor {
        if kind == .given, let own = try ownDescriptor() { return own }
        let safe = kind == .given ? O_APPEND : O_NOFOLLOW
        let file = try folder.open(name, O_WRONLY | O_NONBLOCK | O_NOCTTY | safe | flags, mode: mode)
        let facts = try file.facts()
        // Another one than was looked at may have the name by now.
        guard kind == .given || facts.isRegular || facts.isCharacterDevice else {
            throw SystemError(call: "open", errno: ENOTSUP)
        }
        try file.waitForRoom()
        return file
    }

    /// Returns another descriptor of what this process has open under the number that the name is, with the same position:
    /// opened anew, a file would be written from its beginning.
    private borrowing func ownDescriptor() throws(SystemError) -> Descriptor? {
        guard let number = Int32(name), (try? folder.path()) == RawName("/proc/\(getpid())/fd") else { return nil }
        return Descriptor(owning: try Syscall.check("dup") { fcntl(number, F_DUPFD_CLOEXEC, 0) })
    }

    /// Whether this process may write what has the name.
    package borrowing func mayBeWritten() -> Bool { folder.mayWrite(name) }
}

extension Descriptor {
    /// Lets calls wait until there is room.
    fileprivate borrowing func waitForRoom() throws(SystemError) {
        let raw = raw
        try Syscall.check("fcntl") { fcntl(raw, F_SETFL, fcntl(raw, F_GETFL, 0) & ~O_NONBLOCK) }
    }
}
