package import Diagnostics
import HTTPRules
package import TransferModel
import YAMLTree

/// A policy with the file that it was read from.
package struct LoadedPolicy: Sendable {
    /// The rules.
    package let rules: Policy
    /// The file: another process reads the same of it.
    package let source: SourceText
}

/// Reads the file of `--policy`, with the checks and messages of a job file.
package enum PolicyLoader {
    /// Reads the file. `policy` is `nil` if there are errors; a file without rules is one of them, since whoever names it
    /// wants to forbid something.
    package static func load(_ source: SourceText) -> (policy: LoadedPolicy?, diagnostics: DiagnosticList) {
        var parsed = DiagnosticList()
        guard let reader = Reader(ofNoJob: source, &parsed) else { return (nil, parsed) }
        guard let root = reader.tree.root, !reader.tree.isNull(root) else {
            reader.problems.error(
                "empty-file", "the policy is empty, and allows everything",
                hint: "such as `hosts: { allow: [example.org] }`",
                at: SourceSpan(line: 1, column: 1), in: source)
            return (nil, reader.problems.list)
        }
        var policy = Policy()
        Sections.policy.decode(root, into: &policy, reader)
        reader.refuseEmptyRules(root)
        let problems = reader.problems.list
        return (problems.hasErrors ? nil : LoadedPolicy(rules: policy, source: source), problems)
    }
}

extension Policy: Blank { package static var blank: Policy { Policy() } }
extension Policy.Limits: Blank { package static var blank: Policy.Limits { Policy.Limits() } }
extension HostRules: Blank { package static var blank: HostRules { HostRules() } }

/// The sections of a policy, which is no job file: they are described in docs/policy.md.
extension Sections {
    /// The whole file.
    static let policy = Section<Policy>(
        "policy", in: "a policy", title: "The file",
        """
        A rule that is not written forbids nothing. The stricter of the job and the policy counts, whatever the command line \
        says. An unknown key is an error.
        """,
        keys: [
            Key("version", over: \.self, .integer(1...1), default: "1", "the version of these rules") {
                _ = $2.integer($1, 1...1)
            },
            Key("hosts", \.hosts, section: policyHosts, default: "all", "the hosts that requests may go to"),
            Key(
                "addresses", \.addresses, section: policyAddresses, default: "all are connected to",
                "the addresses that connections may be made to, as in a session's `addresses`"),
            Key(
                "rewrite", \.rewrite, .list(.object("rewrite")), default: "none",
                """
                changes the URLs that the job writes, those that captured values complete, redirects and next pages; rules \
                as in `redirects.rewrite`, which come after these
                """
            ) { $1.rewrites($0) },
            Key(
                "tls", over: \.self, .object("policyTLS"), default: "as the job says",
                "how connections must be made safe"
            ) { policyTLS.decode($1, into: &$0, $2) },
            Key("limits", \.limits, section: policyLimits, default: "as the job says", "the most of a run"),
            Key(
                "commands", \.commands, .boolean, default: "true",
                """
                `false` refuses a job that runs commands: bodies that a command writes, `onFinish`, `helper` and \
                `protocols`
                """
            ) { $1.rule($0, $1.boolean($0)) },
        ])

    /// The hosts that requests may go to.
    static let policyHosts = Section<HostRules>(
        "policyHosts", in: "`hosts`", title: "`hosts`",
        """
        Asked for each request before it is sent: the URLs of tasks, redirects, next pages, the places of uploads, checksum \
        files, token servers, and where `connectTo` or a proxy leads in their stead. A host that stands in the job is refused \
        when the job is read.
        """,
        keys: [
            Key("allow", \.allow, .list(.hostPattern), default: "any", "the only hosts") {
                $1.rule($0, $1.hostPatterns($0))
            },
            Key(
                "deny", \.deny, .list(.hostPattern), default: "none",
                "hosts that are refused although `allow` names them"
            ) { node, reader in
                reader.elements(node, .list(.hostPattern)) { reader.rule($0, reader.hostPattern($0)) ?? nil }
            },
        ])

    /// The addresses that connections may be made to.
    static let policyAddresses = Section<AddressRules>(
        "policyAddresses", in: "`addresses`", title: "`addresses`",
        "What decides is the address that is connected to (docs/security.md).",
        keys: [
            Key(
                "deny", \.deny, .list(addressesShape), default: "none",
                "classes of addresses, and ranges, that are refused"
            ) { RoutingReader(reader: $1).denials($0) },
            Key(
                "allow", \.allow, .list(addressesShape), default: "none",
                "ranges and classes that are not refused after all"
            ) { RoutingReader(reader: $1).addresses($0)?.map(\.entry) },
        ])

    /// What connections must be.
    static let policyTLS = Section<Policy>(
        "policyTLS", in: "`tls`", title: "`tls`",
        keys: [
            Key(
                "minimum", \.minimumTLS, .choice(TLSVersion.allCases.map(\.rawValue)), default: "as the job says",
                "no lower version is spoken"
            ) { $1.rule($0, $1.choice($0, as: TLSVersion.self)) },
            Key(
                "insecure", \.insecure, .boolean, default: "true",
                "`false` refuses a job with `tls.trust.policy: insecure`, which checks no certificates"
            ) { $1.rule($0, $1.boolean($0)) },
        ])

    /// The most of a run.
    static let policyLimits = Section<Policy.Limits>(
        "policyLimits", in: "`limits`", title: "`limits`",
        "Over all sessions of a run. A lower limit of the job stays.",
        keys: [
            Key("tasks", \.tasks, .integer(policyCounts), default: "none", "tasks, with those that `forEach` makes") {
                $1.rule($0, $1.integer($0, policyCounts).map { Int($0) })
            },
            Key("bytes", \.bytes, .size, default: "none", "bytes of bodies, either way; the rest is cancelled then") {
                $1.rule($0, $1.size($0))
            },
            Key("time", \.time, .duration, default: "none", "time from the start; the rest is cancelled then") {
                $1.rule($0, $1.duration($0, positive: true))
            },
            Key(
                "maximumConcurrentTasks", \.maximumConcurrentTasks, .integer(RunLimits.concurrentTasks),
                default: "none",
                "running tasks"
            ) { $1.rule($0, $1.integer($0, RunLimits.concurrentTasks).map { Int($0) }) },
            Key(
                "maximumConnectionsPerHost", \.maximumConnectionsPerHost, .integer(connectionCounts), default: "none",
                "simultaneous connections to a host"
            ) { $1.rule($0, $1.integer($0, connectionCounts).map { Int($0) }) },
            Key(
                "requestsPerSecond", \.requestsPerSecond,
                .either([.number(0.001...1_000_000), .object("requestRate")]),
                default: "none", "requests to a host in a second"
            ) { $1.rule($0, LimitReader(reader: $1).requestRate($0)) },
            Key("bandwidth", \.bandwidth, .rate, default: "none", "bytes a second of bodies, either way") {
                $1.rule($0, $1.rate($0))
            },
        ])

    /// Numbers of tasks that a run may be bounded to.
    private static let policyCounts: ClosedRange<Int64> = 1...10_000_000
}

extension Reader {
    /// A rule with its place, of a value that could be read.
    fileprivate func rule<Value>(_ node: NodeID, _ value: Value?) -> Policy.Rule<Value>?? {
        value.map { .some(Policy.Rule($0, place: "\(source.name):\(tree.span(node).line)")) }
    }

    /// Refuses rules without a value: who wrote the key wanted to forbid something, and it would forbid nothing.
    fileprivate func refuseEmptyRules(_ map: NodeID) {
        guard tree.kind(map) == .mapping else { return }
        for (key, value) in tree.entries(map) {
            if tree.isNull(value) {
                error(
                    "empty-rule", "`\(tree.text(key))` has no value", hint: "leave the key out if nothing is meant", key
                )
            }
            refuseEmptyRules(value)
        }
    }

    /// Reads a list of rules that change URLs.
    func rewrites(_ node: NodeID) -> [RedirectPolicy.Rewrite]? {
        let drafts = maps(node, Sections.rewrite, .blank)
        let rules = drafts?.map { RedirectPolicy.Rewrite(match: $0.match, to: $0.to) }
        for (rule, place) in zip(rules ?? [], tree.children(node)) {
            guard let missing = RedirectRewrites.missingGroup(rule) else { continue }
            error(
                "invalid-value", "`to` names the group `$\(missing.group)`, and `match` has \(missing.of)",
                hint: "groups are counted by their opening parentheses, from `$1`", at: beginning(place))
        }
        return rules
    }
}
