import HTTPRules
import TransferModel
import YAMLTree

extension CacheConfiguration: Blank { static var blank: CacheConfiguration { CacheConfiguration() } }
extension CookieConfiguration: Blank { static var blank: CookieConfiguration { CookieConfiguration() } }

extension Sections {
    static let sessionStores: [Key<SessionDraft>] = [
        Key(
            "cache", over: \.configuration.cache, .either([.choice(["none"]), .object("cache")]),
            default: "{ memoryCapacity: 16MiB, diskCapacity: 256MiB }", "`none` for no cache"
        ) { cache, node, reader in
            if reader.tree.isWord(node, "none") {
                cache.isEnabled = false
            } else if reader.tree.kind(node) != .mapping {
                reader.wrongType(node, .either([.choice(["none"]), .object("cache")]))
            } else {
                cache.isEnabled = true
                Sections.cache.decode(node, into: &cache, reader)
            }
        },
        Key(
            "cookies", \.configuration.cookies, section: cookies, default: "{ accept: always, send: true }",
            "which cookies are kept and sent"),
    ]

    static let cache = Section<CacheConfiguration>(
        "cache", in: "`cache`",
        """
        What is kept of answers over http and https (RFC 9111, as a private cache): each session has a cache of its own, a \
        `default` one on disk and in memory, an `ephemeral` one in memory for as long as the run. Answers of data and \
        upload tasks are kept when they are whole and what the task expects. Downloads are answered from the cache and put \
        nothing there: their files are the copy. An answer is used again without a request only for as long as its server \
        said (`max-age`, `Expires`); where it named no time, or the time is over, the server is asked whether it changed, \
        also where `stale-while-revalidate` would let it pass. An answer to a request with credentials serves the same \
        ones only. A retry after an answer that did not do asks the server. `cachePolicy` says when the cache answers: \
        `useProtocolCachePolicy` so, `reloadIgnoringCacheData` never, `returnCacheDataElseLoad` whatever the answer's age, \
        `returnCacheDataDontLoad` the same, and nobody else is asked: without an answer the task fails with \
        `resourceUnavailable`. `check` warns (`stale-answer`) of tasks that may get an old answer although others are made \
        of it, or it is checked. The report's `cache` says whether an answer was kept, and if not why.
        """,
        keys: [
            .size("memoryCapacity", \.memoryCapacity, default: "16MiB", "in memory"),
            .size("diskCapacity", \.diskCapacity, default: "256MiB", "on disk"),
            .path(
                "path", \.path, default: "below `$XDG_CACHE_HOME`, or `--state-dir`",
                "a folder for bodies of more than 16 KiB, private to the user; shorter ones stand in the store"),
            .size(
                "maximumEntry", \.maximumEntry, default: "5 % of the capacity",
                "a larger answer is not kept; each counts 1 KiB beside its body"),
            .choice(
                "revalidation", \.revalidation, default: "conditional",
                "how a stored answer is checked: by a request with a condition, or a HEAD and then perhaps a GET"),
            .boolean(
                "guessLifetime", \.guessesLifetime, default: "false",
                """
                use an answer whose server named no lifetime unasked for a tenth of the time since its `Last-Modified`, at \
                most a day; `false` asks each time
                """),
            .choice(
                "storage", \.storage, default: "allowed",
                "where answers may be kept; one to a URL that holds a secret stays in memory"),
            Key(
                "rules", \.rules, .list(.object("cacheRule")), default: "none",
                "set `storage` by scheme, host or MIME type; the first match wins"
            ) {
                node, reader in
                reader.maps(node, cacheRule, .blank)?.map {
                    CacheConfiguration.Rule(
                        scheme: $0.scheme, host: $0.host, mimeType: $0.mimeType, storage: $0.storage)
                }
            },
        ])

    static let cacheRule = Section<CacheRuleDraft>(
        "cacheRule", in: "a rule of `cache`", title: "`cache.rules`",
        keys: [
            .text("scheme", \.scheme, default: "any", "`http` or `https`"),
            .host("host", \.host, default: "any", "the answer's host"),
            .mimeType("mimeType", \.mimeType, default: "any", "the answer's type; may hold `*`"),
            .choice("storage", \.storage, default: "required", "where such an answer may be kept"),
        ])

    struct CacheRuleDraft: Blank, Sendable {
        var scheme: String?
        var host: HostPattern?
        var mimeType: String?
        var storage = CacheConfiguration.Storage.allowed
        static var blank: CacheRuleDraft { CacheRuleDraft() }
    }

    static let cookies = Section<CookieConfiguration>(
        "cookies", in: "`cookies`",
        """
        Which cookies are kept and sent. A session keeps at most 180 of a site (a registrable domain with all names below \
        it) and 3,000 in all: expired ones go first, then those that were not used for longest.
        """,
        keys: [
            .choice("accept", \.accept, default: "always", "which cookies of answers are kept"),
            .boolean("send", \.send, default: "true", "send the ones that are kept"),
            Key("preset", \.preset, .list(.object("cookie")), default: "none", "cookies that are there from the start")
            { node, reader in
                reader.presets(node)
            },
            .path(
                "file", \.file, default: "none",
                """
                a cookie file in Netscape's form, as curl and wget write it, at most 4 MiB, read with the job. Its cookies win \
                over those of earlier runs, by the same rules as a server's: none is for a whole public suffix. A line \
                that is no cookie is left out with a warning
                """),
            .boolean(
                "save", \.save, default: "false",
                """
                write the session's cookies to `file` when the run ends, however it ended, for its owner alone (0600), \
                those too that end with the session. Then the file may be missing before; a background session's is written \
                by the background process
                """),
        ])

    static let cookie = Section<CookieDraft>(
        "cookie", in: "a cookie", title: "`cookies.preset`",
        keys: [
            .text("name", \.name, default: "required", "the cookie's name"),
            .secretText("value", \.value, default: "required", "its value"),
            .text("domain", \.domain, default: "required", "where it goes; with a leading dot to the hosts below, too"),
            .text("path", \.path, default: "/", "the paths it goes to"),
            .boolean("secure", \.secure, default: "false", "goes over https only"),
            Key("expires", \.expires, dateShape, default: "with the session", "when it ends") {
                TimeReader(reader: $1).date($0).map { .some($0) }
            },
        ])

    static let dateShape = Shape.pattern(
        "^[0-9]{4}-[0-9]{2}-[0-9]{2}[Tt ][0-9]{2}:[0-9]{2}:[0-9]{2}", words: "a date such as `2026-11-21T07:00:00Z`")

    struct CookieDraft: Blank, Sendable {
        var name: String?
        var value: SecretText?
        var domain: String?
        var path: String?
        var secure = false
        var expires: WallTime?
        static var blank: CookieDraft { CookieDraft() }

        var preset: CookieConfiguration.Preset? {
            guard let name, let value, let domain else { return nil }
            var preset = CookieConfiguration.Preset(name: name, value: value, domain: domain)
            preset.path = path ?? "/"
            preset.secure = secure
            preset.expires = expires
            return preset
        }
    }

    // MARK: Proxies, own schemes, rates, windows

    static let proxy = Section<ProxyDraft>(
        "proxy", in: "`proxy`",
        """
        Proxies by the scheme of the request; each hop of a redirect asks anew. A proxy's URL begins with `http://`, \
        `https://`, `socks4://`, `socks4a://`, `socks5://` or `socks5h://` (the ones with a letter more look up names \
        themselves), may hold `user:password@`, and without a port means 80, 443 or 1080. https and ftp go through \
        `CONNECT`. The URL's user and password are sent to that proxy without being asked for, and to nobody else; \
        `credentials` with `proxy: true` answer one that asks ([authentication.md](authentication.md)).

        Where a session says nothing, the environment does: `http_proxy` (in lower case only), `https_proxy`, `ftp_proxy` \
        and `all_proxy` for the rest, and `no_proxy` for what is reached directly: names with all below them, addresses \
        and ranges, each with a port or none, `*` for everything. All but the first may be written in capitals.

        `tls` counts for an `https://` proxy as for a server, but for pins and client certificates. \
        What goes through one goes over HTTP/1.1.
        """,
        keys: [
            proxyKey("http", \.http, "for http requests"), proxyKey("https", \.https, "for https requests"),
            proxyKey("ftp", \.ftp, "for ftp requests"), proxyKey("all", \.all, "for those that no other key names"),
            Key(
                "bypass", \.bypass, .list(.text), default: "none",
                "host patterns and CIDR ranges that are reached directly"
            ) {
                ProxyReader(reader: $1).bypasses($0)
            },
        ],
        rules: ["http", "https", "ftp", "all"].map { .always(.matches($0, pattern: proxyPattern)) })

    /// Matches the beginning of a proxy's URL.
    static let proxyPattern =
        "^\\s*(\(ProxyServer.Kind.allCases.map(\.rawValue).joined(separator: "|")))://|^[^:]*[A-Z]"

    private static func proxyKey(
        _ name: StaticString, _ path: @autoclosure @escaping PathTo<ProxyDraft, ProxyServer?>, _ meaning: String
    ) -> Key<ProxyDraft> {
        Key(name, path(), .url, default: "none", meaning) { ProxyReader(reader: $1).proxyURL($0).map { .some($0) } }
    }

    struct ProxyDraft: Blank, Sendable {
        var http: ProxyServer?
        var https: ProxyServer?
        var ftp: ProxyServer?
        var all: ProxyServer?
        var bypass: [String] = []
        static var blank: ProxyDraft { ProxyDraft() }
    }

    static let ownProtocol = Section<ProtocolDraft>(
        "protocol", in: "an own protocol", title: "`protocols`",
        """
        A command that answers for a scheme of your own: [protocols.md](protocols.md) has the exchange. It gets the \
        request as JSON on standard input and answers like a CGI program: header lines (`Status: 404` if not 200), an \
        empty line, the body. Exit 0 is an answer, 64 passes to the next, another is a failure. Several may have one scheme.
        """,
        keys: [
            Key(
                "scheme", \.scheme, .pattern("^[A-Za-z][A-Za-z0-9+.-]*$", words: "a scheme"), default: "required",
                "the scheme it answers for; not `http`, `https`, `ftp`, `file` or `data`"
            ) {
                SessionKeyReader(reader: $1).scheme($0)
            },
            .command(
                "command", \.command, default: "required",
                "the program and its arguments, run in the job's folder; no shell"),
        ],
        rules: [.always(.filled(["command"])), .always(.differs("scheme", from: SessionKeyReader.builtInSchemes))])

    struct ProtocolDraft: Blank, Sendable {
        var scheme = ""
        var command: [SecretText]?
        static var blank: ProtocolDraft { ProtocolDraft() }
    }

    static let requestRate = Section<RequestRate>(
        "requestRate", in: "`requestsPerSecond`", title: "`requestsPerSecond`",
        keys: [
            Key("rate", \.perSecond, .number(0.001...1_000_000), default: "required", "requests a second") {
                $1.number($0, 0.001...1_000_000)
            },
            .integer("burst", \.burst, 1...1_000_000, default: "1", "how many may go at once after a pause"),
        ])

    static let window = Section<TimeWindow>(
        "window", in: "`window`", "Over midnight when `to` is earlier than `from`. Running transfers pause at its end.",
        keys: [
            Key("from", \.from, .timeOfDay, default: "required", "when it opens") { $1.timeOfDay($0) },
            Key("to", \.to, .timeOfDay, default: "required", "when it closes") { $1.timeOfDay($0) },
            Key("days", \.days, .list(.choice(dayNames)), default: "every day", "on which days it opens") {
                TimeReader(reader: $1).days($0)
            },
            Key("timezone", \.timezone, .timeZone, default: "the machine's", "an IANA name") {
                TimeReader(reader: $1).timeZone($0).map { .some($0) }
            },
        ],
        rules: [.always(.filled(["days"]))])

    static let bandwidthHours = Section<BandwidthDraft>(
        "bandwidthHours", in: "`bandwidth`", title: "`bandwidth` by time of day",
        """
        The first entry whose hours hold the present time applies, to transfers under way too. Outside all of them nothing \
        is limited. Over midnight when `to` is earlier than `from`.
        """,
        keys: [
            Key("from", \.from, .timeOfDay, default: "required", "when the rate begins to apply") { $1.timeOfDay($0) },
            Key("to", \.to, .timeOfDay, default: "required", "when it ends") { $1.timeOfDay($0) },
            Key("days", \.days, .list(.choice(dayNames)), default: "every day", "on which days it begins") {
                TimeReader(reader: $1).days($0)
            },
            Key("timezone", \.timezone, .timeZone, default: "the machine's", "an IANA name") {
                TimeReader(reader: $1).timeZone($0).map { .some($0) }
            },
            Key("rate", \.rate, .rate, default: "required", "bytes a second") { $1.rate($0) },
        ])

    struct BandwidthDraft: Blank, Sendable {
        var from = 0
        var to = 0
        var days: Set<Int> = []
        var timezone: String?
        var rate: Int64 = 0
        static var blank: BandwidthDraft { BandwidthDraft() }

        var hours: Bandwidth.Hours {
            var window = TimeWindow(from: from, to: to)
            (window.days, window.timezone) = (days, timezone)
            return Bandwidth.Hours(window: window, rate: rate)
        }
    }

    static let minimumRate = Section<MinimumRate>(
        "minimumRate", in: "`minimumRate`",
        """
        Counts from the first byte of a body, in either direction, with chunk sizes, extensions and trailers. Time in \
        which a transfer stands still for a `bandwidth` or another limit of the run does not count, nor does sending what \
        a command makes, nor the wait for an answer after a body was sent (`timeoutForRequest` bounds that). Without it, a \
        body that moves less than 1 kB in ten minutes, or in `timeoutForRequest` where that is longer, fails the same way.
        """,
        keys: [
            Key("rate", \.rate, .rate, default: "required", "bytes a second") { $1.rate($0) },
            Key("over", \.over, .duration, default: "required", "the time over which the rate is taken") {
                $1.duration($0, positive: true)
            },
        ])

    static let dayNames = ["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"]
}

extension RequestRate: Blank { static var blank: RequestRate { RequestRate(perSecond: 1) } }
extension MinimumRate: Blank { static var blank: MinimumRate { MinimumRate(rate: 0, over: .zero) } }
extension TimeWindow: Blank { static var blank: TimeWindow { TimeWindow(from: 0, to: 0) } }

extension Reader {
    fileprivate func presets(_ node: NodeID) -> [CookieConfiguration.Preset]? {
        elements(node, .list(.object("cookie"))) { element in
            var draft = Sections.CookieDraft.blank
            Sections.cookie.decode(element, into: &draft, self)
            guard let preset = draft.preset else { return nil }
            if let refusal = CookieJar.refusal(of: preset) {
                error("invalid-cookie", "`\(preset.name)` cannot be a cookie: \(refusal.why)", element)
            }
            return preset
        }
    }
}
