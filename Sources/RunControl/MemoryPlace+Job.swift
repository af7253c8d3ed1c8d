package import Stores
package import TransferModel

extension MemoryPlace {
    /// Returns where a run of this job reads and writes what outlives runs; `nil` when all its sessions are ephemeral.
    /// A store that others could write is an error, before anything is transferred.
    package static func of(_ job: Job, in folder: StateFolder) throws(StoreError) -> MemoryPlace? {
        guard !JobLocks.isEphemeral(job) else { return nil }
        if let problem = Store.privacyProblem(folder: folder.state) { throw problem }
        return MemoryPlace(
            folder: folder.state, job: JobIdentity(of: job).text,
            sessions: job.sessions.map { $0.kind == .ephemeral ? nil : $0.name }, secrets: Redactor(job.secrets),
            caches: job.sessions.map { cache(of: $0, folder.cache) })
    }

    /// Returns the session's cache; `nil` if it stores no response.
    private static func cache(of session: SessionConfiguration, _ folder: String) -> CachePlace? {
        let cache = session.cache
        let mayWrite = cache.storage == .allowed || cache.rules.contains { $0.storage == .allowed }
        guard session.kind != .ephemeral, cache.isEnabled, cache.diskCapacity > 0, mayWrite else { return nil }
        return CachePlace(folder: cache.path ?? folder, capacity: cache.diskCapacity)
    }
}
