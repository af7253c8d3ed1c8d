import AttemptLife
import CurlCore
import HTTPRules
import TransferModel

// What the message of a failed attempt says beside what went wrong.

extension Engine {
    /// Returns the error that a failed attempt is shown with.
    func told(_ error: TransferError, _ attempt: Attempt) -> TransferError {
        var shown = explained(attempt.life.held?.renamed(error) ?? error, attempt)
        if error.name == .checksumMismatch { shown.message = attempt.requestWords + shown.message }
        return shown
    }

    func explained(_ error: TransferError, _ attempt: Attempt) -> TransferError {
        let bare = error.message
        var error = attempt.life.explained(error)
        guard attempt.life.isDeclined, error.name == .unexpectedResponse else { return error }
        if attempt.life.lastStatus == 401, error.message == bare { error.message += "; \(whoAsked(attempt))" }
        if let words = serverWords(attempt) { error.message += ": \(ForeignText.said(words))" }
        return error
    }

    /// Who the request said it was, without saying what it showed.
    private func whoAsked(_ attempt: Attempt) -> String {
        let request = attempt.life.request
        if request.headers.contains(where: { $0.isNamed("authorization") }) {
            return "the `Authorization` header was refused"
        }
        return attempt.life.hasAnsweredChallenge ? "the credential of the job was refused" : "no credential was sent"
    }

    /// Not of a body in which something is a secret that only a look through all of it finds, nor where the job's own
    /// expectations of the body quote it.
    private func serverWords(_ attempt: Attempt) -> String? {
        guard let head = attempt.exchange.head, head.isHTTP, head.status >= 400, attempt.exchange.mixed == nil,
            attempt.rules.answer?.hidesSomethingInBody != true,
            !attempt.life.missesWhatIsNamed || attempt.rules.answer?.expectsOfBody != true
        else { return nil }
        return ServerWords.of(attempt.exchange.body, head.headers)
    }
}
