package import HTTPRules
package import TransferModel

extension AttemptLife {
    /// Of one attempt: more than its redirects could ask for.
    private static let mostLogins = 40

    /// Lies apart: most attempts are never asked who they are.
    indirect enum Login: Sendable {
        case none
        case open(State)

        struct State: Sendable {
            var desk: ChallengeDesk
            /// What the next request shows, where that is decided already.
            var decided: RequestAuthorization?
            /// What the last request showed.
            var shown = RequestAuthorization()
            var query: CredentialQuery?
            /// Of the answer that waits for the query's.
            var end: TransportEnd?
            var records: [ChallengeRecord] = []
            var reports: [HelperReport] = []
            /// How many challenges were answered.
            var answers = 0
            /// Nobody knew who to be when the last answer asked.
            var isUnanswered = false
            /// Why it could not be answered, whoever one is.
            var obstacle: String?
        }
    }

    /// The answer is a question that nobody could answer.
    package var lacksCredential: Bool {
        (lastStatus == 401 || lastStatus == 407) && openState?.isUnanswered == true
    }

    /// Why the answer that `error` is about stayed a question.
    func obstacle(of error: TransferError) -> String? {
        guard error.name == .unexpectedResponse || error.name == .proxyAuthenticationRequired else { return nil }
        return openState?.obstacle.map { "its Digest challenge cannot be answered: \($0)" }
    }

    private var state: Login.State {
        get {
            if case .open(let state) = login { return state }
            let desk = ChallengeDesk(rules.challenges.adding(builder.begin), named: rules.origins(from: builder.begin))
            return Login.State(desk: desk)
        }
        set { login = .open(newValue) }
    }

    private var openState: Login.State? { if case .open(let state) = login { state } else { nil } }

    // MARK: Before a request

    /// Whether a request may have something to show before anybody asks.
    package var mayAuthorize: Bool {
        if case .open = login { return true }
        return !rules.challenges.hasNothingToShow || builder.begin.userInformation != nil
    }

    /// Decides what the request that is about to be sent shows; a question that must be answered first.
    package func authorize(by lore: inout SessionLore) -> CredentialQuery? {
        var state = state
        defer { self.state = state }
        if let decided = state.decided {
            (state.shown, state.decided) = (decided, nil)
            return nil
        }
        let step = state.desk.prepare(challenged(request), &lore.book, clientNonce: rules.clientNonce)
        switch note(step, &state) {
        case .send(let authorization): state.shown = authorization
        case .lookUp(let query):
            state.query = query
            return query
        case .accept, .cancel: state.shown = RequestAuthorization()
        }
        return nil
    }

    /// The header with which the last request says who it is from.
    var authorization: HeaderField? {
        guard case .header(let value)? = openState?.shown.origin else { return nil }
        return HeaderField(name: "Authorization", value: value)
    }

    /// What the last request shows to its proxy, and to nobody else.
    package var proxyAuthorization: RequestAuthorization.Proof? { openState?.shown.proxy }

    /// By whose name libcurl proves the connection of the last request; such a connection is nobody else's.
    package var connectionProof: (method: AuthenticationMethod, secret: ShownSecret)? {
        guard case .connection(let method, let secret)? = openState?.shown.origin else { return nil }
        return (method, secret)
    }

    /// Whether the connection of the last request is proven to be somebody's, to the server or to the proxy.
    package var provesConnection: Bool {
        if case .connection? = proxyAuthorization { return true }
        return connectionProof != nil
    }

    /// A further request of the same kind, for a part: dressed by what the session knows by now, with what it shows to the
    /// proxy.
    package func dressed(
        part request: OutgoingRequest, by lore: inout SessionLore, at now: WallTime
    ) -> (headers: [HeaderField]?, proxy: RequestAuthorization.Proof?) {
        guard mayAuthorize else { return (dressed(request, by: &lore, at: now), nil) }
        let own = login
        defer { login = own }
        _ = authorize(by: &lore)
        return (dressed(request, by: &lore, at: now), proxyAuthorization)
    }

    /// Whether the proxy is asked for a tunnel. Then its answers and those of the server are apart.
    private func isTunnelled(_ request: OutgoingRequest) -> Bool { proxy != nil && !request.url.schemeIs("http") }

    /// The proxy whose answer this is, and not the server's.
    func asker(_ status: Int) -> Origin? { status == 407 && !isTunnelled(request) ? proxy : nil }

    private func challenged(_ request: OutgoingRequest) -> ChallengedRequest {
        let nothing: @Sendable () -> [UInt8]? = { [] }
        return ChallengedRequest(
            url: request.url, method: request.method, entity: request.sendsBody ? rules.entity : nothing, proxy: proxy,
            // An ftp server is told who asks in ways of its own.
            isTyped: request.url.isFTP || request.headers.contains { $0.isNamed("authorization") },
            isTunnel: isTunnelled(request))
    }

    // MARK: An answer

    /// The proxy wants to know who asks before it opens a tunnel (407 to CONNECT): nothing was sent to the server. Whether
    /// the attempt goes on all the same; `ended` then says how.
    package func proxyAsked(_ headers: HeaderBlock, by lore: inout SessionLore) -> Bool {
        guard isTunnelled(request) else { return false }
        _ = meet(status: 407, headers, &lore, isOfTunnel: true)
        if case .none = answer { return isAsking }
        return true
    }

    /// What an answer's head means for who one is; `nil` when it is judged like any other.
    func meet(
        status: Int, _ headers: HeaderBlock, _ lore: inout SessionLore, isOfTunnel: Bool = false
    ) -> HeadDecision? {
        // What comes through a tunnel is never the proxy's word.
        let isProxys = status == 407 && isOfTunnel == isTunnelled(self.request)
        let isChallenge = status == 401 && self.request.url.isHTTP || isProxys && proxy != nil
        if !isChallenge, case .none = login { return nil }
        var state = state
        defer { self.state = state }
        let request = challenged(request)
        guard isChallenge else {
            state.reports += state.desk.passed(request, status: status, headers, &lore.book)
            return nil
        }
        let step = state.desk.challenged(
            request, status: status, headers, &lore.book, clientNonce: rules.clientNonce)
        switch note(step, &state) {
        case .send(let authorization):
            state.answers += 1
            // A server that believes a proof and asks again forgets who it let in: that has no end.
            guard state.answers <= Self.mostLogins else { return nil }
            state.decided = authorization
            answer = .challenged
            // libcurl goes on on a connection of its own: this one would only stand in its way.
            if case .connection? = authorization.origin { return .abort }
            if case .connection? = authorization.proxy { return .abort }
            return .discard
        case .cancel(let error):
            answer = .cancelled(error)
            return .discard
        case .lookUp(let query):
            state.query = query
            return nil
        case .accept: return nil
        }
    }

    private func note(_ step: ChallengeStep, _ state: inout Login.State) -> ChallengeStep.Action {
        state.records += step.records
        state.reports += step.reports
        (state.isUnanswered, state.obstacle) = (step.isUnanswered, step.obstacle)
        return step.action
    }

    /// Whether a server was answered who asks, in this attempt.
    package var hasAnsweredChallenge: Bool { (openState?.answers ?? 0) > 0 }

    // MARK: Questions

    /// Whether what the last answer means waits for what somebody else knows.
    var isAsking: Bool { openState?.query != nil }

    /// The answer is over, and what it means is still asked.
    func postpone(_ end: TransportEnd) -> CredentialQuery? {
        guard var state = openState, let query = state.query else { return nil }
        state.end = end
        self.state = state
        return query
    }

    /// What somebody knew; `nil` is nothing.
    package func found(_ secret: ShownSecret?, by lore: inout SessionLore) -> CredentialStep {
        var state = state
        defer { self.state = state }
        let step = state.desk.found(secret, &lore.book, clientNonce: rules.clientNonce)
        let end = state.end
        switch note(step, &state) {
        case .lookUp(let query):
            state.query = query
            return .ask(query)
        case .send(let authorization):
            (state.decided, state.query, state.end) = (authorization, nil, nil)
            answer = .none
            beginUploadAgain()
            return .send(request)
        case .accept:
            (state.query, state.end) = (nil, nil)
            return end.map { .accept($0) } ?? .send(request)
        case .cancel(let error): return .cancel(error)
        }
    }

    /// What there is to tell since this was last asked.
    package func takeChallengeNews() -> (records: [ChallengeRecord], reports: [HelperReport]) {
        guard var state = openState, !state.records.isEmpty || !state.reports.isEmpty else { return ([], []) }
        defer { self.state = state }
        let news = (state.records, state.reports)
        (state.records, state.reports) = ([], [])
        return news
    }

    // MARK: From attempt to attempt

    /// What was refused, for the task's next attempt.
    package var refusals: ChallengeDesk? {
        guard let desk = openState?.desk, desk.remembers else { return nil }
        return desk
    }

    package func recall(_ earlier: ChallengeDesk) {
        var state = state
        state.desk.recall(earlier)
        self.state = state
    }
}
