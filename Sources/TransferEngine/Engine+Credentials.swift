import AttemptLife
import CurlCore
import HTTPRules
import TransferModel

// Who to be where a server asks: what the attempt's life decides is carried out here.

extension Engine {
    // MARK: Asking

    /// The attempt waits, without a slot, for what a file or a helper says.
    func ask(_ query: CredentialQuery, _ attempt: Attempt) {
        releaseSlot(attempt)
        if case .oauth2(let client) = query.source { return askToken(client, attempt) }
        attempt.phase = .awaitingCredential
        attempt.credentialWait.start(at: now.instant)
        let lookup = credentialLookup ?? CredentialLookup(folder: job.baseDirectory, wake: wake)
        credentialLookup = lookup
        lookup.ask(query, for: attempt.task)
    }

    /// Somebody may have written down meanwhile what nobody knew.
    package func askAnew() { credentialLookup?.forget() }

    func answered(_ answer: CredentialAnswer) {
        if case .password(_, let password)? = answer.secret { learn(password.revealed) }
        for task in answer.tasks {
            guard let attempt = attempt(of: task), case .awaitingCredential = attempt.phase else { continue }
            attempt.credentialWait.stop(at: now.instant)
            goOn(attempt, after: attempt.life.found(answer.secret, by: &attempt.session.state))
        }
    }

    func goOn(_ attempt: Attempt, after step: CredentialStep) {
        tellChallenges(attempt)
        switch step {
        case .send(let request):
            if attempt.exchange.head != nil { discardBody(attempt) }
            goOn(attempt, request)
        case .ask(let query): ask(query, attempt)
        case .accept(let end):
            attempt.phase = .transferring
            if let head = attempt.exchange.head { tellResponse(attempt, head) }
            perform(attempt.life.ended(end), attempt)
        case .cancel(let error): cancelled(attempt, error)
        }
    }

    /// The proxy did not open the tunnel because it wants to know who asks. Whether somebody has an answer to that.
    func answersProxy(_ attempt: Attempt, _ completion: CurlCompletion, _ error: TransferError?) -> Bool {
        guard attempt.exchange.head == nil, let head = completion.proxyHead, head.status == 407,
            attempt.life.proxyAsked(head.headers, by: &attempt.session.state)
        else { return false }
        perform(
            attempt.life.ended(TransportEnd(error: error, received: 0, sawCloseNotify: false)), attempt)
        return true
    }

    // MARK: Telling

    /// What was asked and answered, without what was shown; and to helpers, whether what they gave was of use.
    func tellChallenges(_ attempt: Attempt) {
        let news = attempt.life.takeChallengeNews()
        for record in news.records { emit(.challenge(record), attempt) }
        for report in news.reports { tell(report, attempt) }
    }

    /// A rule of `challenges` ends the task.
    func cancelled(_ attempt: Attempt, _ error: TransferError) {
        var verdict = Verdict(.cancelled(error), status: attempt.life.lastStatus)
        verdict.isForNextRun = attempt.isForNextRun
        verdict.sentSomething = attempt.sending.sentSomething
        finish(attempt, verdict)
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

    // MARK: Secrets that came up in the run

    func learn(_ password: String) {
        if let secret = secrets.learnPassword(password) { events.learn([secret]) }
    }

    /// Those that the job file holds in the clear.
    func learnPasswords(_ attempt: Attempt, _ url: ResourceURL) {
        if secrets.isFirst(of: attempt.rules) {
            for secret in attempt.rules.challenges.secrets { learn(secret) }
            for header in attempt.rules.headers {
                for secret in ShownSecret.texts(in: header, job.credentialNames) { learn(secret) }
            }
        }
        guard let text = url.userInformation,
            case .password(let user, let password)? = ShownSecret(userInformation: text)
        else { return }
        // A name without a password may be a token.
        learn(password.revealed.isEmpty ? user.revealed : password.revealed)
    }
}
