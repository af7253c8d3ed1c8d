/// A session's keys, as they are when the session starts.
package struct SessionConfiguration: Sendable {
    /// The job's `configuration`: `default` keeps stores on disk, `ephemeral` leaves nothing but finished files,
    /// `background` hands the work to a process that outlives the command.
    package enum Kind: String, CaseIterable, Sendable { case `default`, ephemeral, background }
    /// `onInvalidate`: whether running tasks finish or are cancelled when the run ends early.
    package enum Invalidation: String, CaseIterable, Sendable { case finish, cancel }
    /// `durability`: with `flush` a task is done only when its bytes and its name would survive a power cut.
    package enum Durability: String, CaseIterable, Sendable { case none, flush }

    /// The session's key below `sessions`.
    package var name: String
    /// What persists, and which process does the work.
    package var kind = Kind.default
    /// The name under which a background session is found again, unique for the user on this machine; `nil` for other
    /// kinds.
    package var identifier: String?
    /// Most simultaneous connections to one origin, over all tasks of the session.
    package var maximumConnectionsPerHost = 6
    /// Within these bounds the number of connections to an origin is found by what the origin bears;
    /// `maximumConnectionsPerHost` is then the upper one. `nil`: the number is fixed.
    package var connectionRange: ConnectionRange?
    /// Most running tasks of the session; `nil` for no limit.
    package var maximumConcurrentTasks: Int?
    /// Limit on requests to one host, over all tasks of the session; `nil` for none.
    package var requestsPerSecond: RequestRate?
    /// Longest time for making a connection.
    package var connectTimeout = TimeSpan.seconds(30)
    /// Headers of each request; those of a task override them.
    package var headers: [HeaderField] = []
    /// Hosts that are sent `traceparent`, with the ids of the run's OpenTelemetry spans.
    package var propagatesTraceTo: [HostPattern] = []
    /// What is kept of answers, and when.
    package var cache = CacheConfiguration()
    /// Which cookies are kept and sent.
    package var cookies = CookieConfiguration()
    /// How connections are secured.
    package var tls = TLSConfiguration()
    /// Which proxies requests go through.
    package var proxy = ProxyConfiguration.environment
    /// Where connections lead in place of the hosts of URLs, and over which family of addresses.
    package var routing = ConnectionRouting()
    /// Which addresses connections are not made to.
    package var addresses = AddressRules()
    /// The addresses that an operator forbids besides, which the job cannot loosen.
    package var imposedAddresses: [AddressRules] = []
    /// An operator's rules, which win over the job's; `nil` without any.
    package var policy: Policy?
    /// Which version of HTTP is used, and how.
    package var http = HTTPConfiguration()
    /// Commands that answer for schemes of the job's own, in the order of the job file.
    package var protocols: [OwnProtocol] = []
    /// What running tasks do when the run ends early by `failFast` or `finishBy`.
    package var onInvalidate = Invalidation.finish
    /// Whether tasks run only when it costs nothing: on an unmetered network and with plenty of power. `nil`: the job
    /// says nothing, and `--detach` then makes a background session discretionary.
    package var discretionary: Bool?
    /// Hours in which tasks may run; `nil` for always.
    package var window: TimeWindow?
    /// Limit on the session's body bytes a second; `nil` for none.
    package var bandwidth: Bandwidth?
    /// Whether finished files are flushed to the disk.
    package var durability = Durability.none
    /// The command and its arguments that run when the last task of a background session has ended; `nil` for none.
    package var onFinish: [SecretText]?
    /// The session's values of the keys that it shares with its tasks: each task starts from these.
    package var taskDefaults = TransferPolicies()

    package init(name: String) { self.name = name }

    /// Returns the commands that may answer for a URL, in the order in which they are tried: the last of the job file
    /// first.
    package func commands(for url: ResourceURL) -> [OwnProtocol] {
        if protocols.isEmpty { return [] }
        let scheme = url.scheme
        return protocols.reversed().filter { $0.scheme == scheme }
    }

    /// Decides whether a request to `url` counts against its origin's limits: it needs a connection or a command.
    package func takesSlot(_ url: ResourceURL) -> Bool { url.needsConnection || !commands(for: url).isEmpty }

    /// Whether the job says nothing about proxies, so that the environment decides. A Unix socket is reached without.
    package var asksEnvironmentForProxy: Bool {
        guard routing.unixSocket == nil, case .environment = proxy else { return false }
        return true
    }
}

/// The keys that a session sets for its tasks and a task may override.
package struct TransferPolicies: Sendable {
    /// When an answer may come from the cache.
    package var cachePolicy = CachePolicy.useProtocolCachePolicy
    /// Longest time without a byte moved; after that the attempt fails with `timedOut`.
    package var timeoutForRequest = TimeSpan.seconds(60)
    /// Longest time for the whole task, retries and waits included, from the moment only the network holds it back.
    package var timeoutForResource = TimeSpan.seconds(7 * 86_400)
    /// Slowest rate of a transfer that does not fail; `nil` for none.
    package var minimumRate: MinimumRate?
    /// What happens after a failed attempt.
    package var retry = RetryPolicy()
    /// Which redirects are followed.
    package var redirects = RedirectPolicy()
    /// Credentials for servers and proxies that ask for one.
    package var credentials: [Credential] = []
    /// Rules for servers that ask for authentication; the first that matches decides.
    package var challenges: [ChallengeRule] = []
    /// Whether bytes may take a cellular network.
    package var allowsCellularAccess = true
    /// Whether bytes may take a metered network.
    package var allowsExpensiveNetworkAccess = true
    /// Whether bytes may take a network in low data mode.
    package var allowsConstrainedNetworkAccess = true
    /// Whether a task without a permitted network waits for one, up to `timeoutForResource`, instead of failing.
    package var waitsForConnectivity = false
    package init() {}
}

/// A header line to send. A name with several values has one of these for each.
package struct HeaderField: Hashable, Sendable {
    /// The header's name, in the case it is sent in.
    package var name: String
    /// The header's value.
    package var value: SecretText
    package init(name: String, value: SecretText) {
        self.name = name
        self.value = value
    }

    /// Decides whether the name is `lowercase`, ignoring the case in which it was written.
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

/// When the cache answers: with fresh or confirmed answers, never, with any answer regardless of its age, or the same
/// without ever asking the server.
package enum CachePolicy: String, CaseIterable, Sendable {
    case useProtocolCachePolicy, reloadIgnoringCacheData, returnCacheDataElseLoad, returnCacheDataDontLoad
}

/// The session's `cache`.
package struct CacheConfiguration: Hashable, Sendable {
    /// Where answers may be kept: in memory and on disk, in memory only, or nowhere.
    package enum Storage: String, CaseIterable, Sendable { case allowed, memoryOnly, notAllowed }
    /// How a stored answer is checked: by a conditional request, or by a HEAD and then perhaps a GET.
    package enum Revalidation: String, CaseIterable, Sendable { case conditional, head }
    /// A rule that sets where the answers it matches are kept; the first that matches decides.
    package struct Rule: Hashable, Sendable {
        /// The scheme of the answer's URL; `nil` for any.
        package var scheme: String?
        /// The host of the answer's URL; `nil` for any.
        package var host: HostPattern?
        /// The answer's type, which may hold `*`; `nil` for any.
        package var mimeType: String?
        /// Where matching answers may be kept.
        package var storage: Storage
        package init(scheme: String?, host: HostPattern?, mimeType: String?, storage: Storage) {
            self.scheme = scheme
            self.host = host
            self.mimeType = mimeType
            self.storage = storage
        }
    }
    /// `false` for `cache: none`: nothing is kept and nothing is answered from the cache.
    package var isEnabled = true
    /// Bytes that answers may take in memory.
    package var memoryCapacity: Int64 = 16 << 20
    /// Bytes that answers may take on disk.
    package var diskCapacity: Int64 = 256 << 20
    /// Absolute path of the folder for large bodies; `nil`: below the state or cache folder of the user.
    package var path: String?
    /// Most bytes of an answer that is kept; `nil` is 5 % of the capacity.
    package var maximumEntry: Int64?
    /// How a stored answer is checked.
    package var revalidation = Revalidation.conditional
    /// Whether an answer whose server named no lifetime is used for a tenth of the time since its last change, at most
    /// a day. `false`: the server is asked about it each time.
    package var guessesLifetime = false
    /// Where answers may be kept that no rule matches.
    package var storage = Storage.allowed
    /// Rules for certain answers; the first that matches decides.
    package var rules: [Rule] = []
    package init() {}
}

/// The session's `cookies`.
package struct CookieConfiguration: Sendable {
    /// Which cookies of answers are kept: all, none, or those of the main document's site.
    package enum Accept: String, CaseIterable, Sendable { case always, never, onlyFromMainDocumentDomain }
    /// A cookie that the session has from the start.
    package struct Preset: Sendable {
        /// The cookie's name.
        package var name: String
        /// The cookie's value.
        package var value: SecretText
        /// The host that gets the cookie; with a leading dot also the hosts below it.
        package var domain: String
        /// The path of the URLs that get the cookie, with all paths below it.
        package var path = "/"
        /// Whether the cookie is sent over https only.
        package var secure = false
        /// When the cookie ends; `nil`: with the session.
        package var expires: WallTime?
        package init(name: String, value: SecretText, domain: String) {
            self.name = name
            self.value = value
            self.domain = domain
        }
    }
    /// Which cookies of answers are kept.
    package var accept = Accept.always
    /// Whether cookies are sent.
    package var send = true
    /// Cookies that the session has from the start.
    package var preset: [Preset] = []
    /// Absolute path of a cookie file in Netscape's format; `nil` for none.
    package var file: String?
    /// The content of `file` when the job was read; `nil` when the file was missing.
    package var fileBytes: [UInt8]?
    /// Whether the session's cookies are written to `file` when the run ends.
    package var save = false
    package init() {}
}

/// An entry of `credentials`: what to present to a server or proxy that asks for authentication.
package struct Credential: Hashable, Sendable {
    /// Authentication methods a credential may be limited to; `any` takes the strongest that is offered.
    package enum Method: String, CaseIterable, Sendable { case basic, digest, ntlm, negotiate, bearer, awsSigV4, any }
    /// How long a credential that worked is kept: not at all, for the session, or in the credential store.
    package enum Persistence: String, CaseIterable, Sendable { case none, session, permanent }
    /// Where the secret comes from: texts of the job file, a program that speaks the git-credential protocol, `.netrc`,
    /// or a server that gives tokens.
    package enum Source: Hashable, Sendable {
        case password(user: SecretText, password: SecretText)
        case token(SecretText)
        case helper([SecretText])
        case netrc
        case oauth2(OAuth2Client)
        case aws(
            accessKey: SecretText, secretKey: SecretText, sessionToken: SecretText?, region: String, service: String)
    }
    /// Where the credential may be used; `nil`: at the servers that the task names, for `helper` and `netrc` at any.
    package var host: HostPattern?
    /// The realm that the credential is for; `nil` for any.
    package var realm: String?
    /// The only method that it may be used with.
    package var method = Method.any
    /// Where the secret comes from.
    package var source: Source
    /// Whether the credential is for a proxy and not for a server.
    package var isForProxy = false
    /// Whether the credential is sent with the first request, before it is asked for.
    package var preemptive = false
    /// How often the credential may be rejected before it is given up.
    package var maximumFailures = 1
    /// How long the credential is kept after it worked.
    package var persistence = Persistence.session
    /// The URL below which an object store has its buckets, for `to: s3://…`; `nil` where the job names none.
    package var endpoint: ResourceURL?
    package init(source: Source) { self.source = source }

    /// Whether it is a user and password for a proxy, usable with basic authentication: SOCKS knows nothing else.
    package var isProxyPassword: Bool {
        guard isForProxy, case .password = source else { return false }
        return method == .any || method == .basic
    }
}

/// A rule of `challenges`: what to do when a server asks for authentication. It applies when everything that it names
/// holds.
package struct ChallengeRule: Hashable, Sendable {
    /// What the rule does: use the matching credential, go on without one, pass to the next method that is offered, or
    /// cancel the task.
    package enum Disposition: String, CaseIterable, Sendable { case use, `default`, reject, cancel }
    /// Kinds of challenges; the last two are about connections and not about requests.
    package enum Method: String, CaseIterable, Sendable {
        case basic, digest, ntlm, negotiate, bearer, clientCertificate, serverTrust
    }
    /// The kind of challenge; `nil` for any.
    package var method: Method?
    /// The host that asks; `nil` for any.
    package var host: HostPattern?
    /// The realm that it is about; `nil` for any.
    package var realm: String?
    /// What to do.
    package var disposition: Disposition
    package init(disposition: Disposition) { self.disposition = disposition }
}

/// Versions of TLS, spelled as in the job file.
package enum TLSVersion: String, CaseIterable, Sendable, Comparable {
    case v1_0 = "1.0"
    case v1_1 = "1.1"
    case v1_2 = "1.2"
    case v1_3 = "1.3"
    /// Orders versions from old to new.
    package static func < (left: TLSVersion, right: TLSVersion) -> Bool { left.rawValue < right.rawValue }
}

/// The session's `tls`.
package struct TLSConfiguration: Hashable, Sendable {
    /// What server certificates are checked against: the system's authorities and `ca`, nothing but `ca` and `pins`, or
    /// pins alone (`insecure`).
    package enum TrustPolicy: String, CaseIterable, Sendable { case system, only, insecure }
    /// A certificate that is presented to servers which ask for one.
    package struct ClientCertificate: Hashable, Sendable {
        /// The hosts that may see it.
        package var host: HostPattern
        /// Absolute path of a PEM or PKCS#12 file.
        package var certificate: String
        /// Absolute path of the private key's PEM file; `nil`: the key is in the certificate's file.
        package var key: String?
        /// Password of the private key; `nil` for none.
        package var password: SecretText?
        package init(host: HostPattern, certificate: String, key: String?, password: SecretText?) {
            self.host = host
            self.certificate = certificate
            self.key = key
            self.password = password
        }
    }
    /// The lowest version that is spoken.
    package var minimum = TLSVersion.v1_2
    /// The highest version that is spoken; `nil` for no limit.
    package var maximum: TLSVersion?
    /// Absolute path of a file of CA certificates; `nil` for none.
    package var ca: String?
    /// Pins of public keys (`sha256//…`), any of which must match; empty for no check.
    package var pins: [String] = []
    /// What server certificates are checked against.
    package var policy = TrustPolicy.system
    /// Certificates to present; the first that is for the host is taken.
    package var clientCertificates: [ClientCertificate] = []
    package init() {}
}

/// Which proxies a session's requests go through: those of the environment, none, one for all requests, or one by the
/// request's scheme. `all` is for schemes without one of their own, `bypass` lists host patterns and CIDR ranges that
/// are reached directly.
package enum ProxyConfiguration: Sendable {
    case environment
    case none
    case url(ProxyServer)
    case byScheme(http: ProxyServer?, https: ProxyServer?, ftp: ProxyServer?, all: ProxyServer?, bypass: [String])
}

/// The session's `http`.
package struct HTTPConfiguration: Hashable, Sendable {
    /// The version of HTTP; with `auto` TLS chooses whether it is HTTP/2.
    package enum Version: String, CaseIterable, Sendable {
        case auto
        case http1 = "1.1"
        case http2 = "2"
    }
    /// The version of HTTP that is used.
    package var version = Version.auto
    /// Whether data tasks and the answers of uploads ask for a packed body and unpack it.
    package var compression = true
    /// Most requests that share one HTTP/2 connection.
    package var maximumStreamsPerConnection = 100
    /// Whether a request with a body is sent with `Expect: 100-continue`.
    package var expectContinue = false
    package init() {}
}

/// A command that answers for a scheme of the job's own.
package struct OwnProtocol: Sendable {
    /// The scheme that it answers for.
    package var scheme: String
    /// The program and its arguments.
    package var command: [SecretText]
    package init(scheme: String, command: [SecretText]) {
        self.scheme = scheme
        self.command = command
    }
}

/// Hours of a day, over midnight when `to` is earlier than `from`.
package struct TimeWindow: Hashable, Sendable {
    /// When the hours begin, in minutes after midnight.
    package var from: Int
    /// When the hours end, in minutes after midnight.
    package var to: Int
    /// Days on which the hours begin, 0 for Monday; empty means every day.
    package var days: Set<Int> = []
    /// IANA name of the time zone; `nil` is the machine's own.
    package var timezone: String?
    package init(from: Int, to: Int) {
        self.from = from
        self.to = to
    }
}

/// The `redirects` of a session or task: which are followed. None leaves http and https.
package struct RedirectPolicy: Hashable, Sendable {
    /// Which redirects are followed: all, those to the same origin, those to the same host, or none.
    package enum Follow: String, CaseIterable, Sendable { case always, sameOrigin, sameHost, never }
    /// What a refused redirect does: fail the task, or make its response the result.
    package enum Refusal: String, CaseIterable, Sendable { case fail, accept }
    /// A rule that changes the URL a redirect leads to.
    package struct Rewrite: Hashable, Sendable {
        /// Regular expression (PCRE2) that is searched for in the URL.
        package var match: String
        /// Replacement for the match; `$1` is the first group, `$0` the whole match.
        package var to: String
        package init(match: String, to: String) {
            self.match = match
            self.to = to
        }
    }
    /// Which redirects are followed.
    package var follow = Follow.always
    /// Most redirects in a row; one more fails the task with `tooManyRedirects`.
    package var maximum = 20
    /// Whether redirects from https to http are followed.
    package var allowDowngrade = false
    /// Whether a redirect may lead from a public address to one inside the machine, its network or its cloud.
    package var toPrivate = false
    /// The only hosts that a redirect may lead to; `nil` is any host.
    package var allowHosts: [HostPattern]?
    /// Names, in lower case, of headers that go along to origins which the task does not name, beside the harmless ones.
    package var keepHeaders: [String] = []
    /// Rules that change where a redirect leads to; the first that matches is applied.
    package var rewrite: [Rewrite] = []
    /// What a refused redirect does.
    package var onRefuse = Refusal.fail
    package init() {}
}

/// The `retry` of a session or task: what happens after a failed attempt.
package struct RetryPolicy: Sendable {
    /// Whether the pause is half of the computed time and a random part of the other half, a random part of all of it,
    /// or all of it.
    package enum Jitter: String, CaseIterable, Sendable { case equal, full, none }
    /// The longest time for which a task is tried where the job file bounds neither time nor attempts.
    package static let standardPatience = TimeSpan.seconds(600)
    /// The longest time for which a task is tried at a host that never answered in the run.
    package static let unansweredPatience = TimeSpan.seconds(60)
    /// Most attempts, the first one counted; `nil` for any number.
    package var attempts: Int?
    /// For how long after its first failure a task is tried, where the job file says so; `nil` where it does not.
    package var writtenPatience: TimeSpan?
    /// For how long after its first failure a task is tried; `nil` where attempts alone are bounded.
    package var patience: TimeSpan? { writtenPatience ?? (attempts == nil ? Self.standardPatience : nil) }
    /// Whether the job file says for how long or how often a task is tried, and that is more than once.
    var isWritten: Bool { (attempts.map { $0 > 1 } ?? false) || writtenPatience != nil }
    /// Pause before the second attempt.
    package var initialBackoff = TimeSpan.seconds(1)
    /// Factor by which each pause is longer than the one before.
    package var multiplier = 2.0
    /// Longest pause.
    package var maximumBackoff = TimeSpan.seconds(30)
    /// How the pause is shortened at random.
    package var jitter = Jitter.equal
    /// HTTP statuses that are retried.
    package var statuses = StatusSet(408, 425, 429, 500, 502, 503, 504)
    /// Whether a server's `Retry-After` is waited for.
    package var honorsRetryAfter = true
    /// Longest `Retry-After` that is waited for; a longer one fails the task, or moves it to the next of its `urls`.
    package var maximumRetryAfter = TimeSpan.seconds(600)
    /// Whether a POST is sent again where the server may have acted on it already.
    package var nonIdempotent = false
    package init() {}
}
