internal import CLinuxShims
import Glibc
package import TransferModel

/// What a service manager such as systemd told this process in its environment, and the messages to it: the documented
/// protocol of `sd_notify(3)` and `sd_listen_fds(3)`.
package struct ServiceManager: Sendable {
    /// The socket at which the manager listens; `nil` without a manager, or when its socket is of a kind that cannot be
    /// reached.
    private let socket: String?
    /// How often the manager wants to hear that all is well: half of its limit, as its manual advises. `nil` if it does
    /// not watch.
    package let watchdog: TimeSpan?
    private let passed: Int

    package init(_ environment: [String: String], process: Int32 = CurrentProcess.processID()) {
        socket = environment["NOTIFY_SOCKET"].flatMap { $0.hasPrefix("/") || $0.hasPrefix("@") ? $0 : nil }
        // Variables inherited from a parent process, for which they were meant, do not count.
        func isMeant(_ variable: String, _ needed: Bool) -> Bool {
            environment[variable].map { Int32($0) == process } ?? !needed
        }
        let microseconds = isMeant("WATCHDOG_PID", false) ? environment["WATCHDOG_USEC"].flatMap { Int64($0) } : nil
        watchdog = microseconds.flatMap { $0 > 0 ? .microseconds($0 / 2) : nil }
        passed = isMeant("LISTEN_PID", true) ? environment["LISTEN_FDS"].flatMap { Int($0) } ?? 0 : 0
    }

    /// Sends lines such as `READY=1`; without a manager nothing happens.
    package func tell(_ lines: String...) {
        guard let socket else { return }
        let text = Array(lines.joined(separator: "\n").utf8)
        _ = unsafe tr_local_tell(socket, text, text.count)
    }

    /// Returns the one listening Unix socket that was handed over; `nil` without one. Called once.
    package func listener() throws(SystemError) -> Descriptor? {
        guard passed > 0 else { return nil }
        // The first descriptor handed over is always number 3.
        guard passed == 1, tr_local_adopt(3) != 0 else { throw SystemError(call: "LISTEN_FDS", errno: ENOTSOCK) }
        return Descriptor(owning: 3)
    }
}
