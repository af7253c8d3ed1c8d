package import TransferModel

/// The facts about a request that its credentials depend on.
package struct ChallengedRequest: Sendable {
    /// URL of the request.
    package let url: ResourceURL
    /// Method of the request.
    package let method: String
    /// Returns the whole body where it is available, empty where the request has none, else `nil`: `auth-int` includes
    /// it in the digest.
    package let entity: @Sendable () -> [UInt8]?
    /// Origin of the proxy that the request goes through, whose 407 it answers; `nil` for a direct connection.
    package let proxy: Origin?
    /// Whether the request carries the job's own `Authorization`, which then is the only credential for the origin.
    package let isTyped: Bool
    /// Whether the request opens a tunnel. Then the proxy sees `host:port` and no path.
    package let isTunnel: Bool

    package init(
        url: ResourceURL, method: String, entity: @escaping @Sendable () -> [UInt8]? = { [] }, proxy: Origin? = nil,
        isTyped: Bool = false, isTunnel: Bool = false
    ) {
        self.url = url
        self.method = method
        self.entity = entity
        self.proxy = proxy
        self.isTyped = isTyped
        self.isTunnel = isTunnel
    }

    /// The facts that a digest covers, as the origin or the proxy sees them.
    func digested(byProxy: Bool) -> DigestedRequest {
        if byProxy, isTunnel {
            return DigestedRequest(method: "CONNECT", target: "\(url.host):\(url.port)", entity: { [] })
        }
        return DigestedRequest(
            method: method, target: url.path + (url.query.map { "?\($0)" } ?? ""), entity: entity)
    }
}

/// The credentials that a request carries. The two are never mixed up: one goes to the origin and no further, the other
/// to that proxy alone.
package struct RequestAuthorization: Hashable, Sendable {
    /// A credential in the form in which it is sent.
    package enum Proof: Hashable, Sendable {
        /// The value of `Authorization` or `Proxy-Authorization`.
        case header(SecretText)
        /// libcurl authenticates by this method, on a connection that carries no other user's requests.
        case connection(AuthenticationMethod, ShownSecret)
    }
    /// Credential for the origin, if any.
    package var origin: Proof?
    /// Credential for the proxy, if any.
    package var proxy: Proof?
    package init(origin: Proof? = nil, proxy: Proof? = nil) {
        self.origin = origin
        self.proxy = proxy
    }
    /// Whether the request carries no credential.
    package var isEmpty: Bool { origin == nil && proxy == nil }
}

/// A lookup of a credential outside these rules: in a file, by a program, or at a server that gives tokens.
package struct CredentialQuery: Hashable, Sendable {
    /// Where the credential is looked up.
    package enum Source: Hashable, Sendable {
        /// A netrc file.
        case netrc
        /// A git-credential helper with these words as its command.
        case helper([SecretText])
        /// The server that gives this client tokens.
        case oauth2(OAuth2Client)

        /// Whether a server gives it: then one that was refused is given back for another.
        var isOfTokens: Bool { if case .oauth2 = self { true } else { false } }
    }
    /// Where the credential is looked up.
    package let source: Source
    /// Origin that the credential is for.
    package let origin: Origin
    /// User whose entry is wanted, where the URL names one.
    package let user: String?
    package init(source: Source, origin: Origin, user: String?) {
        self.source = source
        self.origin = origin
        self.user = user
    }
}

/// A report to a helper of whether its credential was accepted, or of a token that was refused.
package struct HelperReport: Hashable, Sendable {
    /// The lookup that the helper answered.
    package let query: CredentialQuery
    /// The credential that the helper returned.
    package let secret: ShownSecret
    /// Whether the helper is to store the credential, or else to erase it.
    package let wasAccepted: Bool
}

/// The caller's next action after a challenge, and what it has to record.
package struct ChallengeStep: Sendable {
    /// The caller's next action.
    package enum Action: Sendable {
        /// Send the request with these credentials.
        case send(RequestAuthorization)
        /// Look up a credential and pass the result to `ChallengeResponder.found`.
        case lookUp(CredentialQuery)
        /// The answer is the result.
        case accept
        /// End the attempt with this error.
        case cancel(TransferError)
    }
    /// The caller's next action.
    package var action: Action
    /// Challenges for the report, each with the rule's disposition.
    package var records: [ChallengeRecord] = []
    /// Reports to helpers of credentials that were accepted or refused.
    package var reports: [HelperReport] = []
    /// Whether a challenge found no credential to answer it with.
    package var isUnanswered = false
    /// Why a Digest challenge could not be answered, or `nil`.
    package var obstacle: String?
    package init(_ action: Action, records: [ChallengeRecord] = [], reports: [HelperReport] = []) {
        self.action = action
        self.records = records
        self.reports = reports
    }
}
