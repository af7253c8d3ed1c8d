import AttemptLife
import CurlCore
import SystemIO
import TransferModel

/// Has commands of the session answer for URLs of own schemes.
final class OwnProtocols: Participant {
    let core: EngineCore
    /// The commands that answer at present.
    private(set) var transfers = CommandTransfers()

    init(_ core: EngineCore) { self.core = core }

    /// What the loop waits for beside connections.
    var entries: [PollEntry] { transfers.isEmpty ? [] : transfers.entries }
    /// Whether a command answers at present.
    var areRunning: Bool { transfers.areRunning }
    /// When the next of them has taken too long.
    var nextDeadline: Instant { transfers.isEmpty ? .distantFuture : transfers.nextDeadline(at: core.now.instant) }

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
            attempt.sending.body?.close()
            attempt.sending.body = nil
            let length = request.sendsBody ? try participants.bodies.openBody(request, attempt).length : 0
            var command = Command(own.command.map(\.revealed))
            command.folder = core.job.baseDirectory
            let text = CommandRequest.text(request, bodyLength: length)
            do throws(SystemError) {
                let transfer = try CommandTransfer(command, words: words, request, text, attempt, at: core.now)
                attempt.transport.command = transfer
                attempt.transport.askedCommands = passed + 1
                transfers.add(transfer)
            } catch {
                throw TransferError(
                    .commandUnusable, "the command `\(words)` cannot be started: \(error.reason)", errno: error.errno)
            }
        } catch {
            return fail(attempt, error)
        }
        // It may have done whatever it does from here on.
        attempt.sending.sentSomething = true
    }

    // MARK: A turn of the loop

    /// Moves what commands read and write, and ends the attempts of those that came to an end.
    func moveCommands() {
        if transfers.isEmpty { return }
        for (transfer, end) in transfers.move(at: core.now.instant)
        where transfer.attempt.transport.command === transfer {
            switch end {
            case .exited: exited(transfer)
            case .stopped: stopped(transfer)
            case .failed(let error):
                stopCommand(transfer)
                engine.ended(transfer.attempt, error, sawCloseNotify: false)
            }
        }
    }

    private func stopped(_ transfer: CommandTransfer) {
        let attempt = transfer.attempt
        if attempt.exchange.hasNewHead { participants.announcements.announce(attempt) }
        stopCommand(transfer)
        engine.ended(attempt, attempt.exchange.bodyFailure ?? transfer.failure, sawCloseNotify: false)
    }

    private func exited(_ transfer: CommandTransfer) {
        let attempt = transfer.attempt
        transfer.program.drainErrors()
        let (status, signal): (Int32?, Int32) =
            switch transfer.program.reap() {
            case .exited(let status): (status, 0)
            case .killed(let signal): (nil, signal)
            case .timedOut, .cancelled: (nil, 0)
            }
        let words = LastErrorLine.of(core.events.hiding.redacted(transfer.program.lastErrors))
        let end = CommandEnd.of(
            status: status, signal: signal, transfer.answer, command: transfer.words, lastWords: words)
        if attempt.exchange.hasNewHead { participants.announcements.announce(attempt) }
        if attempt.exchange.received > 0 { participants.announcements.emitProgress(attempt) }
        transfers.remove(transfer)
        attempt.transport.command = nil
        switch end {
        case .passes: startCommand(transfer.request, attempt, after: attempt.transport.askedCommands)
        case .whole: finished(transfer, nil)
        case .failed(let error): finished(transfer, error)
        }
    }

    private func finished(_ transfer: CommandTransfer, _ error: TransferError?) {
        let attempt = transfer.attempt
        attempt.transactions.append(transfer.metrics(at: core.now.instant))
        participants.bodies.endBody(attempt, uploaded: attempt.sending.body?.sent ?? 0)
        engine.ended(attempt, error, sawCloseNotify: false)
    }

    // MARK: Ending early

    /// Ends the command and what it started, without waiting for that.
    func stopCommand(_ transfer: CommandTransfer) {
        transfer.attempt.transactions.append(transfer.metrics(at: core.now.instant))
        participants.bodies.endBody(transfer.attempt, uploaded: transfer.attempt.sending.body?.sent ?? 0)
        transfer.attempt.transport.command = nil
        transfers.leave(transfer, at: core.now.instant)
    }

    /// Ends every command, at the end of the run, and waits for that.
    func endCommands() {
        for transfer in transfers.all { stopCommand(transfer) }
        transfers.waitForEnds()
    }
}
