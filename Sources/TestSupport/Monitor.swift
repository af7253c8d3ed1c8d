internal import Glibc
internal import TransferModel

/// A lock with a condition: guards what the threads of a test share with the test.
///
/// Unchecked, because the compiler cannot see that `state` is touched only while `mutex` is held.
final class Monitor<State: Sendable>: @unchecked Sendable {
    private var state: State
    private let mutex = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)
    private let condition = UnsafeMutablePointer<pthread_cond_t>.allocate(capacity: 1)

    init(_ state: State) {
        self.state = state
        pthread_mutex_init(mutex, nil)
        var attributes = pthread_condattr_t()
        pthread_condattr_init(&attributes)
        pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC)
        pthread_cond_init(condition, &attributes)
        pthread_condattr_destroy(&attributes)
    }

    deinit {
        pthread_cond_destroy(condition)
        pthread_mutex_destroy(mutex)
        condition.deallocate()
        mutex.deallocate()
    }

    /// Reads or changes the state and wakes all threads that wait for a change.
    @discardableResult
    func with<Result>(_ body: (inout State) throws -> Result) rethrows -> Result {
        pthread_mutex_lock(mutex)
        defer {
            pthread_cond_broadcast(condition)
            pthread_mutex_unlock(mutex)
        }
        return try body(&state)
    }

    /// Waits until `ready` returns a value; returns `nil` if the deadline comes first.
    func wait<Result>(until deadline: Instant = .distantFuture, _ ready: (inout State) -> Result?) -> Result? {
        pthread_mutex_lock(mutex)
        defer { pthread_mutex_unlock(mutex) }
        while true {
            if let result = ready(&state) { return result }
            if MonotonicClock.now >= deadline { return nil }
            if deadline == .distantFuture {
                pthread_cond_wait(condition, mutex)
            } else {
                var time = timespec()
                time.tv_sec = Int(deadline.nanoseconds / 1_000_000_000)
                time.tv_nsec = Int(deadline.nanoseconds % 1_000_000_000)
                pthread_cond_timedwait(condition, mutex, &time)
            }
        }
    }
}

enum MonotonicClock {
    static var now: Instant {
        var time = timespec()
        clock_gettime(CLOCK_MONOTONIC, &time)
        return Instant(nanoseconds: Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec))
    }
}
