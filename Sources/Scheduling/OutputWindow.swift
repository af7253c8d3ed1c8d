package import TransferModel

/// How far tasks that write to standard output may run ahead of the one whose turn it is: what is fetched early waits
/// on the disk, each body with a descriptor of its own.
///
/// The first task that has not ended may always begin, so that the window never holds back all of them.
package struct OutputWindow: Sendable {
    /// Tasks that write to standard output, in the order in which they write.
    private let order: [TaskIndex]
    private let places: [TaskIndex: Int]
    private var hasEnded: [Bool]
    /// The first in `order` that has not ended.
    private var first = 0
    private let width: Int

    /// At most `width` tasks are under way or waiting at a time, at least one.
    package init(_ order: [TaskIndex], width: Int) {
        self.order = order
        self.width = max(1, width)
        places = Dictionary(uniqueKeysWithValues: order.enumerated().map { ($1, $0) })
        hasEnded = Array(repeating: false, count: order.count)
    }

    /// Tasks that may not begin when the run does.
    package var heldBack: ArraySlice<TaskIndex> { order.dropFirst(width) }

    /// A task has ended, however it did: returns those that may begin now and might not before.
    package mutating func ended(_ task: TaskIndex) -> ArraySlice<TaskIndex> {
        guard let place = places[task], !hasEnded[place] else { return [] }
        hasEnded[place] = true
        let before = first
        while first < order.count, hasEnded[first] { first += 1 }
        return order[min(before + width, order.count)..<min(first + width, order.count)]
    }
}
