import TransferModel

/// The tasks of one session that wait for one origin, and the slots they share.
struct TaskLane {
    let session: SessionIndex
    let origin: OriginID?
    /// Slots in use, by running tasks and by attempts that came here on a redirect.
    var inUse = 0
    var peak = 0
    var tasks = 0
    var capacity: Int
    /// Running attempts that wait for a slot here; they go before tasks that have not begun.
    var grantsAwaited = TaskQueue()
    /// Changes whenever the lane's place in the order may have; an older entry in the heap is void.
    var stamp: UInt32 = 0
    private var waiting: [(priority: Double, queue: TaskQueue)] = []

    /// How long the lane has been full, up to `fullSince` if it is now.
    private var fullTotal = TimeSpan.zero
    private var fullSince: Instant?

    init(session: SessionIndex, origin: OriginID?, capacity: Int) {
        self.session = session
        self.origin = origin
        self.capacity = capacity
    }

    var isFull: Bool { inUse >= capacity }
    var isEmpty: Bool { waiting.allSatisfy { $0.queue.isEmpty } }

    mutating func enqueue(_ task: TaskIndex, priority: Double) {
        if let place = waiting.firstIndex(where: { $0.priority <= priority }) {
            if waiting[place].priority == priority {
                waiting[place].queue.append(task)
            } else {
                waiting.insert((priority, TaskQueue([task])), at: place)
            }
        } else {
            waiting.append((priority, TaskQueue([task])))
        }
    }

    /// The task that goes next, with its priority.
    func head(where isWaiting: (TaskIndex) -> Bool) -> (priority: Double, task: TaskIndex)? {
        for entry in waiting {
            if let task = entry.queue.first { return (entry.priority, task) }
        }
        return nil
    }

    mutating func removeHead() {
        for place in waiting.indices where !waiting[place].queue.isEmpty {
            waiting[place].queue.removeFirst()
            if waiting[place].queue.isEmpty, waiting.count > 1 { waiting.remove(at: place) }
            return
        }
    }

    mutating func take(at now: Instant) {
        inUse += 1
        peak = max(peak, inUse)
        if isFull, fullSince == nil { fullSince = now }
    }

    mutating func give(at now: Instant) {
        inUse -= 1
        precondition(inUse >= 0, "a slot was given back twice")
        noteCapacity(at: now)
    }

    mutating func noteCapacity(at now: Instant) {
        if isFull {
            if fullSince == nil { fullSince = now }
        } else if let since = fullSince {
            fullTotal += now - since
            fullSince = nil
        }
    }

    /// Total time up to `now` in which the lane had no free slot: a task's share is the difference of two readings.
    func fullTime(at now: Instant) -> TimeSpan {
        fullSince.map { fullTotal + (now - $0) } ?? fullTotal
    }
}

/// First in, first out, without moving what is left.
struct TaskQueue {
    private var items: [TaskIndex]
    private var start = 0

    init(_ items: [TaskIndex] = []) { self.items = items }
    var isEmpty: Bool { start == items.count }
    var first: TaskIndex? { isEmpty ? nil : items[start] }
    mutating func append(_ task: TaskIndex) { items.append(task) }
    mutating func removeFirst() {
        start += 1
        if start == items.count {
            items.removeAll(keepingCapacity: true)
            start = 0
        } else if start > 1024, start * 2 > items.count {
            items.removeFirst(start)
            start = 0
        }
    }
    mutating func remove(_ task: TaskIndex) {
        if let place = items[start...].firstIndex(of: task) { items.remove(at: place) }
    }
}

/// A binary heap whose least element is first.
struct Heap<Element> {
    private var items: [Element] = []
    private let isBefore: (Element, Element) -> Bool

    init(_ isBefore: @escaping (Element, Element) -> Bool) { self.isBefore = isBefore }
    var first: Element? { items.first }
    var isEmpty: Bool { items.isEmpty }

    mutating func push(_ element: Element) {
        items.append(element)
        var child = items.count - 1
        while child > 0 {
            let parent = (child - 1) / 2
            guard isBefore(items[child], items[parent]) else { return }
            items.swapAt(child, parent)
            child = parent
        }
    }

    mutating func pop() -> Element? {
        guard let least = items.first else { return nil }
        let last = items.removeLast()
        if !items.isEmpty {
            items[0] = last
            sink()
        }
        return least
    }

    private mutating func sink() {
        var parent = 0
        while true {
            var least = parent
            for child in [2 * parent + 1, 2 * parent + 2] where child < items.count {
                if isBefore(items[child], items[least]) { least = child }
            }
            if least == parent { return }
            items.swapAt(parent, least)
            parent = least
        }
    }
}
