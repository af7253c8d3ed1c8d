import AttemptLife
import CurlCore
import HTTPRules
import TransferModel

/// Says in the message of a failed attempt what belongs beside what went wrong.
final class Explanations: Participant {
    let core: EngineCore

    init(_ core: EngineCore) { self.core = core }

    /// Returns the error that a failed attempt is shown with.
    func shown(_ error: TransferError, _ attempt: Attempt) -> TransferError {
        var shown = explained(attempt.life.held?.renamed(error) ?? error, attempt)
        if error.name == .checksumMismatch { shown.message = attempt.requestWords + shown.message }
        if error.name.speaksOfOtherContent, !shown.message.contains("://"), let place = attempt.redirectedTo {
            shown.message += "; the server had redirected to \(place.text)"
        }
        if error.name == .unexpectedResponse, let region = attempt.regionOfBucket {
            shown.message += TransferError.otherRegionWords + ForeignText.quoted(region)
        }
        if let next = attempt.specification.options.values.next, attempt.pages.number > 1, !attempt.pages.isWhole {
            shown = shown.ofPage(attempt.pages.number, attempt.specification.id, next)
        }
        return shown
    }

    /// Adds who asked and what the server said to the error of an answer that is not the one wanted.
    func explained(_ error: TransferError, _ attempt: Attempt) -> TransferError {
        let bare = error.message
        var error = attempt.life.explained(error)
        guard attempt.life.isDeclined, error.name == .unexpectedResponse else { return error }
        if attempt.life.lastStatus == 401, error.message == bare { error.message += "; \(whoAsked(attempt))" }
        if attempt.life.lastStatus == 403, let wait = attempt.exchange.head?.headers.first("retry-after") {
            error.message += "\(TransferError.quietWords)\(ForeignText.quoted(wait))"
        }
        if let words = serverWords(attempt) { error.message += ": \(ForeignText.said(words))" }
        return error
    }

    /// Who the request said it was, without saying what it showed.
    private func whoAsked(_ attempt: Attempt) -> String {
        let request = attempt.life.request
        if request.headers.contains(where: { $0.isNamed("authorization") }) {
            return "the `Authorization` header was refused"
        }
        if attempt.life.hasAnsweredChallenge || attempt.life.showedCredential {
            return "the credential of the job was refused"
        }
        if let secret = sentSecret(attempt) { return secret }
        if let (header, home) = attempt.life.heldBack {
            return "\(TransferError.heldBackWords)the header `\(header)` is for \(home)"
        }
        return "no credential was sent"
    }

    /// `the secret `key` was sent in the body`: a secret of the job is a credential, wherever it stands.
    private func sentSecret(_ attempt: Attempt) -> String? {
        let request = attempt.life.request
        for field in request.headers {
            if let name = field.value.secretNames.first {
                return "the secret `\(name)` was sent in the header `\(field.name)`"
            }
        }
        let body = request.sendsBody ? attempt.specification.options.values.body : nil
        if let name = body?.secretNames.first { return "the secret `\(name)` was sent in the body" }
        return core.secrets.areKnown(in: request.url) ? "a secret was sent in the URL" : nil
    }

    /// Not where the job's own expectations of the body quote it. Where a secret is captured from the body, that is
    /// looked for first, so that it is masked.
    private func serverWords(_ attempt: Attempt) -> String? {
        guard let head = attempt.exchange.head, head.isHTTP, head.status >= 400, attempt.exchange.mixed == nil,
            !attempt.life.missesWhatIsNamed || attempt.rules.answer?.expectsOfBody != true,
            participants.answers.knowsSecretsInErrorPage(attempt, .network)
        else { return nil }
        return ServerWords.of(attempt.exchange.body, head.headers)
    }
}

extension ErrorName {
    /// Whether the response was other content than the job expects, such as the login page that a redirect led to.
    fileprivate var speaksOfOtherContent: Bool {
        self == .unexpectedResponse || self == .unexpectedHTML || self == .magicMismatch
    }
}

extension Attempt {
    /// The region in which a store says that it has the bucket, where that is another than the one signed for.
    fileprivate var regionOfBucket: String? {
        guard let object, object.isAtStore, let region = exchange.head?.headers.first("x-amz-bucket-region"),
            case .aws(_, _, _, let signed, _)? = object.place.credentials.first?.source, region != signed
        else { return nil }
        return region
    }

    /// Where redirects led; `nil` where the task's own URL answered.
    fileprivate var redirectedTo: ResourceURL? {
        guard let own = specification.location(mirror: mirror).url, pages.url == nil,
            life.request.url.text != own.text
        else { return nil }
        return life.request.url
    }
}
