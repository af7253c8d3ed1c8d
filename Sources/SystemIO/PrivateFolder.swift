import Glibc

/// Why a folder or file that only its user may write could not be had.
package struct PrivacyProblem: Error, Hashable, Sendable, CustomStringConvertible {
    /// What is wrong with it.
    package enum Kind: Hashable, Sendable {
        case belongsToAnother
        case othersMayWrite
        /// The folder in which the folder of sockets is, or would be, is not the user's alone.
        case sharedRuntime
        /// Something other than the expected folder or regular file has the path.
        case wrongKind
        case system(SystemError)
    }
    /// What is wrong.
    package let kind: Kind
    /// The folder or file.
    package let path: String

    package init(kind: Kind, path: String) {
        self.kind = kind
        self.path = path
    }

    /// The middle of a sentence: which path, and what is wrong with it.
    package var description: String {
        switch kind {
        case .belongsToAnother: "\(path) belongs to another user"
        case .othersMayWrite: "\(path) can be written by others: `chmod go-w` it"
        case .sharedRuntime:
            "\(path) belongs to another user or can be written by others, and is no place for sockets: let "
                + "XDG_RUNTIME_DIR name a folder of your own, or leave it out"
        case .wrongKind: "\(path) is something else than was expected there"
        case .system(let error): "\(path): \(error.reason)"
        }
    }

    /// Whether nothing exists at the path.
    package var isMissing: Bool {
        if case .system(let error) = kind { error.errno == ENOENT } else { false }
    }
}

/// Makes and opens folders (0700) and files (0600) that no other user can write. What is checked is what is used, since
/// both go by the open descriptor.
package enum PrivateFolder {
    /// Opens the folder after making it and missing folders above it.
    package static func make(_ path: String) throws(PrivacyProblem) -> Descriptor {
        let folder: Descriptor
        do throws(SystemError) {
            folder = try Descriptor.makeFolder(path, mode: 0o700)
        } catch {
            throw problem(error, path)
        }
        try check(folder, path) { $0.isFolder }
        return folder
    }

    /// Opens an existing folder.
    package static func open(_ path: String) throws(PrivacyProblem) -> Descriptor {
        let folder: Descriptor
        do throws(SystemError) { folder = try Descriptor.openFolder(path) } catch { throw problem(error, path) }
        try check(folder, path) { $0.isFolder }
        return folder
    }

    /// Opens the folder of sockets after making it. The folder above must be the user's alone too, as the standard of
    /// `XDG_RUNTIME_DIR` demands: others could otherwise put a folder of theirs in the place of this one.
    package static func makeForSockets(_ path: String) throws(PrivacyProblem) -> Descriptor {
        try checkRuntime(path)
        return try make(path)
    }

    /// Opens the existing folder of sockets.
    package static func openForSockets(_ path: String) throws(PrivacyProblem) -> Descriptor {
        try checkRuntime(path)
        return try open(path)
    }

    private static func checkRuntime(_ path: String) throws(PrivacyProblem) {
        let above = Folders.split(path).folder
        do throws(PrivacyProblem) {
            _ = try open(above)
        } catch {
            switch error.kind {
            case .belongsToAnother, .othersMayWrite: throw PrivacyProblem(kind: .sharedRuntime, path: above)
            default: if !error.isMissing { throw error }
            }
        }
    }

    /// Opens or makes a file of the folder at `path`, without following a link.
    package static func file(
        _ name: String, in folder: borrowing Descriptor, at path: String
    ) throws(PrivacyProblem) -> Descriptor {
        let full = "\(path)/\(name)"
        let file: Descriptor
        do throws(SystemError) {
            file = try folder.open(name, O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK, mode: 0o600)
        } catch {
            throw error.errno == ELOOP ? PrivacyProblem(kind: .wrongKind, path: full) : problem(error, full)
        }
        try check(file, full) { $0.isRegular }
        return file
    }

    /// Makes a file of the folder at `path` if it is missing, and returns whether it did. An existing file is checked
    /// and made unreadable for others, but never opened: SQLite's locks belong to the process, and closing any
    /// descriptor of the file would drop them.
    package static func makeFile(
        _ name: String, in folder: borrowing Descriptor, at path: String
    ) throws(PrivacyProblem) -> Bool {
        do throws(SystemError) {
            _ = try folder.open(name, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW, mode: 0o600)
            return true
        } catch {
            guard error.errno == EEXIST else { throw problem(error, "\(path)/\(name)") }
        }
        let facts = try look(at: name, in: folder, at: path)
        if facts.mode & 0o077 != 0 {
            try attempt("\(path)/\(name)") { () throws(SystemError) in try folder.setMode(of: name, 0o600) }
        }
        return false
    }

    /// Checks that a file of the folder at `path` is regular and only this user may write it. It is not opened, and a
    /// link not followed.
    @discardableResult
    package static func look(
        at name: String, in folder: borrowing Descriptor, at path: String
    ) throws(PrivacyProblem) -> FileFacts {
        let full = "\(path)/\(name)"
        let facts: FileFacts
        do throws(SystemError) { facts = try folder.facts(of: name) } catch { throw problem(error, full) }
        try check(facts, full) { $0.isRegular }
        return facts
    }

    /// Throws unless the file is of the right kind, this user's own, and not writable for others.
    private static func check(
        _ file: borrowing Descriptor, _ path: String, _ isRightKind: (FileFacts) -> Bool
    ) throws(PrivacyProblem) {
        let facts: FileFacts
        do throws(SystemError) { facts = try file.facts() } catch { throw problem(error, path) }
        try check(facts, path, isRightKind)
    }

    private static func check(
        _ facts: FileFacts, _ path: String, _ isRightKind: (FileFacts) -> Bool
    ) throws(PrivacyProblem) {
        guard isRightKind(facts) else { throw PrivacyProblem(kind: .wrongKind, path: path) }
        guard facts.owner == geteuid() else { throw PrivacyProblem(kind: .belongsToAnother, path: path) }
        guard facts.mode & 0o022 == 0 else { throw PrivacyProblem(kind: .othersMayWrite, path: path) }
    }

    private static func attempt(
        _ path: String, _ body: () throws(SystemError) -> Void
    ) throws(PrivacyProblem) {
        do throws(SystemError) { try body() } catch { throw problem(error, path) }
    }

    private static func problem(_ error: SystemError, _ path: String) -> PrivacyProblem {
        PrivacyProblem(kind: error.errno == ENOTDIR ? .wrongKind : .system(error), path: path)
    }

    /// Returns the folders that `make` would have to make, the folder itself first.
    package static func missing(_ path: String) -> [String] {
        var missing: [String] = []
        var path = path
        while path.utf8.count > 1, unsafe access(path, F_OK) != 0 {
            missing.append(path)
            path = Folders.split(path).folder
        }
        return missing
    }

    /// Removes empty folders in this order; folders with entries, or of other users, stay.
    package static func removeIfEmpty(_ paths: [String]) {
        for path in paths { unsafe rmdir(path) }
    }
}
