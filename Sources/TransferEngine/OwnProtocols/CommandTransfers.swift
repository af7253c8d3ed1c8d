import SystemIO
import TransferModel

/// The commands that answer requests of own schemes, and those that were told to end and have not yet.
///
/// It moves their streams and says which have come to an end; what that means for the attempt is the engine's to decide.
struct CommandTransfers {
    /// How a command came to its end.
    enum End {
        /// The command exited, and all that it wrote was read.
        case exited
        /// Nothing more is wanted of it, or nothing more can be made of it.
        case stopped
        /// The command was too slow, or moved no byte for too long.
        case failed(TransferError)
    }

    /// A command that was told to end.
    private struct Leaving {
        let program: RunningCommand
        /// When it is killed.
        let killDue: Instant
    }

    private var running: [CommandTransfer] = []
    private var leaving: [Leaving] = []

    /// Whether there is nothing to wait for.
    var isEmpty: Bool { running.isEmpty && leaving.isEmpty }
    /// Whether a command answers a request.
    var areRunning: Bool { !running.isEmpty }

    mutating func add(_ transfer: CommandTransfer) { running.append(transfer) }

    /// What ends the loop's wait beside libcurl's own descriptors.
    var entries: [PollEntry] { running.flatMap(\.entries) + leaving.map(\.program.end) }

    /// When a command must be looked at although none of its streams moves.
    func nextDeadline(at now: Instant) -> Instant {
        var next = leaving.reduce(Instant.distantFuture) { min($0, $1.killDue) }
        for transfer in running where !transfer.attempt.bandwidth.isPaused {
            next = min(next, transfer.silenceDue)
            _ = transfer.attempt.slowness(at: now, nextCheck: &next)
        }
        return next
    }

    /// Moves the streams of all commands. Returns those that came to an end; they are still here, until `remove` or `leave`.
    mutating func move(at now: Instant) -> [(CommandTransfer, End)] {
        let ended = running.compactMap { transfer in Self.move(transfer, at: now).map { (transfer, $0) } }
        reap(at: now)
        return ended
    }

    private static func move(_ transfer: CommandTransfer, at now: Instant) -> End? {
        if !transfer.move(at: now) { return .stopped }
        if transfer.program.output == nil, transfer.hasEnded { return .exited }
        var ignored = Instant.distantFuture
        if let error = transfer.attempt.slowness(at: now, nextCheck: &ignored) { return .failed(error) }
        guard !transfer.attempt.bandwidth.isPaused, transfer.silenceDue <= now else { return nil }
        let seconds = transfer.attempt.transport.idleLimit.seconds
        return .failed(
            TransferError(.timedOut, "no byte moved for \(seconds) s (`timeoutForRequest`): \(transfer.silence)"))
    }

    /// Forgets a command that has ended.
    mutating func remove(_ transfer: CommandTransfer) { running.removeAll { $0 === transfer } }

    /// Asks a command, and what it started, to end, without waiting for that.
    mutating func leave(_ transfer: CommandTransfer, at now: Instant) {
        remove(transfer)
        transfer.program.askToEnd()
        leaving.append(Leaving(program: transfer.program, killDue: now + Command.grace))
    }

    /// Forgets those that were told to end and have; kills those whose time is over.
    private mutating func reap(at now: Instant) {
        leaving.removeAll { command in
            guard command.program.hasEnded || command.killDue <= now else { return false }
            // Its children must not go on behind the run's back.
            command.program.kill()
            _ = command.program.reap()
            return true
        }
    }

    /// Waits at the end of the run until no command is left.
    mutating func waitForEnds() {
        while let due = leaving.map(\.killDue).min() {
            var ends = leaving.map(\.program.end)
            let left = due - Clocks.instant()
            Polling.wait(&ends, milliseconds: max(0, left.nanoseconds / 1_000_000 + 1))
            reap(at: Clocks.instant())
        }
    }

    /// The commands that answer requests now.
    var all: [CommandTransfer] { running }
}
