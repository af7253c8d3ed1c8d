import AttemptLife
import HTTPRules
import TransferModel

extension Engine {
    /// The next request. Each asks anew, at the same origin too: its rate counts requests.
    func goOn(_ attempt: Attempt, _ request: OutgoingRequest) {
        let origin = origins.id(of: request.url)
        releaseSlot(attempt)
        attempt.phase = .awaitingGrant(request)
        reports.append(.needsGrant(attempt.task, origin, isAlone: policy.standsAlone(request, origin)))
    }

    func tell(_ record: RedirectRecord, _ attempt: Attempt) {
        holdBackIfHiding(attempt)
        emit(.redirect(record), attempt)
    }

    /// Tells the redirect that leads there, if one does. A server that was shown a secret may write it into the address
    /// that it sends us to: nobody else is to learn it from us.
    func mayFollow(_ record: RedirectRecord?, to url: ResourceURL, _ attempt: Attempt) -> Bool {
        guard let record else { return true }
        guard let barred = secrets.bound.barred(from: url) else {
            tell(record, attempt)
            return true
        }
        tell(record.refused, attempt)
        let reason = "the server's redirect holds the secret `\(barred.secret)`, which must not go to \(barred.place)"
        fail(attempt, TransferError(.secretBarred, reason))
        return false
    }
}
