package import HTTPRules
package import TransferModel

/// A change to a session's cache entries on the disk.
package enum CacheChange: Hashable, Sendable {
    /// Adds an entry in the place of others that answer the same requests. `body` is `nil` when it is in a file
    /// already; an entry with an empty digest could not be verified, and is left out.
    case put(StoredResponse, digest: [UInt8], body: [UInt8]?)
    /// Replaces the headers of an entry that a server confirmed; the body stays.
    case update(StoredResponse)
    case remove(CacheEntryID)
    /// Deletes all entries under the URL.
    case forget(url: String)
    case used(CacheEntryID)

    /// Whether it adds an entry whose body is a file of the cache's folder.
    fileprivate var isInFile: Bool { if case .put(_, _, nil) = self { true } else { false } }
}

/// A session's cache as a run finds it at its start.
package struct OpenedCache: Hashable, Sendable {
    /// Key of its marks (`CacheMarker.keyed`).
    package let key: [UInt8]
    /// Total size of its entries in bytes, as `CacheIndex` counts them.
    package let size: Int64
    /// URLs with entries.
    package let urls: KnownURLs
}

/// The URLs that may have entries; a lookup for another URL need not wait for the store.
package struct KnownURLs: Hashable, Sendable {
    /// Fingerprints of the URLs (`CacheRow.place`); `nil` means every URL.
    private var places: Set<Int64>?
    /// Most entries whose URLs are listed at the opening of a cache.
    static let most = 4096
    /// Most URLs in the set; a run that adds more makes every lookup go to the store.
    private static let mostInRun = 65_536

    init(_ places: Set<Int64>?) { self.places = places }
    /// A cache without entries.
    package static let none = KnownURLs([])

    /// Whether no URL is known, so that every lookup would find nothing.
    package var isEmpty: Bool { places?.isEmpty == true }
    /// Whether the store may have an entry under the URL.
    package func mayHold(_ url: String) -> Bool { places?.contains(CacheRow.place(url)) != false }

    /// Adds a URL under which an entry was put.
    package mutating func insert(_ url: String) {
        places?.insert(CacheRow.place(url))
        if let count = places?.count, count > Self.mostInRun { places = nil }
    }
}

extension Store {
    /// Returns the session's cache, or `nil` if none was made yet.
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

    /// Total size of the session's entries in bytes, as `CacheIndex` counts them.
    package func cacheSize(_ session: StoredSession) throws(StoreError) -> Int64 {
        try read { () throws(StoreError) in
            let query = try database.prepare("SELECT size FROM caches WHERE session = ?")
            query.bind(1, session.id)
            return try query.step() ? query.integer(0) ?? 0 : 0
        }
    }

    /// Writes the changes in their order, in one transaction, and deletes the least recently used entries until the
    /// rest fits `capacity`. Returns the entries whose files are to be deleted after the commit; `nil`, with nothing
    /// changed, when another process made this cache with another key. `folder` is the folder of the bodies that are in
    /// no row.
    package func change(
        _ session: StoredSession, _ changes: [CacheChange], key: [UInt8], capacity: Int64, folder: String,
        now: WallTime
    ) throws(StoreError) -> [CacheEntryID]? {
        guard !changes.isEmpty else { return [] }
        return try batch { () throws(StoreError) in
            try noteLateUse(of: session, now: now)
            guard let size = try Self.openCache(database, session, key) else { return nil }
            if changes.contains(where: \.isInFile) { try Self.recordCacheFolder(database, session, folder) }
            let writer = try CacheWriter(database, session, size)
            for (number, change) in changes.enumerated() {
                try writer.apply(change, used: now.nanoseconds + Int64(number))
            }
            try writer.makeRoom(capacity)
            return try writer.end()
        }
    }

    /// Creates the cache if needed and returns the total size of its entries; `nil` where it has another key.
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

    private static func recordCacheFolder(
        _ database: borrowing Database, _ session: StoredSession, _ folder: String
    ) throws(StoreError) {
        let insert = try database.prepare(
            "INSERT INTO cacheFolders (session, path) VALUES (?, ?) ON CONFLICT DO NOTHING")
        insert.bind(1, session.id)
        insert.bind(2, folder)
        try insert.run()
    }

    /// Whether the files of a session's folder are to be swept now: `true` once a day.
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

/// Writes the changes of one session within one transaction.
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

    func apply(_ change: CacheChange, used: Int64) throws(StoreError) {
        switch change {
        case .put(let stored, let digest, let body):
            guard !digest.isEmpty else { return }
            try put(CacheRow(stored: stored, digest: digest, body: body), used)
        case .update(let stored): try renew(stored, used)
        case .remove(let id):
            delete.bind(1, id.raw)
            delete.bind(2, session.id)
            try runDeletion(delete)
        case .forget(let url):
            deletePlace.bind(1, session.id)
            deletePlace.bind(2, CacheRow.place(url))
            deletePlace.bind(3, url)
            try runDeletion(deletePlace)
        case .used(let id):
            touch.bind(1, id.raw)
            touch.bind(2, session.id)
            touch.bind(3, used)
            try touch.run()
        }
    }

    /// Adds a row. Two processes may have fetched the same answer: the last one counts. Partial answers do not replace
    /// each other; their reader joins them.
    private func put(_ row: CacheRow, _ used: Int64) throws(StoreError) {
        let stored = row.stored
        if stored.part == nil {
            deleteLike.bind(1, session.id)
            deleteLike.bind(2, CacheRow.place(stored.url))
            deleteLike.bind(3, stored.url)
            deleteLike.bind(4, stored.selecting.text)
            deleteLike.bind(5, stored.credentials.text)
            try runDeletion(deleteLike)
        }
        let taken = stored.bodyLength + CacheIndex.overhead
        insert.bind(row, session)
        insert.bind(15, CacheRow.place(stored.url))
        insert.bind(16, used)
        insert.bind(17, taken)
        insert.bind(18, stored.url)
        insert.bind(19, Int64(stored.status))
        insert.bind(20, stored.credentials.text)
        // An id is random and given once: an entry that already has it stays.
        if try insert.step() { size += taken }
        insert.reset()
    }

    /// Updates a row's headers; a row that another process deleted meanwhile stays deleted.
    private func renew(_ stored: StoredResponse, _ used: Int64) throws(StoreError) {
        digest.bind(1, stored.id.raw)
        digest.bind(2, session.id)
        defer { digest.reset() }
        guard try digest.step(), let known = digest.blob(0), digest.text(1) == stored.url else { return }
        update.bindHead(CacheRow(stored: stored, digest: known, body: nil), session)
        update.bind(9, used)
        try update.run()
    }

    /// Runs a deletion, subtracts the size of the deleted rows and notes their files.
    private func runDeletion(_ deletion: borrowing Statement) throws(StoreError) {
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
            // No entry is left, whatever the recorded size says.
            guard !last.isEmpty else { return size = 0 }
            for id in last where size > capacity {
                delete.bind(1, id.raw)
                delete.bind(2, session.id)
                try runDeletion(delete)
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
