package import HTTPRules
package import TransferModel

/// A session's number in the store, to which its records refer.
package struct StoredSession: Hashable, Sendable {
    /// Key of the row in `sessions`.
    package let id: Int64
}

extension Store {
    /// Age of the last use after which a session is deleted with all its records: 90 days.
    package static let unusedFor = TimeSpan.seconds(90 * 24 * 3_600)
    /// Shortest time between two recorded uses of a session.
    private static let useGrain = TimeSpan.seconds(24 * 3_600)

    /// Returns the session of that name of a job, created if missing. `job` is the job's name if it has one, else its
    /// absolute path.
    package func session(job: String, name: String, now: WallTime) throws(StoreError) -> StoredSession {
        if let known = try existingSession(job: job, name: name) { return known }
        return try batch { () throws(StoreError) in
            let insert = try database.prepare(
                "INSERT INTO sessions (job, name, used) VALUES (?, ?, ?) ON CONFLICT DO NOTHING")
            insert.bind(1, job)
            insert.bind(2, name)
            insert.bind(3, now.nanoseconds)
            try insert.run()
            // Another process may have inserted it first.
            guard let made = try existingSession(job: job, name: name) else {
                throw StoreError(.other, "\(database.title) lost a session it was given")
            }
            return made
        }
    }

    /// Returns the session of that name of a job, or `nil` if there is none. The call counts as a use of the session:
    /// it is recorded when the last recorded use is a day old.
    package func existingSession(job: String, name: String) throws(StoreError) -> StoredSession? {
        guard let found = try find(job: job, name: name) else { return nil }
        // A failed write, for want of space or because another process writes, does no harm: the next opening records
        // the use.
        if !isFresh(found.used, openedAt) { try? noteUse(of: found.session, now: openedAt) }
        return found.session
    }

    /// Returns the session of that name of a job, or `nil`, without recording its use.
    func knownSession(job: String, name: String) throws(StoreError) -> StoredSession? {
        try find(job: job, name: name)?.session
    }

    private func find(job: String, name: String) throws(StoreError) -> (session: StoredSession, used: WallTime)? {
        try read { () throws(StoreError) -> (session: StoredSession, used: WallTime)? in
            let query = try database.prepare("SELECT id, used FROM sessions WHERE job = ? AND name = ?")
            query.bind(1, job)
            query.bind(2, name)
            guard try query.step(), let id = query.integer(0) else { return nil }
            return (StoredSession(id: id), WallTime(nanoseconds: query.integer(1) ?? 0))
        }
    }

    private func isFresh(_ used: WallTime, _ now: WallTime) -> Bool {
        used <= now && now - used < Self.useGrain
    }

    /// Records a use of the session when the store has been open for a day or longer.
    func noteLateUse(of session: StoredSession, now: WallTime) throws(StoreError) {
        if now - openedAt >= Self.useGrain { try noteUse(of: session, now: now) }
    }

    /// Records a use at `now`; a recorded time in the future, from a wrong clock, is corrected too.
    private func noteUse(of session: StoredSession, now: WallTime) throws(StoreError) {
        try batch { () throws(StoreError) in
            let update = try database.prepare(
                "UPDATE sessions SET used = ?2 WHERE id = ?1 AND used NOT BETWEEN ?3 AND ?2")
            update.bind(1, session.id)
            update.bind(2, now.nanoseconds)
            update.bind(3, now.nanoseconds - Self.useGrain.nanoseconds)
            try update.run()
        }
    }

    /// Returns the job and name of every session of this user, ordered by both.
    package func sessions() throws(StoreError) -> [(job: String, name: String)] {
        try read { () throws(StoreError) in
            let query = try database.prepare("SELECT job, name FROM sessions ORDER BY job, name")
            var found: [(job: String, name: String)] = []
            while try query.step() { found.append((query.text(0) ?? "", query.text(1) ?? "")) }
            return found
        }
    }

    /// What a deleted session left outside the store.
    package struct Outlying: Hashable, Sendable {
        /// Absolute paths of its partial files.
        package var parts: Set<String> = []
        /// Cached answers whose bodies are files.
        package var bodies: [CacheEntryID] = []
        /// Folders that may contain these bodies.
        package var folders: [String] = []
    }

    /// Deletes a session with all its records in one transaction that survives a power cut, and returns what it left
    /// outside the store. An unknown session is no error.
    package func reset(job: String, name: String) throws(StoreError) -> Outlying {
        guard let session = try existingSession(job: job, name: name) else { return Outlying() }
        return try batch(durably: true) { () throws(StoreError) in
            var outlying = Outlying(parts: try partFiles(of: session))
            let query = try database.prepare("SELECT id FROM cacheEntries WHERE session = ? AND body IS NULL")
            query.bind(1, session.id)
            while try query.step() { outlying.bodies.append(CacheEntryID(raw: query.integer(0) ?? 0)) }
            let folders = try database.prepare("SELECT path FROM cacheFolders WHERE session = ? ORDER BY path")
            folders.bind(1, session.id)
            while try folders.step() { outlying.folders.append(folders.text(0) ?? "") }
            try forget(session)
            return outlying
        }
    }

    /// Deletes a session with all its records.
    package func forget(_ session: StoredSession) throws(StoreError) {
        try batch { () throws(StoreError) in
            let delete = try database.prepare("DELETE FROM sessions WHERE id = ?")
            delete.bind(1, session.id)
            try delete.run()
        }
    }

    /// Deletes the sessions that no run used for `unusedFor` and returns the absolute paths of their partial files,
    /// which can be deleted too. A user has as many sessions as jobs: looking at all of them takes less time than
    /// remembering when they were looked at last, and nothing is locked when none is to be deleted.
    package func forgetUnusedSessions(now: WallTime) throws(StoreError) -> Set<String> {
        guard try !unusedSessions(now).isEmpty else { return [] }
        return try batch { () throws(StoreError) in
            var left: Set<String> = []
            for session in try unusedSessions(now) {
                left.formUnion(try partFiles(of: session))
                try forget(session)
            }
            return left
        }
    }

    private func unusedSessions(_ now: WallTime) throws(StoreError) -> [StoredSession] {
        try read { () throws(StoreError) in
            let query = try database.prepare("SELECT id FROM sessions WHERE used < ?")
            query.bind(1, now.nanoseconds - Self.unusedFor.nanoseconds)
            var sessions: [StoredSession] = []
            while try query.step() { sessions.append(StoredSession(id: query.integer(0) ?? 0)) }
            return sessions
        }
    }
}
