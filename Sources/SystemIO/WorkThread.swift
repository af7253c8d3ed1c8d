import Synchronization

/// A thread that carries out what others post for as long as they do: told to finish, it does what is left, and is
/// joined.
package final class WorkThread: Sendable {
    /// To be raised by whoever posted something.
    package let wake = WakeSignal()
    private let ending = Atomic<Bool>(false)
    private let thread = Mutex<Thread?>(nil)

    package init() {}

    /// Once. The body ends when `isEnding` was true before it found nothing more to do.
    package func start(named name: String, _ body: @escaping @Sendable () -> Void) throws(SystemError) {
        let started = try Thread(named: name, body)
        thread.withLock { $0 = started }
    }

    /// To be read before what was posted: whoever ends the thread has posted everything by then.
    package var isEnding: Bool { ending.load(ordering: .acquiring) }

    /// Tells it to finish and does not wait for that.
    package func beginToFinish() {
        ending.store(true, ordering: .releasing)
        wake.signal()
    }

    /// Returns when the body has. May be called again.
    package func finish() {
        beginToFinish()
        take()?.join()
    }

    /// Tells it to finish, for nobody to wait.
    package func leave() {
        beginToFinish()
        take()?.detach()
    }

    private func take() -> Thread? {
        thread.withLock { thread in
            let running = thread
            thread = nil
            return running
        }
    }
}
