internal import CLinuxShims
import Glibc

/// Tells the next process that this one died by a fault of its own. Whoever is killed, or loses its power, leaves none.
package final class CrashMark: Sendable {
    private let file: Descriptor

    /// `file` is this object's, and as long as this object lives a fault of any thread is noted there.
    package init(_ file: consuming Descriptor) throws(SystemError) {
        self.file = file
        let raw = self.file.raw
        try Syscall.check("sigaction") { tr_mark_crashes(raw) }
    }

    deinit { _ = tr_mark_crashes(-1) }

    /// Whether the process before left one.
    package func isThere() -> Bool { ((try? file.facts().size) ?? 0) > 0 }

    package func erase() { try? file.cut(at: 0) }

    /// For a thread whose stack may be used up by what it works on.
    package static func watchingStack<Result>(_ body: () -> Result) -> Result {
        tr_own_signal_stack()
        defer { tr_drop_signal_stack() }
        return body()
    }
}
