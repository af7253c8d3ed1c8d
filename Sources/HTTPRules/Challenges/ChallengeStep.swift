package import TransferModel

/// A request, as far as who it is from matters.
package struct ChallengedRequest: Sendable {
    package let url: ResourceURL
    package let method: String
    /// All of its body where that is at hand, empty where it has none: `auth-int` takes it into the digest.
    package let entity: @Sendable () -> [UInt8]?
    /// Whom it goes through; its `407` is the proxy's.
    package let proxy: Origin?
    /// The job typed an `Authorization` that goes there: it speaks for itself.
    package let isTyped: Bool
    /// Whether it is the request that opens a tunnel. Then the proxy sees `host:port` and no path.
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

    func digested(byProxy: Bool) -> DigestedRequest {
        if byProxy, isTunnel {
            return DigestedRequest(method: "CONNECT", target: "\(url.host):\(url.port)", entity: { [] })
        }
        return DigestedRequest(
            method: method, target: url.path + (url.query.map { "?\($0)" } ?? ""), entity: entity)
    }
}

/// What a request shows, to whom. The two are never mixed up: one goes to the origin and no further than there, the other
/// to that proxy alone.
package struct RequestAuthorization: Hashable, Sendable {
    package enum Proof: Hashable, Sendable {
        /// The value of `Authorization` or `Proxy-Authorization`.
        case header(SecretText)
        /// libcurl proves it, on a connection that serves nobody else.
        case connection(AuthenticationMethod, ShownSecret)
    }
    package var origin: Proof?
    package var proxy: Proof?
    package init(origin: Proof? = nil, proxy: Proof? = nil) {
        self.origin = origin
        self.proxy = proxy
    }
    package var isEmpty: Bool { origin == nil && proxy == nil }
}

/// A question that somebody outside of these rules must answer: a file, or a program.
package struct CredentialQuery: Hashable, Sendable {
    package enum Source: Hashable, Sendable {
        case netrc
        case helper([SecretText])
    }
    package let source: Source
    package let origin: Origin
    /// Whose entry, where the URL says so.
    package let user: String?
    package init(source: Source, origin: Origin, user: String?) {
        self.source = source
        self.origin = origin
        self.user = user
    }
}

/// What a helper is told of what it gave.
package struct HelperReport: Hashable, Sendable {
    package let query: CredentialQuery
    package let secret: ShownSecret
    /// `store` or `erase`.
    package let wasAccepted: Bool
    package init(query: CredentialQuery, secret: ShownSecret, wasAccepted: Bool) {
        self.query = query
        self.secret = secret
        self.wasAccepted = wasAccepted
    }
}

/// What comes next, and what there is to tell.
package struct ChallengeStep: Sendable {
    package enum Action: Sendable {
        /// The request, with this.
        case send(RequestAuthorization)
        /// `ChallengeDesk.found` wants to know first.
        case lookUp(CredentialQuery)
        /// The answer is the result.
        case accept
        case cancel(TransferError)
    }
    package var action: Action
    package var records: [ChallengeRecord] = []
    package var reports: [HelperReport] = []
    /// Somebody was to be asked who to be, and nobody knew.
    package var isUnanswered = false
    /// Why a Digest challenge could be answered by nobody.
    package var obstacle: String?
    package init(_ action: Action, records: [ChallengeRecord] = [], reports: [HelperReport] = []) {
        self.action = action
        self.records = records
        self.reports = reports
    }
}
