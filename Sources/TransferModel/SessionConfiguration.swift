/// A session as its configuration says, taken as it is when the session starts.
package struct SessionConfiguration: Sendable {
    package enum Kind: String, CaseIterable, Sendable { case `default`, ephemeral, background }
    package enum Invalidation: String, CaseIterable, Sendable { case finish, cancel }
    package enum Durability: String, CaseIterable, Sendable { case none, flush }

    package var name: String
    package var kind = Kind.default
    /// Of a background session; the handle to come back by.
    package var identifier: String?
    package var maximumConnectionsPerHost = 6
    package var maximumConcurrentTasks: Int?
    package var requestsPerSecond: RequestRate?
    package var connectTimeout = TimeSpan.seconds(30)
    package var headers: [HeaderField] = []
    /// Hosts that are sent the ids under which OpenTelemetry knows the run.
    package var propagatesTraceTo: [HostPattern] = []
    package var cache = CacheConfiguration()
    package var cookies = CookieConfiguration()
    package var tls = TLSConfiguration()
    package var proxy = ProxyConfiguration.environment
    package var http = HTTPConfiguration()
    package var protocols: [OwnProtocol] = []
    package var onInvalidate = Invalidation.finish
    /// `nil` is not written: then `--detach` makes a background session discretionary.
    package var discretionary: Bool?
    package var window: TimeWindow?
    package var bandwidth: Bandwidth?
    package var durability = Durability.none
    package var onFinish: [SecretText]?
    /// What a task starts from for the keys it shares with its session.
    package var taskDefaults = TransferPolicies()

    package init(name: String) { self.name = name }

    /// The commands that may answer for a URL, in the order in which they are asked: last to first.
    package func commands(for url: ResourceURL) -> [OwnProtocol] {
        if protocols.isEmpty { return [] }
        let scheme = url.scheme
        return protocols.reversed().filter { $0.scheme == scheme }
    }

    /// Whether a request to `url` counts against its origin's limits: it takes a connection, or a command.
    package func takesSlot(_ url: ResourceURL) -> Bool { url.needsConnection || !commands(for: url).isEmpty }

    /// It says nothing of proxies itself.
    package var asksEnvironmentForProxy: Bool { if case .environment = proxy { true } else { false } }
}

/// The keys that a session sets for its tasks and a task may set for itself.
package struct TransferPolicies: Sendable {
    package var cachePolicy = CachePolicy.useProtocolCachePolicy
    package var timeoutForRequest = TimeSpan.seconds(60)
    package var timeoutForResource = TimeSpan.seconds(7 * 86_400)
    package var minimumRate: MinimumRate?
    package var retry = RetryPolicy()
    package var redirects = RedirectPolicy()
    package var credentials: [Credential] = []
    package var challenges: [ChallengeRule] = []
    package var allowsCellularAccess = true
    package var allowsExpensiveNetworkAccess = true
    package var allowsConstrainedNetworkAccess = true
    package var waitsForConnectivity = false
    package init() {}
}

/// One header line to send. Several values of one name are several of these.
package struct HeaderField: Hashable, Sendable {
    package var name: String
    package var value: SecretText
    package init(name: String, value: SecretText) {
        self.name = name
        self.value = value
    }

    /// Whether its name is `lowercase`, in whatever case it was written.
    package func isNamed(_ lowercase: StaticString) -> Bool {
        guard name.utf8.count == lowercase.utf8CodeUnitCount else { return false }
        var place = lowercase.utf8Start
        for byte in name.utf8 {
            if ((0x41...0x5A).contains(byte) ? byte | 0x20 : byte) != place.pointee { return false }
            place += 1
        }
        return true
    }
}

package enum CachePolicy: String, CaseIterable, Sendable {
    case useProtocolCachePolicy, reloadIgnoringCacheData, returnCacheDataElseLoad, returnCacheDataDontLoad
}

package struct CacheConfiguration: Hashable, Sendable {
    package enum Storage: String, CaseIterable, Sendable { case allowed, memoryOnly, notAllowed }
    package enum Revalidation: String, CaseIterable, Sendable { case conditional, head }
    package struct Rule: Hashable, Sendable {
        package var scheme: String?
        package var host: HostPattern?
        package var mimeType: String?
        package var storage: Storage
        package init(scheme: String?, host: HostPattern?, mimeType: String?, storage: Storage) {
            self.scheme = scheme
            self.host = host
            self.mimeType = mimeType
            self.storage = storage
        }
    }
    package var isEnabled = true
    package var memoryCapacity: Int64 = 16 << 20
    package var diskCapacity: Int64 = 256 << 20
    package var path: String?
    /// `nil` is 5 % of the capacity.
    package var maximumEntry: Int64?
    package var revalidation = Revalidation.conditional
    package var storage = Storage.allowed
    package var rules: [Rule] = []
    package init() {}
}

package struct CookieConfiguration: Sendable {
    package enum Accept: String, CaseIterable, Sendable { case always, never, onlyFromMainDocumentDomain }
    package struct Preset: Sendable {
        package var name: String
        package var value: SecretText
        package var domain: String
        package var path = "/"
        package var secure = false
        package var expires: WallTime?
        package init(name: String, value: SecretText, domain: String) {
            self.name = name
            self.value = value
            self.domain = domain
        }
    }
    package var accept = Accept.always
    package var send = true
    package var preset: [Preset] = []
    /// A file of cookies in Netscape's form, as an absolute path.
    package var file: String?
    /// What stood in the file when the job was read; `nil` when it was not there.
    package var fileBytes: [UInt8]?
    /// Write the session's cookies to `file` when the run ends.
    package var save = false
    package init() {}
}

package struct Credential: Hashable, Sendable {
    package enum Method: String, CaseIterable, Sendable { case basic, digest, ntlm, negotiate, bearer, awsSigV4, any }
    package enum Persistence: String, CaseIterable, Sendable { case none, session, permanent }
    package enum Source: Hashable, Sendable {
        case password(user: SecretText, password: SecretText)
        case token(SecretText)
        case helper([SecretText])
        case netrc
        case aws(
            accessKey: SecretText, secretKey: SecretText, sessionToken: SecretText?, region: String, service: String)
    }
    package var host: HostPattern?
    package var realm: String?
    package var method = Method.any
    package var source: Source
    package var isForProxy = false
    package var preemptive = false
    package var maximumFailures = 1
    package var persistence = Persistence.session
    package init(source: Source) { self.source = source }

    /// User and password of a proxy: all that SOCKS has a place for.
    package var isProxyPassword: Bool {
        guard isForProxy, case .password = source else { return false }
        return method == .any || method == .basic
    }
}

package struct ChallengeRule: Hashable, Sendable {
    package enum Disposition: String, CaseIterable, Sendable { case use, `default`, reject, cancel }
    package enum Method: String, CaseIterable, Sendable {
        case basic, digest, ntlm, negotiate, bearer, clientCertificate, serverTrust
    }
    package var method: Method?
    package var host: HostPattern?
    package var realm: String?
    package var disposition: Disposition
    package init(disposition: Disposition) { self.disposition = disposition }
}

package enum TLSVersion: String, CaseIterable, Sendable, Comparable {
    case v1_0 = "1.0"
    case v1_1 = "1.1"
    case v1_2 = "1.2"
    case v1_3 = "1.3"
    package static func < (left: TLSVersion, right: TLSVersion) -> Bool { left.rawValue < right.rawValue }
}

package struct TLSConfiguration: Hashable, Sendable {
    package enum TrustPolicy: String, CaseIterable, Sendable { case system, only, insecure }
    package struct ClientCertificate: Hashable, Sendable {
        package var host: HostPattern
        package var certificate: String
        package var key: String?
        package var password: SecretText?
        package init(host: HostPattern, certificate: String, key: String?, password: SecretText?) {
            self.host = host
            self.certificate = certificate
            self.key = key
            self.password = password
        }
    }
    package var minimum = TLSVersion.v1_2
    package var maximum: TLSVersion?
    /// An absolute path to a file of CA certificates.
    package var ca: String?
    /// `sha256//…` pins of public keys, any of which must match.
    package var pins: [String] = []
    package var policy = TrustPolicy.system
    package var clientCertificates: [ClientCertificate] = []
    package init() {}
}

package enum ProxyConfiguration: Sendable {
    case environment
    case none
    case url(ProxyServer)
    case byScheme(http: ProxyServer?, https: ProxyServer?, ftp: ProxyServer?, all: ProxyServer?, bypass: [String])
}

package struct HTTPConfiguration: Hashable, Sendable {
    package enum Version: String, CaseIterable, Sendable {
        case auto
        case http1 = "1.1"
        case http2 = "2"
    }
    package var version = Version.auto
    package var compression = true
    package var maximumStreamsPerConnection = 100
    package var expectContinue = false
    package init() {}
}

package struct OwnProtocol: Sendable {
    package var scheme: String
    package var command: [SecretText]
    package init(scheme: String, command: [SecretText]) {
        self.scheme = scheme
        self.command = command
    }
}

package struct TimeWindow: Hashable, Sendable {
    /// Minutes after midnight.
    package var from: Int
    package var to: Int
    /// 0 is Monday; empty means every day.
    package var days: Set<Int> = []
    /// An IANA name; `nil` is the machine's own.
    package var timezone: String?
    package init(from: Int, to: Int) {
        self.from = from
        self.to = to
    }
}

package struct RedirectPolicy: Sendable {
    package enum Follow: String, CaseIterable, Sendable { case always, sameOrigin, sameHost, never }
    package enum Refusal: String, CaseIterable, Sendable { case fail, accept }
    package struct Rewrite: Sendable {
        package var match: String
        package var to: String
        package init(match: String, to: String) {
            self.match = match
            self.to = to
        }
    }
    package var follow = Follow.always
    package var maximum = 20
    package var allowDowngrade = false
    /// `nil` is any host.
    package var allowHosts: [HostPattern]?
    package var rewrite: [Rewrite] = []
    package var onRefuse = Refusal.fail
    package init() {}
}

package struct RetryPolicy: Sendable {
    package enum Jitter: String, CaseIterable, Sendable { case full, none }
    /// In all, the first one counted.
    package var attempts = 3
    package var initialBackoff = TimeSpan.seconds(1)
    package var multiplier = 2.0
    package var maximumBackoff = TimeSpan.seconds(60)
    package var jitter = Jitter.full
    package var statuses = StatusSet(408, 425, 429, 500, 502, 503, 504)
    package var honorsRetryAfter = true
    package var maximumRetryAfter = TimeSpan.seconds(600)
    package var nonIdempotent = false
    package init() {}
}
