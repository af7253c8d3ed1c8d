import TransferModel
import YAMLTree

/// The top level of a job while it is read. Parts that depend on others (sessions, tasks) are kept as nodes and read
/// later.
struct JobDraft: Blank, Sendable {
    var name: String?
    var variables: NodeID?
    var secrets: NodeID?
    var sessions: NodeID?
    var defaults: NodeID?
    var tasks: NodeID?
    var limits = RunLimits()
    var failFast = false
    var onOverlap = OverlapPolicy.fail
    var groups: [GroupSpecification] = []
    var report = ReportPlan()
    var onFinish: [SecretText]?
    var redact = RedactDraft()
    static var blank: JobDraft { JobDraft() }
}

/// `redact` while it is read.
struct RedactDraft: Blank, Sendable {
    var headers: [String] = []
    var query: [String] = []
    static var blank: RedactDraft { RedactDraft() }

    var names: CredentialNames {
        headers.isEmpty && query.isEmpty ? .standard : CredentialNames(addingHeaders: headers, query: query)
    }
}

extension RunLimits: Blank { static var blank: RunLimits { RunLimits() } }
extension ReportPlan: Blank { static var blank: ReportPlan { ReportPlan() } }

extension Sections {
    static let job = Section<JobDraft>(
        "job", in: "the job", title: "Top level",
        keys: [
            Key("version", over: \.self, .integer(1...1), default: "1", "the job language's version") {
                JobKeyReader(reader: $2).version($1)
            },
            .text(
                "name", \.name, default: "the file's name without `.yaml` or `.transfer.yaml`",
                "shown in reports; names the job and its sessions' stores"),
            node(
                "variables", \.variables, .map(.scalar), "none",
                "name → text, number or boolean; `--set name=value` overrides"),
            node(
                "secrets", \.secrets, .map(.object("secret")), "none",
                "name → where a secret comes from, and the only hosts it may be sent to"),
            node("sessions", \.sessions, .map(.object("session")), "one implicit `default` session", "name → session"),
            node("defaults", \.defaults, .object("defaults"), "none", "task keys that every task starts from"),
            node("tasks", \.tasks, .list(.object("task")), "required", "the tasks"),
            Key(
                "limits", \.limits, section: limits, default: "{ maximumConcurrentTasks: 64 }",
                "for the run, over all sessions"),
            .boolean("failFast", \.failFast, default: "false", "the first failure cancels the rest"),
            .choice(
                "onOverlap", \.onOverlap, default: "fail",
                """
                what to do while another run of this job is under way: `fail` (exit status 5), `wait` for its end, or \
                `skip` (do nothing, 0). A job is known by its `name` if written, else by its absolute path
                """),
            Key(
                "groups", \.groups, .map(.object("group")), default: "none",
                "name → downloads that are published together or not at all"
            ) {
                GroupReader(reader: $1).groups($0)
            },
            Key(
                "report", over: \.report, .either([.path, .object("report")]),
                default: "`<stem>.report.json` in the working folder", "a path, a map of paths, or `none` for no file"
            ) { JobKeyReader(reader: $2).report($1, into: &$0) },
            Key(
                "redact", \.redact, section: redact, default: "the names that mean credentials by themselves",
                "names whose values are masked wherever they are shown"),
            .command(
                "onFinish", \.onFinish, default: "none",
                """
                a command (no shell, at most 10 minutes, in the job's folder) run once after the report is written, with \
                `TRANSFER_RUN_HOOK_REPORT`, `…_HOOK_OUTCOME`, `…_HOOK_IDENTIFIER` and `…_HOOK_DELIVERY_ID` set; its \
                failure is reported and turns 0 into 1
                """),
        ],
        rules: [
            .always(.named(["variables", "secrets"], pattern: Names.pattern)),
            .always(.named(["groups"], pattern: TaskName.pattern)), .always(.filled(["sessions", "onFinish"])),
            .always(.matches("name", pattern: "[\\s\\S]")),
        ])

    private static func node(
        _ name: StaticString, _ path: @autoclosure @escaping PathTo<JobDraft, NodeID?>, _ shape: Shape,
        _ standard: String,
        _ meaning: String
    ) -> Key<JobDraft> {
        Key(name, path(), shape, default: standard, meaning) { node, _ in .some(node) }
    }

    static let redact = Section<RedactDraft>(
        "redact", in: "`redact`",
        """
        Values under these names, and under those that mean credentials by themselves (`Authorization`, `Cookie`, `X-Api-Key`, \
        `access_token`, `X-Amz-Signature`, …), are `***` in all that is shown. They are sent, cached and stored as they are.
        """,
        keys: [
            Key("headers", \.headers, .list(.text), default: "none", "names of headers") {
                HeaderReader(reader: $1).headerNames($0)
            },
            Key("query", \.query, .list(.text), default: "none", "names of query parameters") { node, reader in
                reader.elements(node, .list(.text)) { reader.text($0) }
            },
        ])

    static let secret = Section<SecretDraft>(
        "secret", in: "a secret", title: "`secrets`",
        "A secret comes from `--secrets-file`, then `$CREDENTIALS_DIRECTORY/NAME`, then from here, else the environment's `NAME`.",
        keys: [
            Key(
                "env", \.environment, .text, default: "the secret's name",
                "the variable of the environment that holds it"
            ) {
                $1.text($0).map { .some($0) }
            },
            .path("file", \.file, default: "none", "the file that holds it; one line break at its end is dropped"),
            .hosts("hosts", \.hosts, default: "any", "the only hosts it may be sent to"),
        ],
        rules: [.atMostOne(["env", "file"])])

    struct SecretDraft: Blank, Sendable {
        var environment: String?
        var file: String?
        var hosts: [HostPattern]?
        static var blank: SecretDraft { SecretDraft() }
    }

    static let limits = Section<RunLimits>(
        "limits", in: "`limits`", "For the run, over all sessions.",
        keys: [
            .integer(
                "maximumConcurrentTasks", \.maximumConcurrentTasks, RunLimits.concurrentTasks, default: "64",
                "running tasks"),
            .bandwidth(
                "bandwidth", \.bandwidth,
                "bytes a second of bodies, either way, always or by time of day; transfers then use HTTP/1.1"),
            Key(
                "timeout", \.timeout, .duration, default: "none",
                "then what is unfinished is cancelled (`timedOut`) and the run ends with 1"
            ) {
                $1.duration($0, positive: true).map { .some($0) }
            },
            Key(
                "finishBy", \.finishBy, .moment, default: "none",
                """
                then the run stops cleanly with 75. The next one fetches no download again that is there, and sends \
                uploads and requests again; `rerun REPORT` does only what is left
                """
            ) {
                TimeReader(reader: $1).moment($0).map { .some($0) }
            },
            .size(
                "minimumFreeDisk", \.minimumFreeDisk, default: "none",
                "what downloads leave free on their disk; one without a known length ends when that is reached"),
            .size(
                "maximumBytes", \.maximumBytes, default: "none",
                "bytes of bodies and of what frames them, either way, after which the run stops cleanly with 75; a body that cannot go on where it is cut begins only if all of it fits"
            ),
            .size(
                "maximumStaged", \.maximumStaged, default: "10GiB",
                "what groups that failed or were stopped keep for the next run, for up to seven days"),
            Key(
                "stopWhen", \.stopWhen, .object("stopWhen"), default: "none",
                "when so many tasks have failed that the rest is cancelled and the run ends with 1"
            ) { LimitReader(reader: $1).stopRule($0).map { .some($0) } },
            Key(
                "hosts", \.hosts, .map(.object("hostLimit")), default: "none",
                "host pattern → limits for each host that matches, over all sessions"
            ) {
                LimitReader(reader: $1).hostLimits($0)
            },
        ])

    static let stopWhen = Section<StopRuleDraft>(
        "stopWhen", in: "`stopWhen`", title: "`limits.stopWhen`",
        """
        Stops a run in which nearly everything fails. Of the tasks that succeeded or failed so far there must be at least so \
        many, and of these at least this share failed. A failure that `allowFailure` tolerates is none; skipped, cancelled and \
        deferred tasks count for nothing.
        """,
        keys: [
            Key("failed", \.failed, failureShape, default: "required", "the share that failed") {
                LimitReader(reader: $1).failureShare($0)
            },
            .integer("atLeast", \.atLeast, 1...1_000_000, default: "20", "so many must have succeeded or failed"),
        ])

    /// `80%`: a share of a whole, and not nothing.
    static let failureShape = Shape.pattern(
        "^(100|(?!0{1,2}(\\.0+)?%)[0-9]{1,2}(\\.[0-9]+)?)%$", words: "a share above `0%` and up to `100%`")

    struct StopRuleDraft: Blank, Sendable {
        var failed = 0.0
        var atLeast = 20
        static var blank: StopRuleDraft { StopRuleDraft() }
    }

    static let hostLimit = Section<HostLimitDraft>(
        "hostLimit", in: "a host's limits", title: "`limits.hosts`",
        keys: [
            .integer(
                "maximumConnections", \.maximumConnections, 1...10_000, default: "none", "simultaneous connections"),
            Key(
                "requestsPerSecond", \.rate, .either([.number(0.001...1_000_000), .object("requestRate")]),
                default: "none", "requests a second"
            ) {
                LimitReader(reader: $1).requestRate($0).map { .some($0) }
            },
        ])

    struct HostLimitDraft: Blank, Sendable {
        var maximumConnections: Int?
        var rate: RequestRate?
        static var blank: HostLimitDraft { HostLimitDraft() }
    }

    static let group = Section<GroupDraft>(
        "group", in: "a group", title: "`groups`",
        """
        Downloads whose `group` names it are staged and verified together and published in one step, or not at all. A \
        `to` that is a symlink is switched, a folder exchanged. Only members write in that folder: another task whose path \
        leads there, by whatever link or name, fails. A group that is not published keeps its verified members for the next \
        run (docs/scheduling.md).
        """,
        keys: [
            Key("to", \.to, .path, default: "required", "the folder") { $1.pathText($0).map { .some($0) } },
            .choice("publish", \.publish, default: "atomic", "in one step"),
            .choice(
                "extraneous", \.extraneous, default: "keep",
                """
                what happens to files that no member names; with `remove` the run ends before it begins if the job, its \
                secrets, its report, its state or what a task sends lies there
                """),
            Key(
                "maximumRemovals", \.maximumRemovals, .either([.integer(0...1_000_000_000), percentShape]),
                default: "none",
                """
                with `extraneous: remove`: the most files that one publication may remove, a number or a share of the files \
                in the folder (`10%`); a group that would remove more is not published and fails
                """
            ) {
                GroupReader(reader: $1).removalLimit($0).map { .some($0) }
            },
        ])

    /// `80%`: a share of a whole.
    static let percentShape = Shape.pattern(
        "^(100|[0-9]{1,2}(\\.[0-9]+)?)%$", words: "a share from `0%` to `100%`")

    struct GroupDraft: Blank, Sendable {
        enum Publish: String, CaseIterable, Sendable { case atomic }
        var to: SecretText?
        var publish = Publish.atomic
        var extraneous = GroupSpecification.Extraneous.keep
        var maximumRemovals: GroupSpecification.RemovalLimit?
        static var blank: GroupDraft { GroupDraft() }
    }

    static let report = Section<ReportPlan>(
        "report", in: "`report`",
        "Each is a path; relative ones start at the working folder, and missing folders are made.",
        keys: [
            Key("json", \.json, .path, default: "`<stem>.report.json`", "the report; `none` for no file") {
                node, reader in
                if reader.tree.isWord(node, "none") { return ReportPlan.JSONReport.none }
                return JobKeyReader(reader: reader).outputPath(node).map { .path($0) }
            },
            output("events", \.events, "one JSON object a line, as things happen"),
            output("junit", .junit, "JUnit XML: a suite for each session, a case for each task"),
            output("html", .html, "a page for people"),
            output("har", .har, "an HTTP archive (HAR 1.2): each request with its times"),
            output("trace", .trace, "a trace for Perfetto; packed where the path ends in `.gz`"),
            output("otlp", .otlp, "spans in OTLP's JSON, for OpenTelemetry"),
            output("prometheus", .prometheus, "metrics for the textfile collector of Prometheus"),
            output("markdown", .markdown, "a summary in Markdown"),
            output("failed", .failed, "one JSON object a line for each task that did not succeed"),
        ],
        rules: (["json", "events"] + ReportFormat.allCases.map(\.rawValue)).map {
            .always(.differs($0, from: ["-", ""]))
        })

    private static func output(
        _ name: StaticString, _ format: ReportFormat, _ meaning: String
    ) -> Key<ReportPlan> {
        output(name, \.[format], meaning)
    }

    private static func output(
        _ name: StaticString, _ path: @autoclosure @escaping PathTo<ReportPlan, String?>, _ meaning: String
    ) -> Key<ReportPlan> {
        Key(name, path(), .path, default: "none", meaning) { node, reader in
            if reader.tree.isWord(node, "none") { return .some(nil) }
            return JobKeyReader(reader: reader).outputPath(node).map { .some($0) }
        }
    }
}
