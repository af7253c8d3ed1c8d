import Digests
import Glibc
import SystemIO

/// The keys that encrypt the journal's inputs: one per run, in a file of its own beside the journal.
///
/// A key is on the disk before its run can be in the journal, and is erased when the run's end was delivered: then no
/// page and no copy of the journal can be decrypted any more. A key without a run was left by a process that died in
/// between. Making and sweeping keys happens under the journal's write lock (a transaction), so that the key of a run
/// that is just being accepted is never swept.
extension StoreFiles {
    private static let keyInfix = ".key-"
    private func keyFile(_ run: String) -> String { "\(name)\(Self.keyInfix)\(run)" }

    func makeKey(of run: String) throws(StoreError) -> SealingKey {
        let key = SealingKey.random()
        do throws(SystemError) {
            let file = try folder.open(keyFile(run), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, mode: 0o600)
            try file.writeAll(key.bytes)
            try file.sync()
            try folder.sync()
        } catch {
            eraseKey(of: run)
            throw StoreError(
                StoreError.kind(of: error), "cannot keep the key \(path)/\(keyFile(run)): \(error.reason)")
        }
        return key
    }

    func key(of run: String) throws(StoreError) -> SealingKey {
        let file = keyFile(run)
        do throws(PrivacyProblem) {
            try PrivateFolder.look(at: file, in: folder, at: path)
        } catch {
            throw error.isMissing
                ? StoreError(.sealedForEver, "the key \(path)/\(file) is not there")
                : StoreError(error, "the key", isFile: true)
        }
        let opened: Descriptor
        do throws(SystemError) {
            opened = try folder.open(file, O_RDONLY | O_NOFOLLOW)
        } catch {
            // The file exists: a lack of resources may pass.
            throw StoreError(
                StoreError.kind(of: error), "the key \(path)/\(file) cannot be opened: \(error.reason)")
        }
        var bytes: [UInt8] = []
        do throws(WholeFile.Problem) {
            bytes = try WholeFile.read(opened, limit: SealingKey.byteCount)
        } catch {
            // A longer file is no key of this program: `bytes` stays empty, which is refused below.
            if case .system(let error) = error {
                throw StoreError(.other, "the key \(path)/\(file) cannot be read: \(error.reason)")
            }
        }
        guard let key = SealingKey(bytes) else {
            throw StoreError(.sealedForEver, "the key \(path)/\(file) is not as it was written")
        }
        return key
    }

    /// Overwrites the key, then deletes its file. What fails now is done by the next sweep.
    func eraseKey(of run: String) {
        let file = keyFile(run)
        if let open = try? folder.open(file, O_WRONLY | O_NOFOLLOW) {
            try? open.writeAll([UInt8](repeating: 0, count: SealingKey.byteCount))
            try? open.sync()
        }
        guard (try? folder.unlink(file)) != nil else { return }
        try? folder.sync()
    }

    /// Names of the runs that have a key.
    func keys() -> [String] {
        let start = keyFile("")
        return ((try? folder.names()) ?? []).map(\.description).filter { $0.hasPrefix(start) }
            .map { String($0.dropFirst(start.count)) }
    }
}
