import AttemptLife
import HTTPRules
import TransferModel

/// What happens when a connection is made, as far as it is told.
extension Engine {
    /// What the tasks of each session say themselves of challenges; tasks that share their options say it once.
    static func challenges(of job: Job) -> [[[ChallengeRule]]] {
        var said = [[[ChallengeRule]]](repeating: [], count: job.sessions.count)
        var last: TaskOptions?
        for task in job.tasks where task.options !== last {
            last = task.options
            said[Int(task.session.raw)].append(task.options.values.policies.challenges)
        }
        return said
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
