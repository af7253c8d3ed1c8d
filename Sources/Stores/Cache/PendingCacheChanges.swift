package import HTTPRules
import SystemIO
package import TransferModel

/// Where a session's disk cache is, and how large it may get.
package struct CachePlace: Hashable, Sendable {
    /// Folder of the bodies that are too long for the store.
    package let folder: String
    /// Most bytes that its entries may take together.
    package let capacity: Int64
    /// Key of its marks if the cache is new.
    package let key: [UInt8]

    package init(folder: String, capacity: Int64, key: [UInt8] = CacheMarker.newKey()) {
        self.folder = folder
        self.capacity = capacity
        self.key = key
    }
}

/// What the loop asks of a session's disk cache.
package enum CacheOrder: Sendable {
    /// Asks for the entries under the URL.
    case find(TaskIndex, url: String)
    /// Asks for the body of an entry under this URL.
    case read(TaskIndex, CacheEntryID, url: String)
    /// Adds an answer with its body.
    case put(StoredResponse, body: [UInt8])
    case change(CacheChange)
}

/// The store thread's state of all disk caches: the changes of its next transaction, and the folders of bodies.
struct PendingCacheChanges: ~Copyable {
    private struct SessionChanges {
        let place: CachePlace
        var key: [UInt8]
        var folder: CacheFolder?
        /// The cache is not written any more: its folder cannot be used, or another process made it with another key.
        var isClosed = false
        var changes: [CacheChange] = []
        /// URLs with pending changes.
        var urls: Set<String> = []
        /// A pending change concerns an entry whose URL is unknown.
        var isAnywhere = false
    }

    private var pending: [SessionChanges?]
    private var query: CacheQuery?
    /// Entries whose files are deleted after the commit of the transaction that made them useless.
    private var needless: [(SessionIndex, CacheEntryID)] = []

    init(_ places: [CachePlace?]) {
        pending = places.map { place in place.map { SessionChanges(place: $0, key: $0.key) } }
    }

    private func number(_ session: SessionIndex) -> Int? {
        let number = Int(session.raw)
        return number < pending.count && pending[number] != nil ? number : nil
    }

    func has(_ session: SessionIndex) -> Bool { number(session) != nil }

    mutating func close() { query = nil }

    // MARK: Reading

    func awaitsWriting(_ session: SessionIndex, _ url: String) -> Bool {
        guard let number = number(session), let one = pending[number] else { return false }
        return one.isAnywhere || one.urls.contains(url)
    }

    mutating func find(
        _ store: Store, _ stored: StoredSession, _ session: SessionIndex, _ url: String
    ) throws(StoreError) -> [CachedEntry] {
        try prepare(store)
        guard let found = try query?.find(stored, url) else { return [] }
        for id in found.broken { add(.remove(id), session) }
        return found.entries
    }

    mutating func body(
        _ store: Store, _ stored: StoredSession, _ session: SessionIndex, _ id: CacheEntryID
    ) throws(StoreError) -> [UInt8]? {
        try prepare(store)
        if let row = try query?.row(stored, id) {
            if row.body == nil { openFolder(session) }
            let folder = number(session).flatMap { pending[$0]?.folder }
            if let body = row.body(in: folder) { return body }
        }
        add(.remove(id), session)
        return nil
    }

    private mutating func prepare(_ store: Store) throws(StoreError) {
        if query == nil { query = try CacheQuery(store) }
    }

    // MARK: Changing

    var hasChanges: Bool { pending.contains { $0?.changes.isEmpty == false } }
    var changed: [SessionIndex] {
        pending.indices.filter { pending[$0]?.changes.isEmpty == false }.map { SessionIndex(raw: UInt16($0)) }
    }

    mutating func add(_ change: CacheChange, _ session: SessionIndex) {
        guard let number = number(session), pending[number]?.isClosed == false else { return }
        pending[number]?.changes.append(change)
        switch change {
        case .put(let stored, _, _), .update(let stored): pending[number]?.urls.insert(stored.url)
        case .forget(let url): pending[number]?.urls.insert(url)
        case .remove: pending[number]?.isAnywhere = true
        case .used: break
        }
    }

    /// Adds an answer. A long body is written to its file at once; its row and short bodies wait for the next
    /// transaction. Returns a sentence for people when the session's cache had to be given up.
    mutating func put(_ stored: StoredResponse, _ body: [UInt8], _ session: SessionIndex) -> String? {
        guard number(session) != nil else { return nil }
        var inRow: [UInt8]? = body
        if body.count > CacheBody.longestInRow {
            let problem = openFolder(session)
            // The write may fail too, for want of space: the answer is then not cached.
            guard let folder = number(session).flatMap({ pending[$0]?.folder }), folder.write(body, of: stored.id)
            else { return problem }
            inRow = nil
        }
        add(.put(stored, digest: CacheBody.digest(body), body: inRow), session)
        return nil
    }

    @discardableResult
    private mutating func openFolder(_ session: SessionIndex) -> String? {
        guard let number = number(session), let one = pending[number], !one.isClosed, one.folder == nil else {
            return nil
        }
        do throws(StoreError) {
            pending[number]?.folder = try CacheFolder(one.place.folder)
            return nil
        } catch {
            pending[number]?.isClosed = true
            return error.description
        }
    }

    /// Writes the session's pending changes within the store's transaction.
    mutating func write(
        _ store: Store, _ stored: StoredSession, _ session: SessionIndex, _ now: WallTime
    ) throws(StoreError) {
        guard let number = number(session), let one = pending[number] else { return }
        if let files = try store.change(
            stored, one.changes, key: one.key, capacity: one.place.capacity, folder: one.place.folder,
            now: now)
        {
            needless += files.map { (session, $0) }
            return
        }
        // Another process made the cache with another key since this run began: this run's marks mean nothing in it.
        pending[number]?.isClosed = true
        needless += one.changes.compactMap { change in
            if case .put(let stored, _, nil) = change { (session, stored.id) } else { nil }
        }
    }

    /// Deletes useless files after the transaction, and sweeps the folders when that is due.
    mutating func tidy(_ store: Store, _ sessions: [SessionIndex: StoredSession], _ now: WallTime) {
        for (session, id) in needless {
            openFolder(session)
            if let number = number(session) { pending[number]?.folder?.remove(id) }
        }
        needless = []
        for (number, one) in pending.enumerated() {
            guard let folder = one?.folder, let stored = sessions[SessionIndex(raw: UInt16(number))],
                (try? store.mustSweep(stored, now: now)) == true
            else { continue }
            // Where the store cannot be asked, no file is deleted.
            folder.sweep(now: now) { id in (try? store.holds(id)) != false }
        }
    }

    mutating func forgetChanges() {
        for number in pending.indices {
            pending[number]?.changes = []
            pending[number]?.urls = []
            pending[number]?.isAnywhere = false
        }
    }

    /// Sets the key that an earlier run made.
    mutating func use(_ key: [UInt8], _ session: SessionIndex) {
        if let number = number(session) { pending[number]?.key = key }
    }
}
