import Glibc
package import TransferModel

/// A program that is run to its end without a shell: it gets its whole input, and its output is passed on as it comes.
///
/// The call blocks: a loop runs it on a thread of its own. The program leads a process group, so that the programs that
/// it started end with it when it is ended early. The process must ignore SIGPIPE.
package struct Command: Sendable {
    /// The program, looked up in `PATH` when it has no slash, and its arguments.
    package var words: [String]
    /// Its environment as `NAME=value`; `nil` takes this process's own.
    package var environment: [RawName]?
    /// The folder in which it runs; `nil` takes this process's own.
    package var folder: String?
    /// How long it may take before it is ended; `nil` sets no limit.
    package var timeout: TimeSpan?
    /// For how long a start is tried again that fails because the process has no descriptor or process left.
    package var startPatience = TimeSpan.zero

    package init(_ words: [String]) { self.words = words }

    /// How the program ended.
    package enum Ending: Hashable, Sendable {
        case exited(Int32)
        case killed(signal: Int32)
        case timedOut
        /// Ended by `Cancellation`, or because `take` wanted no more of its output.
        case cancelled
    }

    /// What is known of an ended program.
    package struct Result: Sendable {
        /// How it ended.
        package let ending: Ending
        /// The end of what it wrote to its standard error.
        package let errors: String
    }

    /// Ends a command from another thread; a command that is cancelled before it begins is still started, and ended at
    /// once.
    package final class Cancellation: Sendable {
        fileprivate let wake: PollWake
        package init() throws(SystemError) { wake = try PollWake() }
        /// Asks the command to end.
        package func cancel() { wake.signal() }
    }

    /// Time between asking the program to end and killing it.
    package static let grace = TimeSpan.seconds(2)

    /// Runs the program. `take` gets its output piece by piece; `false` ends it. `takeErrors` gets what it writes to its
    /// standard error, however much is kept of that. With `awaitsWholeOutput` its end alone
    /// does not end the call: a program that it started may still write, and only the end of the stream says that
    /// nothing is missing.
    package func run(
        input: [UInt8] = [], cancellation: Cancellation? = nil, awaitsWholeOutput: Bool = false,
        takeErrors: (UnsafeRawBufferPointer) -> Void = { _ in }, take: (UnsafeRawBufferPointer) -> Bool
    ) throws(SystemError) -> Result {
        let program = try started(cancellation)
        let conversation = Conversation(program, input, awaitsWholeOutput: awaitsWholeOutput)
        return try unsafe conversation.hold(timeout: timeout, cancellation: cancellation, take, takeErrors)
    }

    private func started(_ cancellation: Cancellation?) throws(SystemError) -> RunningCommand {
        let deadline = Clocks.instant() + startPatience
        while true {
            do throws(SystemError) {
                return try RunningCommand(self)
            } catch {
                guard error.isOfProcessLimit, Clocks.instant() < deadline else { throw error }
                var entries = cancellation.map { [$0.wake.entry] } ?? []
                Polling.wait(&entries, milliseconds: Self.startPause)
                if entries.contains(where: \.isReady) { throw error }
            }
        }
    }

    /// Pause in milliseconds between two starts.
    private static let startPause: Int64 = 500

    /// Runs the program and returns its output in one piece; a program that writes more than `limit` bytes is ended.
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

/// Moves the streams of a running program until it has ended, on the calling thread.
private final class Conversation {
    private let program: RunningCommand
    private let awaitsWholeOutput: Bool
    private var unsent: ArraySlice<UInt8>
    private var hasEnded = false
    private var ending: Command.Ending?
    private var killDue: Instant?

    init(_ program: RunningCommand, _ bytes: [UInt8], awaitsWholeOutput: Bool) {
        self.program = program
        self.awaitsWholeOutput = awaitsWholeOutput
        unsent = bytes[...]
    }

    /// Whether the call may return. A caller that ended the program has no use for further output.
    private var isOver: Bool { hasEnded && (!awaitsWholeOutput || program.output == nil || ending != nil) }

    func hold(
        timeout: TimeSpan?, cancellation: Command.Cancellation?, _ take: (UnsafeRawBufferPointer) -> Bool,
        _ takeErrors: (UnsafeRawBufferPointer) -> Void
    ) throws(SystemError) -> Command.Result {
        if unsent.isEmpty { program.closeInput() }
        let due = timeout.map { Clocks.instant() + $0 } ?? .distantFuture
        var cancel = cancellation?.wake
        while !isOver {
            var entries = hasEnded ? [] : [program.end]
            entries += [program.input, program.output, program.errors].compactMap { $0 }
            if let cancel { entries.append(cancel.entry) }
            Polling.wait(&entries, milliseconds: wait(due))
            let ready = Set(entries.lazy.filter(\.isReady).map(\.descriptor))
            func isReady(_ entry: PollEntry?) -> Bool { entry.map { ready.contains($0.descriptor) } ?? false }
            // Before the streams are read: what was written before the end is still in them.
            if isReady(program.end) { hasEnded = true }
            if isReady(program.input) { feed() }
            if isReady(program.output) || hasEnded, unsafe !drainOutput(take) { stop(.cancelled) }
            if isReady(program.errors) || hasEnded { unsafe program.drainErrors(takeErrors) }
            if let wake = cancel, ready.contains(wake.entry.descriptor) {
                cancel = nil
                stop(.cancelled)
            }
            if Clocks.instant() >= due { stop(.timedOut) }
            if let killDue, Clocks.instant() >= killDue { program.kill() }
        }
        let natural = program.reap()
        // Programs that it left running must not go on after it was ended early.
        if ending != nil { program.kill() }
        return Command.Result(ending: ending ?? natural, errors: program.lastErrors)
    }

    private func wait(_ due: Instant) -> Int64 {
        let next = min(ending == nil ? due : .distantFuture, killDue ?? .distantFuture)
        let left = next - Clocks.instant()
        return min(3_600_000, max(0, left.nanoseconds / 1_000_000 + 1))
    }

    private func stop(_ why: Command.Ending) {
        guard ending == nil else { return }
        ending = why
        program.askToEnd()
        killDue = Clocks.instant() + Command.grace
    }

    private func feed() {
        unsent = unsent.dropFirst(unsafe unsent.withUnsafeBytes { unsafe program.write($0) })
        if unsent.isEmpty { program.closeInput() }
    }

    /// Passes output on; returns `false` when `take` wants no more.
    private func drainOutput(_ take: (UnsafeRawBufferPointer) -> Bool) -> Bool {
        let isWanted = ending == nil
        return unsafe withUnsafeTemporaryAllocation(byteCount: 64 << 10, alignment: 16) { buffer in
            // Bounded, so that a program that never stops writing can still be ended; a pipe holds less than this.
            for _ in 0..<32 {
                guard let count = unsafe program.read(into: buffer), count > 0 else { return true }
                guard isWanted else { continue }
                guard unsafe take(UnsafeRawBufferPointer(rebasing: buffer[..<count])) else { return false }
            }
            return true
        }
    }
}
