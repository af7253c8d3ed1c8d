import Synchronization
import SystemIO

/// A store that a thread of its own opens while its run's job is still read, which takes as long. Nothing in it is
/// forgotten, and a damaged one is not put aside, before somebody takes it: the job may turn out to be none.
package final class StoreOpening: Sendable {
    /// Unchecked: the store is made by the thread, which ends before anybody takes it.
    private struct Opened: @unchecked Sendable {
        let store: Store
    }

    /// What the thread has of it: it may be left alone with that.
    private final class Place: Sendable {
        let opened = Mutex<Opened?>(nil)
    }

    private let place = Place()
    private let thread: Mutex<Thread?>

    /// `nil` where no store is. `whenDone` is called on its thread.
    package init?(folder: String, whenDone: @escaping @Sendable () -> Void = {}) {
        guard Store.isThere(folder: folder) else { return nil }
        let place = place
        let started = try? Signals.holding { () throws(SystemError) in
            try Thread(named: "opening") {
                // What is wrong with it is found again, and told, by whoever opens it in earnest.
                let opened = (try? Store.connected(folder: folder, now: Clocks.wall(), mends: false)).map(Opened.init)
                place.opened.withLock { $0 = opened }
                whenDone()
            }
        }
        guard let started else { return nil }
        thread = Mutex(started)
    }

    deinit { thread.withLock { $0.take() }?.detach() }

    /// Once, by whoever will use it; `nil` for the next, and when it could not be opened as it is.
    package func take() -> Store? {
        guard let running = thread.withLock({ $0.take() }) else { return nil }
        running.join()
        return place.opened.withLock { $0.take() }?.store
    }
}
