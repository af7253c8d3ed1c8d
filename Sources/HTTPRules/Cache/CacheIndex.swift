package import TransferModel

/// Tracks which entries of a cache are in memory and on disk, their sizes, and which to evict when there is no room.
/// The owner of the bodies and files carries out the returned evictions.
package struct CacheIndex: Sendable {
    /// An eviction for the owner to carry out.
    package enum Eviction: Hashable, Sendable {
        /// Drop the body in memory; the one on disk stays.
        case fromMemory(CacheEntryID)
        /// Delete the entry in memory and on disk.
        case gone(CacheEntryID)
    }

    /// Bytes that an entry is counted for beside its body: its headers, its row, its file.
    package static let overhead: Int64 = 1024

    private let memoryCapacity: Int64
    private let diskCapacity: Int64
    private let maximumEntry: Int64?
    private var memory = RecencyList()
    private var disk = RecencyList()

    /// - Parameter isEphemeral: whether nothing is stored on disk, whatever its capacity.
    package init(_ configuration: CacheConfiguration, isEphemeral: Bool = false) {
        memoryCapacity = max(configuration.memoryCapacity, 0)
        diskCapacity = isEphemeral ? 0 : max(configuration.diskCapacity, 0)
        maximumEntry = configuration.maximumEntry
    }

    /// Bytes of the entries in memory.
    package var memorySize: Int64 { memory.size }
    /// Bytes of the entries on disk.
    package var diskSize: Int64 { disk.size }
    /// Entries in memory, the last used first.
    package var memoryEntries: [CacheEntryID] { memory.ids }
    /// Entries on disk, the last used first.
    package var diskEntries: [CacheEntryID] { disk.ids }
    /// Whether an entry is in memory or on disk.
    package func contains(_ id: CacheEntryID) -> Bool { memory.contains(id) || disk.contains(id) }

    /// Size in bytes of the largest entry that is stored: the session's limit, or 5 % of the capacity, and at most the
    /// capacity.
    private func most(_ capacity: Int64) -> Int64 { min(maximumEntry ?? capacity / 20, capacity) }

    /// Returns why an entry with a body of `length` bytes cannot be stored, or `nil`; called before the body is stored,
    /// and again when its length is known.
    package func refusal(of length: Int64, inMemoryOnly: Bool) -> CacheStorage.Refusal? {
        let most = inMemoryOnly ? self.most(memoryCapacity) : max(self.most(memoryCapacity), self.most(diskCapacity))
        return takes(length) <= most ? nil : .tooLarge(most: most)
    }

    /// Whether a body of `length` bytes fits on disk.
    package func fitsDisk(_ length: Int64) -> Bool { takes(length) <= most(diskCapacity) }

    /// Where an entry is stored.
    package enum Placement: Hashable, Sendable {
        case memory, disk, both
    }

    /// Adds an entry, in place of one with that id. `placement` is `nil` when ``refusal(of:inMemoryOnly:)`` applies; an
    /// entry with that id is then evicted too, because it is no longer what the server has.
    package mutating func insert(
        _ id: CacheEntryID, bodyLength: Int64, inMemoryOnly: Bool
    ) -> (placement: Placement?, evictions: [Eviction]) {
        let wasThere = remove(id)
        let size = takes(bodyLength)
        let fitsMemory = size <= most(memoryCapacity)
        let fitsDisk = !inMemoryOnly && size <= most(diskCapacity)
        if fitsMemory { memory.insert(id, size: size) }
        if fitsDisk { disk.insert(id, size: size) }
        let evictions = makeRoom()
        switch (fitsMemory, fitsDisk) {
        case (true, true): return (.both, evictions)
        case (true, false): return (.memory, evictions)
        case (false, true): return (.disk, evictions)
        case (false, false): return (nil, (wasThere ? [.gone(id)] : []) + evictions)
        }
    }

    /// Marks an entry as used. An entry that is only on disk is added to memory if it fits: the caller has just read
    /// it.
    package mutating func use(_ id: CacheEntryID) -> (isNowInMemory: Bool, evictions: [Eviction]) {
        disk.touch(id)
        if memory.contains(id) {
            memory.touch(id)
            return (true, [])
        }
        guard let size = disk.size(of: id), size <= most(memoryCapacity) else { return (false, []) }
        memory.insert(id, size: size)
        return (true, makeRoom())
    }

    /// Adds an entry found on disk when the cache was opened; call for the oldest first.
    package mutating func restore(_ id: CacheEntryID, bodyLength: Int64) -> [Eviction] {
        disk.insert(id, size: takes(bodyLength))
        return makeRoom()
    }

    /// Removes an entry and returns whether it existed.
    @discardableResult
    package mutating func remove(_ id: CacheEntryID) -> Bool {
        let wasInMemory = memory.remove(id)
        return disk.remove(id) || wasInMemory
    }

    /// Bytes that an entry with a body of `length` bytes is counted for.
    private func takes(_ length: Int64) -> Int64 {
        let (size, isTooLarge) = max(length, 0).addingReportingOverflow(Self.overhead)
        return isTooLarge ? .max : size
    }

    private mutating func makeRoom() -> [Eviction] {
        var evictions: [Eviction] = []
        while disk.size > diskCapacity, let id = disk.last {
            remove(id)
            evictions.append(.gone(id))
        }
        while memory.size > memoryCapacity, let id = memory.last {
            memory.remove(id)
            evictions.append(disk.contains(id) ? .fromMemory(id) : .gone(id))
        }
        return evictions
    }
}
