import TransferModel

/// Networks and power as they are now, and whom they concern beside those that are about to start.
struct ConditionsBook: Sendable {
    private struct Parked: Sendable {
        let task: TaskIndex
        let visit: UInt32
    }
    /// `nil`: nobody looked, so nothing waits for them.
    private(set) var present: Conditions?
    /// Counts their changes: whether what an attempt met still holds.
    private(set) var number: UInt32 = 0
    /// They hold back somebody, if his terms are strict enough. On most machines they do not, and then nobody asks.
    private(set) var areStrict = false
    /// In the order in which they came. Who has left stands there until the next change.
    private var parked: [Parked] = []
    /// By task: how often it was parked. Grows with the first one.
    private var visits: [UInt32] = []
    /// Attempts under way that are ended when they begin to cost somebody.
    private(set) var discretionary: Set<TaskIndex> = []

    private static let strictest = NetworkTerms(
        allowsCellular: false, allowsExpensive: false, allowsConstrained: false)

    init(_ present: Conditions?) { look(at: present) }

    private mutating func look(at conditions: Conditions?) {
        present = conditions
        areStrict = conditions?.discretionaryShortage(of: Self.strictest) != nil
    }

    /// Whether they are not as they were. When they are, routes came or went: no host is as sure to be out of reach as
    /// it was.
    mutating func change(to conditions: Conditions) -> Bool {
        number &+= 1
        guard conditions != present else { return false }
        look(at: conditions)
        return true
    }

    mutating func park(_ task: TaskIndex, of count: Int) {
        // Tasks may have been added since.
        if visits.count < count { visits += Array(repeating: 0, count: count - visits.count) }
        visits[Int(task.raw)] &+= 1
        parked.append(Parked(task: task, visit: visits[Int(task.raw)]))
    }

    /// Each that was parked and may be there still, once and in its order.
    mutating func takeParked() -> [TaskIndex] {
        defer { parked = [] }
        return parked.compactMap { visits[Int($0.task.raw)] == $0.visit ? $0.task : nil }
    }

    mutating func began(_ task: TaskIndex) { discretionary.insert(task) }
    mutating func ended(_ task: TaskIndex) { discretionary.remove(task) }
}
