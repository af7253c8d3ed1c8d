import Synchronization

/// The ids of tasks that were added in mid-run, for threads that name a task in a message.
final class AddedNames: Sendable {
    private let names = Mutex<[String]>([])

    func add(_ more: [String]) { names.withLock { $0 += more } }

    /// `number` counts the added ones.
    func name(_ number: Int) -> String {
        names.withLock { $0.indices.contains(number) ? $0[number] : "a task" }
    }
}
