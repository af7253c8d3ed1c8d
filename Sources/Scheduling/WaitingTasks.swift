import TransferModel

/// Orders the tasks of a lane by priority, and those of one priority as they came.
///
/// Nearly all tasks of a job have one priority: those stand in a queue. The others stand in a heap, so that neither
/// a thousand tasks nor a thousand priorities make anything slow.
struct WaitingTasks: Sendable {
    private struct Prioritised: HeapElement, Sendable {
        let priority: Double
        let number: UInt32
        let task: TaskIndex

        func isBefore(_ other: Prioritised) -> Bool {
            priority != other.priority ? priority > other.priority : number < other.number
        }
    }
    private var usual = Queue<TaskIndex>()
    /// The priority of the tasks in `usual`: that of the first task which came while none was waiting.
    private var usualPriority = 0.5
    private var others = Heap<Prioritised>()
    private var count: UInt32 = 0

    /// The task that starts next, with its priority.
    var head: (priority: Double, task: TaskIndex)? {
        guard let task = usual.first else { return others.first.map { ($0.priority, $0.task) } }
        guard let other = others.first, other.priority > usualPriority else { return (usualPriority, task) }
        return (other.priority, other.task)
    }

    /// How many tasks it holds, those that have moved on and not come to the front counted.
    var total: Int { usual.count + others.count }

    /// Adds the task. Returns whether it starts next.
    mutating func add(_ task: TaskIndex, _ priority: Double) -> Bool {
        let before = head
        if priority == usualPriority {
            usual.append(task)
        } else if before == nil {
            usualPriority = priority
            usual.append(task)
        } else {
            count += 1
            others.push(Prioritised(priority: priority, number: count, task: task))
        }
        guard let before else { return true }
        return priority > before.priority
    }

    mutating func removeHead() {
        if let other = others.first, usual.isEmpty || other.priority > usualPriority {
            _ = others.pop()
        } else {
            usual.removeFirst()
        }
    }

    func filter(_ isWanted: (TaskIndex) -> Bool) -> [TaskIndex] {
        usual.filter(isWanted) + others.items.map(\.task).filter(isWanted)
    }
}

/// A first-in, first-out queue that does not move the rest when the first element is removed.
struct Queue<Element> {
    private var items: [Element] = []
    private var start = 0

    var count: Int { items.count - start }
    var isEmpty: Bool { start == items.count }
    var first: Element? { isEmpty ? nil : items[start] }
    mutating func append(_ element: Element) { items.append(element) }
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
    func filter(_ isWanted: (Element) -> Bool) -> [Element] { items[start...].filter(isWanted) }
    mutating func removeFirst(where isMeant: (Element) -> Bool) {
        guard let place = items[start...].firstIndex(where: isMeant) else { return }
        items.remove(at: place)
    }
}

extension Queue: Sendable where Element: Sendable {}
