import Digests
package import HTTPRules
import SystemIO
import TransferModel

/// Lookups in the caches of a store, with statements that are prepared once.
struct CacheQuery: ~Copyable {
    private let byPlace: Statement
    private let byID: Statement
    /// Restarted for each body; `nil` where libcrypto has no SHA-256: then no body was cached either.
    private let digest: StreamingDigest?
    private let store: Store

    init(_ store: Store) throws(StoreError) {
        let byPlace = try store.database.prepare(
            """
            SELECT id, url, status, headers, selecting, credentials, requested, answered, mustAsk, length, first, last,
                total, digest, body, seal, used
            FROM cacheEntries WHERE session = ? AND place = ?
            """)
        let byID = try store.database.prepare(
            """
            SELECT id, url, status, headers, selecting, credentials, requested, answered, mustAsk, length, first, last,
                total, digest, body, seal, used
            FROM cacheEntries WHERE session = ? AND id = ?
            """)
        self.byPlace = byPlace
        self.byID = byID
        self.store = store
        digest = try? StreamingDigest(.sha256)
    }

    /// Returns the entries under the URL, and the ids of rows that failed verification.
    func find(
        _ session: StoredSession, _ url: String
    ) throws(StoreError) -> (entries: [CachedEntry], broken: [CacheEntryID]) {
        let (rows, broken) = try rows(byPlace, session, CacheRow.place(url))
        let own = rows.filter { $0.stored.url == url }
        return (own.map { CachedEntry(stored: $0.stored, body: $0.body, usedAt: $0.usedAt) }, broken)
    }

    /// Returns an entry, whatever its URL.
    func row(_ session: StoredSession, _ id: CacheEntryID) throws(StoreError) -> CacheRow? {
        try rows(byID, session, id.raw).rows.first
    }

    private func rows(
        _ statement: borrowing Statement, _ session: StoredSession, _ key: Int64
    ) throws(StoreError) -> (rows: [CacheRow], broken: [CacheEntryID]) {
        // Also ends the reading, without which the log of changes could never be taken into the file.
        defer { statement.reset() }
        statement.bind(1, session.id)
        statement.bind(2, key)
        var rows: [CacheRow] = []
        var broken: [CacheEntryID] = []
        while try step(statement) {
            if let row = statement.cacheRow(session), isWhole(row) {
                rows.append(row)
            } else {
                broken.append(CacheEntryID(raw: statement.integer(0) ?? 0))
            }
        }
        if !broken.isEmpty { store.suspect() }
        return (rows, broken)
    }

    /// Whether the body in the row matches its digest. A body in a file is verified when it is read.
    private func isWhole(_ row: CacheRow) -> Bool {
        guard let body = row.body else { return true }
        guard let digest, body.count == Int(row.stored.bodyLength) else { return false }
        digest.restart()
        digest.update(body)
        return digest.finish().bytes == row.digest
    }

    private func step(_ statement: borrowing Statement) throws(StoreError) -> Bool {
        do throws(StoreError) {
            return try statement.step()
        } catch {
            if error.kind == .damaged { store.suspect() }
            throw error
        }
    }
}

extension CacheRow {
    /// Returns the body from the row or from its file; `nil` when it is missing or does not match its digest.
    func body(in folder: CacheFolder?) -> [UInt8]? {
        body ?? folder?.read(stored.id, length: stored.bodyLength, digest: digest)
    }
}

extension Store {
    /// Returns the entries under the URL. Prepares its statements at each call: for tests and single lookups.
    package func cached(_ session: StoredSession, url: String) throws(StoreError) -> [CachedEntry] {
        try CacheQuery(self).find(session, url).entries
    }

    /// Returns the body of an entry, or `nil` if it is missing or damaged. For tests and single lookups.
    package func cachedBody(
        _ session: StoredSession, _ id: CacheEntryID, in folder: CacheFolder?
    ) throws(StoreError) -> [UInt8]? {
        try CacheQuery(self).row(session, id)?.body(in: folder)
    }
}
