import Digests
import Glibc
import SystemIO
import TransferModel

/// Carries out deliveries, one after the other, on one thread: writes, verifies, gives the final name.
final class Publisher {
    private let folders: FolderCache
    private let names: TemporaryNames
    private var stagings: [StagingID: Staging] = [:]

    init(run: String, lacksUnnamedFiles: Bool) {
        names = TemporaryNames(run: run)
        folders = FolderCache(lacksUnnamedFiles: lacksUnnamedFiles)
    }

    deinit {
        for staging in stagings.values { staging.remove() }
    }

    func beginBatch() { folders.beginBatch() }

    func append(_ id: StagingID, _ folder: String, _ algorithm: DigestAlgorithm?, _ bytes: BodyPiece) {
        if let staging = stagings[id] { return staging.append(bytes, hashing: algorithm) }
        guard openFailures[id] == nil else { return }
        do throws(SystemError) {
            let staging = try open(folder, mode: nil)
            staging.append(bytes, hashing: algorithm)
            stagings[id] = staging
        } catch {
            openFailures[id] = error
        }
    }

    /// Why a staging could not be opened, told when it is published.
    private var openFailures: [StagingID: SystemError] = [:]

    private func open(_ folder: String, mode: UInt16?) throws(SystemError) -> Staging {
        do throws(SystemError) {
            return try Staging(in: folders.folder(folder), mode: mode, names: names)
        } catch {
            guard error.errno == ENOENT || error.errno == ENOTDIR else { throw error }
        }
        // The folder went away after it was opened: make it again, once.
        folders.forget(folder)
        return try Staging(in: folders.folder(folder), mode: mode, names: names)
    }

    func discard(_ id: StagingID) {
        openFailures[id] = nil
        stagings.removeValue(forKey: id)?.remove()
    }

    /// Everything after the last byte. The old file stays untouched until the new one is whole and verified.
    func publish(
        _ id: StagingID, _ destination: Destination, rest: BodyPiece, lengthUnverified: Bool
    ) throws(TransferError) -> FileRecord {
        let (folderPath, name) = Folders.split(destination.path)
        if let failure = openFailures.removeValue(forKey: id) { throw creationError(failure, destination.path) }
        let staging = try staging(id, folderPath, destination)
        defer { stagings[id] = nil }
        staging.append(rest, hashing: destination.checksum?.algorithm)
        do throws(TransferError) {
            return try finish(staging, folderPath, name, destination, lengthUnverified)
        } catch {
            staging.remove()
            throw error
        }
    }

    private func staging(
        _ id: StagingID, _ folder: String, _ destination: Destination
    ) throws(TransferError) -> Staging {
        if let known = stagings[id] { return known }
        do throws(SystemError) {
            return try open(folder, mode: destination.mode)
        } catch {
            throw creationError(error, destination.path)
        }
    }

    private func finish(
        _ staging: Staging, _ folderPath: String, _ name: String, _ destination: Destination, _ lengthUnverified: Bool
    ) throws(TransferError) -> FileRecord {
        if let failure = staging.failure {
            throw TransferError(
                .cannotWriteToFile, "writing \(destination.path) failed: \(failure.reason)", errno: failure.errno)
        }
        let checksum = try staging.finishDigest()
        if let expected = destination.checksum, checksum != expected {
            throw TransferError(
                .checksumMismatch, "expected \(expected), the bytes are \(checksum?.description ?? "unknown")")
        }
        do throws(SystemError) {
            if let mode = destination.mode { try staging.file.setMode(mode_t(mode)) }
            if let time = destination.modificationTime {
                try staging.file.setModificationTime(nanoseconds: time.nanoseconds)
            }
            switch try placeAgain(staging, folderPath, name, destination) {
            case .placed(let changed):
                return FileRecord(
                    path: destination.path, bytes: staging.size, checksum: checksum, changed: changed,
                    lengthUnverified: lengthUnverified)
            case .kept(let bytes):
                staging.remove()
                return FileRecord(
                    path: destination.path, bytes: bytes, checksum: nil, changed: false, lengthUnverified: false)
            }
        } catch {
            throw movingError(error, destination.path)
        }
    }

    private enum Placing {
        /// Whether the destination's content is another than before.
        case placed(changed: Bool)
        /// `existing: skip`, and something came to stand there since it was looked at.
        case kept(bytes: Int64)
    }

    /// A folder that vanished since it was opened is made again: the bytes are still there.
    private func placeAgain(
        _ staging: Staging, _ folderPath: String, _ name: String, _ destination: Destination
    ) throws(SystemError) -> Placing {
        do throws(SystemError) {
            return try place(staging, in: folders.folder(folderPath), as: name, destination)
        } catch {
            guard error.errno == ENOENT else { throw error }
        }
        folders.forget(folderPath)
        return try place(staging, in: folders.folder(folderPath), as: name, destination)
    }

    private func place(
        _ staging: Staging, in folder: FolderCache.Folder, as name: String, _ destination: Destination
    ) throws(SystemError) -> Placing {
        do throws(SystemError) {
            try staging.name(in: folder, name)
            return .placed(changed: true)
        } catch {
            guard error.errno == EEXIST else { throw error }
        }
        let old = try folder.descriptor.facts(of: name)
        if old.isFolder { throw SystemError(call: "rename", errno: EISDIR) }
        guard old.isRegular || old.isLink else { throw SystemError(call: "rename", errno: ENOTSUP) }
        switch destination.existing {
        case .fail: throw SystemError(call: "link", errno: EEXIST)
        case .skip:
            let facts = try folder.descriptor.facts(of: name, followingLinks: true)
            return .kept(bytes: facts.size)
        case .revalidate, .replace: break
        }
        let isSame = old.isRegular && old.size == staging.size && sameContent(staging, folder, name)
        try staging.replace(in: folder, name, names)
        return .placed(changed: !isSame)
    }

    private func sameContent(_ staging: Staging, _ folder: FolderCache.Folder, _ name: String) -> Bool {
        guard let old = try? folder.descriptor.open(name, O_RDONLY | O_NOFOLLOW) else { return false }
        var left = [UInt8](repeating: 0, count: 256 << 10)
        var right = left
        var offset: Int64 = 0
        while offset < staging.size {
            let count = left.withUnsafeMutableBytes { (try? old.read(into: $0, at: offset)) ?? 0 }
            let other = right.withUnsafeMutableBytes { (try? staging.file.read(into: $0, at: offset)) ?? 0 }
            guard count > 0, count == other, left[..<count] == right[..<count] else { return false }
            offset += Int64(count)
        }
        return true
    }

    /// Flushes every filesystem that files in these folders lie on, each once.
    func flush(_ paths: Set<String>) throws(TransferError) {
        var flushed: Set<UInt64> = []
        for path in paths {
            do throws(SystemError) {
                let folder = try folders.folder(path)
                if flushed.insert(folder.device).inserted { try folder.descriptor.syncFilesystem() }
            } catch {
                throw TransferError(
                    .cannotWriteToFile, "flushing \(path) failed: \(error.reason)", errno: error.errno)
            }
        }
    }

    // MARK: Errors

    private func creationError(_ error: SystemError, _ path: String) -> TransferError {
        TransferError(.cannotCreateFile, "creating \(path) failed: \(error.reason)", errno: error.errno)
    }

    private func movingError(_ error: SystemError, _ path: String) -> TransferError {
        switch error.errno {
        case EEXIST: TransferError(.destinationExists, "\(path) is there already", errno: error.errno)
        case EISDIR: TransferError(.cannotMoveFile, "\(path) is a folder", errno: error.errno)
        case ENOTSUP: TransferError(.cannotMoveFile, "\(path) is a device, pipe or socket", errno: error.errno)
        default: TransferError(.cannotMoveFile, "naming \(path) failed: \(error.reason)", errno: error.errno)
        }
    }
}
