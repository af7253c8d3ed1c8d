import AttemptLife
import TransferModel

// An attempt that the scheduler calls off.

extension Engine {
    /// Ends the task's attempt, wherever it is.
    func cancel(_ task: TaskIndex) {
        guard let attempt = attempt(of: task) else { return }
        switch attempt.phase {
        case .delivering, .flushing:
            // The body is whole and verified or about to be: let it stand.
            attempt.download.wasCalledOff = true
        case .comparing(.readingSent):
            // The server has all of it: that it is not known again is no reason to send it once more.
            _ = couldNotCompare(attempt)
        case .awaitingOutput:
            output?.withdraw(task)
            attempt.download.file = nil
            cancelled(attempt)
        case .awaitingRecord, .inspecting, .recalling, .adopting, .lookingForPart, .copyingPart, .confirming,
            .awaitingSessionState, .awaitingChecksum, .askingCache, .dating, .measuring, .digesting, .comparing,
            .awaitingGrant, .awaitingCredential, .transferring:
            stopTransfer(attempt)
            cancelled(attempt)
        }
    }

    func cancelled(_ attempt: Attempt) {
        let outcome =
            lostUpload(attempt).map { Verdict.Outcome.failed($0) }
            ?? .cancelled(TransferError(.cancelled, "the transfer was cancelled"))
        finish(attempt, Verdict(outcome, status: attempt.life.lastStatus))
    }
}
