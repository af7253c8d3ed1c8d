import Synchronization
import SystemIO
package import TransferModel

/// A store that a thread of its own opens while its run's job is still read, which takes as long. Nothing in it is
/// forgotten, and a damaged one is not put aside, before somebody takes it: the job may turn out to be none.
package final class StoreOpening: Sendable {
    /// Unchecked: the store is made by the thread, which ends before anybody takes it.
    private enum Opened: @unchecked Sendable {
        case store(Store)
        /// It was waited for, and would be again.
        case busy(StoreError)
        /// What is wrong with it is found again, and told, by whoever opens it in earnest.
        case unusable
    }

    /// What the thread has of it: it may be left alone with that.
    private final class Place: Sendable {
        let opened = Mutex(Opened.unusable)
    }

    private let place = Place()
    private let thread: Mutex<Thread?>

    /// `nil` where no store is. `patience` is for others that open it; `whenDone` is called on its thread.
    package init?(folder: String, patience: TimeSpan? = nil, whenDone: @escaping @Sendable () -> Void = {}) {
        guard Store.isThere(folder: folder) else { return nil }
        let place = place
        let started = try? Signals.holding { () throws(SystemError) in
            try Thread(named: "opening") {
                let opened = Self.open(folder, patience ?? OpenedDatabase.patience)
                place.opened.withLock { $0 = opened }
                whenDone()
            }
        }
        guard let started else { return nil }
        thread = Mutex(started)
    }

    private static func open(_ folder: String, _ patience: TimeSpan) -> Opened {
        do throws(StoreError) {
            return .store(try Store.connected(folder: folder, now: Clocks.wall(), mends: false, patience: patience))
        } catch {
            return error.kind == .busy ? .busy(error) : .unusable
        }
    }

    deinit { thread.withLock { $0.take() }?.detach() }

    /// Once, by whoever will use it; `nil` for the next, and when it could not be opened as it is. Throws when others keep it
    /// to themselves: all the time there is for that has been waited.
    package func take() throws(StoreError) -> Store? {
        guard let running = thread.withLock({ $0.take() }) else { return nil }
        running.join()
        let opened = place.opened.withLock { place in
            defer { place = .unusable }
            return place
        }
        switch opened {
        case .store(let store): return store
        case .busy(let error): throw error
        case .unusable: return nil
        }
    }
}
