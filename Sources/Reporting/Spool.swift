import SystemIO

/// Stores rendered tasks that wait for others before them in the job file: a file without a name beside the report, so
/// that a report of a million tasks never sits in memory, and no file remains whatever happens.
final class Spool {
    private let file: SystemIO.Descriptor
    private var length: Int64 = 0
    private var hasFailed = false

    /// `nil` where the file system has no files without a name: the tasks then stay in memory.
    init?(folder: String) {
        do throws(SystemError) {
            file = try SystemIO.Descriptor.openFolder(folder).openUnnamed(mode: 0o600)
        } catch {
            return nil
        }
    }

    /// Appends bytes and returns their offset; `nil` when they could not be written, for good.
    func append(_ bytes: [UInt8]) -> Int64? {
        guard !hasFailed else { return nil }
        do throws(SystemError) {
            try file.writeAll(bytes)
        } catch {
            hasFailed = true
            return nil
        }
        defer { length += Int64(bytes.count) }
        return length
    }

    func read(_ count: Int, at offset: Int64) throws(OutputProblem) -> [UInt8] {
        try file.readWhole(count, at: offset)
    }
}
