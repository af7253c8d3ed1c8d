package import HTTPRules
package import TransferModel

/// Exchanges challenges and credentials for one attempt: keeps the challenges, the credentials that requests show, and
/// what is still to be reported of both.
///
/// Does no I/O: a credential that must be looked up is returned as a question, and `found` continues with the answer.
package struct LoginExchange: Sendable {
    /// Most challenges that one attempt answers: more than its redirects could ask for. A server that accepts a proof
    /// and asks again would otherwise go on for ever.
    private static let mostAnswers = 40

    /// Chooses the credentials to show, and knows which were rejected.
    package private(set) var responder: ChallengeResponder
    private let clientNonce: @Sendable () -> String
    /// Credentials that the next request shows, if a challenge decided that already.
    private var decided: RequestAuthorization?
    /// Credentials that the last request showed.
    package private(set) var shown = RequestAuthorization()
    private var records: [ChallengeRecord] = []
    private var reports: [HelperReport] = []
    /// The number of challenges answered.
    package private(set) var answers = 0
    /// Whether no credential was known for the last challenge.
    package private(set) var isUnanswered = false
    /// Why the last challenge cannot be answered with any credential.
    package private(set) var obstacle: String?

    package init(_ responder: ChallengeResponder, clientNonce: @escaping @Sendable () -> String) {
        self.responder = responder
        self.clientNonce = clientNonce
    }

    /// What follows a challenge.
    package enum Outcome: Sendable {
        /// The challenge is answered: the same request follows and shows the credential. `endsConnection`: libcurl
        /// proves the credential on a new connection.
        case answered(endsConnection: Bool)
        /// A credential must be looked up first.
        case lookUp(CredentialQuery)
        /// The response stays what it is.
        case accepted
        case cancelled(TransferError)
    }

    /// Decides what the request that is about to be sent shows. Returns the credential that must be looked up first, if
    /// any.
    package mutating func authorize(
        _ request: @autoclosure () -> ChallengedRequest, _ accepted: inout AcceptedCredentials
    ) -> CredentialQuery? {
        if let decided {
            (shown, self.decided) = (decided, nil)
            return nil
        }
        switch record(responder.prepare(request(), &accepted, clientNonce: clientNonce)) {
        case .send(let authorization): shown = authorization
        case .lookUp(let query): return query
        case .accept, .cancel: shown = RequestAuthorization()
        }
        return nil
    }

    /// Whether the server may answer the request that is about to be sent with a challenge that a credential is there
    /// for.
    package func mayBeChallenged(_ request: ChallengedRequest) -> Bool { responder.mayBeChallenged(request) }

    /// Notes a response that is no challenge: what was shown was accepted.
    package mutating func passed(
        _ request: ChallengedRequest, status: Int, _ headers: HeaderBlock, _ accepted: inout AcceptedCredentials
    ) {
        reports += responder.passed(request, status: status, headers, &accepted)
    }

    /// Answers the challenge of a 401 or 407.
    package mutating func challenged(
        _ request: ChallengedRequest, status: Int, _ headers: HeaderBlock, _ accepted: inout AcceptedCredentials
    ) -> Outcome {
        switch record(responder.challenged(request, status: status, headers, &accepted, clientNonce: clientNonce)) {
        case .send(let authorization):
            answers += 1
            guard answers <= Self.mostAnswers else { return .accepted }
            return answered(authorization)
        case .cancel(let error): return .cancelled(error)
        case .lookUp(let query): return .lookUp(query)
        case .accept: return .accepted
        }
    }

    /// Continues with the credential that was looked up; `nil`: none is known.
    package mutating func found(_ secret: ShownSecret?, _ accepted: inout AcceptedCredentials) -> Outcome {
        switch record(responder.found(secret, &accepted, clientNonce: clientNonce)) {
        case .send(let authorization): return answered(authorization)
        case .cancel(let error): return .cancelled(error)
        case .lookUp(let query): return .lookUp(query)
        case .accept: return .accepted
        }
    }

    private mutating func answered(_ authorization: RequestAuthorization) -> Outcome {
        decided = authorization
        // libcurl logs in on a new connection: this one would only hold a slot.
        if case .connection? = authorization.origin { return .answered(endsConnection: true) }
        if case .connection? = authorization.proxy { return .answered(endsConnection: true) }
        return .answered(endsConnection: false)
    }

    private mutating func record(_ step: ChallengeStep) -> ChallengeStep.Action {
        records += step.records
        reports += step.reports
        (isUnanswered, obstacle) = (step.isUnanswered, step.obstacle)
        return step.action
    }

    /// Whether there is anything to report since `takeNews` was last called.
    package var hasNews: Bool { !records.isEmpty || !reports.isEmpty }

    /// Returns the challenges and helper calls since the last call, for the report.
    package mutating func takeNews() -> (records: [ChallengeRecord], reports: [HelperReport]) {
        defer { (records, reports) = ([], []) }
        return (records, reports)
    }

    /// Takes over the credentials that were rejected in an earlier attempt of the task.
    package mutating func recall(_ earlier: ChallengeResponder) { responder.recall(earlier) }
}
