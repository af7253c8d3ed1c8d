package import HTTPRules
package import TransferModel

/// A session's number in the store: what its records are kept under.
package struct StoredSession: Hashable, Sendable {
    package let id: Int64
}

extension Store {
    /// A session that no run used for so long goes with all that is kept under it.
    package static let unusedFor = TimeSpan.seconds(90 * 24 * 3_600)
    /// A use is written down when the last one that was is older than this.
    private static let useGrain = TimeSpan.seconds(24 * 3_600)

    /// The session of that name of a job (its name if written, else its absolute path), made when it is new.
    package func session(job: String, name: String, now: WallTime) throws(StoreError) -> StoredSession {
        if let known = try existingSession(job: job, name: name) { return known }
        return try batch { () throws(StoreError) in
            let insert = try database.prepare(
                "INSERT INTO sessions (job, name, used) VALUES (?, ?, ?) ON CONFLICT DO NOTHING")
            insert.bind(1, job)
            insert.bind(2, name)
            insert.bind(3, now.nanoseconds)
            try insert.run()
            // Another process may have been first.
            guard let made = try existingSession(job: job, name: name) else {
                throw StoreError(.other, "\(database.title) lost a session it was given")
            }
            return made
        }
    }

    /// Whoever asks for it uses it.
    package func existingSession(job: String, name: String) throws(StoreError) -> StoredSession? {
        let found = try read { () throws(StoreError) -> (session: StoredSession, used: WallTime)? in
            let query = try database.prepare("SELECT id, used FROM sessions WHERE job = ? AND name = ?")
            query.bind(1, job)
            query.bind(2, name)
            guard try query.step(), let id = query.integer(0) else { return nil }
            return (StoredSession(id: id), WallTime(nanoseconds: query.integer(1) ?? 0))
        }
        guard let found else { return nil }
        // That it cannot be written now, for want of room or because others write, makes nothing wrong.
        if !isFresh(found.used, openedAt) { try? noteUse(of: found.session, now: openedAt) }
        return found.session
    }

    private func isFresh(_ used: WallTime, _ now: WallTime) -> Bool {
        used <= now && now - used < Self.useGrain
    }

    /// Whoever keeps the store open for days goes on using the session when it writes.
    func noteLateUse(of session: StoredSession, now: WallTime) throws(StoreError) {
        if now - openedAt >= Self.useGrain { try noteUse(of: session, now: now) }
    }

    /// A clock that was wrong is put right too.
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

    /// Every session of this user, by job and name.
    package func sessions() throws(StoreError) -> [(job: String, name: String)] {
        try read { () throws(StoreError) in
            let query = try database.prepare("SELECT job, name FROM sessions ORDER BY job, name")
            var found: [(job: String, name: String)] = []
            while try query.step() { found.append((query.text(0) ?? "", query.text(1) ?? "")) }
            return found
        }
    }

    /// What lay outside the store of a session that was forgotten.
    package struct Outlying: Hashable, Sendable {
        /// Half-done files.
        package var parts: Set<String> = []
        /// Answers whose bodies are files, and the folders in which these may be.
        package var bodies: [CacheEntryID] = []
        package var folders: [String] = []
    }

    /// Forgets a session with all that is kept under it.
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

    /// Forgets a session with all that is kept under it.
    package func forget(_ session: StoredSession) throws(StoreError) {
        try batch { () throws(StoreError) in
            let delete = try database.prepare("DELETE FROM sessions WHERE id = ?")
            delete.bind(1, session.id)
            try delete.run()
        }
    }

    /// Forgets the sessions that no run used for `unusedFor` and gives back where their half-done files lie, so that these
    /// can go too. There are as many sessions as a user has jobs: looking at all of them takes less time than
    /// remembering when they were looked at last, and nothing is locked when there is nothing to forget.
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
