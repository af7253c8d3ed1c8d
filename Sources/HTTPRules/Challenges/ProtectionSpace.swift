package import TransferModel

/// How one shows who one is, the weakest first. What shows its secret to the server as it is is weaker than what does not.
package enum AuthenticationMethod: Int, Comparable, CaseIterable, Sendable {
    case basic, bearer, digestMD5, digestSHA256, ntlm, negotiate

    package static func < (left: AuthenticationMethod, right: AuthenticationMethod) -> Bool {
        left.rawValue < right.rawValue
    }

    /// As job files and reports call it.
    package var name: String {
        switch self {
        case .basic: "basic"
        case .bearer: "bearer"
        case .digestMD5, .digestSHA256: "digest"
        case .ntlm: "ntlm"
        case .negotiate: "negotiate"
        }
    }

    /// What proves a connection and not a request: libcurl does these, on a connection of their own, and a session has its
    /// say before a task.
    package var isOfConnection: Bool { self == .ntlm || self == .negotiate }

    package var isDigest: Bool { self == .digestMD5 || self == .digestSHA256 }

    /// For a store.
    package init?(stored: String) {
        guard let method = Self.allCases.first(where: { $0.stored == stored }) else { return nil }
        self = method
    }

    package var stored: String {
        switch self {
        case .digestMD5: "digest-md5"
        case .digestSHA256: "digest-sha256"
        case .basic, .bearer, .ntlm, .negotiate: name
        }
    }
}

/// What one credential opens: of an origin or of a proxy, a realm, and how it asks.
package struct ProtectionSpace: Hashable, Sendable {
    /// The server's, or the proxy's own.
    package let origin: Origin
    /// NTLM and Negotiate have none.
    package let realm: String?
    package let method: AuthenticationMethod
    package let isProxy: Bool

    package init(origin: Origin, realm: String?, method: AuthenticationMethod, isProxy: Bool = false) {
        self.origin = origin
        self.realm = realm
        self.method = method
        self.isProxy = isProxy
    }

    /// `host:port`, as reports say it.
    package var host: String { "\(origin.host):\(origin.port)" }
}

extension ProtectionSpace {
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
    /// A password never goes where a token is asked for, nor a token where a password is.
    func suits(_ method: AuthenticationMethod) -> Bool {
        switch self {
        case .password, .netrc, .helper: method != .bearer
        case .token: method == .bearer
        case .aws: false
        }
    }

    var isLookedUp: Bool {
        switch self {
        case .netrc, .helper: true
        case .password, .token, .aws: false
        }
    }
}

extension Credential {
    /// Whether it is meant for the space, whatever it turns out to hold. `knowsRealm` is false before anybody asked.
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
