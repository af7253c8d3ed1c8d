import Synchronization

/// A thread that carries out posted work: told to finish, it does what is left, and is joined.
package final class WorkThread: Sendable {
    /// Raised by the poster after each post.
    package let wake = WakeSignal()
    private let ending = Atomic<Bool>(false)
    private let thread = Mutex<Thread?>(nil)

    package init() {}

    /// Starts the thread; called once. The body ends when `isEnding` was true before it found nothing more to do.
    package func start(named name: String, _ body: @escaping @Sendable () -> Void) throws(SystemError) {
        let started = try Thread(named: name, body)
        thread.withLock { $0 = started }
    }

    /// Whether the thread is to end. Read before taking the posted work: everything is posted before this is set.
    package var isEnding: Bool { ending.load(ordering: .acquiring) }

    /// Tells the thread to finish without waiting for it.
    package func beginToFinish() {
        ending.store(true, ordering: .releasing)
        wake.signal()
    }

    /// Tells the thread to finish and waits for it. May be called again.
    package func finish() {
        beginToFinish()
        take()?.join()
    }

    /// Tells the thread to finish and detaches it.
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
