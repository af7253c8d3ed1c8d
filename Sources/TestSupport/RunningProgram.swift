internal import Glibc
package import TransferModel

/// A running program. It has two threads: one waits for its end, one moves the bytes of its streams.
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
    /// Process id of the program.
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

    /// Waits until the program has ended by itself, by a signal or by the timeout, and returns its result. May be
    /// called again.
    package func wait() -> Binary.Result {
        let running = threads.with { threads in
            defer { threads = [] }
            return threads
        }
        for thread in running { thread.join() }
        return state.wait { $0.isCollected ? self.result($0) : nil }!
    }

    /// Sends a signal and returns whether it was sent: not once the program was reaped, since its id may belong to
    /// another process by then.
    @discardableResult
    package func send(signal number: Int32) -> Bool {
        state.with { $0.isReaped ? false : kill(processID, number) == 0 }
    }

    /// Stops the program and returns once none of its threads is in the middle of a call: its writes are done, and no
    /// more come. `SIGCONT` continues it. False if it has ended, or if `timeout` passed.
    package func freeze(timeout: TimeSpan = .seconds(30)) -> Bool {
        guard send(signal: SIGSTOP) else { return false }
        let deadline = MonotonicClock.now + timeout
        while MonotonicClock.now < deadline, isRunning {
            if threadStates.allSatisfy({ "TtZX".contains($0) }) { return true }
            usleep(200)
        }
        return false
    }

    /// State of each thread, as the kernel abbreviates it: `R`, `S`, `T` and so on.
    private var threadStates: [Character] {
        threadIDs.compactMap { thread in
            let path = "/proc/\(processID)/task/\(thread)/stat"
            guard let text = try? String(decoding: TemporaryTree.bytes(at: path), as: UTF8.self) else { return nil }
            return text.lastIndex(of: ")").flatMap { text[$0...].dropFirst(2).first }
        }
    }

    /// Whether the first thread blocks a signal, to fetch it later, or is waiting for it now.
    package func holds(_ signal: Int32) -> Bool {
        func text(_ name: String) -> String {
            String(decoding: (try? TemporaryTree.bytes(at: "/proc/\(processID)/\(name)")) ?? [], as: UTF8.self)
        }
        // While the thread waits for the signal, the kernel does not count it as blocked.
        if text("wchan").contains("sigtimedwait") { return true }
        let line = text("status").split(separator: "\n").first { $0.hasPrefix("SigBlk:") }
        let mask = line.flatMap { UInt64($0.dropFirst("SigBlk:".count).drop { $0 == "\t" }, radix: 16) } ?? 0
        return mask & (1 << UInt64(signal - 1)) != 0
    }

    /// Returns the id of the program's thread with this name, as soon as there is one; `nil` if the program ended or
    /// `timeout` passed.
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

    /// Whether the program has not ended yet.
    package var isRunning: Bool { state.with { $0.status == nil } }

    /// Standard output so far, as UTF-8.
    package var outputSoFar: String { state.with { String(decoding: $0.output, as: UTF8.self) } }
    /// Standard error so far, as UTF-8.
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

    /// Waits for the program's end and leaves it a zombie until the lock is held, so that `send` never meets a process
    /// id given out anew.
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

    /// Whether the process has ended and the pipes were emptied. No more is awaited then: a process that the program
    /// left behind may hold the pipes open for ever.
    var isDone: Bool { hasEnded }

    mutating func takeOutput() -> [UInt8] {
        defer { output = [] }
        return output
    }
    mutating func takeErrorOutput() -> [UInt8] {
        defer { errorOutput = [] }
        return errorOutput
    }

    /// Moves what is ready; returns false if the deadline passed.
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
