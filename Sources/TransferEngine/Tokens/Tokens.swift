import AttemptLife
import CurlCore
import FileDelivery
import HTTPRules
import TransferModel

/// Fetches access tokens (`oauth2`). The first attempt that needs one asks for it before its own request, with a life of
/// its own for that, and the others wait for it.
final class Tokens: Participant {
    let core: EngineCore
    private var known = AccessTokens()

    init(_ core: EngineCore) { self.core = core }

    /// Whose access token it is, which the next token says as well.
    func owner(_ shown: OAuth2Client) -> String { known.owner(shown) }

    /// Decides what the request that is about to be sent shows. Returns whether a credential has to be looked up first:
    /// then the request is sent once that is there.
    func waitsForCredential(_ request: OutgoingRequest, _ attempt: Attempt) -> Bool {
        guard attempt.life.mayAuthorize, request.url.isHTTP || attempt.life.proxy != nil else { return false }
        while let query = attempt.life.authorize(by: &attempt.session.state) {
            var asked: CredentialQuery? = query
            if let known = knownToken(for: query, attempt) {
                asked = nil
                if case .ask(let other) = attempt.life.found(known, by: &attempt.session.state) { asked = other }
            }
            guard let asked else { continue }
            // Another one is asked for when it is known what to send.
            if case .oauth2 = asked.source, let origin = attempt.origin {
                attempt.origin = nil
                core.reports.append(.unused(attempt.task, origin))
            }
            participants.credentials.askForCredential(asked, attempt)
            return true
        }
        return false
    }

    /// The token that is there, or none where no server may be asked for one; `nil`: somebody has to be asked.
    private func knownToken(for query: CredentialQuery, _ attempt: Attempt) -> ShownSecret?? {
        guard case .oauth2(let client) = query.source else { return nil }
        if let token = known.present(key(client, attempt), at: core.now.boot) { return .some(token) }
        let policy = attempt.specification.options.values.policies.cachePolicy
        return policy == .returnCacheDataDontLoad ? .some(nil) : nil
    }

    private func key(_ client: OAuth2Client, _ attempt: Attempt) -> AccessTokens.Key {
        AccessTokens.Key(client: client, session: attempt.specification.session)
    }

    /// Gets the token for an attempt that has no request under way.
    func askToken(_ client: OAuth2Client, _ attempt: Attempt) {
        let key = key(client, attempt)
        attempt.phase = .awaitingCredential
        switch known.ask(key, for: attempt.task, at: core.now.boot) {
        case .token(let token): show(token, attempt)
        case .wait: attempt.credentialWait.start(at: core.now.instant)
        case .get: get(key, attempt)
        case .refused(let error): engine.endAttempt(attempt, attempt.withoutToken(error, ofOtherHost: true))
        }
    }

    private func show(_ token: ShownSecret, _ attempt: Attempt) {
        participants.credentials.followCredential(attempt, after: attempt.life.found(token, by: &attempt.session.state))
    }

    /// A server refused what it was shown; of helpers, they are told.
    func tellHelper(_ report: HelperReport, _ attempt: Attempt) {
        guard case .oauth2(let client) = report.query.source else { return participants.credentials.tellHelper(report) }
        known.refused(report.secret, key(client, attempt))
    }

    // MARK: Asking for it

    private func get(_ key: AccessTokens.Key, _ attempt: Attempt) {
        attempt.tokenFetch = TokenFetch(
            key: key, life: attempt.life, sending: attempt.sending, exchange: attempt.exchange, asked: core.now.boot)
        switch key.client.grant {
        case .clientCredentials: post(nil, attempt)
        case .refreshToken(let own): post(known.refreshToken(for: own), attempt)
        case .assertion(.text(let text)): post(text, attempt)
        case .assertion(.file(let path)):
            attempt.tokenFetch?.step = .readingFile
            core.outbox.add(.read(.init(attempt.task, path: path, maximum: GrantedToken.longest)))
        case .assertion(.github(let url, let token)):
            attempt.tokenFetch?.step = .gettingAssertion
            let audience = key.client.audience ?? key.client.tokenURL.text
            let request = GitHubTokenRequest(url, token: token, audience: audience)
            send(to: request.url, "GET", request.headers, nil, texts: [], attempt)
        }
    }

    private func post(_ proof: SecretText?, _ attempt: Attempt) {
        guard let client = attempt.tokenFetch?.key.client else { return }
        attempt.tokenFetch?.step = .gettingToken
        attempt.tokenFetch?.asked = core.now.boot
        let request = TokenRequest(client, proof: proof)
        send(to: client.tokenURL, "POST", request.headers, request.body, texts: request.texts, attempt)
    }

    /// A request of this attempt, with a life of its own. It follows no redirect and carries no cookie.
    private func send(
        to url: ResourceURL, _ method: String, _ headers: [HeaderField], _ body: [UInt8]?, texts: [SecretText],
        _ attempt: Attempt
    ) {
        let rules = attempt.rules
        var redirects = RedirectPolicy()
        (redirects.follow, redirects.onRefuse) = (.never, .accept)
        var expect = Expectations()
        expect.status = StatusSet([100...999])
        let life = AttemptLife(
            url,
            AttemptRules(
                type: .data, method: method,
                headers: rules.headers.filter { $0.isNamed("user-agent") }
                    + [HeaderField(name: "Accept-Encoding", value: "identity")] + headers,
                hasBody: body != nil, version: rules.version, redirects: redirects, expect: expect,
                maximumSize: GrantedToken.longest, bodyTexts: texts, usesCookies: false,
                challenges: rules.challenges.ofProxies, clientNonce: rules.clientNonce))
        life.secure(attempt.session.state, at: core.now.wall)
        attempt.life = life
        attempt.sending = SendState()
        if let body { attempt.sending.planned = PlannedBody(bytes: body) }
        if let refusal = life.refusalToBegin() { return fail(attempt, refusal) }
        engine.requestSlot(attempt, life.request)
    }

    // MARK: What came of it

    /// One of its requests ended.
    func endedTokenRequest(_ attempt: Attempt, _ step: NextStep) {
        switch step {
        case .send(let request, _): engine.requestSlot(attempt, request)
        case .deliver: answered(attempt)
        case .fail(let error, _): fail(attempt, error)
        // It is asked for without conditions; questions and rules are everybody's.
        case .keep, .isThere, .judged, .ask, .cancel: break
        }
    }

    private func answered(_ attempt: Attempt) {
        guard let fetch = attempt.tokenFetch, let head = attempt.exchange.head else { return }
        let body = attempt.exchange.body
        do throws(TokenRefusal) {
            if case .gettingAssertion = fetch.step {
                return gotAssertion(try GrantedToken.assertion(status: head.status, body), attempt)
            }
            got(try GrantedToken(status: head.status, body, asked: fetch.asked), attempt)
        } catch {
            refused(error, attempt)
        }
    }

    /// The file of the assertion was read.
    func readAssertion(_ bytes: [UInt8], _ attempt: Attempt) {
        do throws(TokenRefusal) {
            gotAssertion(try GrantedToken.assertion(file: bytes), attempt)
        } catch {
            refused(error, attempt)
        }
    }

    private func gotAssertion(_ text: String, _ attempt: Attempt) {
        guard let key = attempt.tokenFetch?.key else { return }
        core.learnSecrets(key.known("assertion", text))
        post(key.secret("assertion", text), attempt)
    }

    private func got(_ token: GrantedToken, _ attempt: Attempt) {
        guard let key = attempt.tokenFetch?.key else { return }
        core.learnSecrets(key.known("access token", token.text) + key.known("refresh token", token.refreshToken ?? ""))
        core.releaseSlot(attempt)
        attempt.endTokenFetch()
        for waiting in known.got(token, key).compactMap({ awaitingToken($0) }) { show(key.shown(token), waiting) }
        show(key.shown(token), attempt)
    }

    /// The task's attempt, if it still waits.
    private func awaitingToken(_ task: TaskIndex) -> Attempt? {
        guard let attempt = core.attempt(of: task), case .awaitingCredential = attempt.phase else { return nil }
        attempt.credentialWait.stop(at: core.now.instant)
        return attempt
    }

    // MARK: There is none

    private func refused(_ refusal: TokenRefusal, _ attempt: Attempt) {
        // One that may be given later is asked for again by the rules of the task.
        let name: ErrorName = refusal.status == nil ? .userAuthenticationRequired : .unexpectedResponse
        let error = TransferError(name, refusal.words)
        lackToken(attempt, error, status: refusal.status, forGood: refusal.isOfClient)
    }

    /// One of its requests, or the file, failed.
    func lackToken(_ attempt: Attempt, _ error: TransferError) {
        if error.name == .dataLengthExceedsMaximum { return refused(.tooLong, attempt) }
        lackToken(attempt, error, status: nil, forGood: false)
    }

    /// Fails the attempt, and those that wait for the same token.
    private func lackToken(_ attempt: Attempt, _ problem: TransferError, status: Int?, forGood: Bool) {
        guard let fetch = attempt.tokenFetch else { return }
        var error = problem
        error.message =
            TransferError.noTokenWords
            + "\(fetch.key.client.tokenURL.text): \(fetch.source)\(problem.message)"
        let head = attempt.exchange.head ?? attempt.exchange.refusedTunnel
        let retryAfter = head.flatMap { RetryAfter.parse($0.headers, now: core.now.wall) }
        attempt.endTokenFetch()
        if forGood { known.refusedForGood(error, fetch.key) }
        for waiting in known.takeWaiting(fetch.key).compactMap({ awaitingToken($0) }) {
            engine.endAttempt(waiting, waiting.withoutToken(error, status, retryAfter, ofOtherHost: true))
        }
        var verdict = attempt.withoutToken(error, status, retryAfter)
        verdict.lostNetwork = attempt.transport.lostNetwork
        engine.endAttempt(attempt, verdict)
    }

    /// The attempt is over. Where it asked for a token, one of those that wait for it does that now.
    func leaveTokens(_ attempt: Attempt) {
        guard let key = attempt.tokenFetch?.key else { return known.left(attempt.task) }
        attempt.endTokenFetch()
        for waiting in known.takeWaiting(key).compactMap({ awaitingToken($0) }) { askToken(key.client, waiting) }
    }
}

extension Attempt {
    /// Brings the attempt's own requests back.
    fileprivate func endTokenFetch() {
        guard let fetch = tokenFetch else { return }
        tokenFetch = nil
        (life, sending, exchange) = (fetch.life, fetch.sending, fetch.exchange)
    }

    fileprivate func withoutToken(
        _ error: TransferError, _ status: Int? = nil, _ retryAfter: TimeSpan? = nil, ofOtherHost: Bool = false
    ) -> Verdict {
        var verdict = Verdict(
            .failed(error), status: status, retryAfter: retryAfter, sentSomething: sending.sentSomething,
            isIdempotent: life.mayBeRepeated)
        verdict.tookEffect = life.tookEffect
        verdict.isOfOtherHost = ofOtherHost
        return verdict
    }
}

extension TokenFetch {
    /// Who failed, where that was not the server that gives tokens.
    fileprivate var source: String {
        switch (step, key.client.grant) {
        case (.gettingAssertion, .assertion(.github(let url, _))): "no OIDC token from GitHub Actions (\(url.host)): "
        case (.readingFile, .assertion(.file(let path))): "the assertion \(path): "
        default: ""
        }
    }
}
