import TransferModel
import YAMLTree

extension RetryPolicy: Blank { static var blank: RetryPolicy { RetryPolicy() } }
extension RedirectPolicy: Blank { static var blank: RedirectPolicy { RedirectPolicy() } }
extension TransferPolicies: Blank { static var blank: TransferPolicies { TransferPolicies() } }

/// The table of keys, section by section: the one definition of all that a job file may contain. A table has no state; it
/// is as long as the language.
enum Sections {
    static let backoff = Section<RetryPolicy>(
        "backoff", in: "`backoff`", title: "`retry.backoff`", "How long to wait before the next attempt.",
        keys: [
            .duration("initial", \.initialBackoff, default: "1s", "before the second attempt"),
            Key(
                "multiplier", \.multiplier, .number(1...1000), default: "2",
                "by which each wait is longer than the one before"
            ) {
                $1.number($0, 1...1000)
            },
            .duration("maximum", \.maximumBackoff, default: "30s", "no wait is longer"),
            .choice(
                "jitter", \.jitter, default: "equal",
                """
                so that many tasks do not come back at once: `equal` waits half of the time and a random part of the other \
                half, `full` a random part of all of it; `none` waits all of it
                """),
        ])

    static let retryAfter = Section<RetryPolicy>(
        "retryAfter", in: "`retryAfter`", title: "`retry.retryAfter`",
        "What a server's `Retry-After` counts for. It holds back the whole host.",
        keys: [
            .boolean("honor", \.honorsRetryAfter, default: "true", "wait as long as the server asks"),
            .duration(
                "maximum", \.maximumRetryAfter, default: "10m",
                "a longer wait, or one that ends after `retry.for`, fails the task at once, or goes to the next of `urls`"
            ),
        ])

    static let retry = Section<RetryPolicy>(
        "retry", in: "`retry`", "What happens after a failed attempt.",
        keys: [
            Key(
                "for", \.writtenPatience, .duration, default: "10m (none with `attempts` alone)",
                """
                how long a task is tried after its first failure. At a host that never answered in this run no longer than \
                one minute. A background session is bounded only where it is written
                """
            ) { $1.duration($0).map { .some($0) } },
            Key(
                "attempts", \.attempts, .either([.integer(1...1_000_000), .choice(["unlimited"])]),
                default: "unlimited",
                """
                how many in all, the first one counted. A number alone bounds no time; beside `for` the task ends at what \
                comes first
                """
            ) { LimitReader(reader: $1).attempts($0) },
            Key(
                "backoff", over: \.self, .object("backoff"), default: "see `retry.backoff`",
                "how long to wait before the next one"
            ) {
                backoff.decode($1, into: &$0, $2)
            }.resetting {
                let blank = RetryPolicy()
                ($0.initialBackoff, $0.multiplier) = (blank.initialBackoff, blank.multiplier)
                ($0.maximumBackoff, $0.jitter) = (blank.maximumBackoff, blank.jitter)
            },
            .statuses(
                "statuses", \.statuses, default: "[408, 425, 429, 500, 502, 503, 504]", mayBeNone: true,
                "the HTTP statuses that are worth another attempt"),
            Key(
                "retryAfter", over: \.self, .object("retryAfter"), default: "see `retry.retryAfter`",
                "what `Retry-After` counts for"
            ) {
                retryAfter.decode($1, into: &$0, $2)
            }.resetting {
                let blank = RetryPolicy()
                ($0.honorsRetryAfter, $0.maximumRetryAfter) = (blank.honorsRetryAfter, blank.maximumRetryAfter)
            },
            .boolean(
                "nonIdempotent", \.nonIdempotent, default: "false",
                "retry a POST even where the server may have acted on it already"),
        ])

    static let rewrite = Section<RewriteDraft>(
        "rewrite", in: "a rule of `rewrite`", title: "`redirects.rewrite`",
        """
        Rules for where a redirect really goes. The first that matches replaces what it matched, once; the others are not \
        asked.
        """,
        keys: [
            Key("match", \.match, .regex, default: "required", "what to look for in the redirect's URL") {
                $1.regex($0)
            },
            Key(
                "to", \.to, .text, default: "required",
                "what goes in the place of what matched; `$1` is the first group, `$0` all that matched"
            ) { $1.text($0) },
        ])

    static let redirects = Section<RedirectPolicy>(
        "redirects", in: "`redirects`", "Which redirects are followed. None ever leaves http and https.",
        keys: [
            .choice("follow", \.follow, default: "always", "which redirects to follow"),
            .integer(
                "maximum", \.maximum, 0...1000, default: "20", "how many to follow; one more fails `tooManyRedirects`"),
            .boolean("allowDowngrade", \.allowDowngrade, default: "false", "follow from https to http"),
            .boolean(
                "toPrivate", \.toPrivate, default: "false",
                """
                follow from an address of the public Internet to one inside: private, shared, loopback, link-local, unique \
                local, or a cloud's metadata service (docs/security.md)
                """),
            .hosts("allowHosts", \.allowHosts, default: "any", "the only hosts a redirect may lead to"),
            Key(
                "keepHeaders", \.keepHeaders, .list(.text), default: "none",
                """
                names of headers of the job that go along to an origin which the task does not name. Without a word only \
                `Accept…`, `User-Agent`, `Range`, `If-…` and, with the body, `Content-…` do. `Authorization` and `Cookie` \
                cannot be named: `credentials` and `cookies` say which hosts get them
                """
            ) { HeaderReader(reader: $1).keptHeaders($0) },
            Key(
                "rewrite", \.rewrite, .list(.object("rewrite")), default: "none", "sends a redirect elsewhere"
            ) { $1.rewrites($0) },
            .choice(
                "onRefuse", \.onRefuse, default: "fail",
                "a refused redirect fails the task, or (`accept`) its 3xx response and body are the result"),
        ])

    struct RewriteDraft: Blank, Sendable {
        var match = ""
        var to = ""
        static var blank: RewriteDraft { RewriteDraft() }
    }

    // MARK: What a task shares with its session

    static let policies: [Key<TransferPolicies>] = [
        .choice(
            "cachePolicy", \.cachePolicy, default: "useProtocolCachePolicy", "when an answer may come from the cache"),
        .duration(
            "timeoutForRequest", \.timeoutForRequest, default: "60s",
            "no byte moved for this long, or only interim answers (1xx) came: the attempt fails `timedOut`",
            positive: true),
        .duration(
            "timeoutForResource", \.timeoutForResource, default: "7d",
            "for the whole task, from the moment nothing but the network holds it back; retries and waits count",
            positive: true),
        Key(
            "minimumRate", \.minimumRate, .object("minimumRate"), default: "none",
            "a transfer that is slower fails `timedOut`, and its next attempt resumes"
        ) { LimitReader(reader: $1).minimumRate($0).map { .some($0) } },
        Key("retry", \.retry, section: retry, default: "see `retry`", "what happens after a failed attempt"),
        Key("redirects", \.redirects, section: redirects, default: "see `redirects`", "which redirects are followed"),
        Key(
            "credentials", \.credentials, .list(.object("credential")), default: "none",
            "who to be where a server or proxy asks"
        ) { CredentialReader(reader: $1).credentials($0) },
        Key(
            "challenges", \.challenges, .list(.object("challenge")), default: "default handling",
            "rules for what to do when a server asks who one is; the first match wins"
        ) { node, reader in
            reader.maps(node, challenge, ChallengeRule(disposition: .default))
        },
        .boolean(
            "allowsCellularAccess", \.allowsCellularAccess, default: "true",
            "bytes may take a cellular network; a task cannot loosen its session's `false`"),
        .boolean(
            "allowsExpensiveNetworkAccess", \.allowsExpensiveNetworkAccess, default: "true",
            "bytes may take a network that costs money (metered); a task's word wins over its session's"),
        .boolean(
            "allowsConstrainedNetworkAccess", \.allowsConstrainedNetworkAccess, default: "true",
            "bytes may take a network in low data mode; a task's word wins over its session's"),
        .boolean(
            "waitsForConnectivity", \.waitsForConnectivity, default: "false (background: always true)",
            "with no permitted network wait for one, up to `timeoutForResource`, instead of failing at once"),
    ]
}

extension Key {
    func resetting(_ reset: @escaping @Sendable (_ target: inout Target) -> Void) -> Key {
        var key = self
        key.reset = reset
        return key
    }
}
