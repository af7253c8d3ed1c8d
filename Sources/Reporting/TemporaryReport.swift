internal import Glibc
import SystemIO

/// The temporary names of reports, before they get their own: a few per report, so that a file left by a killed run is
/// in the way of the next one, which deletes it. A live run keeps its file locked.
enum TemporaryReport {
    enum Attempt {
        case made
        /// Another file has the name, or this one was deleted again.
        case taken
        case failed(Int32)
    }

    /// Numbers of runs that publish one report at the same moment; further ones use a random number.
    private static let usual: ClosedRange<UInt32> = 1...8

    /// The path beside `target` at which `make` made the file.
    static func path(beside target: String, _ make: (String) -> Attempt) throws(OutputProblem) -> String {
        let (folder, name) = Folders.split(target)
        for number in Array(usual) + [.random(in: 1_000_000 ... .max)] {
            // A long name is cut: with the addition it must still be a name that the file system takes.
            let beside = "\(folder == "/" ? "" : folder)/.\(name.prefix(60)).transfer-run-\(number).tmp"
            switch made(beside, make) {
            case .made: return beside
            case .taken: continue
            case .failed(let code):
                errno = code
                throw .system("write", target)
            }
        }
        errno = EEXIST
        throw .system("write", target)
    }

    private static func made(_ path: String, _ make: (String) -> Attempt) -> Attempt {
        let first = make(path)
        guard case .failed(EEXIST) = first else { return first }
        guard removeAbandoned(path) else { return .taken }
        let second = make(path)
        if case .failed(EEXIST) = second { return .taken }
        return second
    }

    /// Locks the file just made; `false` where another run took it for abandoned before.
    static func lock(_ file: Int32, _ path: String) -> Bool {
        // On a file system without locks no run deletes it either.
        if flock(file, LOCK_EX | LOCK_NB) != 0, errno == EWOULDBLOCK { return false }
        return isThere(file, path)
    }

    private static func removeAbandoned(_ path: String) -> Bool {
        let found = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC)
        guard found >= 0 else { return errno == ENOENT }
        defer { close(found) }
        guard flock(found, LOCK_EX | LOCK_NB) == 0, isThere(found, path) else { return false }
        return unlink(path) == 0
    }

    /// Whether the path still names this file, and it is a regular file of this user.
    private static func isThere(_ file: Int32, _ path: String) -> Bool {
        var own = stat()
        var named = stat()
        guard fstat(file, &own) == 0, lstat(path, &named) == 0 else { return false }
        return own.st_mode & S_IFMT == S_IFREG && own.st_uid == geteuid() && own.st_ino == named.st_ino
            && own.st_dev == named.st_dev
    }

    // MARK: At the end

    /// Renames `beside` of this folder to `name`, replacing the previous file in one step.
    ///
    /// Where that exists and the file system can, the two are exchanged: a rename over an existing file makes some file
    /// systems (ext4) write it to the disk first, and a short run would wait for that as for twenty transfers.
    static func putInPlace(
        _ beside: String, as name: String, in folder: borrowing SystemIO.Descriptor
    ) throws(SystemError) {
        let isExchanged = (try? folder.exchange(RawName(beside), with: folder, RawName(name))) != nil
        if isExchanged, try removeFormer(beside, name, in: folder) { return }
        try folder.rename(beside, to: name)
    }

    /// Deletes the previous file, which has the temporary name now. `false` where that fails, because a folder came
    /// under the name in this moment: then the exchange is undone.
    private static func removeFormer(
        _ beside: String, _ name: String, in folder: borrowing SystemIO.Descriptor
    ) throws(SystemError) -> Bool {
        do throws(SystemError) {
            try folder.unlink(beside)
        } catch {
            // Another run deleted it first: it looked like a file that a killed run had left.
            if error.errno == ENOENT { return true }
            try folder.exchange(RawName(beside), with: folder, RawName(name))
            return false
        }
        return true
    }
}
