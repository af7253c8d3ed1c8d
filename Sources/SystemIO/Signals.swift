import Glibc
import Synchronization

/// Signals as values: SIGINT, SIGTERM and, unless it is ignored, SIGHUP are held back from every thread and fetched by one.
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

    /// SIGTSTP is held as well: there is something to be done before the process is stopped.
    private static let heedsStops = Atomic(false)

    /// Under `nohup` a terminal that goes away is nothing to this process either.
    private static func isIgnored(_ number: Int32) -> Bool {
        var action = sigaction()
        guard unsafe sigaction(number, nil, &action) == 0 else { return false }
        return unsafe unsafeBitCast(action.__sigaction_handler.sa_handler, to: UInt.self)
            == unsafeBitCast(SIG_IGN, to: UInt.self)
    }

    /// Writing to a closed pipe, or past the length that the user's limits allow a file, is an error, not a death.
    package static func ignoreFailedWrites() {
        signal(SIGPIPE, SIG_IGN)
        signal(SIGXFSZ, SIG_IGN)
    }

    /// A terminal that goes away is nothing to a process that does not belong to one.
    package static func ignoreHangUp() { signal(SIGHUP, SIG_IGN) }

    /// Before the first thread is made, so that every thread inherits it. Until then SIGINT, SIGTERM and SIGHUP end the
    /// process as they end any other. `stops`: SIGTSTP is held as well.
    package static func hold(stops: Bool = false) {
        if stops, !isIgnored(SIGTSTP) { heedsStops.store(true, ordering: .relaxed) }
        var set = ending()
        unsafe pthread_sigmask(SIG_BLOCK, &set, nil)
    }

    /// Makes a thread that gets none of them, by a caller who goes on as before.
    package static func holding<Result, Failure: Error>(
        _ body: () throws(Failure) -> Result
    ) throws(Failure) -> Result {
        var (set, before) = (ending(), sigset_t())
        unsafe pthread_sigmask(SIG_BLOCK, &set, &before)
        defer { unsafe pthread_sigmask(SIG_SETMASK, &before, nil) }
        return try body()
    }

    /// What the thread that watches heard first; 0: nothing yet, -1: there is none.
    private static let heard = Atomic<Int32>(-1)

    /// Sleeps that long, or until one that is held comes, which it returns. Where somebody else watches, one that came before
    /// counts too.
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

    /// Gives those that are held to `handle`, on a thread that lives as long as the process. `aroundStop` is given what stops
    /// the process and returns when it goes on.
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

    /// As SIGTSTP does where it is not held; returns when the process goes on.
    private static func stop() {
        var set = sigset_t()
        unsafe sigemptyset(&set)
        unsafe sigaddset(&set, SIGTSTP)
        unsafe pthread_sigmask(SIG_UNBLOCK, &set, nil)
        kill(getpid(), SIGTSTP)
        unsafe pthread_sigmask(SIG_BLOCK, &set, nil)
    }
}
