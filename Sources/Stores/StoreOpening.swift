import Synchronization
import SystemIO

/// A store that a thread of its own opens while its run's job is still read, which takes as long. Nothing in it is looked at
/// or changed before somebody takes it: when the job turns out to be none, all is as it was.
package final class StoreOpening: Sendable {
    private typealias Outcome = Result<Store, StoreError>

    /// Unchecked: the store is made by the thread, which ends before anybody takes it.
    private struct Opened: @unchecked Sendable {
        let outcome: Outcome
    }

    /// What the thread has of it: it may be left alone with that.
    private final class Place: Sendable {
        let opened = Mutex<Opened?>(nil)
    }

    private let place = Place()
    private let thread: Mutex<Thread?>

    /// `nil` where no store is. `before` is run first, for what else can be made ready meanwhile.
    package init?(folder: String, before: @escaping @Sendable () -> Void) {
        guard Store.isThere(folder: folder) else { return nil }
        let place = place
        let started = try? Signals.holding { () throws(SystemError) in
            try Thread(named: "opening") {
                before()
                let opened = Opened(outcome: Self.open(folder))
                place.opened.withLock { $0 = opened }
            }
        }
        guard let started else { return nil }
        thread = Mutex(started)
    }

    private static func open(_ folder: String) -> Outcome {
        do throws(StoreError) {
            return .success(try Store.connected(folder: folder, now: Clocks.wall()))
        } catch {
            return .failure(error)
        }
    }

    deinit { thread.withLock { $0.take() }?.detach() }

    /// Once, by whoever will use it; `nil` for the next.
    func take() throws(StoreError) -> Store? {
        guard let running = thread.withLock({ $0.take() }) else { return nil }
        running.join()
        let opened = place.opened.withLock { $0.take() }
        guard let opened else { return nil }
        return try opened.outcome.get()
    }
}
