package import HTTPRules
package import TransferModel

/// A file that is sent, where to and by whom, as one run can tell another that it is still the same.
package struct UploadKey: Hashable, Sendable {
    /// The id of the task: two that send one file to one place want it there twice.
    package var task: String
    /// The URL that the task names.
    package var url: String
    /// Of the file, absolute.
    package var file: String

    package init(task: String, url: String, file: String) {
        self.task = task
        self.url = url
        self.file = file
    }
}

/// What is known of an upload that did not come to its end.
package struct UploadRecord: Hashable, Sendable {
    package var key: UploadKey
    /// Which file it was and as it was: `BodyFile` makes it, and only compares.
    package var identity: [UInt8]
    /// How it was asked for: the method and the headers.
    package var shape: Int64
    package var point: UploadPoint

    package init(key: UploadKey, identity: [UInt8], shape: Int64, point: UploadPoint) {
        self.key = key
        self.identity = identity
        self.shape = shape
        self.point = point
    }
}

/// What is kept under a key, or that nothing is to be kept any more.
package struct UploadChange: Hashable, Sendable {
    package var key: UploadKey
    package var record: UploadRecord?
    package init(key: UploadKey, record: UploadRecord?) {
        self.key = key
        self.record = record
    }
}

extension Store {
    /// Takes over changes in their order: all or none.
    package func change(_ session: StoredSession, _ changes: [UploadChange], now: WallTime) throws(StoreError) {
        guard !changes.isEmpty else { return }
        try batch { () throws(StoreError) in
            let upsert = try database.prepare(
                """
                INSERT OR REPLACE INTO uploads (session, task, url, file, identity, shape, place, dialect, length, sent,
                    maximumAppend, expires, refused, time)
                VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
                """)
            upsert.bind(1, session.id)
            upsert.bind(14, now.nanoseconds)
            let delete = try database.prepare(
                "DELETE FROM uploads WHERE session = ? AND task = ? AND url = ? AND file = ?")
            delete.bind(1, session.id)
            for change in changes {
                if let record = change.record {
                    upsert.bind(record)
                    try upsert.run()
                } else {
                    delete.bind(change.key)
                    try delete.run()
                }
            }
        }
    }

    /// All of a session that were not left too long ago.
    package func uploads(_ session: StoredSession, now: WallTime) throws(StoreError) -> [UploadRecord] {
        try read { () throws(StoreError) in
            let query = try database.prepare(
                """
                SELECT task, url, file, identity, shape, place, dialect, length, sent, maximumAppend, expires, refused
                FROM uploads WHERE session = ? AND time >= ?
                """)
            query.bind(1, session.id)
            query.bind(2, now.nanoseconds - Self.keptFor.nanoseconds)
            var records: [UploadRecord] = []
            while try query.step() {
                if let record = query.uploadRecord { records.append(record) }
            }
            return records
        }
    }

    /// Nobody goes on with what was left so long ago.
    func forgetOldUploads(now: WallTime) throws(StoreError) {
        let time = now.nanoseconds - Self.keptFor.nanoseconds
        let isNeeded = try read { () throws(StoreError) in
            let query = try database.prepare("SELECT 1 FROM uploads WHERE time < ? LIMIT 1")
            query.bind(1, time)
            return try query.step()
        }
        guard isNeeded else { return }
        try batch { () throws(StoreError) in
            let delete = try database.prepare("DELETE FROM uploads WHERE time < ?")
            delete.bind(1, time)
            try delete.run()
        }
    }
}

extension Statement {
    fileprivate func bind(_ key: UploadKey) {
        bind(2, key.task)
        bind(3, key.url)
        bind(4, key.file)
    }

    fileprivate func bind(_ record: UploadRecord) {
        bind(record.key)
        bind(5, record.identity)
        bind(6, record.shape)
        bind(7, record.point.place)
        bind(8, Int64(record.point.dialect.rawValue))
        bind(9, record.point.length)
        bind(10, record.point.sent)
        bind(11, record.point.maximumAppend)
        bind(12, record.point.expires?.nanoseconds)
        bind(13, record.point.refused.map { Int64($0) })
    }

    /// `nil` for a dialect that this version does not speak.
    fileprivate var uploadRecord: UploadRecord? {
        guard let dialect = integer(6).flatMap({ UploadDialect(rawValue: Int($0)) }) else { return nil }
        var point = UploadPoint(
            place: text(5) ?? "", dialect: dialect, length: integer(7) ?? 0, sent: integer(8))
        point.maximumAppend = integer(9)
        point.expires = integer(10).map { WallTime(nanoseconds: $0) }
        point.refused = integer(11).map { Int(clamping: $0) }
        return UploadRecord(
            key: UploadKey(task: text(0) ?? "", url: text(1) ?? "", file: text(2) ?? ""), identity: blob(3) ?? [],
            shape: integer(4) ?? 0, point: point)
    }
}
