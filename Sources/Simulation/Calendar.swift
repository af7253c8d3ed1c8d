import TransferModel

/// What is to happen in the world, the earliest first; what falls due together comes in the order it was put.
struct Calendar {
    enum Kind: UInt8 {
        /// The head of an answer, or the failure to get one.
        case answer
        /// The next transfer of a host has its share.
        case body
        /// A cancelled transfer is gone.
        case gone
        /// Local work is done.
        case delivered
        case published
        case outage
        /// The network under all that moves goes away.
        case handover
    }

    struct Entry {
        let due: Int64
        let order: UInt32
        /// A flight's place, a host, a group or an outage.
        let index: Int32
        /// Of the flight or host when it was put; a later one makes it void.
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
        // What is sorted is a heap.
        items = kept
    }

    /// The first one, when it is due by then.
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
