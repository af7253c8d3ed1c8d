import Glibc
import Synchronization
import SystemIO
import TransferModel

/// Keeps transfers from filling a filesystem: counts the bytes that announced bodies still have to write, and looks at
/// the free room before it is too late. Shared by all writing threads; it knows what the others write to within a
/// piece.
///
/// A body that is not announced and keeps no reserve costs nothing here.
final class DiskSpace: Sendable {
    private let claims = Mutex(DiskClaims())

    /// Bytes that one body writes between two looks, unless the filesystem is nearly full.
    static let interval: Int64 = 16 << 20
    /// Length in bytes from which a body is checked.
    static let smallest: Int64 = 1 << 20

    /// Announces a body; throws if there is no room for it beside those announced before.
    func announce(_ id: StagingID, _ folder: String, length: Int64, reserve: Int64) throws(TransferError) {
        try claims.withLock { claims throws(TransferError) in
            try claims.announce(id, folder, length: length, reserve: reserve)
        }
    }

    /// Accounts for `count` bytes that are about to be written; throws if they would take the reserve.
    func willWrite(_ id: StagingID, _ folder: String, _ count: Int, reserve: Int64) throws(TransferError) {
        try claims.withLock { claims throws(TransferError) in
            try claims.willWrite(id, folder, count, reserve: reserve)
        }
    }

    /// Takes back `count` bytes that were accounted for and not written.
    func didNotTake(_ id: StagingID, _ count: Int64) { claims.withLock { $0.didNotTake(id, count) } }

    /// Ends the accounting of a staging, whatever its outcome.
    func end(_ id: StagingID) { claims.withLock { $0.end(id) } }

    /// Whether the error says that there is no room: in the filesystem, or in this user's quota.
    static func isFull(_ error: SystemError) -> Bool { error.errno == ENOSPC || error.errno == EDQUOT }

    static func full(_ error: SystemError, _ folder: String) -> TransferError {
        let space = try? FreeSpace.at(folder)
        let free = space.map { "\(SizeText.of($0.bytes)) free" }
        if let space, let free, space.hasNoInodes, space.bytes > 0, error.errno == ENOSPC {
            return TransferError(
                .notEnoughDiskSpace,
                "the file system of \(folder) has room for no more files: all its inodes are used up (\(free))",
                errno: error.errno)
        }
        return TransferError(
            .notEnoughDiskSpace,
            "the file system of \(folder) is full: \(error.reason)\(free.map { " (\($0))" } ?? "")",
            errno: error.errno)
    }
}

private struct DiskClaims {
    /// The claim of an announced body.
    private struct Claim {
        let device: UInt64
        /// Bytes not yet written.
        var left: Int64
    }
    /// A filesystem with a reserve that must stay free.
    private struct Room {
        /// Free bytes at the last look.
        var free: Int64
        /// Bytes that this run has written since then.
        var written: Int64 = 0
    }
    private var claims: [StagingID: Claim] = [:]
    /// The sum of the claims by filesystem. Each claim fitted when it was made, so that no sum can overflow.
    private var promised: [UInt64: Int64] = [:]
    /// For each staging with a reserve: its filesystem, and the bytes written since the last look.
    private var watched: [StagingID: (device: UInt64, written: Int64)] = [:]
    private var rooms: [UInt64: Room] = [:]

    mutating func announce(_ id: StagingID, _ folder: String, length: Int64, reserve: Int64) throws(TransferError) {
        end(id)
        let length = max(0, length)
        // The whole body is there already.
        if length == 0, reserve <= 0 { return }
        let space = try freeSpace(at: folder)
        let promised = promised[space.device] ?? 0
        try check(folder, space, promised: promised, needed: length, reserve: reserve)
        claims[id] = Claim(device: space.device, left: length)
        self.promised[space.device] = promised + length
    }

    mutating func willWrite(_ id: StagingID, _ folder: String, _ count: Int, reserve: Int64) throws(TransferError) {
        guard reserve > 0 || !claims.isEmpty else { return }
        let count = Int64(count)
        let left = claims[id]?.left ?? 0
        if reserve > 0 { try keepFree(id, folder, count, left: left, reserve) }
        guard let device = claims[id]?.device else { return }
        let used = min(left, count)
        claims[id]?.left -= used
        promised[device, default: 0] -= used
    }

    mutating func didNotTake(_ id: StagingID, _ count: Int64) {
        guard let device = claims[id]?.device else { return }
        claims[id]?.left += count
        promised[device, default: 0] += count
    }

    private mutating func keepFree(
        _ id: StagingID, _ folder: String, _ count: Int64, left: Int64, _ reserve: Int64
    ) throws(TransferError) {
        if let watch = watched[id], watch.written + count <= DiskSpace.interval, let room = rooms[watch.device],
            room.free - room.written - others(watch.device, left) >= saturated(reserve, count)
        {
            watched[id]?.written += count
            rooms[watch.device]?.written += count
            return
        }
        let space = try freeSpace(at: folder)
        try check(
            folder, space, promised: others(space.device, left), needed: max(count, left), reserve: reserve)
        watched[id] = (space.device, count)
        rooms[space.device] = Room(free: space.bytes, written: count)
    }

    /// Returns the bytes promised to other bodies.
    private func others(_ device: UInt64, _ own: Int64) -> Int64 { (promised[device] ?? 0) - own }

    mutating func end(_ id: StagingID) {
        if !watched.isEmpty { watched[id] = nil }
        guard !claims.isEmpty, let claim = claims.removeValue(forKey: id) else { return }
        promised[claim.device, default: 0] -= claim.left
    }

    private func freeSpace(at folder: String) throws(TransferError) -> FreeSpace {
        do throws(SystemError) {
            return try FreeSpace.at(folder)
        } catch {
            throw TransferError(
                .cannotCreateFile, "asking how much is free at \(folder) failed: \(error.reason)", errno: error.errno)
        }
    }

    private func check(
        _ folder: String, _ space: FreeSpace, promised: Int64, needed: Int64, reserve: Int64
    ) throws(TransferError) {
        guard space.bytes - promised < saturated(needed, max(0, reserve)) else { return }
        let (free, wanted) = SizeText.distinct(space.bytes, needed)
        let claimed = promised > 0 ? " (\(SizeText.of(promised)) of it promised to other transfers)" : ""
        let kept = reserve > 0 ? ", and \(SizeText.of(reserve)) must stay free" : ""
        throw TransferError(
            .notEnoughDiskSpace,
            "the file system of \(folder) has too little room: \(free) free\(claimed), \(wanted) needed\(kept)")
    }

    private func saturated(_ left: Int64, _ right: Int64) -> Int64 {
        let (sum, isOver) = left.addingReportingOverflow(right)
        return isOver ? .max : sum
    }
}
