package import TransferModel

/// Answers the authentication challenges of one task, request by request. It counts refused credentials, so that no
/// password is tried more often than allowed; accepted ones go to the session's ``AcceptedCredentials``.
///
/// Each event but ``passed(_:status:_:_:)`` returns a step. After a step with a lookup the responder waits for
/// ``found(_:_:clientNonce:)``.
package struct ChallengeResponder: Sendable {
    /// A credential that the last request carried, for the origin or for the proxy.
    struct Shown: Sendable {
        let candidate: Int
        let space: ProtectionSpace
        let secret: ShownSecret
        /// State of a Digest challenge to this task; `nil` when the session holds the state.
        var digest: DigestState?
        var reason: Reason
        let query: CredentialQuery?
    }
    enum Reason: Sendable { case asked, preemptive, learned }
    /// A step that waits for a lookup.
    private struct Pending: Sendable {
        let query: CredentialQuery
        let request: ChallengedRequest
        /// The challenges to answer; `nil` before the request is sent.
        var offers: (all: [Offer], isProxy: Bool)?
    }
    /// Stale nonces in succession that count as accidents, at most.
    private static let mostStale = 3

    let policy: ChallengePolicy
    /// Origins of the task's own URLs.
    let named: [Origin]
    private var toOrigin: Shown?
    private var toProxy: Shown?
    /// Spaces that are not tried any more: rules rejected them, or Negotiate was refused.
    private(set) var closed: Set<ProtectionSpace> = []
    private var failures: [ProtectionSpace: Int] = [:]
    /// Refusals of each credential, by its index in the list.
    private var refusals: [Int: Int] = [:]
    private var stale = 0
    /// Results of lookups; `nil` for a lookup without a result.
    private(set) var answers: [CredentialQuery: ShownSecret?] = [:]
    private var pending: Pending?
    /// Tokens of each credential that this request's server refused, by the credential's index in the list.
    private var refusedTokens: [Int: Int] = [:]
    /// A token may have been withdrawn before its end: one more is asked for.
    private static let mostTokens = 2

    package init(_ policy: ChallengePolicy, named: [Origin]) {
        self.policy = policy
        self.named = named
    }

    /// Whether any credential was refused, which the task's next attempt must know.
    package var remembers: Bool { !failures.isEmpty }

    /// Takes over the refusals of the task's earlier attempt; the next attempt may send its first request to another
    /// URL.
    package mutating func recall(_ earlier: ChallengeResponder) {
        guard earlier.policy.candidates.count == policy.candidates.count else { return }
        (closed, failures, refusals) = (earlier.closed, earlier.failures, earlier.refusals)
    }

    /// The client whose token the last request carried for the origin.
    package var shownClient: OAuth2Client? {
        if case .oauth2(let client)? = toOrigin?.query?.source { client } else { nil }
    }

    func isExhausted(_ candidate: Int) -> Bool {
        (refusals[candidate] ?? 0) >= policy.candidates[candidate].credential.maximumFailures
            || (refusedTokens[candidate] ?? 0) >= Self.mostTokens
    }

    /// Whether the server may answer the request that is about to be sent with a challenge, although a credential for it is
    /// there: the request shows none, or one that the server has not accepted yet. One that is shown before any challenge
    /// is meant to do without; NTLM and Negotiate are proven before libcurl sends the body.
    package func mayBeChallenged(_ request: ChallengedRequest) -> Bool {
        if let toOrigin { return toOrigin.reason == .asked && !toOrigin.space.method.isOfConnection }
        return !request.isTyped && policy.candidates.indices.contains { mayAnswer($0, at: request.url.origin) }
    }

    // MARK: Events

    /// Returns the step before a request that answers no challenge: the first, a redirect's, one of another attempt.
    package mutating func prepare(
        _ request: ChallengedRequest, _ accepted: inout AcceptedCredentials, clientNonce: () -> String
    ) -> ChallengeStep {
        (toOrigin, toProxy, stale) = (nil, nil, 0)
        refusedTokens = [:]
        return dress(request, &accepted, clientNonce)
    }

    /// Returns the step after a 401 or 407.
    package mutating func challenged(
        _ request: ChallengedRequest, status: Int, _ headers: HeaderBlock, _ accepted: inout AcceptedCredentials,
        clientNonce: () -> String
    ) -> ChallengeStep {
        let isProxy = status == 407
        guard let origin = isProxy ? request.proxy : request.url.origin else { return ChallengeStep(.accept) }
        let offers = Offer.all(in: headers, of: origin, isProxy: isProxy, hasEntity: request.entity() != nil)
        // A 401 came through the proxy, so the proxy accepted its credential.
        var reports: [HelperReport] = []
        if !isProxy, let shown = toProxy {
            reports = noteSuccess(shown, request, headers, &accepted)
            // It is known to be accepted from here on: a later answer does not report it again.
            toProxy?.reason = .learned
        }
        if !isProxy, let shown = toOrigin, let query = shown.query, query.source.isOfTokens {
            toOrigin = nil
            refusedTokens[shown.candidate, default: 0] += 1
            // The server need not say by which method it asks; where it does, a rule may forbid the answer.
            if !isExhausted(shown.candidate), offers.allSatisfy({ $0.space.method != .bearer || mayShow($0.space) }) {
                answers[query] = nil
                pending = Pending(query: query, request: request)
                reports.append(HelperReport(query: query, secret: shown.secret, wasAccepted: false))
                return ChallengeStep(.lookUp(query), reports: reports)
            }
        }
        reports += settle(isProxy: isProxy, offers.filter { $0.obstacle == nil }, &accepted)
        var step = choose(request, offers, isProxy: isProxy, &accepted, clientNonce)
        step.reports = reports + step.reports
        return step
    }

    /// Returns the step after a lookup, whose result is `secret`; `nil` without one.
    package mutating func found(
        _ secret: ShownSecret?, _ accepted: inout AcceptedCredentials, clientNonce: () -> String
    ) -> ChallengeStep {
        guard let pending else { return ChallengeStep(.accept) }
        self.pending = nil
        answers[pending.query] = .some(secret)
        guard let offers = pending.offers else { return dress(pending.request, &accepted, clientNonce) }
        return choose(pending.request, offers.all, isProxy: offers.isProxy, &accepted, clientNonce)
    }

    /// Notes after any other answer that the credentials in the request were accepted; returns reports for their
    /// helpers.
    package mutating func passed(
        _ request: ChallengedRequest, status: Int, _ headers: HeaderBlock, _ accepted: inout AcceptedCredentials
    ) -> [HelperReport] {
        defer { (toOrigin, toProxy) = (nil, nil) }
        var reports: [HelperReport] = []
        if let toProxy { reports += noteSuccess(toProxy, request, headers, &accepted) }
        // A server that fails may not have checked the credentials.
        if let toOrigin, status < 500 { reports += noteSuccess(toOrigin, request, headers, &accepted) }
        return reports
    }

    // MARK: What an answer says of what was shown

    private mutating func settle(isProxy: Bool, _ offers: [Offer], _ accepted: inout AcceptedCredentials)
        -> [HelperReport]
    {
        guard let shown = isProxy ? toProxy : toOrigin else { return [] }
        if isProxy { toProxy = nil } else { toOrigin = nil }
        let again = offers.first { offer in
            offer.space.method == shown.space.method && (shown.space.realm == nil || offer.space == shown.space)
        }
        if shown.space.method.isDigest, again?.digest?.isStale == true, stale < Self.mostStale {
            stale += 1
            return []
        }
        if shown.reason != .asked {
            // The server asks by another method, or for another realm: the credential sent without a challenge was not
            // the wanted one.
            guard let again else { return [] }
            // The server no longer knows the earlier nonce, or the password was changed in the place where it is looked
            // up.
            if shown.reason == .learned, again.digest != nil || shown.query != nil || isLookedUp(shown.candidate) {
                accepted.forget(shown.space, shown.secret)
                return []
            }
        }
        return noteFailure(shown, again?.space ?? shown.space, &accepted)
    }

    private func isLookedUp(_ candidate: Int) -> Bool { policy.candidates[candidate].credential.source.isLookedUp }

    private mutating func noteFailure(
        _ shown: Shown, _ space: ProtectionSpace, _ accepted: inout AcceptedCredentials
    ) -> [HelperReport] {
        failures[space, default: 0] += 1
        accepted.forget(shown.space, shown.secret)
        if space.method == .negotiate {
            // A ticket was refused, or there is none: that says nothing about the password.
            closed.insert(space)
            return []
        }
        refusals[shown.candidate, default: 0] += 1
        guard let query = shown.query else { return [] }
        answers[query] = nil
        return Self.report(query, shown.secret, wasAccepted: false)
    }

    private func noteSuccess(
        _ shown: Shown, _ request: ChallengedRequest, _ headers: HeaderBlock, _ accepted: inout AcceptedCredentials
    ) -> [HelperReport] {
        let info =
            shown.space.isProxy ? headers.first("proxy-authentication-info") : headers.first("authentication-info")
        let credential = policy.candidates[shown.candidate].credential
        if shown.reason == .learned {
            if let info {
                accepted.take(
                    authenticationInfo: info, shown.space, of: credential, asked: asked(credential, shown.space))
            }
            return []
        }
        var digest = shown.digest
        if let info { digest?.take(authenticationInfo: info) }
        accepted.learn(
            shown.space, shown.secret, of: credential, asked: asked(credential, shown.space),
            folders: Self.folders(shown, request), digest: digest)
        guard let query = shown.query else { return [] }
        return Self.report(query, shown.secret, wasAccepted: true)
    }

    private static func report(_ query: CredentialQuery, _ secret: ShownSecret, wasAccepted: Bool) -> [HelperReport] {
        guard case .helper = query.source else { return [] }
        return [HelperReport(query: query, secret: secret, wasAccepted: wasAccepted)]
    }

    /// The folders in which an accepted credential counts.
    private static func folders(_ shown: Shown, _ request: ChallengedRequest) -> [String] {
        if shown.space.isProxy { return ["/"] }
        switch shown.space.method {
        case .ntlm, .negotiate: return ["/"]
        case .basic, .bearer: return [AcceptedCredentials.folder(of: request.url.path)]
        case .digestMD5, .digestSHA256:
            guard let domain = shown.digest?.challenge.domain, !domain.isEmpty else { return ["/"] }
            let here = domain.compactMap { try? request.url.resolving($0) }.filter { $0.hasSameOrigin(as: request.url) }
            return here.isEmpty ? [AcceptedCredentials.folder(of: request.url.path)] : here.map(\.path)
        }
    }

    // MARK: What to show

    private mutating func dress(
        _ request: ChallengedRequest, _ accepted: inout AcceptedCredentials, _ clientNonce: () -> String
    ) -> ChallengeStep {
        for isProxy in [false, true] {
            guard !(isProxy ? false : request.isTyped), (isProxy ? toProxy : toOrigin) == nil else { continue }
            guard let origin = isProxy ? request.proxy : request.url.origin else { continue }
            switch unasked(at: origin, isProxy ? "/" : request.url.path, isProxy: isProxy, accepted) {
            case .nothing: break
            case .shown(let shown): set(shown, isProxy: isProxy)
            case .ask(let query):
                pending = Pending(query: query, request: request)
                return ChallengeStep(.lookUp(query))
            }
        }
        return ChallengeStep(.send(authorization(request, &accepted, clientNonce)))
    }

    private mutating func set(_ shown: Shown?, isProxy: Bool) {
        if isProxy { toProxy = shown } else { toOrigin = shown }
    }

    private mutating func authorization(
        _ request: ChallengedRequest, _ accepted: inout AcceptedCredentials, _ clientNonce: () -> String
    ) -> RequestAuthorization {
        var (origin, proxy) = (toOrigin, toProxy)
        defer { (toOrigin, toProxy) = (origin, proxy) }
        return RequestAuthorization(
            origin: proof(&origin, request.digested(byProxy: false), &accepted, clientNonce),
            proxy: proof(&proxy, request.digested(byProxy: true), &accepted, clientNonce))
    }

    private func proof(
        _ shown: inout Shown?, _ request: DigestedRequest, _ accepted: inout AcceptedCredentials,
        _ clientNonce: () -> String
    ) -> RequestAuthorization.Proof? {
        guard let (space, secret) = shown.map({ ($0.space, $0.secret) }),
            let credential = shown.map({ policy.candidates[$0.candidate].credential })
        else { return nil }
        switch space.method {
        case .basic, .bearer: return .header(secret.plainAuthorization)
        case .ntlm, .negotiate: return .connection(space.method, secret)
        case .digestMD5, .digestSHA256:
            let value =
                shown?.reason == .learned
                ? accepted.digest(
                    space, of: credential, asked: asked(credential, space), for: request, clientNonce: clientNonce())
                : shown?.digest?.authorization(secret, for: request, clientNonce: clientNonce())
            if value == nil { shown = nil }
            return value.map { .header($0) }
        }
    }

    // MARK: Which of what is offered

    private mutating func choose(
        _ request: ChallengedRequest, _ offers: [Offer], isProxy: Bool, _ accepted: inout AcceptedCredentials,
        _ clientNonce: () -> String
    ) -> ChallengeStep {
        var records: [ChallengeRecord] = []
        var unanswered: Offer?
        var hindered: Offer?
        for offer in offers where !closed.contains(offer.space) {
            let (disposition, level) = policy.rule(for: offer.space)
            switch disposition {
            case .cancel:
                records.append(record(offer, .cancel, level))
                return ChallengeStep(.cancel(Self.cancellation(offer)), records: records)
            case .default:
                records.append(record(offer, .default, level))
                return ChallengeStep(.accept, records: records)
            case .reject: records.append(record(offer, .reject, level))
            case .use, nil:
                guard offer.obstacle == nil else {
                    hindered = hindered ?? offer
                    continue
                }
                unanswered = unanswered ?? offer
                let choice = !isProxy && request.isTyped ? .nothing : answer(offer)
                switch choice {
                case .nothing: break
                case .ask(let query):
                    pending = Pending(query: query, request: request, offers: (offers, isProxy))
                    return ChallengeStep(.lookUp(query))
                case .shown(let shown):
                    set(shown, isProxy: isProxy)
                    let authorization = authorization(request, &accepted, clientNonce)
                    // This machine cannot compute the digest.
                    guard (isProxy ? authorization.proxy : authorization.origin) != nil else { continue }
                    records.append(record(offer, .use, level))
                    return ChallengeStep(.send(authorization), records: records)
                }
            }
        }
        for offer in [unanswered, hindered].compactMap(\.self) {
            records.append(record(offer, .default, policy.rule(for: offer.space).level))
        }
        var step = ChallengeStep(.accept, records: records)
        if !policy.hasNothingToShow { step.obstacle = hindered?.obstacle }
        step.isUnanswered = unanswered != nil && (isProxy || !request.isTyped)
        return step
    }

    private func record(
        _ offer: Offer, _ disposition: ChallengeRule.Disposition, _ level: String
    ) -> ChallengeRecord {
        ChallengeRecord(
            method: offer.space.method.name, host: offer.space.host, realm: offer.space.realm, level: level,
            disposition: disposition.rawValue, previousFailureCount: failures[offer.space] ?? 0)
    }

    private static func cancellation(_ offer: Offer) -> TransferError {
        let realm = offer.space.realm.map { ", realm `\($0)`," } ?? ""
        return TransferError(
            .cancelled,
            "\(offer.space.host)\(realm) asks for \(offer.space.method.name), and `challenges` says `cancel`")
    }
}
