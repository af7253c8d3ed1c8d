import TransferModel

/// The pending happenings of a simulated world: a heap, earliest first. Entries that fall due together come in the
/// order they were put.
struct Calendar {
    enum Kind: UInt8 {
        /// The head of a response, or the failure to get one.
        case answer
        /// The next transfer of a host has received its share of the bandwidth.
        case body
        /// The cancellation of a transfer is complete.
        case gone
        /// The local work of a delivery is done.
        case delivered
        case published
        case outage
        /// The client moves to another network, which ends every connection that uses one.
        case handover
    }

    struct Entry {
        let due: Int64
        let order: UInt32
        /// Depends on `kind`: a flight's place, a host, a group, an outage or a handover.
        let index: Int32
        /// The generation of the flight or host when the entry was put; the entry is void once that has moved on.
        let generation: UInt32
        let kind: Kind

        func isBefore(_ other: Entry) -> Bool { due < other.due || due == other.due && order &- other.order > 1 << 31 }
    }

    private var items: [Entry] = []
    private var count: UInt32 = 0

    var next: Instant? { items.first.map { Instant(nanoseconds: $0.due) } }

    mutating func put(_ kind: Kind, _ index: Int, _ generation: UInt32, at due: Instant) {
        count &+= 1
        items.append(
            Entry(due: due.nanoseconds, order: count, index: Int32(index), generation: generation, kind: kind))
        var child = items.count - 1
        while child > 0, items[child].isBefore(items[(child - 1) / 2]) {
            items.swapAt(child, (child - 1) / 2)
            child = (child - 1) / 2
        }
    }

    mutating func drop(where isUnwanted: (Entry) -> Bool) {
        let kept = items.filter { !isUnwanted($0) }.sorted { $0.isBefore($1) }
        // A sorted array is a valid heap.
        items = kept
    }

    /// Removes and returns the first entry if it is due by `instant`; `nil` otherwise.
    mutating func take(until instant: Instant) -> Entry? {
        guard let first = items.first, first.due <= instant.nanoseconds, let last = items.popLast() else { return nil }
        guard !items.isEmpty else { return first }
        items[0] = last
        var parent = 0
        while true {
            var least = 2 * parent + 1
            guard least < items.count else { return first }
            if least + 1 < items.count, items[least + 1].isBefore(items[least]) { least += 1 }
            guard items[least].isBefore(items[parent]) else { return first }
            items.swapAt(parent, least)
            parent = least
        }
    }
}
