import Digests
import Glibc
import SystemIO
import TransferModel

/// Reads local files, for `file:` URLs and for the policy `existing`.
enum LocalFiles {
    struct OpenFile: ~Copyable {
        let descriptor: Descriptor
        let facts: FileFacts
    }

    private static let pieceSize = 1 << 20

    static func open(_ path: String) throws(TransferError) -> OpenFile {
        // Without O_NONBLOCK, opening a pipe would wait for a writer.
        try open(path) { () throws(SystemError) in try Descriptor.openOfJob(path, O_RDONLY | O_NONBLOCK) }
    }

    /// Opens a regular file with `opening`; `path` is its name in errors.
    static func open(
        _ path: String, _ opening: () throws(SystemError) -> Descriptor
    ) throws(TransferError) -> OpenFile {
        do throws(SystemError) {
            let file = try opening()
            let facts = try file.facts()
            if facts.isFolder { throw SystemError(call: "open", errno: EISDIR) }
            guard facts.isRegular else { throw SystemError(call: "open", errno: ENOTSUP) }
            return OpenFile(descriptor: file, facts: facts)
        } catch {
            throw openError(error, path)
        }
    }

    private static func openError(_ error: SystemError, _ path: String) -> TransferError {
        switch error.errno {
        case ENOENT, ENOTDIR: TransferError(.fileDoesNotExist, "\(path) does not exist", errno: error.errno)
        case EISDIR: TransferError(.fileIsDirectory, "\(path) is a folder", errno: error.errno)
        case EACCES, EPERM: TransferError(.noPermissionsToReadFile, "\(path) may not be read", errno: error.errno)
        case ENOTSUP: TransferError(.cannotOpenFile, "\(path) is no regular file", errno: error.errno)
        default: TransferError(.cannotOpenFile, "opening \(path) failed: \(error.reason)", errno: error.errno)
        }
    }

    /// Reads a range of a file into the system's cache. Failures are ignored: they show when the file is read for
    /// sending.
    static func fetch(_ path: String, _ range: Range<Int64>) {
        guard let file = try? open(path) else { return }
        var buffer = [UInt8](repeating: 0, count: Int(min(range.upperBound - range.lowerBound, 128 << 10)))
        var offset = range.lowerBound
        while offset < range.upperBound, let count = try? readPiece(file.descriptor, &buffer, offset), count > 0 {
            offset += Int64(count)
        }
    }

    /// Passes the file, or a range of it, to `piece`; a file that gets shorter meanwhile is an error. A size of 0 means
    /// nothing (`/proc` has such files): those are read to their end.
    static func read(
        _ file: borrowing OpenFile, _ path: String, _ range: Range<Int64>? = nil, maximum: Int64?,
        _ piece: (UnsafeRawBufferPointer) -> Void
    ) throws(TransferError) {
        let end = range?.upperBound ?? (file.facts.size == 0 ? Int64.max : file.facts.size)
        if file.facts.size > maximum ?? .max { throw tooLong(path, maximum) }
        var buffer = [UInt8](repeating: 0, count: file.facts.size == 0 ? 64 << 10 : Int(min(Int64(pieceSize), end)))
        var offset = range?.lowerBound ?? 0
        while offset < end {
            let count: Int
            do throws(SystemError) {
                count = try readPiece(file.descriptor, &buffer, offset)
            } catch {
                throw TransferError(.cannotOpenFile, "reading \(path) failed: \(error.reason)", errno: error.errno)
            }
            if count == 0, end == .max { return }
            guard count > 0 else {
                throw TransferError(.cannotOpenFile, "\(path) became shorter while it was read")
            }
            let usable = Int(min(Int64(count), end - offset))
            offset += Int64(usable)
            if offset > maximum ?? .max { throw tooLong(path, maximum) }
            buffer.withUnsafeBytes { piece(UnsafeRawBufferPointer(rebasing: $0[..<usable])) }
        }
    }

    static func digest(_ pieces: [DigestedPiece], _ algorithm: DigestAlgorithm) throws(TransferError) -> Checksum {
        let digest = try StreamingDigest(algorithm)
        for piece in pieces {
            switch piece {
            case .bytes(let bytes): bytes.withUnsafeBytes { digest.update($0) }
            case .file(let path, let range):
                try read(try open(path), path, range, maximum: nil) { digest.update($0) }
            }
        }
        return digest.finish()
    }

    private static func tooLong(_ path: String, _ maximum: Int64?) -> TransferError {
        TransferError(.dataLengthExceedsMaximum, "\(path) is longer than `maximumSize`, \(maximum ?? 0) bytes")
    }

    /// Reads as many bytes from `offset` on as there are and fit; returns 0 at the end.
    static func readPiece(
        _ file: borrowing Descriptor, _ buffer: inout [UInt8], _ offset: Int64
    ) throws(SystemError) -> Int {
        var failure: SystemError?
        let count = buffer.withUnsafeMutableBytes { bytes in
            do throws(SystemError) {
                return try file.read(into: bytes, at: offset)
            } catch {
                failure = error
                return 0
            }
        }
        if let failure { throw failure }
        return count
    }

    /// Returns the size of the file at `path`, and whether it has the checksum. Anything that no file can replace is an
    /// error.
    static func inspect(
        _ path: String, _ checksum: Checksum?, exceptSince: WallTime? = nil
    ) throws(TransferError) -> (size: Int64?, matches: Bool?) {
        let facts: FileFacts
        do throws(SystemError) {
            facts = try FileFacts.of(path)
        } catch {
            // A broken link counts as existing; it has no bytes that could have the checksum.
            let (folder, name) = Folders.split(path)
            let leadsNowhere = [ENOENT, ELOOP, ENOTDIR, ENAMETOOLONG].contains(error.errno)
            if leadsNowhere, let link = try? Descriptor.openFolder(folder).facts(of: name), link.isLink {
                guard checksum != nil else { throw .leadsNowhere(path) }
                return (link.size, false)
            }
            // Nothing exists, or nothing that may be seen: publishing will tell which.
            return (nil, nil)
        }
        guard facts.isRegular else {
            let kind = facts.isFolder ? "a folder" : "a device, pipe or socket"
            throw TransferError(.cannotMoveFile, "\(path) is \(kind)", errno: facts.isFolder ? EISDIR : ENOTSUP)
        }
        if facts.mayHaveBeenPut(since: exceptSince) { return (nil, nil) }
        guard let checksum else { return (facts.size, nil) }
        return (facts.size, meets(path, checksum))
    }

    /// Sets the mode of a file, if it is another one.
    static func setMode(_ path: String, _ mode: UInt16) throws(TransferError) {
        do throws(SystemError) {
            let (folder, name) = Folders.split(path)
            let place = try Descriptor.openPlace(folder)
            guard try place.facts(of: name, followingLinks: true).permissions != mode_t(mode) else { return }
            try place.setMode(of: name, mode_t(mode))
        } catch {
            throw TransferError(
                .cannotWriteToFile, "setting the mode of \(path) failed: \(error.reason)", errno: error.errno)
        }
    }

    static func hasMode(_ path: String, _ mode: UInt16?) -> Bool {
        guard let mode, let facts = try? FileFacts.of(path) else { return true }
        return facts.permissions == mode_t(mode)
    }

    /// Returns the stamp by which the file at `path` can be recognized; `nil` if it is no file.
    static func stamp(_ path: String) -> FileStamp? {
        guard let found = try? FileFacts.identified(path), found.facts.isRegular else { return nil }
        return FileStamp(found)
    }

    /// Returns whether the first `size` bytes of two files are the same.
    static func haveSameBytes(_ one: borrowing Descriptor, _ other: borrowing Descriptor, _ size: Int64) -> Bool {
        var left = [UInt8](repeating: 0, count: 256 << 10)
        var right = left
        var offset: Int64 = 0
        while offset < size {
            let count = left.withUnsafeMutableBytes { (try? one.read(into: $0, at: offset)) ?? 0 }
            let another = right.withUnsafeMutableBytes { (try? other.read(into: $0, at: offset)) ?? 0 }
            guard count > 0, count == another, Memory.areSame(left, right, first: count) else { return false }
            offset += Int64(count)
        }
        return true
    }

    private static func meets(_ path: String, _ checksum: Checksum) -> Bool {
        (try? digest([.file(path: path)], checksum.algorithm)) == checksum
    }
}

extension FileFacts {
    /// Whether the file may have got its name at that time or later.
    func mayHaveBeenPut(since time: WallTime?) -> Bool {
        // The clock by which the system dates files advances in steps of up to 10 ms.
        time.map { changedNanoseconds >= $0.nanoseconds - TimeSpan.milliseconds(10).nanoseconds } ?? false
    }
}

extension TransferError {
    /// The error for a broken link: neither an existing file nor a free path.
    static func leadsNowhere(_ path: String) -> TransferError {
        TransferError(.destinationExists, "\(path) is a link that leads nowhere", errno: ENOENT)
    }
}

extension FileStamp {
    init(_ found: (facts: FileFacts, identity: Int64)) {
        self.init(
            size: found.facts.size, modifiedNanoseconds: found.facts.modifiedNanoseconds, identity: found.identity)
    }
}
