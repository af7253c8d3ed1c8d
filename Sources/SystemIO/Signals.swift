import Glibc

/// Signals as values: held back from every thread and fetched by one.
package enum Signals {
    private static func ending() -> sigset_t {
        var set = sigset_t()
        unsafe sigemptyset(&set)
        unsafe sigaddset(&set, SIGINT)
        unsafe sigaddset(&set, SIGTERM)
        return set
    }

    /// Before the first thread is made, so that every thread inherits it. A closed pipe is an error, not a death.
    package static func hold() {
        var set = ending()
        unsafe pthread_sigmask(SIG_BLOCK, &set, nil)
        signal(SIGPIPE, SIG_IGN)
    }

    /// Gives SIGINT and SIGTERM to `handle`, on a thread that lives as long as the process.
    package static func watch(_ handle: @escaping @Sendable (Int32) -> Void) throws(SystemError) {
        let thread = try Thread(named: "signals") {
            var set = ending()
            var number: Int32 = 0
            while unsafe sigwait(&set, &number) == 0 { handle(number) }
        }
        thread.detach()
    }
}
