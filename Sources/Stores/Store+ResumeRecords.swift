package import HTTPRules
package import TransferModel

/// A partial download: enough to request the rest, and to notice when it no longer fits.
package struct ResumeRecord: Hashable, Sendable {
    /// URL of the task when the download began.
    package var start: String
    /// Where the download stopped, and the validator for resuming it.
    package var point: ResumePoint
    /// Fingerprint of how the answer was requested (`Revalidation.shape`).
    package var shape: Int64
    /// Absolute path of the partial file's folder.
    package var folder: String
    /// The partial file in that folder.
    package var part: PartFile

    package init(start: String, point: ResumePoint, shape: Int64, folder: String, part: PartFile) {
        self.start = start
        self.point = point
        self.shape = shape
        self.folder = folder
        self.part = part
    }
}

/// A change to the resume record of one destination.
package struct ResumeChange: Hashable, Sendable {
    /// Path of the destination, or its folder and the URL that will give the file its name.
    package var destination: String
    /// New record; `nil` deletes that of the destination.
    package var record: ResumeRecord?
    package init(destination: String, record: ResumeRecord?) {
        self.destination = destination
        self.record = record
    }
}

extension Store {
    /// Writes the changes in their order, in one transaction.
    package func change(
        _ session: StoredSession, _ changes: [ResumeChange], now: WallTime
    ) throws(StoreError) {
        guard !changes.isEmpty else { return }
        try batch { () throws(StoreError) in
            let upsert = try database.prepare(
                """
                INSERT OR REPLACE INTO resumeRecords (session, destination, start, url, validator, total, sentHeader,
                    sentAlgorithm, sentDigest, shape, name, size, sum, time, folder, asked, headers,
                    unanswered, proofs)
                VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
                """)
            upsert.bind(1, session.id)
            upsert.bind(14, now.nanoseconds)
            let delete = try database.prepare("DELETE FROM resumeRecords WHERE session = ? AND destination = ?")
            delete.bind(1, session.id)
            for change in changes {
                if let record = change.record {
                    upsert.bind(2, change.destination)
                    upsert.bind(record)
                    try upsert.run()
                } else {
                    delete.bind(2, change.destination)
                    try delete.run()
                }
            }
        }
    }

    /// Returns all resume records of the session, by destination: read once for a whole run.
    package func resumeRecords(_ session: StoredSession) throws(StoreError) -> [ExactText: ResumeRecord] {
        try read { () throws(StoreError) in
            let query = try database.prepare(
                """
                SELECT start, url, validator, total, sentHeader, sentAlgorithm, sentDigest, shape, name, size, sum,
                    folder, destination, asked, headers, unanswered, proofs
                FROM resumeRecords WHERE session = ?
                """)
            query.bind(1, session.id)
            var records: [ExactText: ResumeRecord] = [:]
            while try query.step() { records[ExactText(query.text(12) ?? "")] = query.resumeRecord }
            return records
        }
    }

    /// Returns the absolute paths of the partial files of all sessions.
    package func partFiles() throws(StoreError) -> Set<String> {
        try read { () throws(StoreError) in
            try Self.paths(database.prepare("SELECT folder, name FROM resumeRecords"))
        }
    }

    func partFiles(of session: StoredSession) throws(StoreError) -> Set<String> {
        try read { () throws(StoreError) in
            let query = try database.prepare("SELECT folder, name FROM resumeRecords WHERE session = ?")
            query.bind(1, session.id)
            return try Self.paths(query)
        }
    }

    /// Age after which a partial download or upload is not resumed any more: 30 days.
    static let keptFor = TimeSpan.seconds(30 * 24 * 60 * 60)

    /// Deletes records that were written more than `keptFor` ago and returns the paths of their partial files, so that
    /// these can be deleted too.
    package func forgetOldParts(now: WallTime) throws(StoreError) -> Set<String> {
        let time = now.nanoseconds - Self.keptFor.nanoseconds
        // Nothing is locked when there is nothing to forget.
        let isNeeded = try read { () throws(StoreError) in
            let query = try database.prepare("SELECT 1 FROM resumeRecords WHERE time < ? LIMIT 1")
            query.bind(1, time)
            return try query.step()
        }
        guard isNeeded else { return [] }
        return try batch { () throws(StoreError) in
            let delete = try database.prepare("DELETE FROM resumeRecords WHERE time < ? RETURNING folder, name")
            delete.bind(1, time)
            return try Self.paths(delete)
        }
    }

    private static func paths(_ query: borrowing Statement) throws(StoreError) -> Set<String> {
        var paths: Set<String> = []
        while try query.step() {
            guard let folder = query.text(0), let name = query.text(1) else { continue }
            paths.insert("\(folder == "/" ? "" : folder)/\(name)")
        }
        return paths
    }
}

extension Statement {
    fileprivate func bind(_ record: ResumeRecord) {
        bind(3, record.start)
        bind(4, record.point.url)
        bind(5, record.point.validator)
        bind(6, record.point.total)
        bind(7, record.point.sent?.header)
        bind(8, record.point.sent?.checksum.algorithm.rawValue)
        bind(9, record.point.sent?.checksum.bytes)
        bind(10, record.shape)
        bind(11, record.part.name)
        bind(12, record.part.size)
        bind(13, record.part.sum)
        bind(15, record.folder)
        bind(16, record.point.asked)
        bind(17, record.point.headers.lines.isEmpty ? nil : record.point.headers.bytes)
        bind(18, Int64(record.point.unanswered))
        bind(19, PartProofs.encode(record.part))
    }

    fileprivate var resumeRecord: ResumeRecord {
        let size = integer(9) ?? 0
        var part = PartFile(name: text(8) ?? "", size: size, sum: blob(10) ?? [])
        if let proofs = blob(16) { PartProofs.decode(proofs, into: &part) }
        return ResumeRecord(
            start: text(0) ?? "",
            point: ResumePoint(
                url: text(1) ?? "", offset: size, validator: text(2) ?? "", total: integer(3), sent: sentDigest,
                asked: text(13), headers: blob(14).map { HeaderBlock(raw: $0) } ?? .empty,
                unanswered: Int(clamping: integer(15) ?? 0)),
            shape: integer(7) ?? 0, folder: text(11) ?? "",
            part: part)
    }

    /// `nil` for an algorithm that this version does not know: the complete file is then not checked against it.
    private var sentDigest: SentDigest? {
        guard let header = text(4), let algorithm = text(5).flatMap({ DigestAlgorithm(rawValue: $0) }),
            let bytes = blob(6), bytes.count == algorithm.byteCount
        else { return nil }
        return SentDigest(header: header, checksum: Checksum(algorithm: algorithm, bytes: bytes))
    }
}
