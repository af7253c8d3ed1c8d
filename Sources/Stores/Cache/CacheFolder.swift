import Digests
import Glibc
package import HTTPRules
import SystemIO
package import TransferModel

/// The folder of cached bodies that are too long for the store itself, each in a file named after its entry.
///
/// A file is whole before a row names it, and is deleted after its row: a crash in between leaves a file that no row
/// names, which `sweep` removes. A body is believed only with its digest, so nothing here is ever flushed.
package final class CacheFolder {
    private let folder: Descriptor
    /// Path of the folder.
    package let path: String

    /// Creates the folder when it is missing; refuses one that another user owns or may write to.
    package init(_ path: String) throws(StoreError) {
        self.path = path
        do throws(PrivacyProblem) {
            folder = try PrivateFolder.make(path)
        } catch {
            throw StoreError(error, "the cache folder")
        }
    }

    private static let ending = ".body"

    static func name(_ id: CacheEntryID) -> String {
        let digits = String(UInt64(bitPattern: id.raw), radix: 16)
        return String(repeating: "0", count: 16 - digits.utf8.count) + digits + ending
    }

    static func id(_ name: String) -> CacheEntryID? {
        guard name.utf8.count == 16 + ending.utf8.count, name.hasSuffix(ending),
            let raw = UInt64(name.prefix(16), radix: 16)
        else { return nil }
        return CacheEntryID(raw: Int64(bitPattern: raw))
    }

    /// Writes the body's file; `false` if that failed, and then no file is left.
    package func write(_ body: [UInt8], of id: CacheEntryID) -> Bool {
        let name = Self.name(id)
        do throws(SystemError) {
            let file = try folder.open(name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, mode: 0o600)
            do throws(SystemError) {
                try file.writeAll(body)
            } catch {
                try folder.unlink(name)
                throw error
            }
            return true
        } catch {
            return false
        }
    }

    /// Returns the body, or `nil` if its file is missing, is not a regular file of this cache, or does not match length
    /// and digest.
    package func read(_ id: CacheEntryID, length: Int64, digest: [UInt8]) -> [UInt8]? {
        guard let file = try? folder.open(Self.name(id), O_RDONLY | O_NOFOLLOW | O_NONBLOCK),
            let body = try? WholeFile.read(file, limit: Int(length)), body.count == Int(length),
            CacheBody.digest(body) == digest
        else { return nil }
        return body
    }

    /// Deletes the body's file; a missing file or a failure is ignored, and `sweep` tries again.
    package func remove(_ id: CacheEntryID) { try? folder.unlink(Self.name(id)) }

    /// Deletes the files that no entry names, except those younger than an hour, whose entry may be under way.
    package func sweep(now: WallTime, isNamed: (CacheEntryID) -> Bool) {
        for name in Folders.names(in: path) {
            guard let id = Self.id(name), let facts = try? folder.facts(of: name), facts.isRegular,
                facts.modifiedNanoseconds < now.nanoseconds - Self.youth.nanoseconds, !isNamed(id)
            else { continue }
            remove(id)
        }
    }

    private static let youth = TimeSpan.seconds(3_600)
}

/// Where a cached body is stored, and its digest.
enum CacheBody {
    /// Longest body in bytes that is stored in its row: one page fewer to find, and no file to open.
    static let longestInRow = 16 << 10

    /// Returns the body's SHA-256; empty where this machine's libcrypto has none: the body is then not cached.
    static func digest(_ body: [UInt8]) -> [UInt8] {
        do throws(TransferError) { return try Checksum.of(body, .sha256).bytes } catch { return [] }
    }
}
