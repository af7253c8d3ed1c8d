import AttemptLife
import CurlCore
import SystemIO
import TransferModel

// URLs of own schemes, which a command of the session answers.

/// A command that nobody wants to hear any more, until it has ended.
struct LeavingCommand {
    let program: RunningCommand
    /// When it has no more say in it.
    let killDue: Instant
}

extension Engine {
    // MARK: Asking

    /// Asks the first of the commands that may answer, or the next after one that passed.
    func startCommand(_ request: OutgoingRequest, _ attempt: Attempt, after passed: Int = 0) {
        let commands = attempt.session.configuration.commands(for: request.url)
        guard passed < commands.count else {
            return fail(attempt, TransferError(.unsupportedURL, "no command answers for \(request.url.text)"))
        }
        let own = commands[passed]
        let words = own.command.map(\.redacted).joined(separator: " ")
        do throws(TransferError) {
            attempt.body?.close()
            attempt.body = nil
            let length = request.sendsBody ? try openBody(request, attempt).length : 0
            var command = Command(own.command.map(\.revealed))
            command.folder = job.baseDirectory
            let text = CommandRequest.text(request, bodyLength: length)
            do throws(SystemError) {
                let transfer = try CommandTransfer(command, words: words, request, text, attempt, at: now)
                attempt.command = transfer
                attempt.askedCommands = passed + 1
                commandTransfers.append(transfer)
            } catch {
                throw TransferError(
                    .commandUnusable, "the command `\(words)` cannot be started: \(error.reason)", errno: error.errno)
            }
        } catch {
            return fail(attempt, error)
        }
        // It may have done whatever it does from here on.
        attempt.sentSomething = true
    }

    // MARK: A turn of the loop

    /// What ends the loop's wait beside libcurl's own.
    var commandEntries: [PollEntry] {
        commandTransfers.flatMap(\.entries) + leavingCommands.map(\.program.end)
    }

    /// When something is to be done about commands although none of their streams moves.
    var nextCommandDeadline: Instant {
        var next = leavingCommands.reduce(Instant.distantFuture) { min($0, $1.killDue) }
        for transfer in commandTransfers where transfer.attempt.pausedAt == nil {
            next = min(next, transfer.lastActivity + transfer.attempt.idleLimit)
            _ = transfer.attempt.slowness(at: now.instant, nextLook: &next)
        }
        return next
    }

    func moveCommands() {
        var ignored = Instant.distantFuture
        for transfer in commandTransfers {
            if !transfer.move(at: now.instant) {
                stopped(transfer)
            } else if transfer.program.output == nil, transfer.hasEnded {
                ended(transfer)
            } else if let error = transfer.attempt.slowness(at: now.instant, nextLook: &ignored) {
                leave(transfer)
                ended(transfer.attempt, error, sawCloseNotify: false)
            } else if transfer.attempt.pausedAt == nil,
                transfer.lastActivity + transfer.attempt.idleLimit <= now.instant
            {
                fellSilent(transfer)
            }
        }
        watchLeaving(at: now.instant)
    }

    private func fellSilent(_ transfer: CommandTransfer) {
        let seconds = transfer.attempt.idleLimit.seconds
        let error = TransferError(
            .timedOut, "no byte moved for \(seconds) s (`timeoutForRequest`): \(transfer.silence)")
        leave(transfer)
        ended(transfer.attempt, error, sawCloseNotify: false)
    }

    /// Nothing more is wanted of it, or nothing more can be made of it.
    private func stopped(_ transfer: CommandTransfer) {
        let attempt = transfer.attempt
        if attempt.hasNewHead { announce(attempt) }
        leave(transfer)
        ended(attempt, attempt.bodyFailure ?? transfer.failure, sawCloseNotify: false)
    }

    private func ended(_ transfer: CommandTransfer) {
        let attempt = transfer.attempt
        transfer.program.drainErrors()
        let (status, signal): (Int32?, Int32) =
            switch transfer.program.reap() {
            case .exited(let status): (status, 0)
            case .killed(let signal): (nil, signal)
            case .timedOut, .cancelled: (nil, 0)
            }
        let words = LastWords.of(events.hiding.redacted(transfer.program.lastErrors))
        let end = CommandEnd.of(
            status: status, signal: signal, transfer.answer, command: transfer.words, lastWords: words)
        if attempt.hasNewHead { announce(attempt) }
        if attempt.received > 0 { emitProgress(attempt) }
        forget(transfer)
        switch end {
        case .passes: startCommand(transfer.request, attempt, after: attempt.askedCommands)
        case .whole: finished(transfer, nil)
        case .failed(let error): finished(transfer, error)
        }
    }

    private func finished(_ transfer: CommandTransfer, _ error: TransferError?) {
        let attempt = transfer.attempt
        attempt.transactions.append(transfer.metrics(at: now.instant))
        endBody(attempt, uploaded: attempt.body?.sent ?? 0)
        ended(attempt, error, sawCloseNotify: false)
    }

    private func forget(_ transfer: CommandTransfer) {
        transfer.attempt.command = nil
        commandTransfers.removeAll { $0 === transfer }
    }

    // MARK: Ending early

    /// Ends it and what it started, without waiting for that.
    func leave(_ transfer: CommandTransfer) {
        transfer.attempt.transactions.append(transfer.metrics(at: now.instant))
        endBody(transfer.attempt, uploaded: transfer.attempt.body?.sent ?? 0)
        forget(transfer)
        transfer.program.askToEnd()
        leavingCommands.append(LeavingCommand(program: transfer.program, killDue: now.instant + Command.grace))
    }

    private func watchLeaving(at now: Instant) {
        guard !leavingCommands.isEmpty else { return }
        leavingCommands.removeAll { command in
            guard command.program.hasEnded || command.killDue <= now else { return false }
            // Whatever it started must not go on behind the run's back.
            command.program.kill()
            _ = command.program.reap()
            return true
        }
    }

    /// At the end of the run: nothing of it goes on.
    func endCommands() {
        for transfer in commandTransfers { leave(transfer) }
        while let due = leavingCommands.map(\.killDue).min() {
            var ends = leavingCommands.map(\.program.end)
            let left = due - Clocks.instant()
            Polling.wait(&ends, milliseconds: max(0, left.nanoseconds / 1_000_000 + 1))
            watchLeaving(at: Clocks.instant())
        }
    }
}
