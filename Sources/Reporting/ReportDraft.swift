internal import Glibc
import SystemIO

/// The report as it grows: a file without a name in the report's folder, with room for what stands before the tasks. It
/// gets its name when it is whole, so that the end of a run need not copy what was written while it went on; of a run
/// that dies nothing is left.
final class ReportDraft {
    let path: String
    private let target: String
    private let folder: SystemIO.Descriptor
    private let file: SystemIO.Descriptor
    /// What stands before the tasks has so much room.
    private let room: Int64
    private var length: Int64
    /// The end of that, not written yet: tasks that ended out of order come one by one.
    private var unwritten: [UInt8] = []
    /// Up to there the disk was asked to take it.
    private var begunLength: Int64 = 0
    private(set) var hasFailed = false
    private(set) var hasName = false

    private static let writeSize = 64 << 10
    private static let writeOutSize: Int64 = 8 << 20

    /// `nil` where it cannot be made: the place is no file, or the file system has no files without a name.
    init?(_ path: String, room: Int) {
        guard let target = AtomicFile.replaceable(path) else { return nil }
        do throws(SystemError) {
            folder = try SystemIO.Descriptor.openFolder(Folders.split(target).folder)
            // 0644 less umask, as a file of that name would have.
            file = try folder.openUnnamed(mode: 0o644)
        } catch {
            return nil
        }
        self.path = path
        self.target = target
        self.room = Int64(room)
        length = Int64(room)
    }

    /// The bytes of the tasks.
    var count: Int { Int(length - room) }

    /// `false` when it takes no more, for good. What it took it can hand out, whether it could be written or not.
    func append(_ bytes: ArraySlice<UInt8>) -> Bool {
        guard !hasFailed, !hasName else { return false }
        unwritten += bytes
        length += Int64(bytes.count)
        if unwritten.count >= Self.writeSize { _ = writeRest() }
        return true
    }

    private func writeRest() -> Bool {
        guard write(unwritten[...], at: length - Int64(unwritten.count)) else { return false }
        unwritten.removeAll(keepingCapacity: true)
        if length - begunLength >= Self.writeOutSize {
            // With all of it before the disk at the end, one that is to be durable would wait for that.
            file.beginWriteOut(from: begunLength, count: length - begunLength)
            begunLength = length
        }
        return true
    }

    private func write(_ bytes: ArraySlice<UInt8>, at offset: Int64) -> Bool {
        do throws(SystemError) {
            try file.writeAll(bytes, at: offset)
            return true
        } catch {
            hasFailed = true
            return false
        }
    }

    func read(_ range: Range<Int>) throws(OutputProblem) -> [UInt8] {
        let written = count - unwritten.count
        let rest = unwritten[max(0, range.lowerBound - written)..<max(0, range.upperBound - written)]
        guard range.lowerBound < written else { return Array(rest) }
        let count = min(range.upperBound, written) - range.lowerBound
        return try file.readWhole(count, at: room + Int64(range.lowerBound)) + rest
    }

    /// Puts `head` before the tasks and `end` in the place of the last `replacing` bytes of them. `false` when there is not
    /// the room; then it is as it was.
    func close(_ head: [UInt8], _ end: [UInt8], replacing: Int) -> Bool {
        guard !hasFailed, !hasName, length > room, head.count <= room, head.last == UInt8(ascii: "\n") else {
            return false
        }
        let blanks = [UInt8](repeating: UInt8(ascii: " "), count: Int(room) - head.count)
        let whole = head.dropLast() + blanks + [UInt8(ascii: "\n")]
        return writeRest() && write(whole[...], at: 0) && write(end[...], at: length - Int64(replacing))
    }

    /// Gives it its name, in one step with the loss of what had that name.
    func publish(isDurable: Bool) throws(OutputProblem) {
        do throws(SystemError) {
            try prepare(isDurable: isDurable)
            // What has a name that is not its own is locked.
            _ = try? file.tryLock()
        } catch {
            throw problem(error)
        }
        let beside = try TemporaryReport.path(beside: target) { beside in
            do throws(SystemError) {
                try file.link(into: folder, as: Folders.split(beside).name)
                return .made
            } catch {
                return .failed(error.errno)
            }
        }
        do throws(SystemError) {
            try name(Folders.split(beside).name, isDurable: isDurable)
        } catch {
            throw problem(error)
        }
    }

    private func problem(_ error: SystemError) -> OutputProblem {
        OutputProblem("cannot write \(target): \(error.reason)", errno: error.errno)
    }

    private func prepare(isDurable: Bool) throws(SystemError) {
        // Somebody may have moved the folder away, or put a link where the report goes.
        guard AtomicFile.replaceable(path) == target,
            try FileFacts.of(Folders.split(target).folder).isSameFile(as: folder.facts())
        else { throw SystemError(call: "link", errno: ESTALE) }
        try file.confirmWrites()
        if isDurable { try file.sync() }
    }

    private func name(_ beside: String, isDurable: Bool) throws(SystemError) {
        do throws(SystemError) {
            try TemporaryReport.putInPlace(beside, as: Folders.split(target).name, in: folder)
        } catch {
            try? folder.unlink(beside)
            throw error
        }
        hasName = true
        if isDurable { try AtomicFile.flush(folder) }
    }
}

extension SystemIO.Descriptor {
    borrowing func readWhole(_ count: Int, at offset: Int64) throws(OutputProblem) -> [UInt8] {
        let bytes = [UInt8](unsafeUninitializedCapacity: count) { buffer, filled in
            while filled < count {
                let rest = UnsafeMutableRawBufferPointer(UnsafeMutableBufferPointer(rebasing: buffer[filled...]))
                let got = (try? read(into: rest, at: offset + Int64(filled))) ?? 0
                guard got > 0 else { return }
                filled += got
            }
        }
        guard bytes.count == count else { throw OutputProblem("cannot read what was put aside for the report") }
        return bytes
    }
}
