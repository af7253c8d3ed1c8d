/// Entries with their sizes in the order of their last use. The cost of an operation does not grow with their number.
struct RecencyList: Sendable {
    private struct Node {
        var id: CacheEntryID
        /// Indices into `nodes`; `none` at the ends.
        var size: Int64
        /// Indices into `nodes`; `none` at the ends.
        var newer: Int
        var older: Int
    }
    private static let none = -1
    private var nodes: [Node] = []
    private var places: [CacheEntryID: Int] = [:]
    private var free: [Int] = []
    private var newest = none
    private var oldest = none
    private(set) var size: Int64 = 0

    var count: Int { places.count }
    var last: CacheEntryID? { oldest == Self.none ? nil : nodes[oldest].id }

    func contains(_ id: CacheEntryID) -> Bool { places[id] != nil }
    func size(of id: CacheEntryID) -> Int64? { places[id].map { nodes[$0].size } }

    /// All entries, the last used first.
    var ids: [CacheEntryID] {
        var ids: [CacheEntryID] = []
        var place = newest
        while place != Self.none {
            ids.append(nodes[place].id)
            place = nodes[place].older
        }
        return ids
    }

    /// Inserts an entry as the last used one, in place of an entry with that id.
    mutating func insert(_ id: CacheEntryID, size: Int64) {
        remove(id)
        let node = Node(id: id, size: size, newer: Self.none, older: Self.none)
        let place: Int
        if let reused = free.popLast() {
            nodes[reused] = node
            place = reused
        } else {
            place = nodes.count
            nodes.append(node)
        }
        places[id] = place
        self.size += size
        link(place)
    }

    mutating func touch(_ id: CacheEntryID) {
        guard let place = places[id], place != newest else { return }
        unlink(place)
        link(place)
    }

    @discardableResult
    mutating func remove(_ id: CacheEntryID) -> Bool {
        guard let place = places.removeValue(forKey: id) else { return false }
        unlink(place)
        size -= nodes[place].size
        free.append(place)
        return true
    }

    private mutating func link(_ place: Int) {
        nodes[place].newer = Self.none
        nodes[place].older = newest
        if newest == Self.none { oldest = place } else { nodes[newest].newer = place }
        newest = place
    }

    private mutating func unlink(_ place: Int) {
        let (newer, older) = (nodes[place].newer, nodes[place].older)
        if newer == Self.none { newest = older } else { nodes[newer].older = older }
        if older == Self.none { oldest = newer } else { nodes[older].newer = newer }
    }
}
