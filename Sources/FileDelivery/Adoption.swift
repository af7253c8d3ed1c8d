import Digests
import Glibc
import SystemIO
import TransferModel

/// Reads the partial file that an earlier run left of a download: this run continues it only if it is byte for byte
/// what was noted. It is read a slice at a time, so that other files do not wait for it.
///
/// Several beginnings may have been noted. A power cut takes what was written last: then the longest that still has its
/// sum is continued, and the file is read once more up to there, for its digests.
final class Adoption {
    let id: StagingID
    let task: TaskIndex
    private let order: DeliveryOrder.Adoption
    private let part: PartFile
    /// The noted beginnings that the file may still have, the shortest first; the last one is hoped for.
    private var beginnings: [PartFile.Beginning]
    /// How many of them were reached.
    private var reached = 0
    /// The longest that has its sum.
    private var proven: PartFile.Beginning?
    /// The number of its bytes that are kept.
    private var keeping: Int64
    private let staging: Staging
    private var offset: Int64 = 0
    /// The sum of all bytes that were read; another object than `kept` where not all of them are kept.
    private var noted: QuickSum
    private var kept: QuickSum

    private static let slice: Int64 = 4 << 20
    private static let piece = 256 << 10

    /// Why the partial file cannot be used; the reason is for people.
    struct Problem: Error {
        let reason: String
        /// Whether the file may be removed.
        let isOurs: Bool
    }

    /// `folder` is where the partial file is: opened from the order's placement.
    init(_ order: DeliveryOrder.Adoption, in folder: FolderCache.Folder) throws(Problem) {
        let part = order.part
        guard part.name.hasPrefix(TemporaryNames.prefix), !part.name.utf8.contains(UInt8(ascii: "/")),
            order.keeping >= 0, order.keeping <= part.size
        else { throw Problem(reason: "what was noted of the half-done file makes no sense", isOurs: false) }
        (id, task) = (order.id, order.task)
        (self.order, self.part) = (order, part)
        let file = try Self.open(part, in: folder)
        beginnings = part.beginnings(upTo: (try? file.facts().size) ?? 0)
        guard let hoped = beginnings.last else {
            throw Problem(reason: "the half-done file \(part.name) is shorter than it was", isOurs: true)
        }
        keeping = min(order.keeping, hoped.size)
        noted = QuickSum()
        kept = keeping == hoped.size ? noted : QuickSum()
        staging = Staging(adopting: file, in: folder, part, size: keeping, self.kept)
        staging.hash(order.placement.algorithms, isPacked: false)
    }

    private static func open(_ part: PartFile, in folder: FolderCache.Folder) throws(Problem) -> Descriptor {
        guard let facts = try? folder.descriptor.facts(of: part.name) else {
            throw Problem(reason: "the half-done file \(part.name) is gone", isOurs: false)
        }
        guard facts.isRegular, facts.owner == geteuid() else {
            throw Problem(reason: "the half-done file \(part.name) is no file of ours", isOurs: false)
        }
        do throws(SystemError) {
            let file = try folder.descriptor.open(part.name, O_RDWR | O_NOFOLLOW | O_NONBLOCK)
            if try file.tryLock(), try file.facts().isSameFile(as: facts) { return file }
        } catch {
            throw Problem(
                reason: "the half-done file \(part.name) cannot be opened: \(error.reason)", isOurs: false)
        }
        throw Problem(reason: "another run is writing the half-done file \(part.name)", isOurs: false)
    }

    /// Reads the next slice. Returns the body's staging once a beginning was read that is as it was noted.
    func proceed() throws(Problem) -> Staging? {
        do throws(SystemError) {
            try readSlice()
        } catch {
            throw Problem(reason: "reading the half-done file \(part.name) failed: \(error.reason)", isOurs: true)
        }
        guard reached == beginnings.count else { return nil }
        guard let proven else {
            throw Problem(reason: "the half-done file \(part.name) was changed", isOurs: true)
        }
        guard proven == beginnings.last else {
            readAgain(upTo: proven)
            return nil
        }
        do throws(SystemError) {
            if let ranges = try scattered() {
                staging.adopt(beyond: ranges)
            } else {
                try staging.file.cut(at: keeping)
            }
        } catch {
            throw Problem(reason: "cutting the half-done file \(part.name) failed: \(error.reason)", isOurs: true)
        }
        return staging
    }

    /// Begins to read anew, up to a beginning that has its sum.
    private func readAgain(upTo beginning: PartFile.Beginning) {
        beginnings.removeAll { $0.size > beginning.size }
        (reached, offset, proven) = (0, 0, nil)
        keeping = min(order.keeping, beginning.size)
        noted = QuickSum()
        kept = keeping == beginning.size ? noted : QuickSum()
        staging.restart(size: keeping, kept)
        staging.hash(order.placement.algorithms, isPacked: false)
    }

    /// What was written beyond the beginning, if it counts: the file is the very one, and as long as it was.
    private func scattered() throws(SystemError) -> [Range<Int64>]? {
        guard let scattered = part.scattered, keeping == part.size else { return nil }
        let (facts, identity) = try staging.file.identified()
        return scattered.holds(beyond: keeping, identity: identity, size: facts.size) ? scattered.ranges : nil
    }

    /// Reads up to 4 MiB, or to the end of a beginning. A file that became shorter fails by its sum.
    private func readSlice() throws(SystemError) {
        let end = min(beginnings[reached].size, offset + Self.slice)
        var buffer = [UInt8](repeating: 0, count: Self.piece)
        while offset < end {
            let count = min(try LocalFiles.readPiece(staging.file, &buffer, offset), Int(end - offset))
            guard count > 0 else { return reached = beginnings.count }
            buffer.withUnsafeBytes { updateSums(UnsafeRawBufferPointer(rebasing: $0[..<count])) }
            offset += Int64(count)
        }
        guard offset == beginnings[reached].size else { return }
        if noted.soFar == beginnings[reached].sum { proven = beginnings[reached] }
        reached += 1
    }

    private func updateSums(_ bytes: UnsafeRawBufferPointer) {
        noted.update(bytes)
        let counting = UnsafeRawBufferPointer(
            rebasing: bytes[..<Int(min(Int64(bytes.count), max(0, keeping - offset)))])
        if kept !== noted { kept.update(counting) }
        staging.update(counting)
    }

    /// Gives up without touching the file, so that a later run can use it.
    func letGo() { staging.leave() }

    func remove() { staging.remove() }
}

extension PartFile {
    /// The noted beginnings that a file of that size may still have, the shortest first.
    func beginnings(upTo size: Int64) -> [Beginning] {
        var end: Int64 = 0
        return (earlier + [Beginning(size: self.size, sum: sum)]).filter { beginning in
            defer { end = max(end, beginning.size) }
            return beginning.size > end && beginning.size <= min(size, self.size)
        }
    }
}

extension PartFile.Scattered {
    /// Whether the ranges are in a file of that identity and size, beyond its beginning.
    func holds(beyond beginning: Int64, identity: Int64, size: Int64) -> Bool {
        guard identity == self.identity, let first = ranges.first, let last = ranges.last else { return false }
        return first.lowerBound > beginning && last.upperBound <= size
    }
}
