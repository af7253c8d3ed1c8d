import Glibc
import Synchronization

/// Handles signals as values: SIGINT, SIGTERM and, unless it is ignored, SIGHUP are blocked in every thread and fetched
/// by one.
package enum Signals {
    private static func ending() -> sigset_t {
        var set = sigset_t()
        unsafe sigemptyset(&set)
        unsafe sigaddset(&set, SIGINT)
        unsafe sigaddset(&set, SIGTERM)
        if !isIgnored(SIGHUP) { unsafe sigaddset(&set, SIGHUP) }
        if heedsStops.load(ordering: .relaxed) { unsafe sigaddset(&set, SIGTSTP) }
        return set
    }

    /// Whether SIGTSTP is blocked as well, because something must be done before the process is stopped.
    private static let heedsStops = Atomic(false)

    /// Whether the signal is ignored, as SIGHUP is under `nohup`.
    private static func isIgnored(_ number: Int32) -> Bool {
        var action = sigaction()
        guard unsafe sigaction(number, nil, &action) == 0 else { return false }
        return unsafe unsafeBitCast(action.__sigaction_handler.sa_handler, to: UInt.self)
            == unsafeBitCast(SIG_IGN, to: UInt.self)
    }

    /// Makes writing to a closed pipe, or beyond the user's file size limit, an error instead of the process's death.
    package static func ignoreFailedWrites() {
        signal(SIGPIPE, SIG_IGN)
        signal(SIGXFSZ, SIG_IGN)
    }

    /// Ignores SIGHUP, for a process that does not belong to a terminal.
    package static func ignoreHangUp() { signal(SIGHUP, SIG_IGN) }

    /// Blocks the signals; called before the first thread is made, so that every thread inherits it. Until then they
    /// end the process as usual. `stops`: SIGTSTP is blocked as well.
    package static func hold(stops: Bool = false) {
        if stops, !isIgnored(SIGTSTP) { heedsStops.store(true, ordering: .relaxed) }
        var set = ending()
        unsafe pthread_sigmask(SIG_BLOCK, &set, nil)
    }

    /// Runs `body` with the signals blocked, so that a thread made in it gets none of them; then restores the caller's
    /// mask.
    package static func holding<Result, Failure: Error>(
        _ body: () throws(Failure) -> Result
    ) throws(Failure) -> Result {
        var (set, before) = (ending(), sigset_t())
        unsafe pthread_sigmask(SIG_BLOCK, &set, &before)
        defer { unsafe pthread_sigmask(SIG_SETMASK, &before, nil) }
        return try body()
    }

    /// The first signal that the watching thread received; 0: none yet, -1: there is no watching thread.
    private static let heard = Atomic<Int32>(-1)

    /// Sleeps for that time or until a blocked signal comes, which it returns. With a watching thread it only sleeps,
    /// and returns a signal that came before.
    package static func pause(milliseconds: Int) -> Int32? {
        let heard = heard.load(ordering: .acquiring)
        if heard > 0 { return heard }
        if heard == 0 {
            Polling.sleep(milliseconds: Int64(milliseconds))
            return nil
        }
        var set = ending()
        var time = timespec(tv_sec: milliseconds / 1000, tv_nsec: milliseconds % 1000 * 1_000_000)
        let number = unsafe sigtimedwait(&set, nil, &time)
        if number == SIGTSTP {
            stop()
            return nil
        }
        return number > 0 ? number : nil
    }

    /// Passes each signal to `handle`, on a thread that lives as long as the process. `aroundStop` gets a function that
    /// stops the process and returns when it goes on.
    package static func watch(
        aroundStop: @escaping @Sendable (_ stop: () -> Void) -> Void = { $0() },
        _ handle: @escaping @Sendable (Int32) -> Void
    ) throws(SystemError) {
        _ = heard.compareExchange(expected: -1, desired: 0, ordering: .acquiringAndReleasing)
        let thread = try Thread(named: "signals") {
            var set = ending()
            var number: Int32 = 0
            while unsafe sigwait(&set, &number) == 0 {
                if number == SIGTSTP {
                    aroundStop(stop)
                    continue
                }
                _ = heard.compareExchange(expected: 0, desired: number, ordering: .acquiringAndReleasing)
                handle(number)
            }
        }
        thread.detach()
    }

    /// Stops the process as an unblocked SIGTSTP would; returns when the process goes on.
    private static func stop() {
        var set = sigset_t()
        unsafe sigemptyset(&set)
        unsafe sigaddset(&set, SIGTSTP)
        unsafe pthread_sigmask(SIG_UNBLOCK, &set, nil)
        kill(getpid(), SIGTSTP)
        unsafe pthread_sigmask(SIG_BLOCK, &set, nil)
    }
}
