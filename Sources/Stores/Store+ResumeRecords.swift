package import TransferModel

/// What is known of a half-done download, enough to ask for the rest and to notice when it no longer fits.
package struct ResumeRecord: Hashable, Sendable {
    package var session: StoredSession
    /// Absolute.
    package var destination: String
    package var url: String
    package var etag: String?
    package var lastModified: String?
    package var totalLength: Int64?
    /// Where the bytes lie, absolute.
    package var temporaryPath: String
    /// How many of them are surely written.
    package var checkpoint: Int64
    /// Of the first `checkpoint` bytes: a partial file that somebody changed is noticed when it is read again.
    package var digest: Checksum?
    package var time: WallTime

    package init(
        session: StoredSession, destination: String, url: String, etag: String? = nil, lastModified: String? = nil,
        totalLength: Int64? = nil, temporaryPath: String, checkpoint: Int64, digest: Checksum? = nil, time: WallTime
    ) {
        self.session = session
        self.destination = destination
        self.url = url
        self.etag = etag
        self.lastModified = lastModified
        self.totalLength = totalLength
        self.temporaryPath = temporaryPath
        self.checkpoint = checkpoint
        self.digest = digest
        self.time = time
    }
}

extension Store {
    /// Keeps records, each in the place of what was kept for its session and destination: all or none.
    package func put(_ records: [ResumeRecord]) throws(StoreError) {
        guard !records.isEmpty else { return }
        try batch { () throws(StoreError) in
            let upsert = try database.prepare(
                """
                INSERT OR REPLACE INTO resumeRecords (session, destination, url, etag, lastModified, totalLength,
                    temporaryPath, checkpoint, digestAlgorithm, digest, time)
                VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
                """)
            for record in records {
                upsert.bind(record)
                try upsert.run()
            }
        }
    }

    package func resumeRecord(
        _ session: StoredSession, destination: String
    ) throws(StoreError) -> ResumeRecord? {
        try read { () throws(StoreError) in
            let query = try database.prepare(
                """
                SELECT session, destination, url, etag, lastModified, totalLength, temporaryPath, checkpoint,
                    digestAlgorithm, digest, time
                FROM resumeRecords WHERE session = ? AND destination = ?
                """)
            query.bind(1, session.id)
            query.bind(2, destination)
            return try query.step() ? query.resumeRecord : nil
        }
    }

    /// All of a session, by destination: one reading for a whole run.
    package func resumeRecords(_ session: StoredSession) throws(StoreError) -> [ResumeRecord] {
        try read { () throws(StoreError) in
            let query = try database.prepare(
                """
                SELECT session, destination, url, etag, lastModified, totalLength, temporaryPath, checkpoint,
                    digestAlgorithm, digest, time
                FROM resumeRecords WHERE session = ? ORDER BY destination
                """)
            query.bind(1, session.id)
            var records: [ResumeRecord] = []
            while try query.step() { records.append(query.resumeRecord) }
            return records
        }
    }

    package func deleteResumeRecords(_ session: StoredSession, destinations: [String]) throws(StoreError) {
        guard !destinations.isEmpty else { return }
        try batch { () throws(StoreError) in
            let delete = try database.prepare("DELETE FROM resumeRecords WHERE session = ? AND destination = ?")
            for destination in destinations {
                delete.bind(1, session.id)
                delete.bind(2, destination)
                try delete.run()
            }
        }
    }

    /// Forgets what was last written before `time` and gives it back, so that the partial files can go too.
    package func pruneResumeRecords(before time: WallTime) throws(StoreError) -> [ResumeRecord] {
        try batch { () throws(StoreError) in
            let delete = try database.prepare(
                """
                DELETE FROM resumeRecords WHERE time < ?
                RETURNING session, destination, url, etag, lastModified, totalLength, temporaryPath, checkpoint,
                    digestAlgorithm, digest, time
                """)
            delete.bind(1, time.nanoseconds)
            var pruned: [ResumeRecord] = []
            while try delete.step() { pruned.append(delete.resumeRecord) }
            return pruned
        }
    }
}

extension Statement {
    fileprivate func bind(_ record: ResumeRecord) {
        bind(1, record.session.id)
        bind(2, record.destination)
        bind(3, record.url)
        bind(4, record.etag)
        bind(5, record.lastModified)
        bind(6, record.totalLength)
        bind(7, record.temporaryPath)
        bind(8, record.checkpoint)
        bind(9, record.digest?.algorithm.rawValue)
        bind(10, record.digest?.bytes)
        bind(11, record.time.nanoseconds)
    }

    fileprivate var resumeRecord: ResumeRecord {
        ResumeRecord(
            session: StoredSession(id: integer(0) ?? 0), destination: text(1) ?? "", url: text(2) ?? "",
            etag: text(3), lastModified: text(4), totalLength: integer(5), temporaryPath: text(6) ?? "",
            checkpoint: integer(7) ?? 0, digest: checksum, time: WallTime(nanoseconds: integer(10) ?? 0))
    }

    /// `nil` for an algorithm that this version does not know: then the bytes are simply not checked that way.
    private var checksum: Checksum? {
        guard let algorithm = text(8).flatMap({ DigestAlgorithm(rawValue: $0) }), let bytes = blob(9),
            bytes.count == algorithm.byteCount
        else { return nil }
        return Checksum(algorithm: algorithm, bytes: bytes)
    }
}
