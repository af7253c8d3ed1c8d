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
    package var environment: [RawName]?
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

    /// So long after it was asked to end it is ended.
    package static let grace = TimeSpan.seconds(2)

    /// `take` gets what it writes, piece by piece; `false` ends it. With `awaitsWholeOutput` its end alone is not the end:
    /// something that it started may still write, and only the end of the stream says that nothing is missing.
    package func run(
        input: [UInt8] = [], cancellation: Cancellation? = nil, awaitsWholeOutput: Bool = false,
        take: (UnsafeRawBufferPointer) -> Bool
    ) throws(SystemError) -> Result {
        let conversation = Conversation(try RunningCommand(self), input, awaitsWholeOutput: awaitsWholeOutput)
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

/// A program under way whose streams are moved, by one thread that waits for nothing else, until it has ended.
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

    /// Whoever told it to end has no use for what else might come.
    private var isOver: Bool { hasEnded && (!awaitsWholeOutput || program.output == nil || ending != nil) }

    func hold(
        timeout: TimeSpan?, cancellation: Command.Cancellation?, _ take: (UnsafeRawBufferPointer) -> Bool
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
            // Before the streams: what was written before the end is still in them.
            if isReady(program.end) { hasEnded = true }
            if isReady(program.input) { feed() }
            if isReady(program.output) || hasEnded, unsafe !drainOutput(take) { stop(.cancelled) }
            if isReady(program.errors) || hasEnded { program.drainErrors() }
            if let wake = cancel, ready.contains(wake.entry.descriptor) {
                cancel = nil
                stop(.cancelled)
            }
            if Clocks.instant() >= due { stop(.timedOut) }
            if let killDue, Clocks.instant() >= killDue { program.kill() }
        }
        let natural = program.reap()
        // What it left running must not go on behind the run's back when the run wanted it to end.
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

    /// `false` when nobody wants more of it.
    private func drainOutput(_ take: (UnsafeRawBufferPointer) -> Bool) -> Bool {
        let isWanted = ending == nil
        return unsafe withUnsafeTemporaryAllocation(byteCount: 64 << 10, alignment: 16) { buffer in
            // A program that never stops writing must not keep us from hearing that it shall end; a pipe holds less.
            for _ in 0..<32 {
                guard let count = unsafe program.read(into: buffer), count > 0 else { return true }
                guard isWanted else { continue }
                guard unsafe take(UnsafeRawBufferPointer(rebasing: buffer[..<count])) else { return false }
            }
            return true
        }
    }
}
