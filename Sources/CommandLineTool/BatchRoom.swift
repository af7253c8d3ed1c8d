import SystemIO
import TransferModel

/// Whether `limits.maximumBytes` has room for what a job is to send: a body that cannot go on where it is cut moves whole or
/// not at all.
enum BatchBytes {
    /// At most one line.
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

    /// As far as it is known before the task begins; `nil` for what can go on in the next run.
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

/// Whether what a job says it will fetch (`expect: { size }`) fits where it goes, before the first byte. Each body is
/// looked at again when it comes, and only that fails a task: room may come as well as go.
enum BatchRoom {
    /// One line for each filesystem that is too small.
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
