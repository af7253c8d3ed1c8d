import AttemptLife
import CurlCore
import HTTPRules
package import TransferModel

/// Answers servers and proxies that ask who asks, as the attempt's life decides, with what the job, files and helpers
/// say.
package final class Credentials: Participant {
    let core: EngineCore
    /// Looks up credentials in files and by helpers; made when the first one is needed.
    private var lookup: CredentialLookup?

    init(_ core: EngineCore) { self.core = core }

    /// An attempt begins whose task had one before: what servers rejected is not shown again.
    func attemptBegins(_ attempt: Attempt) {
        guard let rejected = core.retryStates[attempt.task]?.rejectedCredentials else { return }
        attempt.life.recall(rejected)
        core.retryStates[attempt.task]?.rejectedCredentials = nil
    }

    /// The attempt is over: what servers rejected is for the next one to know.
    func attemptEnded(_ attempt: Attempt) {
        guard let rejected = attempt.life.refusals else { return }
        core.retryStates[attempt.task, default: RetryState()].rejectedCredentials = rejected
        core.retryStates[attempt.task]?.rejectingHost = attempt.life.request.url.host
    }

    /// Returns the host that refused the credential of the task's last attempt; `nil` if none was shown.
    package func rejectingHost(of task: TaskIndex) -> String? { core.retryStates[task]?.rejectingHost }

    /// Ends the look-ups; returns problems with credential files and helpers, as sentences for people.
    func close() -> [String] { lookup?.finish() ?? [] }

    // MARK: Asking

    /// The attempt waits, without a slot, for what a file or a helper says.
    func askForCredential(_ query: CredentialQuery, _ attempt: Attempt) {
        core.releaseSlot(attempt)
        if case .oauth2(let client) = query.source { return participants.tokens.askToken(client, attempt) }
        attempt.phase = .awaitingCredential
        attempt.credentialWait.start(at: core.now.instant)
        let asked = lookup ?? CredentialLookup(folder: core.job.baseDirectory, wake: core.wake)
        lookup = asked
        asked.ask(query, for: attempt.task)
    }

    /// Somebody may have written down meanwhile what nobody knew.
    package func askAnew() { lookup?.forget() }

    /// Continues the attempts whose credentials were looked up.
    func takeAnswers() { for answer in lookup?.takeAll() ?? [] { answered(answer) } }

    /// Tells the helper whether what it gave was of use.
    func tellHelper(_ report: HelperReport) { lookup?.tell(report) }

    private func answered(_ answer: CredentialAnswer) {
        if case .password(_, let password)? = answer.secret { core.learnPassword(password.revealed) }
        for task in answer.tasks {
            guard let attempt = core.attempt(of: task), case .awaitingCredential = attempt.phase else { continue }
            attempt.credentialWait.stop(at: core.now.instant)
            followCredential(attempt, after: attempt.life.found(answer.secret, by: &attempt.session.state))
        }
    }

    /// Carries out what is next now that a credential was found, or none.
    func followCredential(_ attempt: Attempt, after step: CredentialStep) {
        tellChallenges(attempt)
        switch step {
        case .send(let request):
            if attempt.exchange.head != nil { participants.partials.discardBody(attempt) }
            engine.requestSlot(attempt, request)
        case .ask(let query): askForCredential(query, attempt)
        case .accept(let end):
            attempt.phase = .transferring
            if let head = attempt.exchange.head { participants.announcements.tellResponse(attempt, head) }
            engine.carryOut(attempt.life.ended(end), attempt)
        case .cancel(let error): engine.cancelled(attempt, error)
        }
    }

    /// The proxy did not open the tunnel because it wants to know who asks. Whether somebody has an answer to that.
    func answersProxy(_ attempt: Attempt, _ completion: CurlCompletion, _ error: TransferError?) -> Bool {
        guard attempt.exchange.head == nil, let head = completion.proxyHead, head.status == 407,
            attempt.life.proxyAsked(head.headers, by: &attempt.session.state)
        else { return false }
        engine.carryOut(
            attempt.life.ended(TransportEnd(error: error, received: 0, sawCloseNotify: false)), attempt)
        return true
    }

    // MARK: Telling

    /// What was asked and answered, without what was shown; and to helpers, whether what they gave was of use.
    func tellChallenges(_ attempt: Attempt) {
        let news = attempt.life.takeChallengeNews()
        for record in news.records { core.emit(.challenge(record), attempt) }
        for report in news.reports { participants.tokens.tellHelper(report, attempt) }
    }

    // MARK: Showing it

    /// What the proxy is shown, and connections that are proven to be somebody's: on HTTP/1.1, and nobody else's.
    func show(
        _ request: OutgoingRequest, _ curl: inout CurlRequest, _ attempt: Attempt
    ) {
        if let proof = attempt.life.connectionProof { curl.login = Self.login(proof.method, proof.secret) }
        show(attempt.life.proxyAuthorization, to: request, &curl)
        let logins = EngineSession.Logins(origin: curl.login, proxy: curl.proxyLogin)
        if logins.origin == nil && logins.proxy == nil { return }
        curl.version = .http1
        // What must not be sent twice never meets a connection that may be dead: it has all its rounds to itself.
        if HTTPMethod.isIdempotent(request.method) {
            curl.pool = attempt.session.pool(for: logins, at: request.url.origin, like: curl.pool)
        } else {
            let pool = attempt.session.takePool(for: logins, at: request.url.origin, like: curl.pool)
            attempt.session.giveBack(attempt.transport.ownPool)
            attempt.transport.ownPool = pool
            curl.pool = pool.pool
        }
    }

    /// Only to the proxy that it was made for.
    func show(_ proof: RequestAuthorization.Proof?, to request: OutgoingRequest, _ curl: inout CurlRequest) {
        guard let proof, let proxy = curl.pool.proxy, proxy.speaksHTTP else { return }
        switch proof {
        case .header(let value):
            let text = value.revealed
            if text != proxy.authorization { curl.proxyAuthorization = text }
        case .connection(let method, let secret): curl.proxyLogin = Self.login(method, secret)
        }
    }

    private static func login(_ method: AuthenticationMethod, _ secret: ShownSecret) -> CurlLogin? {
        guard case .password(let user, let password) = secret else { return nil }
        return CurlLogin(
            method: method == .ntlm ? .ntlm : .negotiate, user: user.revealed, password: password.revealed)
    }

    /// Adds the passwords that the job file holds in the clear to what is redacted.
    func learnPasswords(_ attempt: Attempt, _ url: ResourceURL) {
        if core.secrets.isFirst(of: attempt.rules) {
            for secret in attempt.rules.challenges.secrets { core.learnPassword(secret) }
            for header in attempt.rules.headers {
                for secret in ShownSecret.texts(in: header, core.job.credentialNames) { core.learnPassword(secret) }
            }
        }
        guard let text = url.userInformation,
            case .password(let user, let password)? = ShownSecret(userInformation: text)
        else { return }
        // A name without a password may be a token.
        core.learnPassword(password.revealed.isEmpty ? user.revealed : password.revealed)
    }
}
