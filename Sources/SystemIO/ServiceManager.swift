internal import CLinuxShims
import Glibc
package import TransferModel

/// How a service manager such as systemd told this process, in its environment, what it hands over and what it wants
/// to hear: the documented protocol of `sd_notify(3)` and `sd_listen_fds(3)`.
package struct ServiceManager: Sendable {
    /// Where it listens; `nil` when there is none, or none that can be spoken to from here.
    private let socket: String?
    /// So often it wants to hear that all is well; half of what it bears, as its manual advises.
    package let watchdog: TimeSpan?
    private let passed: Int

    package init(_ environment: [String: String], process: Int32 = Surroundings.processID()) {
        socket = environment["NOTIFY_SOCKET"].flatMap { $0.hasPrefix("/") || $0.hasPrefix("@") ? $0 : nil }
        // Of a process that was started by one who was meant, neither is meant for us.
        func isMeant(_ variable: String, _ needed: Bool) -> Bool {
            environment[variable].map { Int32($0) == process } ?? !needed
        }
        let microseconds = isMeant("WATCHDOG_PID", false) ? environment["WATCHDOG_USEC"].flatMap { Int64($0) } : nil
        watchdog = microseconds.flatMap { $0 > 0 ? .microseconds($0 / 2) : nil }
        passed = isMeant("LISTEN_PID", true) ? environment["LISTEN_FDS"].flatMap { Int($0) } ?? 0 : 0
    }

    /// Lines such as `READY=1`. Nobody listening is no failure.
    package func tell(_ lines: String...) {
        guard let socket else { return }
        let text = Array(lines.joined(separator: "\n").utf8)
        _ = unsafe tr_local_tell(socket, text, text.count)
    }

    /// The one listening Unix socket that was handed over; `nil` without any. It is taken once.
    package func listener() throws(SystemError) -> Descriptor? {
        guard passed > 0 else { return nil }
        // The first is always number 3.
        guard passed == 1, tr_local_adopt(3) != 0 else { throw SystemError(call: "LISTEN_FDS", errno: ENOTSOCK) }
        return Descriptor(owning: 3)
    }
}
