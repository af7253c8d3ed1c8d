import TransferModel

/// One challenge of an answer, as far as this program knows its scheme.
struct Offer: Sendable {
    let space: ProtectionSpace
    /// The parsed challenge of a Digest, else `nil`.
    var digest: DigestChallenge?
    /// Why the challenge cannot be answered, or `nil`.
    var obstacle: String?

    /// Returns the offers in an answer: the strongest first, equally strong ones as they were sent, and last those with
    /// an obstacle.
    static func all(in headers: HeaderBlock, of origin: Origin, isProxy: Bool, hasEntity: @autoclosure () -> Bool)
        -> [Offer]
    {
        let offers = OfferedChallenge.all(in: headers, ofProxy: isProxy).compactMap { challenge -> Offer? in
            func space(_ method: AuthenticationMethod, _ realm: String?) -> ProtectionSpace {
                ProtectionSpace(origin: origin, realm: realm, method: method, isProxy: isProxy)
            }
            switch challenge.scheme {
            case "basic": return Offer(space: space(.basic, challenge["realm"]))
            case "bearer": return Offer(space: space(.bearer, challenge["realm"]))
            case "ntlm": return Offer(space: space(.ntlm, nil))
            case "negotiate": return Offer(space: space(.negotiate, nil))
            case "digest":
                let method = space(DigestChallenge.method(challenge), challenge["realm"])
                guard let digest = DigestChallenge(challenge) else {
                    return Offer(space: method, obstacle: DigestChallenge.obstacle(challenge))
                }
                guard digest.protection(hasEntity: hasEntity()) != nil else {
                    return Offer(space: method, obstacle: Self.unseenBody)
                }
                return Offer(space: method, digest: digest)
            default: return nil
            }
        }
        // `sorted` keeps the order of equal elements.
        return offers.filter { $0.obstacle == nil }.sorted { $0.space.method > $1.space.method }
            + offers.filter { $0.obstacle != nil }
    }

    private static let unseenBody =
        "with `qop=\"auth-int\"` the whole body is part of the answer, and only one that stands in the job (`data`, "
        + "`json`, `form`, up to 1 MiB) is at hand"
}

extension ChallengeResponder {
    /// How an offer can be answered.
    enum Choice: Sendable {
        case nothing
        case ask(CredentialQuery)
        case shown(Shown)
    }

    private enum Secret {
        /// This credential has no secret for the space; the next may.
        case none
        case ask(CredentialQuery)
        case known(ShownSecret, CredentialQuery?)
    }

    /// Returns how to answer an offer. The first credential in the list that fits the space and has a secret decides,
    /// even when it was refused as often as it may be.
    func answer(_ offer: Offer) -> Choice {
        for index in policy.candidates.indices where fits(index, offer.space) {
            switch secret(of: index, for: offer.space) {
            case .none: continue
            case .ask(let query): return isExhausted(index) ? .nothing : .ask(query)
            case .known(let secret, let query):
                if isExhausted(index) { return .nothing }
                return .shown(
                    Shown(
                        candidate: index, space: offer.space, secret: secret,
                        digest: offer.digest.map { DigestState($0) }, reason: .asked, query: query))
            }
        }
        return .nothing
    }

    /// Returns the credential to send before any challenge.
    func unasked(at origin: Origin, _ path: String, isProxy: Bool, _ accepted: AcceptedCredentials) -> Choice {
        guard !policy.hasNothingToShow else { return .nothing }
        for entry in accepted.entries(for: path, at: origin, isProxy: isProxy) {
            if let shown = learned(entry) { return .shown(shown) }
        }
        return preemptive(at: origin, isProxy: isProxy)
    }

    /// Returns the credential that the session knows to be accepted, provided that this task's list, too, leads to it.
    private func learned(_ entry: AcceptedCredentials.Entry) -> Shown? {
        guard entry.digest != nil || !entry.space.method.isDigest, mayShow(entry.space) else { return nil }
        for index in policy.candidates.indices where fits(index, entry.space) {
            let credential = policy.candidates[index].credential
            let isLookedUp = credential.source.isLookedUp
            var isMeant = credential.persistence != .none && credential == entry.credential
            if entry.credential == nil, credential.persistence == .permanent {
                isMeant = isLookedUp || staticSecret(credential)?.isSame(as: entry.secret) == true
            }
            // A credential stored by an earlier run does not record the hosts to which the job binds its secret.
            let secret = entry.credential == nil ? staticSecret(credential) ?? entry.secret : entry.secret
            if isMeant, entry.asked == asked(credential, entry.space), !isExhausted(index),
                secret.secretBarred(from: entry.space.origin) == nil
            {
                return Shown(
                    candidate: index, space: entry.space, secret: secret, digest: nil, reason: .learned, query: nil)
            }
            // A credential that is looked up may have had no secret.
            if !isLookedUp { return nil }
        }
        return nil
    }

    /// The user name in the URL, where it selects the entry to look up.
    func asked(_ credential: Credential, _ space: ProtectionSpace) -> String? {
        credential.source.isLookedUp && !space.isProxy ? policy.user(at: space.origin) : nil
    }

    private func preemptive(at origin: Origin, isProxy: Bool) -> Choice {
        for index in policy.candidates.indices {
            let credential = policy.candidates[index].credential
            guard credential.preemptive, let method = Self.preemptiveMethod(credential), !isExhausted(index) else {
                continue
            }
            let space = ProtectionSpace(origin: origin, realm: nil, method: method, isProxy: isProxy)
            guard fits(index, space, knowsRealm: false), mayShow(space) else { continue }
            switch secret(of: index, for: space) {
            case .none: continue
            case .ask(let query): return .ask(query)
            case .known(let secret, let query):
                return .shown(
                    Shown(
                        candidate: index, space: space, secret: secret, digest: nil, reason: .preemptive, query: query))
            }
        }
        return .nothing
    }

    /// The method by which a credential can be sent before any challenge; `nil` for Digest, which needs a nonce first.
    private static func preemptiveMethod(_ credential: Credential) -> AuthenticationMethod? {
        switch credential.method {
        case .any: credential.source.suits(.bearer) ? .bearer : .basic
        case .basic: .basic
        case .bearer: .bearer
        case .ntlm: .ntlm
        case .negotiate: .negotiate
        case .digest, .awsSigV4: nil
        }
    }

    func mayShow(_ space: ProtectionSpace) -> Bool {
        let disposition = policy.rule(for: space).disposition
        return !closed.contains(space) && (disposition == nil || disposition == .use)
    }

    /// Whether the credential could answer some challenge of the server.
    func mayAnswer(_ index: Int, at origin: Origin) -> Bool {
        !isExhausted(index)
            && AuthenticationMethod.allCases.contains { method in
                let space = ProtectionSpace(origin: origin, realm: nil, method: method, isProxy: false)
                return fits(index, space, knowsRealm: false) && mayShow(space)
            }
    }

    private func fits(_ index: Int, _ space: ProtectionSpace, knowsRealm: Bool = true) -> Bool {
        let candidate = policy.candidates[index]
        if let only = candidate.origin, only != space.origin { return false }
        // A password without a host is for the servers that the task names: no redirect takes it elsewhere.
        if candidate.origin == nil, candidate.credential.host == nil, !space.isProxy,
            !candidate.credential.source.isLookedUp, !named.contains(space.origin)
        {
            return false
        }
        return candidate.credential.fits(space, knowsRealm: knowsRealm)
    }

    private func secret(of index: Int, for space: ProtectionSpace) -> Secret {
        let credential = policy.candidates[index].credential
        if let secret = staticSecret(credential) { return usable(secret, nil, space) }
        guard let source = Self.querySource(credential) else { return .none }
        let query = CredentialQuery(source: source, origin: space.origin, user: asked(credential, space))
        guard let answer = answers[query] else { return .ask(query) }
        return answer.map { usable($0, query, space) } ?? .none
    }

    private func usable(_ secret: ShownSecret, _ query: CredentialQuery?, _ space: ProtectionSpace) -> Secret {
        let isUsable = secret.isShowable(by: space.method) && secret.secretBarred(from: space.origin) == nil
        return isUsable ? .known(secret, query) : .none
    }

    private func staticSecret(_ credential: Credential) -> ShownSecret? {
        switch credential.source {
        case .password(let user, let password): .password(user: user, password: password)
        case .token(let token): .token(token)
        case .netrc, .helper, .oauth2, .aws: nil
        }
    }

    private static func querySource(_ credential: Credential) -> CredentialQuery.Source? {
        switch credential.source {
        case .netrc: .netrc
        case .helper(let words): .helper(words)
        case .oauth2(let client): .oauth2(client)
        case .password, .token, .aws: nil
        }
    }
}
