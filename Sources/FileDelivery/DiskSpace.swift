import Glibc
import Synchronization
import SystemIO
import TransferModel

/// Keeps transfers from filling a filesystem: counts what announced bodies still have to write, and looks at what is
/// free before it is too late. For all threads that write; it sees what the others are just writing to within a piece.
///
/// A body that nobody announced and that keeps nothing free costs nothing here.
final class DiskSpace: Sendable {
    private let claims = Mutex(DiskClaims())

    /// So many bytes of one body go to disk between two looks, unless the filesystem is nearly full.
    static let interval: Int64 = 16 << 20
    /// A body shorter than this is worth no look.
    static let smallest: Int64 = 1 << 20

    /// Refuses a body for which there is no room beside those that were announced before.
    func announce(_ id: StagingID, _ folder: String, length: Int64, reserve: Int64) throws(TransferError) {
        try claims.withLock { claims throws(TransferError) in
            try claims.announce(id, folder, length: length, reserve: reserve)
        }
    }

    /// Before `count` bytes go to disk.
    func willWrite(_ id: StagingID, _ folder: String, _ count: Int, reserve: Int64) throws(TransferError) {
        try claims.withLock { claims throws(TransferError) in
            try claims.willWrite(id, folder, count, reserve: reserve)
        }
    }

    /// So many of the bytes that were about to go to disk did not.
    func didNotTake(_ id: StagingID, _ count: Int64) { claims.withLock { $0.didNotTake(id, count) } }

    /// The staging is over, however that came.
    func end(_ id: StagingID) { claims.withLock { $0.end(id) } }

    /// The two ways in which the system says that there is no room: for anybody, or for this user.
    static func isFull(_ error: SystemError) -> Bool { error.errno == ENOSPC || error.errno == EDQUOT }

    static func full(_ error: SystemError, _ folder: String) -> TransferError {
        let space = try? FreeSpace.at(folder)
        let free = space.map { "\($0.bytes) bytes are free" }
        if let space, let free, space.hasNoInodes, space.bytes > 0, error.errno == ENOSPC {
            return TransferError(
                .notEnoughDiskSpace,
                "the file system of \(folder) has room for no more files: all its inodes are used up, while \(free)",
                errno: error.errno)
        }
        return TransferError(
            .notEnoughDiskSpace,
            "the file system of \(folder) has no room: \(error.reason)\(free.map { "; \($0)" } ?? "")",
            errno: error.errno)
    }
}

private struct DiskClaims {
    /// An announced body.
    private struct Claim {
        let device: UInt64
        /// Not yet written.
        var left: Int64
    }
    /// A filesystem of which something must stay free.
    private struct Room {
        /// When it was looked at last.
        var free: Int64
        /// Since then, by us.
        var written: Int64 = 0
    }
    private var claims: [StagingID: Claim] = [:]
    /// The claims' sum, by filesystem. Each fitted when it was made, so that no sum can overflow.
    private var promised: [UInt64: Int64] = [:]
    /// What each staging with a reserve wrote since it was looked for it, and where.
    private var watched: [StagingID: (device: UInt64, written: Int64)] = [:]
    private var rooms: [UInt64: Room] = [:]

    mutating func announce(_ id: StagingID, _ folder: String, length: Int64, reserve: Int64) throws(TransferError) {
        end(id)
        let length = max(0, length)
        // All of it is there already.
        if length == 0, reserve <= 0 { return }
        let space = try look(folder)
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
        let space = try look(folder)
        try check(
            folder, space, promised: others(space.device, left), needed: max(count, left), reserve: reserve)
        watched[id] = (space.device, count)
        rooms[space.device] = Room(free: space.bytes, written: count)
    }

    /// What others were promised.
    private func others(_ device: UInt64, _ own: Int64) -> Int64 { (promised[device] ?? 0) - own }

    mutating func end(_ id: StagingID) {
        if !watched.isEmpty { watched[id] = nil }
        guard !claims.isEmpty, let claim = claims.removeValue(forKey: id) else { return }
        promised[claim.device, default: 0] -= claim.left
    }

    private func look(_ folder: String) throws(TransferError) -> FreeSpace {
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
        let claimed = promised > 0 ? ", of which \(promised) are promised to other transfers" : ""
        let kept = reserve > 0 ? ", and \(reserve) must stay free" : ""
        throw TransferError(
            .notEnoughDiskSpace,
            "the file system of \(folder) has \(space.bytes) bytes free\(claimed); \(needed) are needed\(kept)")
    }

    private func saturated(_ left: Int64, _ right: Int64) -> Int64 {
        let (sum, isOver) = left.addingReportingOverflow(right)
        return isOver ? .max : sum
    }
}
