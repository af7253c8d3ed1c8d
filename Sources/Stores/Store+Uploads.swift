package import HTTPRules
package import TransferModel

/// Identifies an unfinished upload across runs: the task, the URL and the local file.
package struct UploadKey: Hashable, Sendable {
    /// Id of the task: two tasks that send one file to one URL want two uploads.
    package var task: String
    /// URL of the task.
    package var url: String
    /// Absolute path of the file.
    package var file: String

    package init(task: String, url: String, file: String) {
        self.task = task
        self.url = url
        self.file = file
    }
}

/// An unfinished upload as the store records it, so that a later run can resume it.
package struct UploadRecord: Hashable, Sendable {
    /// Task, URL and file of the upload.
    package var key: UploadKey
    /// Identity of the file's version, made by `BodyFile` and only compared.
    package var identity: [UInt8]
    /// Fingerprint of the request's method and headers.
    package var shape: Int64
    /// State of the upload on the server, from which it can be resumed.
    package var point: UploadPoint

    package init(key: UploadKey, identity: [UInt8], shape: Int64, point: UploadPoint) {
        self.key = key
        self.identity = identity
        self.shape = shape
        self.point = point
    }
}

/// A change to the recorded unfinished upload of one key.
package struct UploadChange: Hashable, Sendable {
    /// Key whose record changes.
    package var key: UploadKey
    /// New record; `nil` deletes the record of the key.
    package var record: UploadRecord?
    package init(key: UploadKey, record: UploadRecord?) {
        self.key = key
        self.record = record
    }
}

extension Store {
    /// Writes the changes in their order, in one transaction.
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

    /// Returns the session's unfinished uploads that were written in the last 30 days (`keptFor`).
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

    /// Deletes unfinished uploads that were written more than 30 days ago (`keptFor`), in all sessions.
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

    /// The row's record; `nil` for a dialect that this version does not support.
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
