import SystemIO
import TransferModel

/// Checks whether `limits.maximumBytes` suffices for the bodies that a job sends: a body that cannot be resumed is sent
/// whole or not at all.
enum BatchBytes {
    /// Returns at most one line.
    static func warnings(_ job: Job) -> [String] {
        guard let most = job.limits.maximumBytes else { return [] }
        let tooLong = job.tasks.lazy.compactMap { task -> (id: String, length: Int64)? in
            guard let length = length(task, job), length > most else { return nil }
            return (task.id, length)
        }
        guard let first = tooLong.first else { return [] }
        let others = tooLong.dropFirst().count
        let more = others == 0 ? "" : "; it is too little for \(others) more"
        return [
            "warning: `limits.maximumBytes` lets a run move \(most) bytes, and the body of `\(first.id)` has "
                + "\(first.length): it will not be sent\(more)\n"
        ]
    }

    /// Length in bytes of a task's body, as far as it is known before the task begins; `nil` when unknown, and for an
    /// upload that the next run can resume.
    private static func length(_ task: TaskSpecification, _ job: Job) -> Int64? {
        switch task.options.values.body {
        case .file(let path)?:
            let isKept = job.sessions[Int(task.session.raw)].kind != .ephemeral
            guard !path.awaitsCapture, !(task.options.values.resumable && isKept) else { return nil }
            return (try? FileFacts.of(path.revealed))?.size
        case .data(let text)?: return text.awaitsCapture ? nil : Int64(text.revealed.utf8.count)
        case .base64(let bytes)?: return Int64(bytes.count)
        case .stream(_, let length)?: return length
        case .json?, .form?, .multipart?, nil: return nil
        }
    }
}

/// Checks before the first byte whether the files that a job will fetch by its `expect: { size }` fit where they go.
/// Each body is checked again when it arrives, and only that fails a task: space may be freed meanwhile as well as
/// used.
enum BatchRoom {
    /// Returns one line for each filesystem that is too small.
    static func warnings(_ job: Job) -> [String] {
        var sizes: [String: Int64] = [:]
        for index in job.tasks.indices where job.tasks[index].type == .download {
            guard let size = job.tasks[index].options.values.expect.size, let path = job.tasks[index].destination,
                !isThere(path, size)
            else {
                continue
            }
            sizes[Folders.split(path).folder, default: 0].add(size)
        }
        var filesystems: [UInt64: (folder: String, needed: Int64, free: Int64)] = [:]
        for (folder, size) in sizes.sorted(by: { $0.key < $1.key }) {
            // Where the free space is unknown, writing will show it.
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

    /// Whether a file of that size exists: it needs no more space, whether it is fetched again or not.
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
