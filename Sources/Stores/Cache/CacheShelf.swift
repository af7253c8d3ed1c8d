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
struct CacheShelf: ~Copyable {
    private struct Shelf {
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

    private var shelves: [Shelf?]
    private var query: CacheQuery?
    /// Entries whose files are deleted after the commit of the transaction that made them useless.
    private var needless: [(SessionIndex, CacheEntryID)] = []

    init(_ places: [CachePlace?]) {
        shelves = places.map { place in place.map { Shelf(place: $0, key: $0.key) } }
    }

    private func number(_ session: SessionIndex) -> Int? {
        let number = Int(session.raw)
        return number < shelves.count && shelves[number] != nil ? number : nil
    }

    func has(_ session: SessionIndex) -> Bool { number(session) != nil }

    mutating func close() { query = nil }

    // MARK: Reading

    func awaitsWriting(_ session: SessionIndex, _ url: String) -> Bool {
        guard let number = number(session), let shelf = shelves[number] else { return false }
        return shelf.isAnywhere || shelf.urls.contains(url)
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
            let folder = number(session).flatMap { shelves[$0]?.folder }
            if let body = row.body(in: folder) { return body }
        }
        add(.remove(id), session)
        return nil
    }

    private mutating func prepare(_ store: Store) throws(StoreError) {
        if query == nil { query = try CacheQuery(store) }
    }

    // MARK: Changing

    var hasChanges: Bool { shelves.contains { $0?.changes.isEmpty == false } }
    var changed: [SessionIndex] {
        shelves.indices.filter { shelves[$0]?.changes.isEmpty == false }.map { SessionIndex(raw: UInt16($0)) }
    }

    mutating func add(_ change: CacheChange, _ session: SessionIndex) {
        guard let number = number(session), shelves[number]?.isClosed == false else { return }
        shelves[number]?.changes.append(change)
        switch change {
        case .put(let stored, _, _), .update(let stored): shelves[number]?.urls.insert(stored.url)
        case .forget(let url): shelves[number]?.urls.insert(url)
        case .remove: shelves[number]?.isAnywhere = true
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
            guard let folder = number(session).flatMap({ shelves[$0]?.folder }), folder.write(body, of: stored.id)
            else { return problem }
            inRow = nil
        }
        add(.put(stored, digest: CacheBody.digest(body), body: inRow), session)
        return nil
    }

    @discardableResult
    private mutating func openFolder(_ session: SessionIndex) -> String? {
        guard let number = number(session), let shelf = shelves[number], !shelf.isClosed, shelf.folder == nil else {
            return nil
        }
        do throws(StoreError) {
            shelves[number]?.folder = try CacheFolder(shelf.place.folder)
            return nil
        } catch {
            shelves[number]?.isClosed = true
            return error.description
        }
    }

    /// Writes the session's pending changes within the store's transaction.
    mutating func write(
        _ store: Store, _ stored: StoredSession, _ session: SessionIndex, _ now: WallTime
    ) throws(StoreError) {
        guard let number = number(session), let shelf = shelves[number] else { return }
        if let files = try store.change(
            stored, shelf.changes, key: shelf.key, capacity: shelf.place.capacity, folder: shelf.place.folder,
            now: now)
        {
            needless += files.map { (session, $0) }
            return
        }
        // Another process made the cache with another key since this run began: this run's marks mean nothing in it.
        shelves[number]?.isClosed = true
        needless += shelf.changes.compactMap { change in
            if case .put(let stored, _, nil) = change { (session, stored.id) } else { nil }
        }
    }

    /// Deletes useless files after the transaction, and sweeps the folders when that is due.
    mutating func tidy(_ store: Store, _ sessions: [SessionIndex: StoredSession], _ now: WallTime) {
        for (session, id) in needless {
            openFolder(session)
            if let number = number(session) { shelves[number]?.folder?.remove(id) }
        }
        needless = []
        for (number, shelf) in shelves.enumerated() {
            guard let folder = shelf?.folder, let stored = sessions[SessionIndex(raw: UInt16(number))],
                (try? store.mustSweep(stored, now: now)) == true
            else { continue }
            // Where the store cannot be asked, no file is deleted.
            folder.sweep(now: now) { id in (try? store.holds(id)) != false }
        }
    }

    mutating func forgetChanges() {
        for number in shelves.indices {
            shelves[number]?.changes = []
            shelves[number]?.urls = []
            shelves[number]?.isAnywhere = false
        }
    }

    /// Sets the key that an earlier run made.
    mutating func use(_ key: [UInt8], _ session: SessionIndex) {
        if let number = number(session) { shelves[number]?.key = key }
    }
}
