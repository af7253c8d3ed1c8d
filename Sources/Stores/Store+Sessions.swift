package import TransferModel

/// A session's number in the store: what its records are kept under.
package struct StoredSession: Hashable, Sendable {
    package let id: Int64
}

extension Store {
    /// The session of that name of a job (its name if written, else its absolute path), made when it is new.
    package func session(job: String, name: String, now: WallTime) throws(StoreError) -> StoredSession {
        if let known = try existingSession(job: job, name: name) { return known }
        return try batch { () throws(StoreError) in
            let insert = try database.prepare(
                "INSERT INTO sessions (job, name, created) VALUES (?, ?, ?) ON CONFLICT DO NOTHING")
            insert.bind(1, job)
            insert.bind(2, name)
            insert.bind(3, now.nanoseconds)
            try insert.run()
            // Another process may have been first.
            guard let made = try existingSession(job: job, name: name) else {
                throw StoreError(.other, "the store \(database.path) lost a session it was given")
            }
            return made
        }
    }

    package func existingSession(job: String, name: String) throws(StoreError) -> StoredSession? {
        try read { () throws(StoreError) in
            let query = try database.prepare("SELECT id FROM sessions WHERE job = ? AND name = ?")
            query.bind(1, job)
            query.bind(2, name)
            return try query.step() ? query.integer(0).map { StoredSession(id: $0) } : nil
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
}
