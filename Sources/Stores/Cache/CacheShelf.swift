package import HTTPRules
import SystemIO
package import TransferModel

/// Where a session's cache lies.
package struct CachePlace: Hashable, Sendable {
    /// Of the bodies that are too long for the store.
    package let folder: String
    package let capacity: Int64
    /// Of its marks, if it is new.
    package let key: [UInt8]

    package init(folder: String, capacity: Int64, key: [UInt8] = CacheMarker.newKey()) {
        self.folder = folder
        self.capacity = capacity
        self.key = key
    }
}

/// What the loop asks of a session's cache on the disk.
package enum CacheOrder: Sendable {
    case find(TaskIndex, url: String)
    /// The body of an entry under this URL.
    case read(TaskIndex, CacheEntryID, url: String)
    case put(StoredResponse, body: [UInt8])
    case change(CacheChange)
}

/// The store thread's side of the caches: what is to be written in its next transaction, and the folders of bodies.
struct CacheShelf: ~Copyable {
    private struct Shelf {
        let place: CachePlace
        var key: [UInt8]
        var folder: CacheFolder?
        /// The folder cannot be used, or the cache is another's.
        var isClosed = false
        var changes: [CacheChange] = []
        /// Under which the changes are.
        var urls: Set<String> = []
        /// Some change is under a URL that nobody told.
        var isAnywhere = false
    }

    private var shelves: [Shelf?]
    private var query: CacheQuery?
    /// To be removed once what made them needless is committed.
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

    /// A long body is written at once: its row comes later, and what waits here is short. Gives back a sentence when the
    /// session's cache had to be given up.
    mutating func put(_ stored: StoredResponse, _ body: [UInt8], _ session: SessionIndex) -> String? {
        guard number(session) != nil else { return nil }
        var inRow: [UInt8]? = body
        if body.count > CacheBody.longestInRow {
            let problem = openFolder(session)
            // For want of room, for one.
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

    /// Within the store's transaction.
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
        // Another process made the cache with another key since this run began: what we marked means nothing in it.
        shelves[number]?.isClosed = true
        needless += shelf.changes.compactMap { change in
            if case .put(let stored, _, nil) = change { (session, stored.id) } else { nil }
        }
    }

    /// After it.
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
            // Whoever cannot ask removes nothing.
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

    /// The key that an earlier run made.
    mutating func use(_ key: [UInt8], _ session: SessionIndex) {
        if let number = number(session) { shelves[number]?.key = key }
    }
}
