internal import Glibc
import SystemIO

/// The report as it grows: a file without a name in the report's folder, with room reserved for the part before the
/// tasks. It gets its name when it is whole, so that the end of a run need not copy the tasks written before; a run
/// that dies leaves no file.
final class ReportDraft {
    let path: String
    private let target: OutputPlace
    private let file: SystemIO.Descriptor
    /// Bytes reserved for the part before the tasks.
    private let room: Int64
    private var length: Int64
    /// The last bytes, not written yet: tasks that ended out of order come one by one.
    private var unwritten: [UInt8] = []
    /// Length up to which write-out to the disk was started.
    private var begunLength: Int64 = 0
    private(set) var hasFailed = false
    private(set) var hasName = false

    private static let writeSize = 64 << 10
    private static let writeOutSize: Int64 = 8 << 20

    /// `nil` where no draft can be made: the path is no regular file's, or the file system has no files without a name.
    init?(_ path: String, room: Int) {
        guard let target = try? OutputPlace(path), target.isReplaced,
            let file = try? target.openUnnamed(mode: target.mode)
        else { return nil }
        self.file = file
        self.path = path
        self.target = target
        self.room = Int64(room)
        length = Int64(room)
    }

    /// Bytes of the tasks so far.
    var count: Int { Int(length - room) }

    /// Appends bytes; `false` when the draft takes no more, for good. Accepted bytes can be read back, even if writing
    /// them failed.
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
            // Otherwise a durable report would wait for the whole of it at the end.
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

    /// Puts `head` before the tasks and `end` in the place of the last `replacing` bytes. `false`, with the draft
    /// unchanged, when the reserved room is too small.
    func close(_ head: [UInt8], _ end: [UInt8], replacing: Int) -> Bool {
        guard !hasFailed, !hasName, length > room, head.count <= room, head.last == UInt8(ascii: "\n") else {
            return false
        }
        let blanks = [UInt8](repeating: UInt8(ascii: " "), count: Int(room) - head.count)
        let whole = head.dropLast() + blanks + [UInt8(ascii: "\n")]
        return writeRest() && write(whole[...], at: 0) && write(end[...], at: length - Int64(replacing))
    }

    /// Gives the file its name and replaces the previous file of that name, in one step.
    func publish(isDurable: Bool) throws(OutputProblem) {
        do throws(SystemError) {
            try prepare(isDurable: isDurable)
            // A file under a temporary name is locked while its run is alive.
            _ = try? file.tryLock()
        } catch {
            throw target.problem(error)
        }
        let beside = try TemporaryReport.name(beside: target) { beside in
            do throws(SystemError) {
                try target.link(file, as: beside)
                return .made
            } catch {
                return .failed(error)
            }
        }
        do throws(SystemError) {
            try name(beside, isDurable: isDurable)
        } catch {
            throw target.problem(error)
        }
    }

    private func prepare(isDurable: Bool) throws(SystemError) {
        // The folder may have been moved away, or a link put where the report goes.
        guard target.isStillThere else { throw SystemError(call: "link", errno: ESTALE) }
        try file.confirmWrites()
        if isDurable { try file.sync() }
    }

    private func name(_ beside: String, isDurable: Bool) throws(SystemError) {
        do throws(SystemError) {
            try target.putInPlace(beside)
        } catch {
            target.remove(beside)
            throw error
        }
        hasName = true
        if isDurable { try target.flush() }
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
