package import Stores
package import TransferModel

extension MemoryPlace {
    /// What a run of this job may remember of those before it, and keep for those to come; `nil` when nothing of any
    /// session outlives it. A store that others could write is an error, before anything is transferred.
    package static func of(_ job: Job, in folder: StateFolder) throws(StoreError) -> MemoryPlace? {
        guard !JobLocks.isEphemeral(job) else { return nil }
        if let problem = Store.privacyProblem(folder: folder.state) { throw problem }
        return MemoryPlace(
            folder: folder.state, job: JobIdentity(of: job).text,
            sessions: job.sessions.map { $0.kind == .ephemeral ? nil : $0.name }, secrets: Redactor(job.secrets),
            caches: job.sessions.map { cache(of: $0, folder.cache) })
    }

    /// `nil` where no answer is written down.
    private static func cache(of session: SessionConfiguration, _ folder: String) -> CachePlace? {
        let cache = session.cache
        let mayWrite = cache.storage == .allowed || cache.rules.contains { $0.storage == .allowed }
        guard session.kind != .ephemeral, cache.isEnabled, cache.diskCapacity > 0, mayWrite else { return nil }
        return CachePlace(folder: cache.path ?? folder, capacity: cache.diskCapacity)
    }
}
