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

    /// Tells the redirect that leads there, if one does, and whether it may be followed: the attempt's life knows why not.
    func mayFollow(_ record: RedirectRecord?, to url: ResourceURL, _ attempt: Attempt) -> Bool {
        guard let record else { return true }
        guard let refusal = AttemptLife.refusal(ofRedirectTo: url, secrets.bound) else {
            tell(record, attempt)
            return true
        }
        tell(record.refused, attempt)
        fail(attempt, refusal)
        return false
    }
}
