package import HTTPRules
package import TransferModel

extension AttemptLife {
    /// The exchange of challenges and credentials, boxed: most attempts never have one.
    indirect enum Login: Sendable {
        case none
        case open(LoginExchange)
    }

    /// Whether the last response is a challenge for which no credential is known.
    package var lacksCredential: Bool {
        (lastStatus == 401 || lastStatus == 407) && openExchange?.isUnanswered == true
    }

    /// Why the response that `error` is about stayed a challenge.
    func obstacle(of error: TransferError) -> String? {
        guard error.name == .unexpectedResponse || error.name == .proxyAuthenticationRequired else { return nil }
        return openExchange?.obstacle.map { "its Digest challenge cannot be answered: \($0)" }
    }

    private var exchange: LoginExchange {
        get {
            if case .open(let exchange) = login { return exchange }
            let responder = ChallengeResponder(
                rules.challenges.adding(builder.home), named: rules.origins(ofTaskAt: builder.home))
            return LoginExchange(responder, clientNonce: rules.clientNonce)
        }
        set { login = .open(newValue) }
    }

    private var openExchange: LoginExchange? { if case .open(let exchange) = login { exchange } else { nil } }

    // MARK: Before a request

    /// Whether a request may have a credential to show before a challenge asks for it.
    package var mayAuthorize: Bool {
        if case .open = login { return true }
        return !rules.challenges.hasNothingToShow || builder.home.userInformation != nil
    }

    /// Decides what the request that is about to be sent shows. Returns the credential that must be looked up first, if
    /// any; then `found` continues.
    package func authorize(by sessionState: inout SessionState) -> CredentialQuery? {
        let query = exchange.authorize(challengedRequest(request), &sessionState.accepted)
        if let query { state = .awaitingCredential(query, meaning: state.meaning, end: nil) }
        return query
    }

    /// The longest body that goes out with its request although a login may be asked for: less than a round trip costs.
    private static let longestUnasked: Int64 = 64 << 10

    /// Returns whether the server is asked by `Expect: 100-continue` before the body of the request that is about to be
    /// sent: because the session says so, or because the body would be sent in vain if the server wanted to know first who
    /// sends it. Call after `authorize`.
    ///
    /// - Parameter length: the length of the whole body; `nil` if it is unknown before the body has been sent.
    package func asksBeforeBody(ofLength length: Int64?) -> Bool {
        guard request.sendsBody, !expectationIsRefused else { return request.expectsContinue }
        request.expectsContinue = rules.expectsContinue
        let sent = request.bodyRange.map { $0.upperBound - $0.lowerBound } ?? length ?? .max
        if sent > Self.longestUnasked, mayAuthorize, request.url.isHTTP {
            let mayBeRefused = exchange.mayBeChallenged(challengedRequest(request))
            if mayBeRefused { request.expectsContinue = true }
        }
        return request.expectsContinue
    }

    /// The `Authorization` header of the last request.
    var authorization: HeaderField? {
        guard case .header(let value)? = openExchange?.shown.origin else { return nil }
        return HeaderField(name: "Authorization", value: value)
    }

    /// Whether the last request showed the server a credential.
    package var showedCredential: Bool { openExchange?.shown.origin != nil }

    /// Whether what the task's own request says of who it is went along with the last request.
    package var showedWhoItIs: Bool { builder.showsWhoItIs(request) }

    /// The credential among the task's headers that the last request did not carry, and the server that it is meant for.
    package var heldBack: (header: String, meantFor: Origin)? { builder.heldBack(from: request) }

    /// The client whose token the last request showed the server.
    package var shownClient: OAuth2Client? { openExchange?.responder.shownClient }

    /// The proof that the last request shows to its proxy only.
    package var proxyAuthorization: RequestAuthorization.Proof? { openExchange?.shown.proxy }

    /// The credential with which libcurl proves the connection of the last request; such a connection serves no other
    /// user.
    package var connectionProof: (method: AuthenticationMethod, secret: ShownSecret)? {
        guard case .connection(let method, let secret)? = openExchange?.shown.origin else { return nil }
        return (method, secret)
    }

    /// Whether the connection of the last request is proven to be one user's, to the server or to the proxy.
    package var provesConnection: Bool {
        if case .connection? = proxyAuthorization { return true }
        return connectionProof != nil
    }

    /// Returns the session's headers for a further request of the same kind, for a part, and what it shows to the
    /// proxy. Changes neither the present request's credentials nor its state.
    package func withSessionHeaders(
        part request: OutgoingRequest, from sessionState: inout SessionState, at now: WallTime
    ) -> (headers: [HeaderField]?, proxy: RequestAuthorization.Proof?) {
        guard mayAuthorize else { return (withSessionHeaders(request, from: &sessionState, at: now), nil) }
        let own = login
        defer { login = own }
        _ = exchange.authorize(challengedRequest(self.request), &sessionState.accepted)
        return (withSessionHeaders(request, from: &sessionState, at: now), proxyAuthorization)
    }

    /// Whether the proxy is asked for a tunnel. Then its responses and those of the server are apart.
    private func isTunnelled(_ request: OutgoingRequest) -> Bool { proxy != nil && !request.url.schemeIs("http") }

    /// The proxy, where the response with this status is its own and not the server's.
    func asker(_ status: Int) -> Origin? { status == 407 && !isTunnelled(request) ? proxy : nil }

    private func challengedRequest(_ request: OutgoingRequest) -> ChallengedRequest {
        let nothing: @Sendable () -> [UInt8]? = { [] }
        return ChallengedRequest(
            url: request.url, method: request.method, entity: request.sendsBody ? rules.entity : nothing, proxy: proxy,
            // FTP logs in by its own commands.
            isTyped: request.url.isFTP || request.headers.contains { $0.isNamed("authorization") },
            isTunnel: isTunnelled(request))
    }

    // MARK: A response

    /// Takes a proxy's challenge before it opens a tunnel (407 to CONNECT): nothing was sent to the server. Returns
    /// whether the attempt goes on all the same; `ended` then says how.
    package func proxyAsked(_ headers: HeaderBlock, by sessionState: inout SessionState) -> Bool {
        guard isTunnelled(request) else { return false }
        switch handleChallenge(status: 407, headers, &sessionState, isOfTunnel: true) {
        case .none: return state.meaning != nil
        case .lookUp(let query): state = .awaitingCredential(query, meaning: state.meaning, end: nil)
        case .settled(let verdict): state.replaceMeaning(verdict.meaning)
        }
        return true
    }

    /// What a response means for the exchange of credentials.
    enum ChallengeOutcome: Sendable {
        /// The response is no challenge, or one that is not answered: it is judged like any other.
        case none
        /// The response is judged like any other unless the credential is found.
        case lookUp(CredentialQuery)
        /// The response is a step on the way: the verdict says what follows.
        case settled(HeadVerdict)
    }

    /// Answers a challenge, or notes that what was shown was accepted.
    func handleChallenge(
        status: Int, _ headers: HeaderBlock, _ sessionState: inout SessionState, isOfTunnel: Bool = false
    ) -> ChallengeOutcome {
        // A response that comes through a tunnel is never the proxy's.
        let isProxys = status == 407 && isOfTunnel == isTunnelled(request)
        let isChallenge = status == 401 && request.url.isHTTP || isProxys && proxy != nil
        if !isChallenge, case .none = login { return .none }
        let asked = challengedRequest(request)
        guard isChallenge else {
            exchange.passed(asked, status: status, headers, &sessionState.accepted)
            return .none
        }
        switch exchange.challenged(asked, status: status, headers, &sessionState.accepted) {
        case .answered(let endsConnection):
            return .settled(endsConnection ? .abort(.challengeAnswered) : .discard(.challengeAnswered))
        case .cancelled(let error): return .settled(.discard(.cancelled(error)))
        case .lookUp(let query): return .lookUp(query)
        case .accepted: return .none
        }
    }

    /// Whether a challenge was answered in this attempt.
    package var hasAnsweredChallenge: Bool { (openExchange?.answers ?? 0) > 0 }

    // MARK: Credentials that are looked up

    /// Continues with the credential that was looked up; `nil`: none is known.
    package func found(_ secret: ShownSecret?, by sessionState: inout SessionState) -> CredentialStep {
        var (meaning, end): (ResponseMeaning?, TransportEnd?) = (state.meaning, nil)
        if case .awaitingCredential(_, let suspended, let ended) = state { (meaning, end) = (suspended, ended) }
        switch exchange.found(secret, &sessionState.accepted) {
        case .lookUp(let query):
            state = .awaitingCredential(query, meaning: meaning, end: end)
            return .ask(query)
        case .answered:
            state = .requesting
            beginUploadAgain()
            return .send(request)
        case .accepted:
            state = meaning.map { .answered($0) } ?? .requesting
            return end.map { .accept($0) } ?? .send(request)
        case .cancelled(let error): return .cancel(error)
        }
    }

    /// Returns the challenges and helper calls since the last call, for the report.
    package func takeChallengeNews() -> (records: [ChallengeRecord], reports: [HelperReport]) {
        guard openExchange?.hasNews == true else { return ([], []) }
        return exchange.takeNews()
    }

    // MARK: From attempt to attempt

    /// Credentials rejected in this attempt, so that the task's next attempt does not offer them again.
    package var refusals: ChallengeResponder? {
        guard let responder = openExchange?.responder, responder.remembers else { return nil }
        return responder
    }

    /// Takes over the credentials that were rejected in an earlier attempt of the task.
    package func recall(_ earlier: ChallengeResponder) { exchange.recall(earlier) }
}
