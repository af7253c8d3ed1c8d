import Glibc

/// What a name stands for, asked on the loop's thread: cheaper than to ask another.
enum LinkCheck {
    static func stands(_ path: String) -> Bool {
        var facts = stat()
        return lstat(path, &facts) == 0
    }

    static func isLink(_ path: String) -> Bool {
        var facts = stat()
        return lstat(path, &facts) == 0 && facts.st_mode & S_IFMT == S_IFLNK
    }
}
