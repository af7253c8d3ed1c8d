internal import CLinuxShims
import Glibc

/// A program that was started, its three streams and its end, for whoever polls them. Nothing here waits but `reap`
/// before the end, and whoever lets go of it early.
package final class RunningCommand {
    private let process: Int32
    private let watch: Int32
    /// -1 once they are closed.
    private var (inputStream, outputStream, errorStream): (Int32, Int32, Int32)
    private var errorBytes: [UInt8] = []
    private var isReaped = false

    /// How much of its standard error is kept.
    static let longestErrors = 8 << 10

    /// Only the words, the environment and the folder count: how long it may take is for who polls to say.
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

    /// Whoever leaves early leaves nothing running.
    deinit {
        if !isReaped {
            kill()
            _ = reap()
        }
        for raw in [inputStream, outputStream, errorStream, watch] where raw >= 0 { close(raw) }
    }

    /// The end that is read and the end that is written.
    private static func pipe() throws(SystemError) -> [Int32] {
        var ends: [Int32] = [-1, -1]
        try Syscall.check("pipe") { unsafe tr_pipe(&ends) }
        return ends
    }

    private static func spawn(
        _ command: Command, input: Int32, output: Int32, errors: Int32
    ) throws(SystemError) -> Int32 {
        guard let program = command.words.first else { throw SystemError(call: "posix_spawn", errno: EINVAL) }
        // Non-blocking is for our ends: programs are not made for it.
        for raw in [input, output, errors] { _ = fcntl(raw, F_SETFL, 0) }
        var process: Int32 = 0
        let code = unsafe CStrings.with(command.words) { words in
            unsafe CStrings.with(command.environment ?? Surroundings.variables()) { variables in
                unsafe tr_spawn(words, variables, command.folder, input, output, errors, &process)
            }
        }
        guard code == 0 else { throw SystemError(call: program, errno: code) }
        return process
    }

    // MARK: What to poll for

    /// Ready once the program has ended; what it started may still hold the streams.
    package var end: PollEntry { PollEntry(watch) }
    /// `nil` once it is closed.
    package var input: PollEntry? { inputStream < 0 ? nil : PollEntry(inputStream, .writing) }
    /// `nil` once it has come to its end.
    package var output: PollEntry? { outputStream < 0 ? nil : PollEntry(outputStream) }
    package var errors: PollEntry? { errorStream < 0 ? nil : PollEntry(errorStream) }

    // MARK: Streams

    /// How many bytes need not be given again. One that reads no more has no use for the rest: all of them.
    package func write(_ bytes: UnsafeRawBufferPointer) -> Int {
        guard inputStream >= 0 else { return bytes.count }
        let count = unsafe Glibc.write(inputStream, bytes.baseAddress, bytes.count)
        if count >= 0 { return count }
        if errno == EAGAIN || errno == EINTR { return 0 }
        // It may be content all the same.
        closeInput()
        return bytes.count
    }

    package func closeInput() {
        if inputStream >= 0 { close(inputStream) }
        inputStream = -1
    }

    /// How many bytes it wrote; `nil` when there are none now, 0 at the end of its output.
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

    /// Takes in what it wrote to its standard error.
    package func drainErrors() {
        unsafe withUnsafeTemporaryAllocation(byteCount: Self.longestErrors, alignment: 16) { buffer in
            // One that never stops is heard no longer than one that has much to say.
            for _ in 0..<32 {
                guard let count = unsafe read(&errorStream, buffer), count > 0 else { return }
                unsafe errorBytes.append(contentsOf: buffer[..<count])
                if errorBytes.count > 2 * Self.longestErrors {
                    errorBytes.removeFirst(errorBytes.count - Self.longestErrors)
                }
            }
        }
    }

    /// The end of what it wrote to its standard error, as far as that was taken in.
    package var lastErrors: String { String(decoding: errorBytes, as: UTF8.self) }

    // MARK: Its end

    /// Asked without waiting.
    package var hasEnded: Bool {
        if isReaped { return true }
        var entries = [end]
        Polling.wait(&entries, milliseconds: 0)
        return entries[0].isReady
    }

    /// It and what it started. What stands open of its input stays so: its end would look like that of a whole text.
    package func askToEnd() { signal(SIGTERM) }

    package func kill() { signal(SIGKILL) }

    private func signal(_ number: Int32) { _ = Glibc.kill(-process, number) }

    /// Waits if it has not ended.
    package func reap() -> Command.Ending {
        var (status, signal): (Int32, Int32) = (-1, 0)
        _ = unsafe tr_reap(process, &status, &signal)
        isReaped = true
        return signal == 0 ? .exited(status) : .killed(signal: signal)
    }
}

@available(*, unavailable)
extension RunningCommand: Sendable {}
