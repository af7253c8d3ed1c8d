internal import CLinuxShims
import Glibc
import Synchronization
import TransferModel

/// A queue of values for another thread, which takes all at once: one lock per batch, never one per value.
package final class Mailbox<Value: Sendable>: Sendable {
    private let waiting = Mutex<[Value]>([])
    private let wake: @Sendable () -> Void

    /// `wake` is called after each post that found the box empty, outside the lock.
    package init(wake: @escaping @Sendable () -> Void = {}) { self.wake = wake }

    /// Appends a value, from any thread.
    package func post(_ value: Value) {
        let wasEmpty = waiting.withLock { values in
            values.append(value)
            return values.count == 1
        }
        if wasEmpty { wake() }
    }

    /// Appends several values, from any thread.
    package func post(_ batch: [Value]) {
        guard !batch.isEmpty else { return }
        let wasEmpty = waiting.withLock { values in
            let wasEmpty = values.isEmpty
            if wasEmpty { values = batch } else { values += batch }
            return wasEmpty
        }
        if wasEmpty { wake() }
    }

    /// Removes and returns all values in the order in which they were posted.
    package func takeAll() -> [Value] {
        waiting.withLock { values in
            let taken = values
            values = []
            return taken
        }
    }
}

/// A counting semaphore on which a thread can sleep until another raises it.
///
/// Unchecked: the one field is written by `sem_init` before another thread has the object, and by `sem_*`, which may be
/// called from any thread.
@safe package final class WakeSignal: @unchecked Sendable {
    private let raw: UnsafeMutablePointer<sem_t>

    package init() {
        unsafe raw = UnsafeMutablePointer<sem_t>.allocate(capacity: 1)
        unsafe sem_init(raw, 0, 0)
    }

    deinit {
        unsafe sem_destroy(raw)
        unsafe raw.deallocate()
    }

    /// Raises the counter, from any thread.
    package func signal() { unsafe sem_post(raw) }

    /// Waits until the counter is above zero, and lowers it.
    package func wait() {
        while unsafe sem_wait(raw) == -1, errno == EINTR {}
    }

    /// Waits for a limited time; returns `false` when that ran out first. A changed system date makes no difference.
    package func wait(nanoseconds: Int64) -> Bool {
        let deadline = Clocks.instant().nanoseconds + nanoseconds
        while unsafe tr_semaphore_wait_until(raw, deadline) == -1 {
            if errno != EINTR { return false }
        }
        return true
    }
}
