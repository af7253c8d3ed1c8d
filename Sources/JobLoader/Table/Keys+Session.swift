import TransferModel
import YAMLTree

/// A session while it is read: its configuration, and values that are only needed to check it.
struct SessionDraft: Blank, Sendable {
    var configuration: SessionConfiguration
    var extends: String?
    var writesDurability = false
    static var blank: SessionDraft { SessionDraft(configuration: SessionConfiguration(name: "")) }
}

extension SessionConfiguration: Blank {
    static var blank: SessionConfiguration { SessionConfiguration(name: "") }
}
extension ConnectionRange: Blank { static var blank: ConnectionRange { .standard } }

extension TLSConfiguration: Blank { static var blank: TLSConfiguration { TLSConfiguration() } }
extension HTTPConfiguration: Blank { static var blank: HTTPConfiguration { HTTPConfiguration() } }

extension Sections {
    static let trust = Section<TLSConfiguration>(
        "trust", in: "`trust`", title: "`tls.trust`",
        """
        Whom to believe. A certificate that has expired, is not yet valid, is for another host, signed by itself or by \
        nobody known fails the task, each with an error of its own, before the request is sent. So does a key that is no pin.
        """,
        keys: [
            .path("ca", \.ca, default: "the system's", "a file of CA certificates"),
            Key(
                "pin", \.pins, .list(pinShape), default: "none",
                """
                public keys, one of which must be the server's or that of a certificate of the verified chain: \
                `sha256//…`, the SHA-256 of the key in base64
                """
            ) {
                SessionKeyReader(reader: $1).pins($0)
            },
            Key(
                "policy", \.policy, .choice(TLSConfiguration.TrustPolicy.allCases.map(\.rawValue)), default: "system",
                """
                `system` believes the system's authorities and `ca`; `only` nothing but `ca` and `pin`: without `ca` the \
                server's own key must be a pin, and nothing else in its certificate counts; `insecure` checks nothing \
                but pins, and says so on standard error and in the report
                """
            ) { node, reader in
                let policy = reader.choice(node, as: TLSConfiguration.TrustPolicy.self)
                if policy == .insecure { reader.refuseInsecure(node) }
                return policy
            },
        ])

    static let pinShape = Shape.pattern("^sha256//[A-Za-z0-9+/]{43}=$", words: "a pin such as `sha256//…=`")

    static let clientCertificate = Section<CertificateDraft>(
        "clientCertificate", in: "a client certificate", title: "`tls.clientCertificates`",
        """
        Shown when the server asks for one, after the server itself was found right, and never to a proxy. One that cannot \
        be read fails the tasks that would show it, before anything is sent.
        """,
        keys: [
            .host("host", \.host, default: "required", "who may see it; a port makes it that origin alone"),
            .path(
                "certificate", \.certificate, default: "required",
                "a PEM file, with what stands between it and its authority after it, or a PKCS#12 file"),
            .path("key", \.key, default: "in the certificate's file", "a PEM file"),
            .secretText("password", \.password, default: "none", "what opens the key"),
        ])

    struct CertificateDraft: Blank, Sendable {
        var host: HostPattern?
        var certificate: String?
        var key: String?
        var password: SecretText?
        static var blank: CertificateDraft { CertificateDraft() }
    }

    static let tls = Section<TLSConfiguration>(
        "tls", in: "`tls`", "How connections are made safe.",
        keys: [
            .choice("minimum", \.minimum, default: "\"1.2\"", "the lowest version to speak"),
            .optionalChoice("maximum", \.maximum, default: "none", "the highest version to speak"),
            Key("trust", over: \.self, .object("trust"), default: "the system's", "whom to believe") {
                trust.decode($1, into: &$0, $2)
            }.resetting { ($0.ca, $0.pins, $0.policy) = (nil, [], .system) },
            Key(
                "clientCertificates", \.clientCertificates, .list(.object("clientCertificate")), default: "none",
                "certificates to show where a server asks for one; the first that is for its host"
            ) { node, reader in
                reader.maps(node, clientCertificate, .blank)?.compactMap { draft in
                    guard let host = draft.host, let certificate = draft.certificate else { return nil }
                    return TLSConfiguration.ClientCertificate(
                        host: host, certificate: certificate, key: draft.key, password: draft.password)
                }
            },
        ],
        rules: TLSVersion.allCases.enumerated().dropFirst().map { place, version in
            .when(
                .isOne("minimum", of: [version.rawValue]),
                .differs("maximum", from: TLSVersion.allCases.prefix(place).map(\.rawValue)))
        })

    static let http = Section<HTTPConfiguration>(
        "http", in: "`http`", "Which HTTP, and how.",
        keys: [
            .choice("version", \.version, default: "auto", "`auto` lets TLS choose HTTP/2"),
            .boolean(
                "compression", \.compression, default: "true",
                """
                ask for gzip, br and zstd on data tasks and upload answers, and tell and check what the body unpacks to; \
                with `false` it is told as it came. Downloads have `decompress`
                """),
            .integer(
                "maximumStreamsPerConnection", \.maximumStreamsPerConnection, 1...10_000, default: "100",
                "requests that share one HTTP/2 connection"),
            .boolean("expectContinue", \.expectContinue, default: "false", "send `Expect: 100-continue` with a body"),
            Key("pipelining", over: \.self, .boolean, default: "false", "accepted, warned about, and without effect") {
                if $2.boolean($1) == true {
                    $2.warning(
                        "no-effect", "`pipelining` does nothing", hint: "HTTP/2 shares a connection better",
                        at: $2.tree.span($1))
                }
                _ = $0
            },
        ])

    static let tracing = Section<SessionConfiguration>(
        "tracing", in: "`tracing`",
        """
        Each request to these hosts carries `traceparent`, whose ids are those of the spans that the run writes or sends \
        (docs/exports.md), below `TRACEPARENT` of the environment where that is set. A header of that name in the job stands.
        """,
        keys: [
            Key(
                "propagateTo", \.propagatesTraceTo, .hostPatterns, default: "required",
                "who is sent it; a port makes it that origin alone, and a redirect elsewhere is sent none"
            ) { $1.hostPatterns($0) }
        ])

    // MARK: The session itself

    static let session = Section<SessionDraft>(
        "session", in: "a session", title: "`sessions`",
        """
        A map of name → session. `configuration` decides what persists and who does the work: `default` keeps cache, \
        cookies and resume data on disk; `ephemeral` leaves nothing behind but finished files; `background` hands the \
        work to a process that outlives the command.
        """,
        keys: sessionIdentity + sessionLimits + sessionStores + sessionRouting + sessionNetwork + sessionTiming
            + policies.map { $0.lifted(\SessionDraft.configuration.taskDefaults) },
        rules: sessionRules)

    private static let sessionRules: [SectionDocument.Rule] = [
        .when(.isOne("configuration", of: ["background"]), .needs(["identifier"])),
        .when(.isOne("configuration", of: ["background"]), .empty("protocols")),
        .when(
            .isOne("configuration", of: ["background"]),
            .inside("redirects", .always(.differs("follow", from: ["sameOrigin", "sameHost", "never"])))),
        .when(.isOne("configuration", of: ["default", "ephemeral"]), .excludes(["identifier", "onFinish"])),
        .when(.all([.lacks("configuration"), .lacks("extends")]), .excludes(["identifier", "onFinish"])),
        .when(
            .lacks("extends"),
            .inside(
                "tls",
                .always(
                    .inside(
                        "trust",
                        .when(.isOne("policy", of: ["only"]), .needsOne(of: ["ca", "pin"])))))),
        .when(.lacks("extends"), .inside("cookies", .when(.isTrue("save"), .needs(["file"])))),
        .when(.has("unixSocket"), .hollow("connectTo")),
        .when(.has("unixSocket"), .differs("addressFamily", from: ["ipv4", "ipv6"])),
        .when(.has("unixSocket"), .matches("proxy", pattern: "^none$")),
        .always(.named(["connectTo"], pattern: hostAndPortPattern)),
        .always(.matches("proxy", pattern: "^none$|\(proxyPattern)")), .always(.filled(["onFinish"])),
    ]

    private static let sessionIdentity: [Key<SessionDraft>] = [
        .choice(
            "configuration", \.configuration.kind, default: "default", "what persists, and who does the work"),
        Key(
            "identifier", \.configuration.identifier,
            .pattern(TaskName.pattern, words: "letters, digits, `.`, `_` and `-`"),
            default: "background only, required there", "unique on the machine per user; the handle to come back by"
        ) { SessionKeyReader(reader: $1).identifier($0).map { .some($0) } },
        Key(
            "extends", \.extends, .text, default: "none",
            "a session whose configuration this one copies and then overrides"
        ) {
            $1.text($0).map { .some($0) }
        },
        .choice(
            "onInvalidate", \.configuration.onInvalidate, default: "finish",
            "what running tasks do when the run ends early by `failFast` or `finishBy`: `finish`, or `cancel`"),
        Key(
            "durability", over: \.self, .choice(SessionConfiguration.Durability.allCases.map(\.rawValue)),
            default: "none (background: flush)",
            "`flush`: a task is done only when its bytes and its name would survive a power cut; `none`: the system writes when it likes"
        ) {
            guard let durability = $2.choice($1, as: SessionConfiguration.Durability.self) else { return }
            $0.configuration.durability = durability
            $0.writesDurability = true
        }.resetting {
            $0.configuration.durability = .none
            $0.writesDurability = false
        },
        .command(
            "onFinish", \.configuration.onFinish, default: "none",
            "background only: a command run once, when the session's last task ended"),
    ]

    static let connectionCounts: ClosedRange<Int64> = 1...10_000

    static let connectionRange = Section<ConnectionRange>(
        "connectionRange", in: "`maximumConnectionsPerHost`", title: "`maximumConnectionsPerHost`",
        """
        Bounds between which the number of connections to a host is found by what the host bears: its throughput, its latency \
        and what it refuses (429, 503, no answer). Each change is an event, `connectionsChanged`, and stands in the report.
        """,
        keys: [
            .integer("minimum", \.minimum, connectionCounts, default: "2", "so many are always allowed"),
            .integer("maximum", \.maximum, connectionCounts, default: "16", "never more"),
        ])

    private static let sessionLimits: [Key<SessionDraft>] = [
        Key(
            "maximumConnectionsPerHost", over: \.configuration,
            .either([.integer(connectionCounts), .choice(["auto"]), .object("connectionRange")]), default: "6",
            """
            simultaneous connections to one host (scheme, host, port), over all tasks of the session. `auto` (2…16) or a map of \
            bounds: the number is found by what the host bears (docs/scheduling.md)
            """
        ) { RoutingReader(reader: $2).connections($1, into: &$0) }.resetting {
            $0.configuration.maximumConnectionsPerHost = SessionConfiguration.blank.maximumConnectionsPerHost
            $0.configuration.connectionRange = nil
        },
        .integer(
            "maximumConcurrentTasks", \.configuration.maximumConcurrentTasks, RunLimits.concurrentTasks,
            default: "none",
            "running tasks of this session"),
        Key(
            "requestsPerSecond", \.configuration.requestsPerSecond,
            .either([.number(0.001...1_000_000), .object("requestRate")]),
            default: "none", "to one host, over all tasks: evenly spaced, or with a burst"
        ) { LimitReader(reader: $1).requestRate($0).map { .some($0) } },
        .bandwidth(
            "bandwidth", \.configuration.bandwidth,
            "bytes a second for the session, always or by time of day; its transfers use HTTP/1.1"),
    ]

    private static let sessionNetwork: [Key<SessionDraft>] = [
        .duration(
            "connectTimeout", \.configuration.connectTimeout, default: "30s", "for making a connection", positive: true),
        Key(
            "headers", over: \.configuration.headers, .map(.headerValue), default: "none",
            "sent with each request; a task's own win. Where none is named, `User-Agent` is `transfer-run/` and the version"
        ) { HeaderReader(reader: $2).headers($1, into: &$0) },
        Key(
            "tracing", over: \.configuration, .object("tracing"), default: "none",
            "servers that are told which span of OpenTelemetry a request belongs to"
        ) { tracing.decode($1, into: &$0, $2) }.resetting { $0.configuration.propagatesTraceTo = [] },
        Key("tls", \.configuration.tls, section: tls, default: "{ minimum: \"1.2\" }", "how connections are made safe"),
        Key(
            "proxy", over: \.configuration.proxy, .either([.choice(["none"]), .url, .object("proxy")]),
            default: "from the environment", "`none`, a URL (`http://`, `https://`, `socks5h://`…), or a map by scheme"
        ) { ProxyReader(reader: $2).proxy($1, into: &$0) },
        Key(
            "http", \.configuration.http, section: http, default: "{ version: auto, compression: true }",
            "which HTTP, and how"),
        Key(
            "protocols", \.configuration.protocols, .list(.object("protocol")), default: "none",
            "own schemes, asked last to first; not in background sessions"
        ) { node, reader in
            reader.maps(node, ownProtocol, .blank)?.compactMap { draft in
                draft.scheme.isEmpty ? nil : draft.command.map { OwnProtocol(scheme: draft.scheme, command: $0) }
            }
        },
    ]

    private static let sessionTiming: [Key<SessionDraft>] = [
        Key(
            "discretionary", \.configuration.discretionary, .boolean, default: "false",
            "run when it costs nobody: an unmetered network, mains power or a battery above 50 %, inside `window`"
        ) { $1.boolean($0).map { .some($0) } },
        Key(
            "window", over: \.configuration.window, .object("window"), default: "none",
            "when tasks may run; outside it they wait"
        ) { TimeReader(reader: $2).window($1, into: &$0) },
    ]
}
