import AttemptLife
package import HTTPRules
package import Stores
package import TransferModel

/// A session's cache on the loop thread: entries used in this run are in memory, the rest is with the store, which is
/// asked once for each URL. Changes for the store are collected as orders.
///
/// Bodies are arrays shared with their readers: taking one out copies nothing.
package final class SessionCache {
    private struct Entry {
        var stored: StoredResponse
        /// `nil`: the body is with the store, and the entry stays in memory only until it was used.
        var body: [UInt8]?
        /// Whether the store has the entry, or will.
        let isOnDisk: Bool
        /// The last id given when its use was last ordered: without new entries since, its order among them is
        /// unchanged.
        var toldAt: Int64 = -1
        /// Last use recorded by an earlier run.
        var usedAt = WallTime(nanoseconds: 0)
    }
    /// The entries of one URL in memory.
    private struct Place {
        var ids: [CacheEntryID] = []
        /// Whether the store has no further entry under the URL.
        var isComplete = true
    }

    let configuration: CacheConfiguration
    /// Makes the marks by which requests and answers are compared; keyed for a cache on the disk.
    package private(set) var marker: CacheMarker
    /// Index of the entries in memory; the store has an index of its own.
    private var memory: CacheIndex
    /// Decides which answers may be cached at all.
    private let bounds: CacheIndex
    private var places: [String: Place] = [:]
    private var entries: [CacheEntryID: Entry] = [:]
    /// Whether the store is asked and changed; else the cache ends with the run.
    private let isOnDisk: Bool
    /// URLs that may have entries in the store; `nil` until it has been opened.
    private var known: KnownURLs?
    private var lastID: Int64
    /// Size of the store's part in bytes, as far as is known here.
    private var diskSize: Int64 = 0
    private(set) var orders: [CacheOrder] = []
    /// Headers of the last first request, reused for the next like it.
    var lastHeaders: (rules: AttemptRules, headers: HeaderBlock)?
    private var lastRefusal: (method: String, record: CacheRecord)?

    /// - Parameter place: `nil` for a cache that ends with the run.
    package init(_ configuration: CacheConfiguration, on place: CachePlace?) {
        var configuration = configuration
        if !configuration.isEnabled { (configuration.memoryCapacity, configuration.diskCapacity) = (0, 0) }
        self.configuration = configuration
        isOnDisk = place != nil
        memory = CacheIndex(configuration, isEphemeral: true)
        bounds = CacheIndex(configuration, isEphemeral: place == nil)
        marker = place.map { .keyed(by: $0.key) } ?? .plain
        known = place == nil ? KnownURLs.none : nil
        // No two runs use the same ids, and those of one run are neighbours in the store.
        lastID = Int64.random(in: 0..<(1 << 39)) << 24
    }

    private static let useGrain = TimeSpan.seconds(86_400)

    /// The record of an answer that is not cached for its method. The last one is reused: most answers are of one
    /// method.
    func refusal(toAnswersOf method: String) -> CacheRecord {
        if let last = lastRefusal, last.method == method { return last.record }
        let record = CacheRecord(refusal: CacheStorage.Refusal.method(method).description)
        lastRefusal = (method, record)
        return record
    }

    // MARK: What the store says

    /// Sets what the store has of this session; before that the store is not asked.
    package func open(_ cache: OpenedCache?) {
        known = cache?.urls ?? KnownURLs.none
        if let cache { (marker, diskSize) = (.keyed(by: cache.key), cache.size) }
    }

    /// Takes all entries that the store has under a URL, with the bodies of short ones, and returns the answers under
    /// it.
    package func entriesFound(_ found: [CachedEntry], under url: String) -> [StoredResponse] {
        var place = places[url] ?? Place()
        place.isComplete = true
        for one in found where entries[one.stored.id] == nil {
            entries[one.stored.id] = Entry(stored: one.stored, body: nil, isOnDisk: true, usedAt: one.usedAt)
            place.ids.append(one.stored.id)
        }
        let held = place.ids.compactMap { entries[$0]?.stored }
        if !place.ids.isEmpty { places[url] = place }
        for one in found {
            if let body = one.body { bodyRead(body, of: one.stored.id) }
        }
        return held
    }

    /// Takes a body that the store read; it stays in memory for the next use if it fits.
    package func bodyRead(_ body: [UInt8], of id: CacheEntryID) {
        guard let entry = entries[id], entry.body == nil else { return }
        let (placement, evictions) = memory.insert(id, bodyLength: entry.stored.bodyLength, inMemoryOnly: true)
        if placement != nil { entries[id]?.body = body }
        evict(evictions, but: id)
    }

    /// Returns the orders for the store since the last call.
    package func takeOrders() -> [CacheOrder] {
        defer { orders = [] }
        return orders
    }

    // MARK: Reading

    /// Whether no entry exists, in memory or in the store.
    package var isEmpty: Bool { entries.isEmpty && known?.isEmpty == true }

    /// Returns the answers under the URL; `nil` when the store must be asked first.
    package func held(_ url: String) -> [StoredResponse]? {
        if let place = places[url] {
            return place.isComplete ? place.ids.compactMap { entries[$0]?.stored } : nil
        }
        guard let known, !known.mayHold(url) else { return nil }
        return []
    }

    /// Returns the entry's body; `nil` where it is with the store.
    package func body(of id: CacheEntryID) -> [UInt8]? { entries[id]?.body }

    func order(_ order: CacheOrder) { orders.append(order) }

    /// Notes a use. The store is told when it may soon have to delete entries, and otherwise once a day: a row written
    /// for each hit would cost as much as the hit.
    package func noteUse(of id: CacheEntryID, at now: WallTime) {
        guard let entry = entries[id] else { return }
        if entry.isOnDisk, entry.toldAt != lastID,
            now - entry.usedAt > Self.useGrain || diskSize > configuration.diskCapacity / 2
        {
            entries[id]?.toldAt = lastID
            orders.append(.change(.used(id)))
        }
        touch(id)
    }

    /// Marks the entry as used; one whose body is too long for memory is dropped, and asked for again the next time.
    private func touch(_ id: CacheEntryID) {
        if entries[id]?.body == nil { drop(id) } else { _ = memory.use(id) }
    }

    // MARK: Changing

    /// Returns why a body of that length cannot be cached; `nil` if it can.
    package func refusal(of length: Int64, inMemoryOnly: Bool) -> CacheStorage.Refusal? {
        bounds.refusal(of: length, inMemoryOnly: inMemoryOnly || !isOnDisk)
    }

    /// Adds an answer under a new id.
    package func store(_ stored: StoredResponse, _ body: [UInt8], inMemoryOnly: Bool) {
        lastID += 1
        var stored = stored
        stored.id = CacheEntryID(raw: lastID)
        let isForDisk = isOnDisk && !inMemoryOnly && bounds.fitsDisk(stored.bodyLength)
        if isForDisk {
            diskSize += stored.bodyLength + CacheIndex.overhead
            known?.insert(stored.url)
            orders.append(.put(stored.withoutCookies, body: body))
        }
        let (placement, evictions) = memory.insert(stored.id, bodyLength: stored.bodyLength, inMemoryOnly: true)
        if placement != nil {
            entries[stored.id] = Entry(
                stored: stored, body: body, isOnDisk: isForDisk, toldAt: lastID, usedAt: stored.responseTime)
            places[stored.url, default: Place()].ids.append(stored.id)
        } else {
            places[stored.url]?.isComplete = false
        }
        evict(evictions)
    }

    /// Replaces the headers of an entry that a server confirmed. With `inMemoryOnly` it is deleted from the disk.
    package func update(_ stored: StoredResponse, inMemoryOnly: Bool = false) {
        guard let entry = entries[stored.id] else { return }
        if inMemoryOnly, entry.isOnDisk {
            guard let body = entry.body else { return remove(stored.id) }
            orders.append(.change(.remove(stored.id)))
            entries[stored.id] = Entry(stored: stored, body: body, isOnDisk: false)
            return touch(stored.id)
        }
        entries[stored.id]?.stored = stored
        entries[stored.id]?.toldAt = lastID
        if entry.isOnDisk { orders.append(.change(.update(stored.withoutCookies))) }
        touch(stored.id)
    }

    /// Deletes the entry, in memory and in the store.
    package func remove(_ id: CacheEntryID) {
        guard let entry = entries[id] else { return }
        drop(id)
        if entry.isOnDisk { orders.append(.change(.remove(id))) }
    }

    /// Deletes all entries under the URL.
    package func forget(_ url: String) {
        for id in places[url]?.ids ?? [] { drop(id) }
        if isOnDisk, known?.mayHold(url) != false { orders.append(.change(.forget(url: url))) }
    }

    /// Drops the entry from memory. The store must be asked for it from then on.
    private func drop(_ id: CacheEntryID) {
        guard let entry = entries.removeValue(forKey: id) else { return }
        memory.remove(id)
        let url = entry.stored.url
        places[url]?.ids.removeAll { $0 == id }
        if entry.isOnDisk { places[url]?.isComplete = false }
        if places[url]?.ids.isEmpty == true { places[url] = nil }
    }

    private func evict(_ evictions: [CacheIndex.Eviction], but kept: CacheEntryID? = nil) {
        for eviction in evictions {
            switch eviction {
            // An entry without room in memory is still used this time.
            case .fromMemory(let id), .gone(let id): if id != kept { drop(id) }
            }
        }
    }
}
