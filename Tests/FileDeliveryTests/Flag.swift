import Synchronization

/// What one thread tells another, once.
final class Flag: Sendable {
    private let value = Atomic<Bool>(false)
    var isSet: Bool { value.load(ordering: .acquiring) }
    func set() { value.store(true, ordering: .releasing) }
    /// `true` for the first who asks.
    func take() -> Bool { !value.exchange(true, ordering: .acquiringAndReleasing) }
}
