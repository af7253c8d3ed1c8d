import Digests
import Glibc
import SystemIO
import TransferModel

/// Files of this machine as sources: what `file:` URLs and `existing` ask about.
enum LocalFiles {
    struct OpenFile: ~Copyable {
        let descriptor: Descriptor
        let facts: FileFacts
    }

    private static let pieceSize = 1 << 20

    static func open(_ path: String) throws(TransferError) -> OpenFile {
        do throws(SystemError) {
            // Without O_NONBLOCK the opening of a pipe waits for somebody to write into it.
            let file = try Descriptor.open(path, O_RDONLY | O_NONBLOCK)
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

    /// Hands over the file piece by piece; a file that gets shorter meanwhile is an error.
    static func read(
        _ file: borrowing Descriptor, _ path: String, size: Int64, _ piece: (UnsafeRawBufferPointer) -> Void
    ) throws(TransferError) {
        var buffer = [UInt8](repeating: 0, count: Int(min(Int64(pieceSize), max(size, 1))))
        var offset: Int64 = 0
        while offset < size {
            let count: Int
            do throws(SystemError) {
                count = try readPiece(file, &buffer, offset)
            } catch {
                throw TransferError(.cannotOpenFile, "reading \(path) failed: \(error.reason)", errno: error.errno)
            }
            guard count > 0 else {
                throw TransferError(.cannotOpenFile, "\(path) became shorter while it was read")
            }
            let usable = Int(min(Int64(count), size - offset))
            buffer.withUnsafeBytes { piece(UnsafeRawBufferPointer(rebasing: $0[..<usable])) }
            offset += Int64(usable)
        }
    }

    private static func readPiece(
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

    /// What stands at `path`: its size, and whether it has the checksum.
    static func inspect(_ path: String, _ checksum: Checksum?) -> (size: Int64?, matches: Bool?) {
        let file: OpenFile
        do throws(TransferError) {
            file = try open(path)
        } catch {
            return exists(path) ? (0, checksum.map { _ in false }) : (nil, nil)
        }
        let facts = file.facts
        guard let checksum else { return (facts.size, nil) }
        guard let digest = try? StreamingDigest(checksum.algorithm) else { return (facts.size, nil) }
        let isWhole = (try? read(file.descriptor, path, size: facts.size) { digest.update($0) }) != nil
        return (facts.size, isWhole && digest.finish() == checksum)
    }

    private static func exists(_ path: String) -> Bool { access(path, F_OK) == 0 }
}
