internal import Glibc

/// The few file calls that keep a folder private. Every path is absolute.
enum PrivateFiles {
    /// Makes the folder (0700) and those above it, and refuses one that somebody else owns or may write to.
    static func prepareFolder(_ path: String) throws(StoreError) {
        try makeFolders(path)
        var information = stat()
        guard unsafe stat(path, &information) == 0 else { throw failure("cannot read the state folder", path) }
        guard information.st_mode & S_IFMT == S_IFDIR else {
            throw StoreError(.other, "the state folder \(path) is not a folder")
        }
        try refuseOthers(information, "the state folder", path)
    }

    private static func makeFolders(_ path: String) throws(StoreError) {
        var made = ""
        for part in path.split(separator: "/") {
            made += "/\(part)"
            guard unsafe mkdir(made, 0o700) == 0 || errno == EEXIST || errno == EROFS || errno == EACCES else {
                throw failure("cannot make the state folder", made)
            }
        }
    }

    /// Makes the file (0600) when it is missing; refuses what is no plain file of ours; takes others' right to read.
    ///
    /// An existing file is never opened here: closing any descriptor of it would drop the locks that SQLite holds
    /// on it in this process.
    static func prepareFile(_ path: String) throws(StoreError) {
        let descriptor = unsafe open(path, O_CREAT | O_EXCL | O_RDWR | O_CLOEXEC | O_NOFOLLOW, 0o600)
        if descriptor >= 0 {
            close(descriptor)
            flushFolder(of: path)
            return
        }
        var information = stat()
        guard errno == EEXIST, unsafe lstat(path, &information) == 0 else {
            throw failure("cannot make the store", path)
        }
        try refuseOthersFile(information, path)
        if information.st_mode & 0o077 != 0, unsafe chmod(path, 0o600) != 0 {
            throw failure("cannot make the store private", path)
        }
    }

    /// What is there already of the two must be ours alone; what is missing is no problem.
    static func checkPrivate(folder: String, file: String) throws(StoreError) {
        var information = stat()
        guard unsafe stat(folder, &information) == 0 else { return }
        try refuseOthers(information, "the state folder", folder)
        guard unsafe lstat(file, &information) == 0 else { return }
        try refuseOthersFile(information, file)
    }

    private static func refuseOthersFile(_ information: stat, _ path: String) throws(StoreError) {
        guard information.st_mode & S_IFMT == S_IFREG else {
            throw StoreError(.notPrivate, "the store \(path) is not a plain file")
        }
        try refuseOthers(information, "the store", path)
    }

    /// SQLite does this for files that it makes itself: what it later calls durable must have a name.
    private static func flushFolder(of path: String) {
        guard let slash = path.lastIndex(of: "/") else { return }
        let folder = unsafe open(String(path[..<slash]), O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard folder >= 0 else { return }
        fsync(folder)
        close(folder)
    }

    private static func refuseOthers(_ information: stat, _ what: String, _ path: String) throws(StoreError) {
        guard information.st_uid == geteuid() else {
            throw StoreError(.notPrivate, "\(what) \(path) belongs to another user")
        }
        guard information.st_mode & 0o022 == 0 else {
            throw StoreError(.notPrivate, "\(what) \(path) can be written by others: `chmod go-w` it")
        }
    }

    static func size(_ path: String) -> Int64? {
        var information = stat()
        return unsafe lstat(path, &information) == 0 ? Int64(information.st_size) : nil
    }

    static func isWritable(_ path: String) -> Bool { unsafe access(path, W_OK) == 0 }

    static func exists(_ path: String) -> Bool { size(path) != nil }

    static func move(_ path: String, to other: String) throws(StoreError) {
        guard unsafe rename(path, other) == 0 else { throw failure("cannot put aside", path) }
    }

    static func touch(_ path: String) {
        let descriptor = unsafe open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0o600)
        if descriptor >= 0 { close(descriptor) }
    }

    static func remove(_ path: String) { unsafe unlink(path) }

    private static func failure(_ what: String, _ path: String) -> StoreError {
        let code = errno
        let words = unsafe String(cString: strerror(code))
        return StoreError(code == ENOSPC || code == EDQUOT ? .diskFull : .other, "\(what) \(path): \(words)")
    }
}

/// A lock between processes; the system gives it up when the process dies.
struct FolderLock {
    private let descriptor: Int32

    init(_ path: String, patience milliseconds: Int) throws(StoreError) {
        let descriptor = unsafe open(path, O_CREAT | O_RDWR | O_CLOEXEC | O_NOFOLLOW, 0o600)
        guard descriptor >= 0 else {
            throw StoreError(.other, "cannot open \(path): \(unsafe String(cString: strerror(errno)))")
        }
        var waited = 0
        while flock(descriptor, LOCK_EX | LOCK_NB) != 0 {
            guard errno == EWOULDBLOCK || errno == EINTR, waited < milliseconds else {
                close(descriptor)
                throw StoreError(.busy, "another process has held \(path) for \(milliseconds / 1000) seconds")
            }
            usleep(5000)
            waited += 5
        }
        self.descriptor = descriptor
    }

    func release() { close(descriptor) }
}
