package import HTTPRules
package import TransferModel

/// What becomes of a session's entries on the disk.
package enum CacheChange: Hashable, Sendable {
    /// In the place of others that answer the same requests. `body` is `nil` when it lies in a file already; without a
    /// digest there is nothing to know it by, and it is left out.
    case put(StoredResponse, digest: [UInt8], body: [UInt8]?)
    /// A server was asked: other headers, the same body.
    case update(StoredResponse)
    case remove(CacheEntryID)
    /// Whatever is held under the URL.
    case forget(url: String)
    case used(CacheEntryID)

    /// Its body is a file of the cache's folder.
    fileprivate var isInFile: Bool { if case .put(_, _, nil) = self { true } else { false } }
}

/// A session's cache as a run finds it.
package struct OpenedCache: Hashable, Sendable {
    /// The key of its marks.
    package let key: [UInt8]
    /// What all of it takes.
    package let size: Int64
    package let urls: KnownURLs
}

/// Where something is held: whoever asks for another URL need not wait for the store.
package struct KnownURLs: Hashable, Sendable {
    /// `nil` is anywhere.
    private var places: Set<Int64>?
    static let most = 4096
    /// A run that adds more of its own asks wherever it goes.
    private static let mostInRun = 65_536

    init(_ places: Set<Int64>?) { self.places = places }
    package static let none = KnownURLs([])

    package var isEmpty: Bool { places?.isEmpty == true }
    package func mayHold(_ url: String) -> Bool { places?.contains(CacheRow.place(url)) != false }

    package mutating func insert(_ url: String) {
        places?.insert(CacheRow.place(url))
        if let count = places?.count, count > Self.mostInRun { places = nil }
    }
}

extension Store {
    /// `nil` when nothing was ever kept.
    package func cache(of session: StoredSession) throws(StoreError) -> OpenedCache? {
        try read { () throws(StoreError) in
            let query = try database.prepare("SELECT marks, size FROM caches WHERE session = ?")
            query.bind(1, session.id)
            guard try query.step(), let key = query.blob(0), key.count >= 16 else { return nil }
            let entries = try database.prepare("SELECT place FROM cacheEntries WHERE session = ? LIMIT ?")
            entries.bind(1, session.id)
            entries.bind(2, Int64(KnownURLs.most + 1))
            var places: Set<Int64> = []
            var count = 0
            while try entries.step() {
                places.insert(entries.integer(0) ?? 0)
                count += 1
            }
            let urls = KnownURLs(count > KnownURLs.most ? nil : places)
            return OpenedCache(key: key, size: query.integer(1) ?? 0, urls: urls)
        }
    }

    /// All that a session holds takes so much, as `CacheIndex` counts.
    package func cacheSize(_ session: StoredSession) throws(StoreError) -> Int64 {
        try read { () throws(StoreError) in
            let query = try database.prepare("SELECT size FROM caches WHERE session = ?")
            query.bind(1, session.id)
            return try query.step() ? query.integer(0) ?? 0 : 0
        }
    }

    /// Takes over changes in their order, all or none, and lets those entries go that were not used for the longest until
    /// the rest fits. Gives back whose files are to be removed once this is committed; `nil` when another process made this
    /// cache with another key: then nothing was changed. `folder` is where the bodies are that are in no row.
    package func change(
        _ session: StoredSession, _ changes: [CacheChange], key: [UInt8], capacity: Int64, folder: String,
        now: WallTime
    ) throws(StoreError) -> [CacheEntryID]? {
        guard !changes.isEmpty else { return [] }
        return try batch { () throws(StoreError) in
            try noteLateUse(of: session, now: now)
            guard let size = try Self.openCache(database, session, key) else { return nil }
            if changes.contains(where: \.isInFile) { try Self.note(database, session, folder) }
            let writer = try CacheWriter(database, session, size)
            for (number, change) in changes.enumerated() {
                try writer.take(change, used: now.nanoseconds + Int64(number))
            }
            try writer.makeRoom(capacity)
            return try writer.end()
        }
    }

    /// What all entries take; `nil` where the cache has another key.
    private static func openCache(
        _ database: borrowing Database, _ session: StoredSession, _ key: [UInt8]
    ) throws(StoreError) -> Int64? {
        let make = try database.prepare(
            "INSERT INTO caches (session, marks, size, swept) VALUES (?, ?, 0, 0) ON CONFLICT DO NOTHING")
        make.bind(1, session.id)
        make.bind(2, key)
        try make.run()
        let found = try database.prepare("SELECT marks, size FROM caches WHERE session = ?")
        found.bind(1, session.id)
        guard try found.step(), found.blob(0) == key else { return nil }
        return found.integer(1) ?? 0
    }

    private static func note(
        _ database: borrowing Database, _ session: StoredSession, _ folder: String
    ) throws(StoreError) {
        let insert = try database.prepare(
            "INSERT INTO cacheFolders (session, path) VALUES (?, ?) ON CONFLICT DO NOTHING")
        insert.bind(1, session.id)
        insert.bind(2, folder)
        try insert.run()
    }

    /// Whether the files of a session's folder are to be looked through; told once a day.
    package func mustSweep(_ session: StoredSession, now: WallTime) throws(StoreError) -> Bool {
        try batch { () throws(StoreError) in
            let update = try database.prepare(
                "UPDATE caches SET swept = ?2 WHERE session = ?1 AND swept NOT BETWEEN ?3 AND ?2")
            update.bind(1, session.id)
            update.bind(2, now.nanoseconds)
            update.bind(3, now.nanoseconds - TimeSpan.seconds(86_400).nanoseconds)
            try update.run()
            return database.changes > 0
        }
    }

    /// Whether any session holds the entry.
    package func holds(_ id: CacheEntryID) throws(StoreError) -> Bool {
        try read { () throws(StoreError) in
            let query = try database.prepare("SELECT 1 FROM cacheEntries WHERE id = ?")
            query.bind(1, id.raw)
            return try query.step()
        }
    }
}

/// Changes of one session in one transaction.
private final class CacheWriter {
    private let session: StoredSession
    private let insert: Statement
    private let update: Statement
    private let delete: Statement
    private let deletePlace: Statement
    private let deleteLike: Statement
    private let touch: Statement
    private let digest: Statement
    private let oldest: Statement
    private let note: Statement
    private var size: Int64
    private var files: [CacheEntryID] = []

    init(_ database: borrowing Database, _ session: StoredSession, _ size: Int64) throws(StoreError) {
        let insert = try database.prepare(
            """
            INSERT INTO cacheEntries (id, session, headers, selecting, requested, answered, mustAsk, seal, length, first,
                last, total, digest, body, place, used, size, url, status, credentials)
            VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
            ON CONFLICT DO NOTHING RETURNING id
            """)
        let update = try database.prepare(
            """
            UPDATE cacheEntries SET headers = ?3, selecting = ?4, requested = ?5, answered = ?6, mustAsk = ?7, seal = ?8,
                used = ?9
            WHERE id = ?1 AND session = ?2
            """)
        let delete = try database.prepare(
            "DELETE FROM cacheEntries WHERE id = ? AND session = ? RETURNING id, size, body IS NULL")
        let deletePlace = try database.prepare(
            "DELETE FROM cacheEntries WHERE session = ? AND place = ? AND url = ? RETURNING id, size, body IS NULL")
        let deleteLike = try database.prepare(
            """
            DELETE FROM cacheEntries
            WHERE session = ? AND place = ? AND url = ? AND selecting = ? AND credentials IS ?
            RETURNING id, size, body IS NULL
            """)
        let touch = try database.prepare("UPDATE cacheEntries SET used = ?3 WHERE id = ?1 AND session = ?2")
        let digest = try database.prepare("SELECT digest, url FROM cacheEntries WHERE id = ? AND session = ?")
        let oldest = try database.prepare("SELECT id FROM cacheEntries WHERE session = ? ORDER BY used LIMIT 32")
        let note = try database.prepare("UPDATE caches SET size = ?2 WHERE session = ?1")
        (self.session, self.size) = (session, size)
        self.insert = insert
        self.update = update
        self.delete = delete
        self.deletePlace = deletePlace
        self.deleteLike = deleteLike
        self.touch = touch
        self.digest = digest
        self.oldest = oldest
        self.note = note
    }

    func take(_ change: CacheChange, used: Int64) throws(StoreError) {
        switch change {
        case .put(let stored, let digest, let body):
            guard !digest.isEmpty else { return }
            try put(CacheRow(stored: stored, digest: digest, body: body), used)
        case .update(let stored): try renew(stored, used)
        case .remove(let id):
            delete.bind(1, id.raw)
            delete.bind(2, session.id)
            try take(delete)
        case .forget(let url):
            deletePlace.bind(1, session.id)
            deletePlace.bind(2, CacheRow.place(url))
            deletePlace.bind(3, url)
            try take(deletePlace)
        case .used(let id):
            touch.bind(1, id.raw)
            touch.bind(2, session.id)
            touch.bind(3, used)
            try touch.run()
        }
    }

    /// Two processes may have fetched the same: the last one counts. Parts are told apart by who joins them.
    private func put(_ row: CacheRow, _ used: Int64) throws(StoreError) {
        let stored = row.stored
        if stored.part == nil {
            deleteLike.bind(1, session.id)
            deleteLike.bind(2, CacheRow.place(stored.url))
            deleteLike.bind(3, stored.url)
            deleteLike.bind(4, stored.selecting.text)
            deleteLike.bind(5, stored.credentials.text)
            try take(deleteLike)
        }
        let taken = stored.bodyLength + CacheIndex.overhead
        insert.bind(row, session)
        insert.bind(15, CacheRow.place(stored.url))
        insert.bind(16, used)
        insert.bind(17, taken)
        insert.bind(18, stored.url)
        insert.bind(19, Int64(stored.status))
        insert.bind(20, stored.credentials.text)
        // A name is random and given once: whoever has it already keeps it.
        if try insert.step() { size += taken }
        insert.reset()
    }

    /// A row that another process took away meanwhile stays away.
    private func renew(_ stored: StoredResponse, _ used: Int64) throws(StoreError) {
        digest.bind(1, stored.id.raw)
        digest.bind(2, session.id)
        defer { digest.reset() }
        guard try digest.step(), let known = digest.blob(0), digest.text(1) == stored.url else { return }
        update.bindHead(CacheRow(stored: stored, digest: known, body: nil), session)
        update.bind(9, used)
        try update.run()
    }

    /// Runs what deletes rows and gives back what they took.
    private func take(_ deletion: borrowing Statement) throws(StoreError) {
        while try deletion.step() {
            let id = CacheEntryID(raw: deletion.integer(0) ?? 0)
            size -= deletion.integer(1) ?? 0
            if deletion.integer(2) == 1 { files.append(id) }
        }
        deletion.reset()
    }

    func makeRoom(_ capacity: Int64) throws(StoreError) {
        while size > capacity {
            oldest.bind(1, session.id)
            var last: [CacheEntryID] = []
            while try oldest.step() { last.append(CacheEntryID(raw: oldest.integer(0) ?? 0)) }
            oldest.reset()
            // Whatever the sum says, there is nothing left.
            guard !last.isEmpty else { return size = 0 }
            for id in last where size > capacity {
                delete.bind(1, id.raw)
                delete.bind(2, session.id)
                try take(delete)
            }
        }
    }

    func end() throws(StoreError) -> [CacheEntryID] {
        note.bind(1, session.id)
        note.bind(2, size)
        try note.run()
        return files
    }
}
