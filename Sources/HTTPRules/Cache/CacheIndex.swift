package import TransferModel

/// The books of a cache: what lies in memory and on the disk, how much it is, and what goes when there is no room. Bodies
/// and files are somebody else's, who carries out what comes back.
package struct CacheIndex: Sendable {
    package enum Eviction: Hashable, Sendable {
        /// The body in memory; the one on the disk stays.
        case fromMemory(CacheEntryID)
        /// The entry, wherever it is.
        case gone(CacheEntryID)
    }

    /// What an entry takes beside its body: its headers, its row, its file.
    package static let overhead: Int64 = 1024

    private let memoryCapacity: Int64
    private let diskCapacity: Int64
    private let maximumEntry: Int64?
    private var memory = RecencyList()
    private var disk = RecencyList()

    /// - Parameter isEphemeral: nothing goes to the disk, whatever its capacity.
    package init(_ configuration: CacheConfiguration, isEphemeral: Bool = false) {
        memoryCapacity = max(configuration.memoryCapacity, 0)
        diskCapacity = isEphemeral ? 0 : max(configuration.diskCapacity, 0)
        maximumEntry = configuration.maximumEntry
    }

    package var memorySize: Int64 { memory.size }
    package var diskSize: Int64 { disk.size }
    /// From the one that was used last.
    package var memoryEntries: [CacheEntryID] { memory.ids }
    package var diskEntries: [CacheEntryID] { disk.ids }
    package func contains(_ id: CacheEntryID) -> Bool { memory.contains(id) || disk.contains(id) }

    /// The largest entry that is kept: what the session says, or 5 % of the capacity; and what fits at all.
    private func most(_ capacity: Int64) -> Int64 { min(maximumEntry ?? capacity / 20, capacity) }

    /// Where an entry with a body of `length` bytes would go; asked before the body is kept, and again when its length is
    /// known.
    package func refusal(of length: Int64, inMemoryOnly: Bool) -> CacheStorage.Refusal? {
        let most = inMemoryOnly ? self.most(memoryCapacity) : max(self.most(memoryCapacity), self.most(diskCapacity))
        return takes(length) <= most ? nil : .tooLarge(most: most)
    }

    /// Whether the disk would take a body of `length` bytes.
    package func fitsDisk(_ length: Int64) -> Bool { takes(length) <= most(diskCapacity) }

    package enum Placement: Hashable, Sendable {
        case memory, disk, both
    }

    /// Takes an entry in, in the place of one of that name. No placement when ``refusal(of:inMemoryOnly:)`` says why; then
    /// one of that name is gone too, for it is no longer what the server has.
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

    /// An entry was used. One that lies on the disk alone is taken into memory if it may: the caller has just read it.
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

    /// An entry that was found on the disk when the cache was opened, oldest first.
    package mutating func restore(_ id: CacheEntryID, bodyLength: Int64) -> [Eviction] {
        disk.insert(id, size: takes(bodyLength))
        return makeRoom()
    }

    @discardableResult
    package mutating func remove(_ id: CacheEntryID) -> Bool {
        let wasInMemory = memory.remove(id)
        return disk.remove(id) || wasInMemory
    }

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
