internal import Glibc
package import TransferModel

/// A program under way. Two threads belong to it: one waits for its end, one moves bytes.
package final class RunningProgram: Sendable {
    private struct State: Sendable {
        var output: [UInt8] = []
        var errorOutput: [UInt8] = []
        var status: Int32?
        var isReaped = false
        var hasTimedOut = false
        var isCollected = false
        var end: Instant?
    }
    package let processID: Int32
    private let state = Monitor(State())
    private let start: Instant
    private let threads = Monitor<[TestThread]>([])

    init(
        _ program: String, _ arguments: [String], environment: [String: String], folder: String, input: [UInt8],
        timeout: TimeSpan
    ) throws {
        let pipes = try Pipes()
        start = MonotonicClock.now
        processID = try Spawn.spawn(program, arguments, environment: environment, folder: folder, pipes: pipes)
        pipes.closeChildEnds()
        let deadline = start + timeout
        let wake = pipes.wake.write
        let waiter = try TestThread { [self] in waitForEnd(wake) }
        let collector = try TestThread { [self] in collect(pipes, input, deadline) }
        threads.with { $0 = [waiter, collector] }
    }

    /// The result, when the program has ended by itself, by a signal or by the timeout. May be called again.
    package func wait() -> Binary.Result {
        let running = threads.with { threads in
            defer { threads = [] }
            return threads
        }
        for thread in running { thread.join() }
        return state.wait { $0.isCollected ? self.result($0) : nil }!
    }

    /// Sends a signal, unless the program has already ended: its number may be another's by now.
    @discardableResult
    package func send(signal number: Int32) -> Bool {
        state.with { $0.isReaped ? false : kill(processID, number) == 0 }
    }

    /// Stops it where it stands, and returns when none of its threads is in the middle of a call: what they wrote is
    /// written, and nothing more comes. `SIGCONT` lets it go on. False when it has ended.
    package func freeze(timeout: TimeSpan = .seconds(30)) -> Bool {
        guard send(signal: SIGSTOP) else { return false }
        let deadline = MonotonicClock.now + timeout
        while MonotonicClock.now < deadline, isRunning {
            if threadStates.allSatisfy({ "TtZX".contains($0) }) { return true }
            usleep(200)
        }
        return false
    }

    /// As the kernel calls them: `R`, `S`, `T` and so on.
    private var threadStates: [Character] {
        threadIDs.compactMap { thread in
            let path = "/proc/\(processID)/task/\(thread)/stat"
            guard let text = try? String(decoding: TemporaryTree.bytes(at: path), as: UTF8.self) else { return nil }
            return text.lastIndex(of: ")").flatMap { text[$0...].dropFirst(2).first }
        }
    }

    /// Whether its first thread holds a signal back, to ask for it when it is ready, or asks for it just now.
    package func holds(_ signal: Int32) -> Bool {
        func text(_ name: String) -> String {
            String(decoding: (try? TemporaryTree.bytes(at: "/proc/\(processID)/\(name)")) ?? [], as: UTF8.self)
        }
        // For as long as it asks the kernel does not count it as blocked.
        if text("wchan").contains("sigtimedwait") { return true }
        let line = text("status").split(separator: "\n").first { $0.hasPrefix("SigBlk:") }
        let mask = line.flatMap { UInt64($0.dropFirst("SigBlk:".count).drop { $0 == "\t" }, radix: 16) } ?? 0
        return mask & (1 << UInt64(signal - 1)) != 0
    }

    /// The number of its thread of this name, as soon as it has one.
    package func thread(named name: String, timeout: TimeSpan = .seconds(30)) -> Int32? {
        let deadline = MonotonicClock.now + timeout
        while MonotonicClock.now < deadline, isRunning {
            for thread in threadIDs {
                let found = try? TemporaryTree.bytes(at: "/proc/\(processID)/task/\(thread)/comm")
                if found == Array("\(name)\n".utf8) { return thread }
            }
            usleep(200)
        }
        return nil
    }

    private var threadIDs: [Int32] {
        TemporaryTree.names(in: "/proc/\(processID)/task").compactMap { Int32($0) }
    }

    package var isRunning: Bool { state.with { $0.status == nil } }

    /// What came on standard output and standard error so far.
    package var outputSoFar: String { state.with { String(decoding: $0.output, as: UTF8.self) } }
    package var errorOutputSoFar: String { state.with { String(decoding: $0.errorOutput, as: UTF8.self) } }

    /// Waits until standard output or standard error holds `text`; false when the program ended or `timeout`
    /// passed without it.
    @discardableResult
    package func waitForOutput(_ text: String, timeout: TimeSpan = .seconds(30)) -> Bool {
        state.wait(until: MonotonicClock.now + timeout) { state -> Bool? in
            for bytes in [state.output, state.errorOutput] {
                if String(decoding: bytes, as: UTF8.self).contains(text) { return true }
            }
            return state.isCollected ? false : nil
        } ?? false
    }

    private func result(_ state: State) -> Binary.Result {
        let status = state.status ?? 0
        let ending: Binary.Result.Ending =
            if state.hasTimedOut { .timedOut } else if status & 0x7F == 0 { .exit((status >> 8) & 0xFF) } else {
                .signal(status & 0x7F)
            }
        return Binary.Result(
            ending: ending, output: state.output, errorOutput: state.errorOutput,
            duration: (state.end ?? start) - start)
    }

    /// Leaves the process a zombie until the lock is held, so that `send` never meets a number given out anew.
    private func waitForEnd(_ wake: Int32) {
        var information = siginfo_t()
        while waitid(P_PID, id_t(processID), &information, WEXITED | WNOWAIT) != 0, errno == EINTR {}
        state.with { state in
            var status: Int32 = 0
            waitpid(processID, &status, 0)
            state.isReaped = true
            state.status = status
            state.end = MonotonicClock.now
        }
        close(wake)
    }

    private func collect(_ pipes: Pipes, _ input: [UInt8], _ deadline: Instant) {
        var mover = ByteMover(pipes: pipes, input: input)
        while !mover.isDone {
            let ready = mover.step(until: deadline)
            state.with { state in
                state.output += mover.takeOutput()
                state.errorOutput += mover.takeErrorOutput()
                if !ready, !state.isReaped {
                    state.hasTimedOut = true
                    kill(processID, SIGKILL)
                }
            }
        }
        pipes.closeAll()
        state.with { $0.isCollected = true }
    }
}

/// Moves a program's three streams through one poll, so that none of them can fill up while another is awaited.
private struct ByteMover {
    private let pipes: Pipes
    private let input: [UInt8]
    private var sent = 0
    private var open: Set<Int32>
    private var output: [UInt8] = []
    private var errorOutput: [UInt8] = []
    private var buffer = [UInt8](repeating: 0, count: 1 << 16)
    private var hasEnded = false

    init(pipes: Pipes, input: [UInt8]) {
        self.pipes = pipes
        self.input = input
        open = [pipes.output.read, pipes.errorOutput.read]
        for descriptor in [pipes.input.write, pipes.output.read, pipes.errorOutput.read] {
            _ = fcntl(descriptor, F_SETFL, O_NONBLOCK)
        }
        if input.isEmpty { pipes.input.closeWrite() }
    }

    /// When the process has ended, what lies in the pipes is read and no more is awaited: something it left behind
    /// may hold them open for ever.
    var isDone: Bool { hasEnded }

    mutating func takeOutput() -> [UInt8] {
        defer { output = [] }
        return output
    }
    mutating func takeErrorOutput() -> [UInt8] {
        defer { errorOutput = [] }
        return errorOutput
    }

    /// False when the deadline passed.
    mutating func step(until deadline: Instant) -> Bool {
        var entries = open.map { pollfd(fd: $0, events: Int16(POLLIN), revents: 0) }
        entries.append(pollfd(fd: pipes.wake.read, events: Int16(POLLIN), revents: 0))
        if sent < input.count { entries.append(pollfd(fd: pipes.input.write, events: Int16(POLLOUT), revents: 0)) }
        let left = max(0, (deadline - MonotonicClock.now).nanoseconds / 1_000_000 + 1)
        let isLate = deadline <= MonotonicClock.now
        poll(&entries, nfds_t(entries.count), isLate ? 100 : Int32(min(left, 60_000)))
        let ended = entries.contains { $0.fd == pipes.wake.read && $0.revents != 0 }
        for entry in entries where entry.revents != 0 {
            if entry.fd == pipes.input.write { feed() } else if entry.fd != pipes.wake.read { drain(entry.fd) }
        }
        if ended {
            for descriptor in open { drain(descriptor) }
            hasEnded = true
        }
        return hasEnded || deadline > MonotonicClock.now
    }

    private mutating func feed() {
        let count = input.withUnsafeBytes { write(pipes.input.write, $0.baseAddress! + sent, input.count - sent) }
        if count < 0, errno == EAGAIN || errno == EINTR { return }
        sent = count < 0 ? input.count : sent + count
        if sent == input.count { pipes.input.closeWrite() }
    }

    private mutating func drain(_ descriptor: Int32) {
        while true {
            let count = read(descriptor, &buffer, buffer.count)
            if count < 0, errno == EINTR { continue }
            if count == 0 { open.remove(descriptor) }
            guard count > 0 else { return }
            if descriptor == pipes.output.read { output += buffer[..<count] } else { errorOutput += buffer[..<count] }
        }
    }
}
