import TransferModel

/// Tracks the networks and the power that are there now, the tasks that wait for others, and the running tasks that a
/// change may end.
struct CurrentConditions: Sendable {
    private struct Waiting: Sendable {
        let task: TaskIndex
        /// The task's wait that this is; a task that waits again has a higher one.
        let wait: UInt32
    }
    /// `nil` where the conditions are not looked up: then no task waits for them.
    private(set) var present: Conditions?
    /// Counts the changes: whether those that an attempt met still hold.
    private(set) var number: UInt32 = 0
    /// Whether a task with the strictest terms would have to wait. On most machines none would, and no task is judged.
    private(set) var areStrict = false
    /// In the order in which they came. A task that has moved on stays in it until the next change.
    private var waiting: [Waiting] = []
    /// How often each task waited, by task. Grows with the first one.
    private var waitCounts: [UInt32] = []
    /// Running tasks that are interrupted when the conditions begin to cost money or power.
    private(set) var discretionary: Set<TaskIndex> = []

    private static let strictest = NetworkTerms(
        allowsCellular: false, allowsExpensive: false, allowsConstrained: false)

    init(_ present: Conditions?) { set(present) }

    private mutating func set(_ conditions: Conditions?) {
        present = conditions
        areStrict = conditions?.discretionaryShortage(of: Self.strictest) != nil
    }

    /// Takes in a report of the conditions. Returns whether they changed. An equal report says that routes came or
    /// went: then a host that was out of reach may not be any more.
    mutating func change(to conditions: Conditions) -> Bool {
        number &+= 1
        guard conditions != present else { return false }
        set(conditions)
        return true
    }

    /// The task waits for other conditions. `count` is the number of tasks, to which some may have been added.
    mutating func awaitChange(_ task: TaskIndex, of count: Int) {
        if waitCounts.count < count { waitCounts += Array(repeating: 0, count: count - waitCounts.count) }
        waitCounts[Int(task.raw)] &+= 1
        waiting.append(Waiting(task: task, wait: waitCounts[Int(task.raw)]))
    }

    /// Removes and returns the tasks that may still wait, each once and in the order of their last waits.
    mutating func takeWaiting() -> [TaskIndex] {
        defer { waiting = [] }
        return waiting.compactMap { waitCounts[Int($0.task.raw)] == $0.wait ? $0.task : nil }
    }

    /// Whether a task may wait for other conditions.
    var isAwaited: Bool { !waiting.isEmpty }

    mutating func began(discretionary task: TaskIndex) { discretionary.insert(task) }
    mutating func attemptEnded(_ task: TaskIndex) { if !discretionary.isEmpty { discretionary.remove(task) } }
}
