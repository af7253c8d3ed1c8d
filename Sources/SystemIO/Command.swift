internal import CLinuxShims
import Glibc
package import TransferModel

/// A program that is run to its end, without a shell: what it reads is given, what it writes is taken as it comes.
///
/// The call blocks: a loop runs it on a thread of its own. The program leads a process group, so that whatever it
/// started ends with it when it is ended early. The process must ignore SIGPIPE.
package struct Command: Sendable {
    /// The program, looked up in `PATH` when it has no slash, and its arguments.
    package var words: [String]
    /// `NAME=value`; `nil` is this process's own.
    package var environment: [String]?
    /// `nil` is the working folder.
    package var folder: String?
    package var timeout: TimeSpan?

    package init(_ words: [String]) { self.words = words }

    package enum Ending: Hashable, Sendable {
        case exited(Int32)
        case killed(signal: Int32)
        case timedOut
        /// By `Cancellation`, or because nobody wanted more of what it wrote.
        case cancelled
    }

    package struct Result: Sendable {
        package let ending: Ending
        /// The end of what it wrote to its standard error.
        package let errors: String
    }

    /// Ends a command from another thread; one that is told before it begins never starts.
    package final class Cancellation: Sendable {
        fileprivate let wake: PollWake
        package init() throws(SystemError) { wake = try PollWake() }
        package func cancel() { wake.signal() }
    }

    /// How much of its standard error is kept.
    static let longestErrors = 8 << 10
    /// So long after it was asked to end it is ended.
    static let grace = TimeSpan.seconds(2)

    /// `take` gets what it writes, piece by piece; `false` ends it.
    package func run(
        input: [UInt8] = [], cancellation: Cancellation? = nil, take: (UnsafeRawBufferPointer) -> Bool
    ) throws(SystemError) -> Result {
        let conversation = try Conversation(self, input)
        return try unsafe conversation.hold(timeout: timeout, cancellation: cancellation, take)
    }

    /// The same with what it writes in one piece, which must not be longer than `limit`: then it is ended.
    package func run(
        input: [UInt8] = [], limit: Int, cancellation: Cancellation? = nil
    ) throws(SystemError) -> (result: Result, output: [UInt8]) {
        var output: [UInt8] = []
        let result = try unsafe run(input: input, cancellation: cancellation) { bytes in
            guard output.count + bytes.count <= limit else { return false }
            unsafe output.append(contentsOf: bytes)
            return true
        }
        return (result, output)
    }
}

/// The three streams of a program under way, and its end.
private final class Conversation {
    private let process: Int32
    /// Readable once the process has ended.
    private let end: Int32
    /// -1 once they are closed.
    private var (input, output, errors): (Int32, Int32, Int32)
    private var unsent: ArraySlice<UInt8>
    private var lastErrors: [UInt8] = []
    private var ending: Command.Ending?
    private var killDue: Instant?
    private var isReaped = false

    init(_ command: Command, _ bytes: [UInt8]) throws(SystemError) {
        var pipes: [Int32] = []
        do throws(SystemError) {
            for _ in 0..<3 { pipes += try Self.pipe() }
            process = try Self.spawn(command, input: pipes[0], output: pipes[3], errors: pipes[5])
        } catch {
            for raw in pipes { close(raw) }
            throw error
        }
        for raw in [pipes[0], pipes[3], pipes[5]] { close(raw) }
        (input, output, errors) = (pipes[1], pipes[2], pipes[4])
        unsent = bytes[...]
        let watch = tr_process_descriptor(process)
        let code = errno
        end = watch
        guard watch >= 0 else { throw SystemError(call: "pidfd_open", errno: code) }
    }

    /// Whoever leaves early leaves nothing running.
    deinit {
        for raw in [input, output, errors, end] where raw >= 0 { close(raw) }
        if !isReaped {
            kill(-process, SIGKILL)
            _ = reap()
        }
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
        let code = unsafe withStrings(command.words) { words in
            unsafe withStrings(command.environment ?? Surroundings.environment().map { "\($0.key)=\($0.value)" }) {
                variables in
                unsafe tr_spawn(words, variables, command.folder, input, output, errors, &process)
            }
        }
        guard code == 0 else { throw SystemError(call: program, errno: code) }
        return process
    }

    private static func withStrings(
        _ texts: [String], _ body: (UnsafePointer<UnsafePointer<CChar>?>) -> Int32
    ) -> Int32 {
        let copies = unsafe texts.map { unsafe strdup($0) }
        defer { unsafe copies.forEach { unsafe free($0) } }
        let pointers = unsafe copies.map { unsafe $0.map { unsafe UnsafePointer($0) } } + [nil]
        return unsafe pointers.withUnsafeBufferPointer { buffer in
            unsafe buffer.baseAddress.map { unsafe body($0) } ?? EINVAL
        }
    }

    // MARK: To the end

    func hold(
        timeout: TimeSpan?, cancellation: Command.Cancellation?, _ take: (UnsafeRawBufferPointer) -> Bool
    ) throws(SystemError) -> Command.Result {
        if unsent.isEmpty { closeInput() }
        let due = timeout.map { Clocks.instant() + $0 } ?? .distantFuture
        var cancel = cancellation?.wake
        var hasEnded = false
        while !hasEnded {
            var entries = [PollEntry(end)]
            if input >= 0 { entries.append(PollEntry(input, .writing)) }
            if output >= 0 { entries.append(PollEntry(output)) }
            if errors >= 0 { entries.append(PollEntry(errors)) }
            if let cancel { entries.append(cancel.entry) }
            Polling.wait(&entries, milliseconds: wait(due))
            let ready = Set(entries.lazy.filter(\.isReady).map(\.descriptor))
            // Before the streams: what was written before the end is still in them.
            hasEnded = ready.contains(end)
            if ready.contains(input) { feed() }
            if ready.contains(output) || hasEnded, unsafe !drainOutput(take) { stop(.cancelled) }
            if ready.contains(errors) || hasEnded { drainErrors() }
            if let wake = cancel, ready.contains(wake.entry.descriptor) {
                cancel = nil
                stop(.cancelled)
            }
            if Clocks.instant() >= due { stop(.timedOut) }
            if let killDue, Clocks.instant() >= killDue { kill(-process, SIGKILL) }
        }
        let natural = reap()
        // What it left running must not go on behind the run's back when the run wanted it to end.
        if ending != nil { kill(-process, SIGKILL) }
        return Command.Result(ending: ending ?? natural, errors: String(decoding: lastErrors, as: UTF8.self))
    }

    private func wait(_ due: Instant) -> Int64 {
        let next = min(ending == nil ? due : .distantFuture, killDue ?? .distantFuture)
        let left = next - Clocks.instant()
        return min(3_600_000, max(0, left.nanoseconds / 1_000_000 + 1))
    }

    private func stop(_ why: Command.Ending) {
        guard ending == nil else { return }
        ending = why
        kill(-process, SIGTERM)
        killDue = Clocks.instant() + Command.grace
        closeInput()
    }

    private func closeInput() {
        if input >= 0 { close(input) }
        input = -1
    }

    private func feed() {
        let count = unsafe unsent.withUnsafeBytes { unsafe write(input, $0.baseAddress, $0.count) }
        if count > 0 { unsent = unsent.dropFirst(count) }
        // One that does not read all it was given may be content all the same.
        if unsent.isEmpty || count < 0 && errno != EAGAIN && errno != EINTR { closeInput() }
    }

    /// `false` when nobody wants more of it.
    private func drainOutput(_ take: (UnsafeRawBufferPointer) -> Bool) -> Bool {
        guard output >= 0 else { return true }
        let isWanted = ending == nil
        return unsafe drain(&output) { bytes in isWanted ? unsafe take(bytes) : true }
    }

    private func drainErrors() {
        guard errors >= 0 else { return }
        _ = unsafe drain(&errors) { bytes in
            unsafe lastErrors.append(contentsOf: bytes)
            if lastErrors.count > 2 * Command.longestErrors {
                lastErrors.removeFirst(lastErrors.count - Command.longestErrors)
            }
            return true
        }
    }

    private func drain(_ stream: inout Int32, _ take: (UnsafeRawBufferPointer) -> Bool) -> Bool {
        let raw = stream
        var isOpen = true
        let isWanted = unsafe withUnsafeTemporaryAllocation(byteCount: 64 << 10, alignment: 16) { buffer in
            // A program that never stops writing must not keep us from hearing that it shall end; a pipe holds less.
            for _ in 0..<32 {
                let count = unsafe read(raw, buffer.baseAddress, buffer.count)
                if count > 0 {
                    guard unsafe take(UnsafeRawBufferPointer(rebasing: buffer[..<count])) else { return false }
                } else if count == 0 || errno != EINTR {
                    isOpen = count < 0 && errno == EAGAIN
                    return true
                }
            }
            return true
        }
        if !isOpen {
            close(raw)
            stream = -1
        }
        return isWanted
    }

    private func reap() -> Command.Ending {
        var (status, signal): (Int32, Int32) = (-1, 0)
        _ = unsafe tr_reap(process, &status, &signal)
        isReaped = true
        return signal == 0 ? .exited(status) : .killed(signal: signal)
    }
}
