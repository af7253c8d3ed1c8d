internal import CLinuxShims
import Glibc

/// Tells the next process whether this one crashed by its own fault. A process that is killed, or loses its power,
/// leaves no mark.
package final class CrashMark: Sendable {
    private let file: Descriptor

    /// Takes over `file`, in which a fault of any thread is noted as long as this object lives.
    package init(_ file: consuming Descriptor) throws(SystemError) {
        self.file = file
        let raw = self.file.raw
        try Syscall.check("sigaction") { tr_mark_crashes(raw) }
    }

    deinit { _ = tr_mark_crashes(-1) }

    /// Returns whether the process before left a mark.
    package func isThere() -> Bool { ((try? file.facts().size) ?? 0) > 0 }

    /// Removes the mark of the process before.
    package func erase() { try? file.cut(at: 0) }

    /// Runs `body` on a thread whose stack may overflow: the fault handler gets a stack of its own.
    package static func watchingStack<Result>(_ body: () -> Result) -> Result {
        tr_own_signal_stack()
        defer { tr_drop_signal_stack() }
        return body()
    }
}
