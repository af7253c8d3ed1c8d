package import TransferModel

/// The authentication methods, the weakest first. A method that sends the secret itself to the server is weaker than
/// one that does not.
package enum AuthenticationMethod: Int, Comparable, CaseIterable, Sendable {
    case basic, bearer, digestMD5, digestSHA256, ntlm, negotiate

    /// Orders by strength.
    package static func < (left: AuthenticationMethod, right: AuthenticationMethod) -> Bool {
        left.rawValue < right.rawValue
    }

    /// The method's name in job files and reports.
    package var name: String {
        switch self {
        case .basic: "basic"
        case .bearer: "bearer"
        case .digestMD5, .digestSHA256: "digest"
        case .ntlm: "ntlm"
        case .negotiate: "negotiate"
        }
    }

    /// Whether the method authenticates a connection instead of a request: libcurl performs these, on a connection of
    /// their own, and the session's rules come before the task's.
    package var isOfConnection: Bool { self == .ntlm || self == .negotiate }

    /// Whether the method is Digest with either hash.
    package var isDigest: Bool { self == .digestMD5 || self == .digestSHA256 }

    /// Reads the name that `stored` writes.
    package init?(stored: String) {
        guard let method = Self.allCases.first(where: { $0.stored == stored }) else { return nil }
        self = method
    }

    /// The method's name in a store.
    package var stored: String {
        switch self {
        case .digestMD5: "digest-md5"
        case .digestSHA256: "digest-sha256"
        case .basic, .bearer, .ntlm, .negotiate: name
        }
    }
}

/// Where one credential is valid: an origin or proxy, a realm, and an authentication method.
package struct ProtectionSpace: Hashable, Sendable {
    /// Origin of the server, or of the proxy itself.
    package let origin: Origin
    /// Realm of the challenge; `nil` for NTLM and Negotiate, which have none.
    package let realm: String?
    /// Method of the challenge.
    package let method: AuthenticationMethod
    /// Whether the proxy asks, not the origin.
    package let isProxy: Bool

    package init(origin: Origin, realm: String?, method: AuthenticationMethod, isProxy: Bool = false) {
        self.origin = origin
        self.realm = realm
        self.method = method
        self.isProxy = isProxy
    }

    /// `host:port`, as in reports.
    package var host: String { "\(origin.host):\(origin.port)" }
}

extension ProtectionSpace {
    /// Compares realms byte by byte, unlike `String`'s comparison.
    package static func == (left: ProtectionSpace, right: ProtectionSpace) -> Bool {
        left.origin == right.origin && left.realm.isExactly(right.realm) && left.method == right.method
            && left.isProxy == right.isProxy
    }
}

extension Credential.Method {
    func allows(_ method: AuthenticationMethod) -> Bool {
        switch self {
        case .any: true
        case .basic: method == .basic
        case .digest: method.isDigest
        case .ntlm: method == .ntlm
        case .negotiate: method == .negotiate
        case .bearer: method == .bearer
        case .awsSigV4: false
        }
    }
}

extension Credential.Source {
    /// Whether this source has secrets for the method: a password is never sent where a token is asked for, nor a token
    /// where a password is.
    func suits(_ method: AuthenticationMethod) -> Bool {
        switch self {
        case .password, .netrc, .helper: method != .bearer
        case .token, .oauth2: method == .bearer
        case .aws: false
        }
    }

    /// Whether the secret is one that a file or a helper knows for the place that asks.
    var isLookedUp: Bool {
        switch self {
        case .netrc, .helper: true
        case .password, .token, .oauth2, .aws: false
        }
    }
}

extension Credential {
    /// Whether the credential is meant for the space, whatever secret it has. `knowsRealm` is false before any
    /// challenge.
    func fits(_ space: ProtectionSpace, knowsRealm: Bool = true) -> Bool {
        isForProxy == space.isProxy && method.allows(space.method) && source.suits(space.method)
            && (host?.matches(space.origin) ?? true)
            && (!knowsRealm || realm == nil || space.method.isOfConnection || realm.isExactly(space.realm))
    }
}

extension ChallengeRule {
    func matches(_ space: ProtectionSpace) -> Bool {
        (method == nil || method?.rawValue == space.method.name) && (host?.matches(space.origin) ?? true)
            && (realm == nil || realm.isExactly(space.realm))
    }
}
