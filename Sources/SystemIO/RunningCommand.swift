internal import CLinuxShims
import Glibc

/// A started program with its three streams and its end, for a thread that polls them. Nothing here waits, except
/// `reap` before the end and the release of the object before that.
package final class RunningCommand {
    private let process: Int32
    private let watch: Int32
    /// The descriptors of this side of the pipes; -1 once they are closed.
    private var (inputStream, outputStream, errorStream): (Int32, Int32, Int32)
    private var errorBytes: [UInt8] = []
    private var isReaped = false

    /// Bytes of standard error that are kept.
    static let longestErrors = 8 << 10

    /// Starts the program. Only the words, the environment and the folder count: the caller watches the time.
    package init(_ command: Command) throws(SystemError) {
        var pipes: [Int32] = []
        do throws(SystemError) {
            for _ in 0..<3 { pipes += try Self.pipe() }
            process = try Self.spawn(command, input: pipes[0], output: pipes[3], errors: pipes[5])
        } catch {
            for raw in pipes { close(raw) }
            throw error
        }
        for raw in [pipes[0], pipes[3], pipes[5]] { close(raw) }
        (inputStream, outputStream, errorStream) = (pipes[1], pipes[2], pipes[4])
        watch = tr_process_descriptor(process)
        let code = errno
        guard watch >= 0 else { throw SystemError(call: "pidfd_open", errno: code) }
    }

    /// A program that has not been reaped is killed, so that nothing is left running.
    deinit {
        if !isReaped {
            kill()
            _ = reap()
        }
        for raw in [inputStream, outputStream, errorStream, watch] where raw >= 0 { close(raw) }
    }

    /// Returns the pipe's reading end and its writing end.
    private static func pipe() throws(SystemError) -> [Int32] {
        var ends: [Int32] = [-1, -1]
        try Syscall.check("pipe") { unsafe tr_pipe(&ends) }
        return ends
    }

    private static func spawn(
        _ command: Command, input: Int32, output: Int32, errors: Int32
    ) throws(SystemError) -> Int32 {
        guard let program = command.words.first else { throw SystemError(call: "posix_spawn", errno: EINVAL) }
        // Non-blocking is for this side alone: programs are not made for it.
        for raw in [input, output, errors] { _ = fcntl(raw, F_SETFL, 0) }
        var process: Int32 = 0
        let code = unsafe CStrings.with(command.words) { words in
            unsafe CStrings.with(command.environment ?? CurrentProcess.variables()) { variables in
                unsafe tr_spawn(words, variables, command.folder, input, output, errors, &process)
            }
        }
        guard code == 0 else { throw SystemError(call: program, errno: code) }
        return process
    }

    // MARK: What to poll for

    /// Ready once the program has ended; programs that it started may still hold the streams.
    package var end: PollEntry { PollEntry(watch) }
    /// Ready when the program reads its input; `nil` once that is closed.
    package var input: PollEntry? { inputStream < 0 ? nil : PollEntry(inputStream, .writing) }
    /// Ready when there is output; `nil` once that has ended.
    package var output: PollEntry? { outputStream < 0 ? nil : PollEntry(outputStream) }
    /// Ready when there is standard error to read; `nil` once that has ended.
    package var errors: PollEntry? { errorStream < 0 ? nil : PollEntry(errorStream) }

    // MARK: Streams

    /// Writes input and returns how many bytes the caller need not give again: all, if the program no longer reads.
    package func write(_ bytes: UnsafeRawBufferPointer) -> Int {
        guard inputStream >= 0 else { return bytes.count }
        let count = unsafe Glibc.write(inputStream, bytes.baseAddress, bytes.count)
        if count >= 0 { return count }
        if errno == EAGAIN || errno == EINTR { return 0 }
        // The program may have read all it needs.
        closeInput()
        return bytes.count
    }

    /// Closes the program's input, which it sees as the end.
    package func closeInput() {
        if inputStream >= 0 { close(inputStream) }
        inputStream = -1
    }

    /// Reads output and returns the number of bytes; `nil` when there are none now, 0 at the end.
    package func read(into buffer: UnsafeMutableRawBufferPointer) -> Int? { unsafe read(&outputStream, buffer) }

    private func read(_ stream: inout Int32, _ buffer: UnsafeMutableRawBufferPointer) -> Int? {
        guard stream >= 0 else { return 0 }
        while true {
            let count = unsafe Glibc.read(stream, buffer.baseAddress, buffer.count)
            if count > 0 { return count }
            if count < 0, errno == EINTR { continue }
            if count < 0, errno == EAGAIN { return nil }
            close(stream)
            stream = -1
            return 0
        }
    }

    /// Reads what the program wrote to its standard error; `take` gets all of it, and the end is kept.
    package func drainErrors(_ take: (UnsafeRawBufferPointer) -> Void = { _ in }) {
        unsafe withUnsafeTemporaryAllocation(byteCount: Self.longestErrors, alignment: 16) { buffer in
            // Bounded, so that a program that never stops writing does not hold up the caller.
            for _ in 0..<32 {
                guard let count = unsafe read(&errorStream, buffer), count > 0 else { return }
                unsafe errorBytes.append(contentsOf: buffer[..<count])
                unsafe take(UnsafeRawBufferPointer(rebasing: buffer[..<count]))
                if errorBytes.count > 2 * Self.longestErrors {
                    errorBytes.removeFirst(errorBytes.count - Self.longestErrors)
                }
            }
        }
    }

    /// The end of standard error, as far as it was read.
    package var lastErrors: String { String(decoding: errorBytes, as: UTF8.self) }

    // MARK: Its end

    /// Whether the program has ended; does not wait.
    package var hasEnded: Bool {
        if isReaped { return true }
        var entries = [end]
        Polling.wait(&entries, milliseconds: 0)
        return entries[0].isReady
    }

    /// Asks the program and those that it started to end. Its input is not closed: that would look like the end of a
    /// whole text.
    package func askToEnd() { signal(SIGTERM) }

    /// Kills the program and those that it started.
    package func kill() { signal(SIGKILL) }

    private func signal(_ number: Int32) { _ = Glibc.kill(-process, number) }

    /// Waits for the program's end and returns how it ended.
    package func reap() -> Command.Ending {
        var (status, signal): (Int32, Int32) = (-1, 0)
        _ = unsafe tr_reap(process, &status, &signal)
        isReaped = true
        return signal == 0 ? .exited(status) : .killed(signal: signal)
    }
}

@available(*, unavailable)
extension RunningCommand: Sendable {}
