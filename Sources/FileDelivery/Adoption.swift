import Digests
import Glibc
import SystemIO
import TransferModel

/// Reads the partial file that an earlier run left of a download: this run continues it only if it is byte for byte
/// what was noted. It is read a slice at a time, so that other files do not wait for it.
final class Adoption {
    let id: StagingID
    let task: TaskIndex
    private let part: PartFile
    /// The number of its bytes that are kept.
    private let keeping: Int64
    private let staging: Staging
    private var offset: Int64 = 0
    /// The sum of all noted bytes; another object than `kept` where not all of them are kept.
    private let noted: QuickSum
    private let kept: QuickSum

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
        let (part, keeping) = (order.part, order.keeping)
        guard part.name.hasPrefix(TemporaryNames.prefix), !part.name.utf8.contains(UInt8(ascii: "/")),
            keeping >= 0, keeping <= part.size
        else { throw Problem(reason: "what was noted of the half-done file makes no sense", isOurs: false) }
        (id, task) = (order.id, order.task)
        (self.part, self.keeping) = (part, keeping)
        noted = QuickSum()
        kept = keeping == part.size ? noted : QuickSum()
        let file = try Self.open(part, in: folder)
        staging = Staging(adopting: file, in: folder, part.name, size: keeping, self.kept)
        staging.hash(order.placement.algorithms, isPacked: false)
    }

    private static func open(_ part: PartFile, in folder: FolderCache.Folder) throws(Problem) -> Descriptor {
        guard let facts = try? folder.descriptor.facts(of: part.name) else {
            throw Problem(reason: "the half-done file \(part.name) is gone", isOurs: false)
        }
        guard facts.isRegular, facts.owner == geteuid() else {
            throw Problem(reason: "the half-done file \(part.name) is no file of ours", isOurs: false)
        }
        guard facts.size >= part.size else {
            throw Problem(reason: "the half-done file \(part.name) is shorter than it was", isOurs: true)
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

    /// Reads the next slice. Returns the body's staging once everything was read and is as it was noted.
    func proceed() throws(Problem) -> Staging? {
        do throws(SystemError) {
            try readSlice()
        } catch {
            throw Problem(reason: "reading the half-done file \(part.name) failed: \(error.reason)", isOurs: true)
        }
        guard offset == part.size else { return nil }
        guard noted.soFar == part.sum else {
            throw Problem(reason: "the half-done file \(part.name) was changed", isOurs: true)
        }
        do throws(SystemError) {
            try staging.file.cut(at: keeping)
        } catch {
            throw Problem(reason: "cutting the half-done file \(part.name) failed: \(error.reason)", isOurs: true)
        }
        return staging
    }

    /// Reads up to 4 MiB. A file that is too short fails by its sum.
    private func readSlice() throws(SystemError) {
        let end = min(part.size, offset + Self.slice)
        var buffer = [UInt8](repeating: 0, count: Self.piece)
        while offset < end {
            let count = min(try LocalFiles.readPiece(staging.file, &buffer, offset), Int(end - offset))
            guard count > 0 else { return offset = part.size }
            buffer.withUnsafeBytes { updateSums(UnsafeRawBufferPointer(rebasing: $0[..<count])) }
            offset += Int64(count)
        }
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
