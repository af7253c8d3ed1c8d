import TransferModel

protocol HeapElement {
    func isBefore(_ other: Self) -> Bool
}

/// A binary heap whose least element is first.
struct Heap<Element: HeapElement> {
    /// The least first, the others in heap order.
    private(set) var items: [Element] = []

    init(_ items: [Element] = []) {
        self.items = items
        for place in stride(from: items.count / 2 - 1, through: 0, by: -1) { sink(place) }
    }

    var first: Element? { items.first }
    var count: Int { items.count }

    mutating func push(_ element: Element) {
        items.append(element)
        rise(items.count - 1)
    }

    mutating func pop() -> Element? {
        guard let least = items.first, let last = items.popLast() else { return nil }
        if !items.isEmpty {
            items[0] = last
            sink(0)
        }
        return least
    }

    private mutating func rise(_ place: Int) {
        var child = place
        while child > 0 {
            let parent = (child - 1) / 2
            guard items[child].isBefore(items[parent]) else { return }
            items.swapAt(child, parent)
            child = parent
        }
    }

    private mutating func sink(_ place: Int) {
        var parent = place
        while true {
            var least = 2 * parent + 1
            guard least < items.count else { return }
            if least + 1 < items.count, items[least + 1].isBefore(items[least]) { least += 1 }
            guard items[least].isBefore(items[parent]) else { return }
            items.swapAt(parent, least)
            parent = least
        }
    }
}

extension Heap: Sendable where Element: Sendable {}

/// A lane or a session that has a task to start and room for it. Of several the one with the higher priority goes
/// first, then the one of which less is under way (so that no host and no session holds up another), then file order.
struct Candidate: Sendable {
    /// A lane's place in its session, or a session's number: small and unique in its heap.
    let place: Int
    let priority: Double
    let inUse: Int
    let task: TaskIndex

    func isBefore(_ other: Candidate) -> Bool {
        if priority != other.priority { return priority > other.priority }
        if inUse != other.inUse { return inUse < other.inUse }
        return task < other.task
    }
}

/// A heap in which each place stands once and moves when its standing changes.
struct CandidateHeap: Sendable {
    private var items: [Candidate] = []
    /// The index of each place in `items`; -1 where it is not in the heap.
    private var positions: [Int32] = []

    var first: Candidate? { items.first }

    mutating func put(_ entry: Candidate) {
        while positions.count <= entry.place { positions.append(-1) }
        if positions[entry.place] < 0 {
            items.append(entry)
            positions[entry.place] = Int32(items.count - 1)
        } else {
            items[Int(positions[entry.place])] = entry
        }
        settle(Int(positions[entry.place]))
    }

    mutating func remove(place: Int) {
        guard place < positions.count, positions[place] >= 0, let last = items.popLast() else { return }
        let position = Int(positions[place])
        positions[place] = -1
        guard position < items.count else { return }
        items[position] = last
        positions[last.place] = Int32(position)
        settle(position)
    }

    private mutating func settle(_ start: Int) {
        var position = start
        while position > 0, items[position].isBefore(items[(position - 1) / 2]) {
            exchange(position, (position - 1) / 2)
            position = (position - 1) / 2
        }
        while true {
            var least = 2 * position + 1
            guard least < items.count else { return }
            if least + 1 < items.count, items[least + 1].isBefore(items[least]) { least += 1 }
            guard items[least].isBefore(items[position]) else { return }
            exchange(position, least)
            position = least
        }
    }

    private mutating func exchange(_ left: Int, _ right: Int) {
        items.swapAt(left, right)
        positions[items[left].place] = Int32(left)
        positions[items[right].place] = Int32(right)
    }
}
