import AttemptLife
package import HTTPRules
package import Stores
package import TransferModel

/// A session's cache as the loop sees it: what was used lies in memory, the rest with the store, which is asked once for
/// each URL. What is to be done there is collected as orders.
///
/// Bodies are arrays that their readers share: taking one out copies nothing.
package final class SessionCache {
    private struct Entry {
        var stored: StoredResponse
        /// `nil`: it lies with the store, and the entry stays here only until it was used.
        var body: [UInt8]?
        /// The store has it, or will.
        let isOnDisk: Bool
        /// The last name given when its use was told: what came since would be older otherwise.
        var toldAt: Int64 = -1
        /// The last use that an earlier run wrote down.
        var usedAt = WallTime(nanoseconds: 0)
    }
    /// What lies here of one URL; there is none where nothing does.
    private struct Place {
        var ids: [CacheEntryID] = []
        /// The store has nothing more under it.
        var isComplete = true
    }

    let configuration: CacheConfiguration
    package private(set) var marker: CacheMarker
    /// Of what lies in memory; the store keeps books of its own.
    private var memory: CacheIndex
    /// What may be kept at all.
    private let bounds: CacheIndex
    private var places: [String: Place] = [:]
    private var entries: [CacheEntryID: Entry] = [:]
    /// The store is asked and told; else everything ends with the run.
    private let isOnDisk: Bool
    /// Where the store may hold something; `nil` until it has said so.
    private var known: KnownURLs?
    private var lastID: Int64
    /// What the store's part takes, as far as is known here.
    private var diskSize: Int64 = 0
    private(set) var orders: [CacheOrder] = []
    /// Of the last first request, for the next like it.
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
        // No two runs give one name twice, and the names of one run stand together in the store.
        lastID = Int64.random(in: 0..<(1 << 39)) << 24
    }

    private static let useGrain = TimeSpan.seconds(86_400)

    /// What is said of answers that no other request has. Of a thousand most are of one method.
    func refusal(toAnswersOf method: String) -> CacheRecord {
        if let last = lastRefusal, last.method == method { return last.record }
        let record = CacheRecord(refusal: CacheStorage.Refusal.method(method).description)
        lastRefusal = (method, record)
        return record
    }

    // MARK: What the store says

    /// What it holds of this session already; before that nothing is asked of it.
    package func open(_ cache: OpenedCache?) {
        known = cache?.urls ?? KnownURLs.none
        if let cache { (marker, diskSize) = (.keyed(by: cache.key), cache.size) }
    }

    /// What it holds under a URL, the bodies of short ones with it: all that there is.
    package func take(_ found: [CachedEntry], under url: String) -> [StoredResponse] {
        var place = places[url] ?? Place()
        place.isComplete = true
        for one in found where entries[one.stored.id] == nil {
            entries[one.stored.id] = Entry(stored: one.stored, body: nil, isOnDisk: true, usedAt: one.usedAt)
            place.ids.append(one.stored.id)
        }
        let held = place.ids.compactMap { entries[$0]?.stored }
        if !place.ids.isEmpty { places[url] = place }
        for one in found {
            if let body = one.body { take(body, of: one.stored.id) }
        }
        return held
    }

    /// A body that it read stays here for the next time, if it fits.
    package func take(_ body: [UInt8], of id: CacheEntryID) {
        guard let entry = entries[id], entry.body == nil else { return }
        let (placement, evictions) = memory.insert(id, bodyLength: entry.stored.bodyLength, inMemoryOnly: true)
        if placement != nil { entries[id]?.body = body }
        evict(evictions, but: id)
    }

    package func takeOrders() -> [CacheOrder] {
        defer { orders = [] }
        return orders
    }

    // MARK: Reading

    /// Nothing is held, here or there.
    package var isEmpty: Bool { entries.isEmpty && known?.isEmpty == true }

    /// All that is held under the URL; `nil` when the store must say first.
    package func held(_ url: String) -> [StoredResponse]? {
        if let place = places[url] {
            return place.isComplete ? place.ids.compactMap { entries[$0]?.stored } : nil
        }
        guard let known, !known.mayHold(url) else { return nil }
        return []
    }

    /// `nil` where it lies with the store.
    package func body(of id: CacheEntryID) -> [UInt8]? { entries[id]?.body }

    func order(_ order: CacheOrder) { orders.append(order) }

    /// The store is told where it may soon have to choose what goes, and otherwise once a day: a row written for each hit
    /// would cost as much as the hit.
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

    /// What is too long to stay here is asked for anew the next time.
    private func touch(_ id: CacheEntryID) {
        if entries[id]?.body == nil { drop(id) } else { _ = memory.use(id) }
    }

    // MARK: Changing

    package func refusal(of length: Int64, inMemoryOnly: Bool) -> CacheStorage.Refusal? {
        bounds.refusal(of: length, inMemoryOnly: inMemoryOnly || !isOnDisk)
    }

    /// Takes an answer in that may be kept, under a name of its own.
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

    /// A server was asked about it. What may stay in memory only from now on goes from the disk.
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

    package func remove(_ id: CacheEntryID) {
        guard let entry = entries[id] else { return }
        drop(id)
        if entry.isOnDisk { orders.append(.change(.remove(id))) }
    }

    /// Whatever is held under the URL.
    package func forget(_ url: String) {
        for id in places[url]?.ids ?? [] { drop(id) }
        if isOnDisk, known?.mayHold(url) != false { orders.append(.change(.forget(url: url))) }
    }

    /// Lets go of what lies here. What the store has of it must be asked for from then on.
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
            // What found no room is still to be used this time.
            case .fromMemory(let id), .gone(let id): if id != kept { drop(id) }
            }
        }
    }
}
