import AttemptLife
import CurlCore
import HTTPRules
package import TransferModel

/// Chooses how requests connect, and ends what goes over a network that went away.
package final class Connections: Participant {
    let core: EngineCore
    /// What requests have in common in the use of connections.
    var policy: ConnectionPolicy
    /// The networks' current state, shared by the gates of all sessions.
    let networks: NetworkState

    init(_ core: EngineCore, _ networks: NetworkState) {
        self.core = core
        policy = ConnectionPolicy(core.job)
        self.networks = networks
    }

    /// Returns the number of connections that a session opened, and of requests that reused one.
    package func opened(of session: SessionIndex) -> (opened: Int, reused: Int) {
        let session = core.sessions[Int(session.raw)]
        return session.connections
    }

    /// Limits the origin's connections over all sessions: with several sessions, an idle connection in each of them
    /// would exceed the limit, so they are not kept.
    package func limitConnections(to origin: OriginID, _ most: Int) {
        if core.sessions.count > 1 { policy.dropConnections(to: origin) }
        for session in core.sessions { session.pools.limits.narrow(core.origins[origin], to: most) }
    }

    /// Ends the idle connections of all sessions, since the process has no descriptor left for something else.
    func endIdleConnections() {
        for session in core.sessions { for pool in session.pools.all { pool.endIdle() } }
    }

    /// The slot that its attempt began with is a stream, and its request needs a connection: it asks for that.
    func givesBackStream(_ attempt: Attempt) -> Bool {
        guard let origin = attempt.origin, policy.standsAlone(attempt.life.request, origin) else { return false }
        attempt.origin = nil
        core.reports.append(.unused(attempt.task, origin))
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
        core.emit(.challenge(record), attempt)
    }

    // MARK: For a request

    /// Makes the part of a request that all requests of the attempt share; the headers are left out.
    func curlRequest(_ request: OutgoingRequest, _ attempt: Attempt) throws(TransferError) -> CurlRequest {
        try checkHosts(request.url, attempt)
        let pool = try attempt.session.pools.pool(
            for: request.url, attempt.specification.options.values.policies.challenges, attempt.terms,
            isApart: policy.isApart(request, attempt.origin))
        var curl = CurlRequest(url: attempt.life.wireURL(request), method: request.method, pool: pool)
        curl.version = request.mayUseHTTP2 && request.url.isSecure ? .http2OverTLS : .http1
        curl.connectTimeout = attempt.session.configuration.connectTimeout
        curl.receiveBuffer = policy.receiveBuffer(at: attempt.bandwidth.rate)
        curl.keepsConnection = policy.keepsConnection(to: attempt.origin)
        curl.addresses = try addressLimits(request, attempt)
        if attempt.life.mayAuthorize { participants.credentials.show(request, &curl, attempt) }
        return curl
    }

    /// The lowest rate that the task is under; `nil` without one.
    func rate(_ task: TaskSpecification) -> Int64? {
        guard policy.isMetered else { return nil }
        let session = core.sessions[Int(task.session.raw)].configuration.bandwidth
        return [core.job.limits.bandwidth, session, task.options.values.bandwidth].compactMap { $0?.lowest }.min()
    }

    /// The attempt is over: connections of its own are given back.
    func attemptEnded(_ attempt: Attempt) {
        attempt.session.giveBack(attempt.transport.ownPool)
        attempt.transport.ownPool = nil
    }
}
