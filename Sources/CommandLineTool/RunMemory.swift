import RunControl
import Stores
import TransferModel

/// What a run may remember of those before it, and keep for those to come.
struct RunMemory {
    /// `nil` when nothing of any session outlives the run.
    let place: MemoryPlace?

    /// A store that others could write is an error, before anything is transferred.
    /// The store that is opened `ahead` is used, or abandoned.
    init(
        _ job: Job, _ options: RunOptions, _ environment: [String: String], ahead: StoreAhead?
    ) throws(StoreError) {
        // No place for state at all was an error when the job was locked.
        let folder = try? StateFolder(options.stateDirectory, environment)
        var place: MemoryPlace?
        defer { if place?.ahead == nil { ahead?.abandon() } }
        place = try folder.flatMap { folder throws(StoreError) in
            try MemoryPlace.of(job, in: folder)
        }
        if place?.folder == ahead?.folder { place?.ahead = ahead }
        self.place = place
    }

    /// One line, whatever went wrong with the store; `nil` for nothing.
    static func warning(_ problems: [String]) -> String? {
        guard !problems.isEmpty else { return nil }
        let what = problems.joined(separator: "; ")
        return "warning: files may be fetched again that have not changed: \(what)\n"
    }
}
