import SystemIO
import TransferModel

/// Whether what a job says it will fetch (`expect: { size }`) fits where it goes, before the first byte. Each body is
/// looked at again when it comes, and only that fails a task: room may come as well as go.
enum BatchRoom {
    /// One line for each filesystem that is too small.
    static func warnings(_ job: Job) -> [String] {
        var sizes: [String: Int64] = [:]
        for task in job.tasks where task.type == .download {
            guard let size = task.options.values.expect.size, let path = task.destination, !isThere(path, size) else {
                continue
            }
            sizes[Folders.split(path).folder, default: 0].add(size)
        }
        var filesystems: [UInt64: (folder: String, needed: Int64, free: Int64)] = [:]
        for (folder, size) in sizes.sorted(by: { $0.key < $1.key }) {
            // Where nobody can say how much is free, writing will.
            guard let space = try? FreeSpace.at(folder) else { continue }
            filesystems[space.device, default: (folder, 0, space.bytes)].needed.add(size)
        }
        let reserve = job.limits.minimumFreeDisk ?? 0
        return filesystems.values.sorted { $0.folder < $1.folder }.compactMap { place in
            guard place.needed > place.free - reserve else { return nil }
            let kept = reserve > 0 ? ", of which \(reserve) must stay free" : ""
            return "warning: the job is to bring \(place.needed) bytes to the file system of \(place.folder), "
                + "which has \(place.free) free\(kept)\n"
        }
    }

    /// What is there already needs no more room, whether it is fetched again or not.
    private static func isThere(_ path: String, _ size: Int64) -> Bool {
        guard let facts = try? FileFacts.of(path) else { return false }
        return facts.isRegular && facts.size >= size
    }
}

extension Int64 {
    fileprivate mutating func add(_ other: Int64) {
        let (sum, isOver) = addingReportingOverflow(other)
        self = isOver ? .max : sum
    }
}
