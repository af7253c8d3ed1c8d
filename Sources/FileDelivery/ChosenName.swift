import Digests
import Glibc
import SystemIO
package import TransferModel

/// A file's name that a server chose. It replaces no file but the one that the same task brought: a server could
/// otherwise replace a script that the user runs, or a key that the user trusts.
package struct ChosenName: Sendable {
    /// The file of that name that the task brought in an earlier run; `nil` where none is known.
    private let own: FileStamp?
    /// The checksum of that file's bytes, where it is known.
    private let checksum: Checksum?

    package init(own: FileStamp? = nil, checksum: Checksum? = nil) {
        self.own = own
        self.checksum = checksum
    }

    /// Whether the file `name` in `folder` is the one that the task brought: by its identity, also where it was damaged or
    /// changed in place. One that was copied since is known by its bytes.
    func isOwn(_ name: String, in folder: borrowing Descriptor) -> Bool {
        guard let own, let found = try? folder.identified(name), found.facts.isRegular else { return false }
        let stamp = FileStamp(found)
        if let identity = own.identity, identity == stamp.identity { return true }
        if own.looksLike(stamp), !stamp.isAnother(than: own) { return true }
        guard let checksum, own.size == stamp.size else { return false }
        return Self.digest(of: name, in: folder, checksum.algorithm) == checksum
    }

    private static func digest(
        of name: String, in folder: borrowing Descriptor, _ algorithm: DigestAlgorithm
    ) -> Checksum? {
        guard let digest = try? StreamingDigest(algorithm) else { return nil }
        let flags = O_RDONLY | O_NOFOLLOW | O_NONBLOCK
        guard let file = try? folder.open(name, flags), let facts = try? file.facts(), facts.isRegular else {
            return nil
        }
        let opened = LocalFiles.OpenFile(descriptor: file, facts: facts)
        guard (try? LocalFiles.read(opened, name, maximum: nil) { digest.update($0) }) != nil else { return nil }
        return digest.finish()
    }
}

extension TransferError {
    /// The error for a file that a server's name must not replace.
    static func nameTaken(_ path: String, _ why: String = "is there already, and this task did not bring it") -> Self {
        TransferError(.nameTaken, "the server named the file \(Folders.split(path).name), and \(path) \(why)")
    }
}
