import Digests
import Glibc
import SystemIO
import TransferModel

/// Compares one file after the other with what is written of it. Belongs to one thread.
final class FileReader {
    private let record: VerifiedFiles?
    private var digests: [DigestAlgorithm: StreamingDigest] = [:]
    private let buffer: UnsafeMutableRawBufferPointer

    private static let piece = 1 << 20

    init(record: VerifiedFiles?) {
        self.record = record
        buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: Self.piece, alignment: 4096)
    }

    deinit { buffer.deallocate() }

    func outcome(of file: ExpectedFile) -> FileOutcome {
        do throws(SystemError) {
            return try compare(file)
        } catch {
            if error.errno == ENOENT || error.errno == ENOTDIR { return .differs(Difference(.missing, file), read: 0) }
            return .differs(Difference(.unreadable, file, reason: error.reason), read: 0)
        }
    }

    private func compare(_ file: ExpectedFile) throws(SystemError) -> FileOutcome {
        let opened = try Self.open(file.path)
        let facts = try opened.facts()
        guard facts.isRegular else {
            let what = facts.isFolder ? "it is a folder" : "it is no regular file"
            return .differs(Difference(.unreadable, file, reason: what), read: 0)
        }
        if let bytes = file.bytes, facts.size != bytes {
            return .differs(Difference(facts.size < bytes ? .short : .long, file, bytes: facts.size), read: 0)
        }
        guard let checksum = file.checksum else { return .sizeIsRight }
        let token = record.map { _ in VerifiedFiles.Token(facts, checksum) }
        if let token, record?.contains(token) == true { return .remembered }
        let (found, read) = try digest(of: opened, checksum.algorithm, file)
        guard let found else {
            return .differs(
                Difference(.unreadable, file, reason: "OpenSSL offers no \(checksum.algorithm.rawValue) here"), read: 0)
        }
        guard found == checksum else {
            return .differs(Difference(.wrong, file, bytes: read, checksum: found), read: read)
        }
        if let token { record?.add(token) }
        return .right(read: read)
    }

    /// Opens the file without waiting for a pipe's other end.
    private static func open(_ path: RawName) throws(SystemError) -> SystemIO.Descriptor {
        let characters = path.bytes.map { CChar(bitPattern: $0) } + [0]
        while true {
            let raw = Glibc.open(characters, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC)
            if raw >= 0 { return SystemIO.Descriptor(owning: raw) }
            if errno != EINTR { throw SystemError(call: "open", errno: errno) }
        }
    }

    /// Returns the digest of the content and how long that is; no digest where libcrypto lacks the algorithm.
    private func digest(
        of file: borrowing SystemIO.Descriptor, _ algorithm: DigestAlgorithm, _ expected: ExpectedFile
    ) throws(SystemError) -> (Checksum?, Int64) {
        guard let digest = digests[algorithm] ?? (try? StreamingDigest(algorithm)) else { return (nil, 0) }
        if digests.updateValue(digest, forKey: algorithm) != nil { digest.restart() }
        var offset: Int64 = 0
        _ = posix_fadvise(file.raw, 0, 0, POSIX_FADV_SEQUENTIAL)
        while true {
            let count = try file.read(into: buffer, at: offset)
            if count == 0 { break }
            digest.update(UnsafeRawBufferPointer(rebasing: buffer[..<count]))
            offset += Int64(count)
        }
        return (digest.finish(), offset)
    }
}
