import RunControl
import Stores
import TransferModel

/// Where a run finds the state of earlier runs and stores its own.
struct RunMemory {
    /// The store's place; `nil` when no session's state outlives the run.
    let place: MemoryPlace?

    /// Throws, before any transfer, for a store that others could write. A store opened `ahead` is used, or abandoned.
    init(
        _ job: Job, _ options: RunOptions, _ environment: [String: String], ahead: StoreAhead?
    ) throws(StoreError) {
        // Without any place for state, taking the job's lock has already failed.
        let folder = try? StateFolder(options.stateDirectory, environment)
        var place: MemoryPlace?
        defer { if place?.ahead == nil { ahead?.abandon() } }
        place = try folder.flatMap { folder throws(StoreError) in
            try MemoryPlace.of(job, in: folder)
        }
        if place?.folder == ahead?.folder { place?.ahead = ahead }
        self.place = place
    }

    /// One line for all problems of the store; `nil` without any.
    static func warning(_ problems: [String]) -> String? {
        guard !problems.isEmpty else { return nil }
        let what = problems.joined(separator: "; ")
        return "warning: files may be fetched again that have not changed: \(what)\n"
    }
}
