package import TransferModel

/// Decides which download writes to standard output next: whole bodies, one after the other, in the order of the job.
///
/// It does no I/O: the owner reports what happened and writes what `next()` returns.
package struct OutputOrder: Sendable {
    private enum State { case open, ready, writing, ended }

    private let order: [TaskIndex]
    private var states: [TaskIndex: State]
    /// The index of the first task in `order` that has not ended.
    private var first = 0

    package init(_ order: [TaskIndex]) {
        self.order = order
        states = Dictionary(uniqueKeysWithValues: order.map { ($0, .open) })
    }

    /// The task's body is whole and verified.
    package mutating func bodyReady(_ task: TaskIndex) { change(task, to: .ready) }

    /// Notes that the ready body is of no use: the task may get another one, or end.
    package mutating func bodyLost(_ task: TaskIndex) { change(task, to: .open) }

    /// The task has ended: its body was written, or there is none.
    package mutating func ended(_ task: TaskIndex) {
        change(task, to: .ended)
        while first < order.count, states[order[first]] == .ended { first += 1 }
    }

    /// The task whose body is to be written now; returned once for each body.
    package mutating func next() -> TaskIndex? {
        guard first < order.count, states[order[first]] == .ready else { return nil }
        states[order[first]] = .writing
        return order[first]
    }

    /// Whether the task's body is being written, part of it perhaps already.
    package func isWriting(_ task: TaskIndex) -> Bool { states[task] == .writing }

    private mutating func change(_ task: TaskIndex, to state: State) {
        guard let old = states[task], old != .ended else { return }
        states[task] = state
    }
}
