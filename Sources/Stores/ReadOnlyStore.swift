package import HTTPRules
package import TransferModel

/// Reads what the store knows of a job's tasks, for commands that transfer nothing: writes nothing and takes no lock.
package final class ReadOnlyStore {
    private let store: Store
    private let validators: ValidatorQuery
    private let cached: Statement
    private let sessions: [StoredSession?]
    /// The folders in which something is recorded, and the partial downloads by destination; each by session.
    private let places: [KnownPlaces?]
    private let parts: [[ExactText: ResumeRecord]]
    private let caches: [OpenedCache?]
    private let uploads: [[UploadKey: UploadRecord]]

    /// A cached response without its body.
    package struct CachedHead: Sendable {
        /// The response; its credentials and selecting headers are not read.
        package let response: StoredResponse
        /// Bytes of its body.
        package var length: Int64 { response.bodyLength }
    }

    /// Opens the store of a place; `nil` without a store.
    package static func of(_ place: MemoryPlace) throws(StoreError) -> ReadOnlyStore? {
        guard Store.isThere(folder: place.folder) else { return nil }
        return try ReadOnlyStore(Store.openToRead(folder: place.folder), place.sessions)
    }

    private init(_ store: Store, _ names: [StoredSessionName?]) throws(StoreError) {
        self.store = store
        store.beginReading()
        validators = try ValidatorQuery(store)
        cached = try store.database.prepare(
            """
            SELECT url, status, headers, requested, answered, mustAsk, length FROM cacheEntries
            WHERE session = ? AND place = ? AND first IS NULL
            """)
        var sessions: [StoredSession?] = []
        var places: [KnownPlaces?] = []
        var parts: [[ExactText: ResumeRecord]] = []
        var caches: [OpenedCache?] = []
        var uploads: [[UploadKey: UploadRecord]] = []
        for name in names {
            let session = try name.flatMap { name throws(StoreError) in
                try store.knownSession(job: name.job, name: name.name)
            }
            let records = try session.map { session throws(StoreError) in try store.resumeRecords(session) } ?? [:]
            sessions.append(session)
            parts.append(records)
            places.append(
                try session.map { session throws(StoreError) in
                    KnownPlaces(try store.folders(session), and: records.keys.map(\.text))
                })
            caches.append(try session.flatMap { session throws(StoreError) in try store.cache(of: session) })
            let sent = try session.map { session throws(StoreError) in
                try store.uploads(session, now: store.openedAt)
            }
            uploads.append(Dictionary((sent ?? []).map { ($0.key, $0) }) { $1 })
        }
        (self.sessions, self.places, self.parts) = (sessions, places, parts)
        (self.caches, self.uploads) = (caches, uploads)
    }

    deinit { store.endReading() }

    /// Returns what was recorded of the file under this key: its path, or its folder and the URL that gives it a name.
    package func file(
        _ session: SessionIndex, key: String
    ) throws(StoreError) -> (kept: KeptValidators?, part: ResumeRecord?) {
        let number = Int(session.raw)
        guard let stored = sessions[number], places[number]?.mayHold(key) == true else { return (nil, nil) }
        return (try validators.find(stored, key), parts[number].isEmpty ? nil : parts[number][ExactText(key)])
    }

    /// Returns the cached responses to GETs of the URL, partial ones left out.
    package func responses(_ session: SessionIndex, url: String) throws(StoreError) -> [CachedHead] {
        let number = Int(session.raw)
        guard let stored = sessions[number], caches[number]?.urls.mayHold(url) == true else { return [] }
        defer { cached.reset() }
        cached.bind(1, stored.id)
        cached.bind(2, CacheRow.place(url))
        var found: [CachedHead] = []
        while try cached.step() { if cached.text(0) == url { found.append(cached.cachedHead(url)) } }
        return found
    }

    /// Returns what the session sent to the URL, as far as it is known to be there still.
    package func sent(_ session: SessionIndex, to url: String) throws(StoreError) -> SentUpload? {
        guard let stored = sessions[Int(session.raw)] else { return nil }
        return try store.sentUpload(stored, url: url)
    }

    /// Returns the unfinished upload of that task, URL and file.
    package func upload(_ session: SessionIndex, _ key: UploadKey) -> UploadRecord? {
        uploads[Int(session.raw)].isEmpty ? nil : uploads[Int(session.raw)][key]
    }
}

extension Statement {
    fileprivate func cachedHead(_ url: String) -> ReadOnlyStore.CachedHead {
        var response = StoredResponse(
            url: url, status: Int(integer(1) ?? 0), headers: HeaderBlock(raw: blob(2) ?? []),
            selecting: SelectingHeaders(text: ""), credentials: .absent,
            requestTime: WallTime(nanoseconds: integer(3) ?? 0), responseTime: WallTime(nanoseconds: integer(4) ?? 0),
            bodyLength: integer(6) ?? 0)
        response.needsValidation = integer(5) == 1
        return ReadOnlyStore.CachedHead(response: response)
    }
}
