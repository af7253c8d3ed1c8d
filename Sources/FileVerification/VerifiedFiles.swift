import Digests
import Glibc
import Synchronization
package import SystemIO
import TransferModel

/// Records the files that a verification found right, so that a verification that was killed goes on where it was: 16
/// bytes for each file, appended several times a second. The record is removed at the end of the verification.
package final class VerifiedFiles: Sendable {
    /// Identifies a file in one state and the digest that it had: changing its content changes its time of change.
    struct Token: Hashable, Comparable {
        let high: UInt64
        let low: UInt64

        init(high: UInt64, low: UInt64) {
            self.high = high
            self.low = low
        }

        init(_ facts: FileFacts, _ checksum: Checksum) {
            var text = "\(facts.device) \(facts.inode) \(facts.size) \(facts.modifiedNanoseconds) "
            text += "\(facts.changedNanoseconds) \(checksum)"
            let digest = Checksum.mark(of: Array(text.utf8)).bytes
            high = Self.number(digest[0..<8])
            low = Self.number(digest[8..<16])
        }

        static func number(_ bytes: ArraySlice<UInt8>) -> UInt64 { bytes.reduce(0) { $0 << 8 | UInt64($1) } }

        static func < (left: Token, right: Token) -> Bool { (left.high, left.low) < (right.high, right.low) }

        func append(to bytes: inout [UInt8]) {
            for part in [high, low] {
                for shift in stride(from: UInt64(56), through: 0, by: -8) {
                    bytes.append(UInt8(truncatingIfNeeded: part >> shift))
                }
            }
        }
    }

    private struct Pending {
        var bytes: [UInt8] = []
        var flushedAt = Clocks.instant()
    }

    private static let heading = Array("transfer-run/v1\n".utf8)
    private static let pause: Int64 = 200_000_000

    private let path: String
    private let file: SystemIO.Descriptor
    /// Files that an earlier verification had found right, in order.
    private let known: [Token]
    private let pending = Mutex(Pending())

    /// Opens the record at a path, or makes one. A file that is not a whole record is begun anew.
    package init(path: String) throws(SystemError) {
        self.path = path
        let (folder, name) = Folders.split(path)
        file = try SystemIO.Descriptor.openPlace(folder)
            .open(name, O_RDWR | O_CREAT | O_APPEND | O_NOFOLLOW, mode: 0o600)
        let bytes = (try? WholeFile.read(path, limit: 1 << 30)) ?? []
        if bytes.starts(with: Self.heading), bytes.count % 16 == 0 {
            known = Self.tokens(bytes)
        } else {
            known = []
            try file.cut(at: 0)
            try file.writeAll(Self.heading)
        }
    }

    private static func tokens(_ bytes: [UInt8]) -> [Token] {
        stride(from: heading.count, to: bytes.count, by: 16).map { at in
            Token(high: Token.number(bytes[at..<(at + 8)]), low: Token.number(bytes[(at + 8)..<(at + 16)]))
        }.sorted()
    }

    /// Number of files that an earlier verification had found right.
    package var count: Int { known.count }

    func contains(_ token: Token) -> Bool {
        var (low, high) = (0, known.count)
        while low < high {
            let middle = (low + high) / 2
            if known[middle] < token { low = middle + 1 } else { high = middle }
        }
        return low < known.count && known[low] == token
    }

    func add(_ token: Token) {
        pending.withLock { pending in
            token.append(to: &pending.bytes)
            if pending.bytes.count >= 64 << 10 { write(&pending) }
        }
    }

    /// Writes what was found since the last call, a few times a second at most.
    func flushIfDue() {
        pending.withLock { pending in
            let now = Clocks.instant()
            guard !pending.bytes.isEmpty, now.nanoseconds - pending.flushedAt.nanoseconds >= Self.pause else { return }
            pending.flushedAt = now
            write(&pending)
        }
    }

    /// Writes all that was found.
    package func flush() { pending.withLock { write(&$0) } }

    private func write(_ pending: inout Pending) {
        // A file that cannot be recorded is read again by the next verification.
        try? file.writeAll(pending.bytes)
        pending.bytes.removeAll(keepingCapacity: true)
    }

    /// Removes the record, after the last file.
    package func remove() { _ = unlink(path) }
}
