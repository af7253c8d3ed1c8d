internal import Glibc
import SystemIO

/// The names under which reports lie for a moment before they get their own: a few for each, so that what a run left there
/// that was killed in this moment is in the next one's way, which takes it away. Whoever is alive has its file locked.
enum TemporaryReport {
    enum Attempt {
        case made
        /// Something stands there, or was taken away again.
        case taken
        case failed(Int32)
    }

    /// So many runs may put a report at one place in one moment; more take a number by chance.
    private static let usual: ClosedRange<UInt32> = 1...8

    /// The path beside `target` at which `make` made the file.
    static func path(beside target: String, _ make: (String) -> Attempt) throws(OutputProblem) -> String {
        let (folder, name) = Folders.split(target)
        for number in Array(usual) + [.random(in: 1_000_000 ... .max)] {
            // A long name is cut: with what is added it must stay a name the file system takes.
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

    /// Locks what was just made there; `false` where somebody took it for abandoned before.
    static func lock(_ file: Int32, _ path: String) -> Bool {
        // A file system without locks has nobody who takes it away either.
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

    /// Whether the name stands for this very file, one of this user's.
    private static func isThere(_ file: Int32, _ path: String) -> Bool {
        var own = stat()
        var named = stat()
        guard fstat(file, &own) == 0, lstat(path, &named) == 0 else { return false }
        return own.st_mode & S_IFMT == S_IFREG && own.st_uid == geteuid() && own.st_ino == named.st_ino
            && own.st_dev == named.st_dev
    }

    // MARK: At the end

    /// Gives `beside` of this folder the name `name`, in one step with the loss of what had that.
    ///
    /// By an exchange, where there is something and the file system can: a file that takes another's name by a renaming is
    /// first written to the disk by some (ext4), and a short run would wait for that as for twenty transfers.
    static func putInPlace(
        _ beside: String, as name: String, in folder: borrowing SystemIO.Descriptor
    ) throws(SystemError) {
        let isExchanged = (try? folder.exchange(RawName(beside), with: folder, RawName(name))) != nil
        if isExchanged, try removeFormer(beside, name, in: folder) { return }
        try folder.rename(beside, to: name)
    }

    /// What had the name before has the other now. `false` where it stays, a folder that came this moment: then all is as it
    /// was before.
    private static func removeFormer(
        _ beside: String, _ name: String, in folder: borrowing SystemIO.Descriptor
    ) throws(SystemError) -> Bool {
        do throws(SystemError) {
            try folder.unlink(beside)
        } catch {
            // Somebody was as fast: it looked like what a killed run had left.
            if error.errno == ENOENT { return true }
            try folder.exchange(RawName(beside), with: folder, RawName(name))
            return false
        }
        return true
    }
}
