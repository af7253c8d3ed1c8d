import AttemptLife
import CurlCore
import HTTPRules
package import TransferModel

/// What happens when a connection is made, as far as it is told.
extension Engine {
    /// Returns the number of connections that a session opened, and of requests that reused one.
    package func connections(of session: SessionIndex) -> (opened: Int, reused: Int) {
        let session = sessions[Int(session.raw)]
        return (session.connectionsOpened, session.connectionsReused)
    }

    /// Limits the origin's connections over all sessions: with several sessions, an idle connection in each of them
    /// would exceed the limit, so they are not kept.
    package func limitConnections(to origin: OriginID, _ most: Int) {
        if sessions.count > 1 { policy.dropConnections(to: origin) }
        for session in sessions { session.pools.limits.narrow(origins[origin], to: most) }
    }

    /// Ends the idle connections of all sessions, since the process has no descriptor left for something else.
    func endIdleConnections() {
        for session in sessions { for pool in session.pools.all { pool.endIdle() } }
    }

    /// The slot that its attempt began with is a stream, and its request needs a connection: it asks for that.
    func givesBackStream(_ attempt: Attempt) -> Bool {
        guard let origin = attempt.origin, policy.standsAlone(attempt.life.request, origin) else { return false }
        attempt.origin = nil
        reports.append(.unused(attempt.task, origin))
        return true
    }

    /// The server asked for a certificate. Never what was shown, only whether.
    func tellOfCertificate(_ attempt: Attempt) {
        let url = attempt.life.request.url
        let own = attempt.specification.options.values.policies.challenges
        let pools = attempt.session.pools
        let answer = pools.challenges(own).answer(to: .clientCertificate, at: url)
        var disposition = answer?.disposition
        if disposition == nil || disposition == .use {
            // What was to be shown and is not there is shown to nobody.
            disposition = pools.hasCertificate(for: url) ? .use : .default
        }
        tell(.clientCertificate, answer?.level, disposition ?? .default, url, attempt)
    }

    /// A rule that answers for the server's trust acts before the server says anything.
    func tellOfTrust(_ attempt: Attempt, _ url: ResourceURL) {
        let challenges = attempt.session.pools.challenges(attempt.specification.options.values.policies.challenges)
        guard url.isSecure, let answer = challenges.answer(to: .serverTrust, at: url),
            answer.disposition == .cancel || answer.disposition == .reject
        else { return }
        tell(.serverTrust, answer.level, answer.disposition, url, attempt)
    }

    private func tell(
        _ method: ChallengeRule.Method, _ level: String?, _ disposition: ChallengeRule.Disposition, _ url: ResourceURL,
        _ attempt: Attempt
    ) {
        let record = ChallengeRecord(
            method: method.rawValue, host: "\(url.host):\(url.port)", realm: nil, level: level ?? "session",
            disposition: disposition.rawValue, previousFailureCount: 0)
        emit(.challenge(record), attempt)
    }
}
