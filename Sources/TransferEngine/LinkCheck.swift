import Glibc

/// Whether a name stands for a symlink.
enum LinkCheck {
    static func isLink(_ path: String) -> Bool {
        var facts = stat()
        return lstat(path, &facts) == 0 && facts.st_mode & S_IFMT == S_IFLNK
    }
}
