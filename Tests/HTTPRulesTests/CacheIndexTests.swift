import HTTPRules
import TestSupport
import Testing
import TransferModel

struct CacheIndexTests {
    private typealias Eviction = CacheIndex.Eviction

    private func index(memory: Int64, disk: Int64, entry: Int64? = nil, isEphemeral: Bool = false) -> CacheIndex {
        var configuration = CacheConfiguration()
        configuration.memoryCapacity = memory
        configuration.diskCapacity = disk
        configuration.maximumEntry = entry
        return CacheIndex(configuration, isEphemeral: isEphemeral)
    }

    private func id(_ raw: Int64) -> CacheEntryID { CacheEntryID(raw: raw) }
    /// The body that makes an entry take exactly so many bytes.
    private func body(_ size: Int64) -> Int64 { size - CacheIndex.overhead }

    /// More than 5 % of a place's capacity does not go there.
    @Test func oneEntryTakesATwentieth() {
        var index = index(memory: 200_000, disk: 400_000)
        #expect(index.insert(id(1), bodyLength: body(10_000), inMemoryOnly: false).placement == .both)
        #expect(index.insert(id(2), bodyLength: body(10_001), inMemoryOnly: false).placement == .disk)
        #expect(index.insert(id(3), bodyLength: body(20_000), inMemoryOnly: false).placement == .disk)
        #expect(index.insert(id(4), bodyLength: body(20_001), inMemoryOnly: false).placement == nil)
        #expect(index.insert(id(5), bodyLength: body(10_001), inMemoryOnly: true).placement == nil)
        #expect(index.insert(id(6), bodyLength: body(10_000), inMemoryOnly: true).placement == .memory)
        #expect(index.refusal(of: body(20_000), inMemoryOnly: false) == nil)
        #expect(index.refusal(of: body(20_001), inMemoryOnly: false) == .tooLarge(most: 20_000))
        #expect(index.refusal(of: body(10_001), inMemoryOnly: true) == .tooLarge(most: 10_000))
        #expect(index.refusal(of: .max, inMemoryOnly: false) == .tooLarge(most: 20_000))
        #expect(index.memorySize == 20_000 && index.diskSize == 40_001)
    }

    @Test func theSessionMayAllowMoreOrLess() {
        var large = index(memory: 5_000, disk: 50_000, entry: 40_000)
        #expect(large.insert(id(1), bodyLength: body(40_000), inMemoryOnly: false).placement == .disk)
        #expect(large.insert(id(2), bodyLength: body(5_000), inMemoryOnly: false).placement == .both)
        #expect(large.insert(id(3), bodyLength: body(40_001), inMemoryOnly: false).placement == nil)
        var none = index(memory: 0, disk: 0, entry: 40_000)
        #expect(none.insert(id(1), bodyLength: 0, inMemoryOnly: false).placement == nil)
        var ephemeral = index(memory: 100_000, disk: 100_000, isEphemeral: true)
        #expect(ephemeral.insert(id(1), bodyLength: 0, inMemoryOnly: false).placement == .memory)
    }

    @Test func whatWasUsedLongestAgoGoes() {
        var index = index(memory: 6_000, disk: 12_000, entry: 3_000)
        for raw in 1...4 { _ = index.insert(id(Int64(raw)), bodyLength: body(3_000), inMemoryOnly: false) }
        #expect(index.memoryEntries == [id(4), id(3)] && index.diskEntries == [id(4), id(3), id(2), id(1)])
        // 1 comes back to memory, for which 3 leaves it.
        #expect(index.use(id(1)) == (true, [Eviction.fromMemory(id(3))]))
        #expect(index.use(id(1)) == (true, []))
        // On the disk 2 is now the last; in memory it is not.
        let fifth = index.insert(id(5), bodyLength: body(3_000), inMemoryOnly: false)
        #expect(fifth.evictions == [.gone(id(2)), .fromMemory(id(4))])
        #expect(index.memoryEntries == [id(5), id(1)])
        #expect(index.use(id(2)) == (false, []))
        // What lies in memory alone is gone with it.
        _ = index.insert(id(6), bodyLength: body(3_000), inMemoryOnly: true)
        _ = index.use(id(5))
        #expect(index.insert(id(7), bodyLength: body(3_000), inMemoryOnly: true).evictions == [.gone(id(6))])
    }

    @Test func anEntryThatGrewTooLargeIsGone() {
        var index = index(memory: 6_000, disk: 12_000, entry: 3_000)
        _ = index.insert(id(1), bodyLength: body(2_000), inMemoryOnly: false)
        _ = index.insert(id(1), bodyLength: body(2_500), inMemoryOnly: false)
        #expect(index.memorySize == 2_500 && index.diskSize == 2_500)
        let grown = index.insert(id(1), bodyLength: body(3_001), inMemoryOnly: false)
        #expect(grown.placement == nil && grown.evictions == [.gone(id(1))] && !index.contains(id(1)))
        #expect(index.memorySize == 0 && index.diskSize == 0)
    }

    /// A smaller capacity than last time, met when the cache is opened.
    @Test func whatIsFoundOnTheDiskIsCounted() {
        var index = index(memory: 100_000, disk: 5_000)
        var gone: [Eviction] = []
        for raw in 1...4 { gone += index.restore(id(Int64(raw)), bodyLength: body(2_000)) }
        #expect(gone == [.gone(id(1)), .gone(id(2))] && index.diskEntries == [id(4), id(3)])
        #expect(index.memoryEntries.isEmpty)
        #expect(index.remove(id(3)) && !index.remove(id(3)) && index.diskSize == 2_000)
    }

    /// Against books kept the slow way: an array for each place.
    @Test func againstAModel() {
        var random = Seeded("CacheIndexTests.againstAModel")
        for _ in 0..<Rounds.scaled(60) {
            let (memory, disk) = (Int64(random.below(40_000)), Int64(random.below(80_000)))
            let entry: Int64 = 10_000
            var index = index(memory: memory, disk: disk, entry: entry)
            var model = SlowBooks(memory: memory, disk: disk, entry: entry)
            for _ in 0..<300 {
                let name = id(Int64(random.below(20)))
                switch random.below(4) {
                case 0:
                    #expect(index.use(name).evictions == model.use(name))
                case 1:
                    #expect(index.remove(name) == model.remove(name))
                default:
                    let size = Int64(1_024 + random.below(12_000))
                    let inMemoryOnly = random.oneIn(4)
                    let taken = index.insert(name, bodyLength: body(size), inMemoryOnly: inMemoryOnly)
                    #expect(taken.evictions == model.insert(name, size, inMemoryOnly: inMemoryOnly))
                }
                #expect(index.memoryEntries == model.memory.map(\.id) && index.diskEntries == model.disk.map(\.id))
                #expect(index.memorySize <= memory && index.diskSize <= disk)
            }
        }
    }
}

/// Newest first.
private struct SlowBooks {
    typealias Entry = (id: CacheEntryID, size: Int64)
    var memory: [Entry] = []
    var disk: [Entry] = []
    let memoryCapacity: Int64
    let diskCapacity: Int64
    let entry: Int64

    init(memory: Int64, disk: Int64, entry: Int64) {
        memoryCapacity = memory
        diskCapacity = disk
        self.entry = entry
    }

    mutating func remove(_ id: CacheEntryID) -> Bool {
        let count = memory.count + disk.count
        memory.removeAll { $0.id == id }
        disk.removeAll { $0.id == id }
        return memory.count + disk.count < count
    }

    mutating func use(_ id: CacheEntryID) -> [CacheIndex.Eviction] {
        if let place = disk.firstIndex(where: { $0.id == id }) { disk.insert(disk.remove(at: place), at: 0) }
        if let place = memory.firstIndex(where: { $0.id == id }) {
            memory.insert(memory.remove(at: place), at: 0)
        } else if let found = disk.first, found.id == id, found.size <= min(entry, memoryCapacity) {
            memory.insert(found, at: 0)
        }
        return makeRoom()
    }

    mutating func insert(_ id: CacheEntryID, _ size: Int64, inMemoryOnly: Bool) -> [CacheIndex.Eviction] {
        let wasThere = remove(id)
        if size <= min(entry, memoryCapacity) { memory.insert((id, size), at: 0) }
        if !inMemoryOnly, size <= min(entry, diskCapacity) { disk.insert((id, size), at: 0) }
        let isThere = memory.first?.id == id || disk.first?.id == id
        return (wasThere && !isThere ? [.gone(id)] : []) + makeRoom()
    }

    private mutating func makeRoom() -> [CacheIndex.Eviction] {
        var evictions: [CacheIndex.Eviction] = []
        while disk.map(\.size).reduce(0, +) > diskCapacity, let last = disk.popLast() {
            memory.removeAll { $0.id == last.id }
            evictions.append(.gone(last.id))
        }
        while memory.map(\.size).reduce(0, +) > memoryCapacity, let last = memory.popLast() {
            evictions.append(disk.contains { $0.id == last.id } ? .fromMemory(last.id) : .gone(last.id))
        }
        return evictions
    }
}
