internal import CLinuxShims
import Glibc

/// A program started to outlive this one: it has a session of its own, `/` as its folder, no input, and no descriptor
/// except for its standard error.
package final class DetachedProcess {
    /// The process number.
    package let number: Int32
    private let watch: Descriptor

    /// Starts the program at the path `program`; `words` begin with its own name, variables are `NAME=value`.
    package init(
        _ program: String, words: [String], environment: [RawName], errors: borrowing Descriptor
    ) throws(SystemError) {
        var process: Int32 = 0
        let log = errors.raw
        let code = unsafe CStrings.with(words) { words in
            unsafe CStrings.with(environment) { unsafe tr_spawn_apart(program, words, $0, log, &process) }
        }
        guard code == 0 else { throw SystemError(call: program, errno: code) }
        let started = process
        watch = Descriptor(owning: try Syscall.check("pidfd_open") { tr_process_descriptor(started) })
        number = started
    }

    /// What to poll for: ready once the process has ended.
    package var end: PollEntry { PollEntry(watch.raw) }

    /// Whether the process has ended; does not wait.
    package var hasEnded: Bool {
        var entries = [end]
        Polling.wait(&entries, milliseconds: 0)
        return entries[0].isReady
    }

    /// Waits for the process's end and returns how it ended.
    package func reap() -> Command.Ending { Self.reap(number) }

    /// Stops watching the process. A thread reaps it, should it end before this process does.
    package func release() {
        let number = number
        let thread = try? Thread(named: "reaper") { _ = Self.reap(number) }
        thread?.detach()
    }

    private static func reap(_ process: Int32) -> Command.Ending {
        var (status, signal): (Int32, Int32) = (-1, 0)
        _ = unsafe tr_reap(process, &status, &signal)
        return signal == 0 ? .exited(status) : .killed(signal: signal)
    }

    /// Returns a path at which this same program can be started again. When its file was replaced or removed, as by an
    /// upgrade, that is the kernel's link to the running program.
    package static func ownProgram() -> String {
        let link = "/proc/self/exe"
        guard let path = Folders.resolved(link)?.text, let named = try? FileFacts.of(path),
            let running = try? FileFacts.of(link), named.isSameFile(as: running)
        else { return link }
        return path
    }
}

/// Makes arrays of C strings that last as long as a call.
enum CStrings {
    static func with(_ texts: [String], _ body: (UnsafePointer<UnsafePointer<CChar>?>) -> Int32) -> Int32 {
        unsafe with(texts.map { RawName($0) }, body)
    }

    static func with(_ texts: [RawName], _ body: (UnsafePointer<UnsafePointer<CChar>?>) -> Int32) -> Int32 {
        let copies = unsafe texts.map { unsafe strdup($0.characters) }
        defer { unsafe copies.forEach { unsafe free($0) } }
        let pointers = unsafe copies.map { unsafe $0.map { unsafe UnsafePointer($0) } } + [nil]
        return unsafe pointers.withUnsafeBufferPointer { buffer in
            unsafe buffer.baseAddress.map { unsafe body($0) } ?? EINVAL
        }
    }
}
