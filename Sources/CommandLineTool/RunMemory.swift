import CurlCore
import RunControl
import Stores
import TransferModel

/// What a run may remember of those before it, and keep for those to come.
struct RunMemory {
    /// `nil` when nothing of any session outlives the run.
    let place: MemoryPlace?

    /// What takes as long as reading a job and does not hang on it: libcurl is made ready, and the store is opened.
    static func opening(_ options: RunOptions, _ environment: [String: String]) -> StoreOpening? {
        guard let folder = try? StateFolder(options.stateDirectory, environment).state,
            Store.privacyProblem(folder: folder) == nil
        else { return nil }
        return StoreOpening(folder: folder) { try? CurlLibrary.prepare() }
    }

    /// A store that others could write is an error, before anything is transferred.
    init(
        _ job: Job, _ options: RunOptions, _ environment: [String: String], _ opening: StoreOpening?
    ) throws(StoreError) {
        // No place for state at all was an error when the job was locked.
        guard !JobLocks.isEphemeral(job), let folder = try? StateFolder(options.stateDirectory, environment) else {
            place = nil
            return
        }
        if let problem = Store.privacyProblem(folder: folder.state) { throw problem }
        place = MemoryPlace(
            folder: folder.state, job: JobIdentity(of: job).text,
            sessions: job.sessions.map { $0.kind == .ephemeral ? nil : $0.name }, secrets: Redactor(job.secrets),
            caches: job.sessions.map { Self.cache(of: $0, folder.cache) }, opening: opening)
    }

    /// `nil` where no answer is written down.
    private static func cache(of session: SessionConfiguration, _ folder: String) -> CachePlace? {
        let cache = session.cache
        let mayWrite = cache.storage == .allowed || cache.rules.contains { $0.storage == .allowed }
        guard session.kind != .ephemeral, cache.isEnabled, cache.diskCapacity > 0, mayWrite else { return nil }
        return CachePlace(folder: cache.path ?? folder, capacity: cache.diskCapacity)
    }

    /// One line, whatever went wrong with the store; `nil` for nothing.
    static func warning(_ problems: [String]) -> String? {
        guard !problems.isEmpty else { return nil }
        let what = problems.joined(separator: "; ")
        return "warning: files may be fetched again that have not changed: \(what)\n"
    }
}
