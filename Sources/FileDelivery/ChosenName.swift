import Digests
import Glibc
import SystemIO
package import TransferModel

/// A file's name that a server chose. It replaces no file but the one that the same task brought: a server could
/// otherwise choose the name of a script that somebody runs, or of a file that somebody trusts.
package struct ChosenName: Sendable {
    /// The file of that name that the task brought in an earlier run; `nil` where none is known.
    private let own: FileStamp?
    /// The sum of that file's bytes, where it was made.
    private let sum: Int64?

    package init(own: FileStamp? = nil, sum: Int64? = nil) {
        self.own = own
        self.sum = sum
    }

    /// Whether the file `name` in `folder` is the one that the task brought. A file that was copied or touched since is
    /// known by its bytes.
    func isOwn(_ name: String, in folder: borrowing Descriptor) -> Bool {
        guard let own, let found = try? folder.identified(name), found.facts.isRegular else { return false }
        let stamp = FileStamp(found)
        if own.looksLike(stamp), !stamp.isAnother(than: own) { return true }
        guard let sum, own.size == stamp.size else { return false }
        return Self.sum(of: name, in: folder) == sum
    }

    private static func sum(of name: String, in folder: borrowing Descriptor) -> Int64? {
        let sum = QuickSum()
        let flags = O_RDONLY | O_NOFOLLOW | O_NONBLOCK
        guard let file = try? folder.open(name, flags), let facts = try? file.facts(), facts.isRegular else {
            return nil
        }
        let opened = LocalFiles.OpenFile(descriptor: file, facts: facts)
        guard (try? LocalFiles.read(opened, name, maximum: nil) { sum.update($0) }) != nil else { return nil }
        return sum.shortSoFar
    }
}

extension TransferError {
    /// The error for a file that a server's name must not replace.
    static func nameTaken(_ path: String, _ why: String = "is there already, and this task did not bring it") -> Self {
        TransferError(.nameTaken, "the server named the file \(Folders.split(path).name), and \(path) \(why)")
    }
}
