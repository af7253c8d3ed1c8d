package import Stores
package import TransferModel

extension MemoryPlace {
    /// Returns where a run of this job reads and writes what outlives runs; `nil` when all its sessions are ephemeral.
    /// A store that others could write is an error, before anything is transferred.
    package static func of(_ job: Job, in folder: StateFolder) throws(StoreError) -> MemoryPlace? {
        guard !JobLocks.isEphemeral(job) else { return nil }
        if let problem = Store.privacyProblem(folder: folder.state) { throw problem }
        return MemoryPlace(
            folder: folder.state, sessions: sessions(of: job), secrets: Redactor(job.secrets),
            caches: job.sessions.map { cache(of: $0, folder.cache) })
    }

    /// Returns by which names the store knows the sessions: those of several jobs are found by each job alone, too.
    private static func sessions(of job: Job) -> [StoredSessionName?] {
        let owners: [(job: JobIdentity, name: String)] =
            job.members.isEmpty
            ? job.sessions.map { [identity = JobIdentity(of: job)] session in (identity, session.name) }
            : job.members.flatMap { member in
                let identity = JobIdentity(of: member)
                return member.sessionNames.map { (identity, $0) }
            }
        return zip(job.sessions, owners).map { session, owner in
            session.kind == .ephemeral ? nil : StoredSessionName(job: owner.job.text, name: owner.name)
        }
    }

    /// Returns the session's cache; `nil` if it stores no response.
    private static func cache(of session: SessionConfiguration, _ folder: String) -> CachePlace? {
        let cache = session.cache
        let mayWrite = cache.storage == .allowed || cache.rules.contains { $0.storage == .allowed }
        guard session.kind != .ephemeral, cache.isEnabled, cache.diskCapacity > 0, mayWrite else { return nil }
        return CachePlace(folder: cache.path ?? folder, capacity: cache.diskCapacity)
    }
}
