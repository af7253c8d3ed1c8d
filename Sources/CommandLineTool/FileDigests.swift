import Digests
import Glibc
import SystemIO
import TransferModel

/// Digests of files, read piece by piece.
enum FileDigests {
    private static let piece = 1 << 20

    /// Returns the SHA-256 of a file, its size, and whether it has `checksum`, in one reading; `nil` where it cannot be
    /// read or is no regular file.
    static func of(
        _ path: String, also checksum: Checksum? = nil
    ) -> (sha256: Checksum, size: Int64, meets: Bool)? {
        guard let file = try? Descriptor.open(path, O_RDONLY | O_NONBLOCK), let facts = try? file.facts(),
            facts.isRegular,
            let digest = try? StreamingDigest(.sha256)
        else { return nil }
        var other: StreamingDigest?
        if let checksum, checksum.algorithm != .sha256 {
            guard let made = try? StreamingDigest(checksum.algorithm) else { return nil }
            other = made
        }
        var buffer = [UInt8](repeating: 0, count: piece)
        var size: Int64 = 0
        while true {
            let count: Int
            do throws(SystemError) { count = try read(file, &buffer, size) } catch { return nil }
            if count == 0 { break }
            buffer.withUnsafeBytes { bytes in
                digest.update(UnsafeRawBufferPointer(rebasing: bytes[..<count]))
                other?.update(UnsafeRawBufferPointer(rebasing: bytes[..<count]))
            }
            size += Int64(count)
        }
        let sha256 = digest.finish()
        let meets = checksum.map { $0 == (other?.finish() ?? sha256) } ?? true
        return (sha256, size, meets)
    }

    private static func read(
        _ file: borrowing Descriptor, _ buffer: inout [UInt8], _ offset: Int64
    ) throws(SystemError) -> Int {
        var failure: SystemError?
        let count = buffer.withUnsafeMutableBytes { bytes in
            do throws(SystemError) { return try file.read(into: bytes, at: offset) } catch {
                failure = error
                return 0
            }
        }
        if let failure { throw failure }
        return count
    }
}
