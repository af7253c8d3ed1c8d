package import HTTPRules
package import TransferModel

/// What is kept for one destination of a session, or that nothing is to be kept any more.
package struct ValidatorChange: Hashable, Sendable {
    /// Absolute.
    package var destination: String
    package var kept: KeptValidators?
    package init(destination: String, kept: KeptValidators?) {
        self.destination = destination
        self.kept = kept
    }
}

extension Store {
    package func hasValidators(_ session: StoredSession) throws(StoreError) -> Bool {
        try read { () throws(StoreError) in
            let query = try database.prepare("SELECT 1 FROM validators WHERE session = ? LIMIT 1")
            query.bind(1, session.id)
            return try query.step()
        }
    }

    package func validators(_ session: StoredSession, destination: String) throws(StoreError) -> KeptValidators? {
        try ValidatorQuery(self).find(session, destination)
    }

    /// Takes over changes in their order: all or none.
    package func change(
        _ session: StoredSession, _ changes: [ValidatorChange], now: WallTime
    ) throws(StoreError) {
        guard !changes.isEmpty else { return }
        try batch { () throws(StoreError) in
            let upsert = try database.prepare(
                """
                INSERT OR REPLACE INTO validators (session, destination, url, etag, lastModified, shape, size,
                    modified, time)
                VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
                """)
            upsert.bind(1, session.id)
            upsert.bind(9, now.nanoseconds)
            let delete = try database.prepare("DELETE FROM validators WHERE session = ? AND destination = ?")
            delete.bind(1, session.id)
            for change in changes {
                if let kept = change.kept {
                    upsert.bind(2, change.destination)
                    upsert.bind(kept)
                    try upsert.run()
                } else {
                    delete.bind(2, change.destination)
                    try delete.run()
                }
            }
        }
    }
}

/// One question asked many times: its statement is prepared once.
struct ValidatorQuery: ~Copyable {
    private let statement: Statement
    private let store: Store

    init(_ store: Store) throws(StoreError) {
        self.store = store
        statement = try store.database.prepare(
            """
            SELECT url, etag, lastModified, shape, size, modified
            FROM validators WHERE session = ? AND destination = ?
            """)
    }

    func find(_ session: StoredSession, _ destination: String) throws(StoreError) -> KeptValidators? {
        // Also ends the reading, without which the log of changes could never be taken into the file.
        defer { statement.reset() }
        return try store.read { () throws(StoreError) in
            statement.bind(1, session.id)
            statement.bind(2, destination)
            return try statement.step() ? statement.keptValidators : nil
        }
    }
}

extension Statement {
    fileprivate func bind(_ kept: KeptValidators) {
        bind(3, kept.url)
        bind(4, kept.etag)
        bind(5, kept.lastModified)
        bind(6, kept.shape)
        bind(7, kept.file.size)
        bind(8, kept.file.modifiedNanoseconds)
    }

    fileprivate var keptValidators: KeptValidators {
        KeptValidators(
            url: text(0) ?? "", etag: text(1), lastModified: text(2), shape: integer(3) ?? 0,
            file: FileStamp(size: integer(4) ?? 0, modifiedNanoseconds: integer(5) ?? 0))
    }
}
