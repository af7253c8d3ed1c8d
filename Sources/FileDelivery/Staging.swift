import Digests
import Glibc
import SystemIO
import TransferModel

/// A file that is being written beside its destination: without a name where the filesystem allows, so that a killed
/// process leaves nothing; under a temporary name elsewhere.
final class Staging {
    let file: Descriptor
    let folderPath: String
    /// `nil` while it has none.
    private(set) var temporaryName: String?
    private(set) var size: Int64 = 0
    private var digest: StreamingDigest?
    private var digestFailure: TransferError?
    /// The first write that failed; later ones are not tried.
    private(set) var failure: SystemError?

    init(in folder: FolderCache.Folder, path: String, mode: UInt16?, names: TemporaryNames) throws(SystemError) {
        folderPath = path
        let mode = mode_t(mode ?? 0o644)
        if !folder.lacksUnnamedFiles {
            do throws(SystemError) {
                file = try folder.descriptor.openUnnamed(mode: mode)
                return
            } catch {
                // EISDIR is what kernels without O_TMPFILE say.
                guard error.errno == EOPNOTSUPP || error.errno == EISDIR || error.errno == EINVAL else { throw error }
                folder.lacksUnnamedFiles = true
            }
        }
        let name = names.next()
        file = try folder.descriptor.open(name, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW, mode: mode)
        temporaryName = name
    }

    func append(_ piece: BodyPiece, hashing algorithm: DigestAlgorithm?) {
        if let algorithm, digest == nil, digestFailure == nil { startDigest(algorithm) }
        guard failure == nil, piece.count > 0 else { return }
        piece.withBytes { bytes in
            do throws(SystemError) {
                try file.writeAll(bytes)
                size += Int64(bytes.count)
                digest?.update(bytes)
            } catch {
                failure = error
            }
        }
    }

    private func startDigest(_ algorithm: DigestAlgorithm) {
        do throws(TransferError) { digest = try StreamingDigest(algorithm) } catch { digestFailure = error }
    }

    /// The digest of all that was appended; an algorithm that this OpenSSL refuses is an error, not a pass.
    func finishDigest() throws(TransferError) -> Checksum? {
        if let digestFailure { throw digestFailure }
        defer { digest = nil }
        return digest?.finish()
    }

    /// Makes sure it has a name in `folder` that is not its final one.
    func giveTemporaryName(_ folder: FolderCache.Folder, _ names: TemporaryNames) throws(SystemError) -> String {
        if let temporaryName { return temporaryName }
        let name = names.next()
        try file.link(into: folder.descriptor, as: name)
        temporaryName = name
        return name
    }

    /// The name is gone: it was renamed to the final one, or removed.
    func forgetTemporaryName() { temporaryName = nil }

    func remove(_ folder: FolderCache.Folder) {
        guard let name = temporaryName else { return }
        // Already gone is as good.
        try? folder.descriptor.unlink(name)
        temporaryName = nil
    }
}

/// `.transfer-run-<run>-<n>`: short whatever the final name is, and telling whose it is.
final class TemporaryNames {
    private let run: String
    private var count = 0
    init(run: String) { self.run = run }
    func next() -> String {
        count += 1
        return ".transfer-run-\(run)-\(count)"
    }
}
