/// A whole job: the content of one job file with every default filled in and every check passed.
package struct Job: Sendable {
    /// The job's `name`, or the file's stem (`stem(of:)`): shown in reports, and part of how its sessions' stores are named.
    package var name: String
    /// Whether the file itself says the name. If not, the job is identified by the file's path and not by its name.
    package var isNamed = false
    /// The job file as the user named it; `-` for standard input.
    package var file: String
    /// SHA-256 of the job file's bytes in hex, worked out on first use; `nil` where no report needs it.
    package var sha256: LateText?
    /// The absolute folder that relative paths start from.
    package var baseDirectory: String
    /// The job's variables as the report shows them, after `--set`.
    package var variables: [Variable] = []
    /// Every secret that was resolved: the redactor's patterns.
    package var secrets: [KnownSecret] = []
    /// Names whose values are masked wherever they are shown: the standard ones and those of the job's `redact`.
    package var credentialNames = CredentialNames.standard
    /// The job's sessions, by `SessionIndex`.
    package var sessions: [SessionConfiguration] = []
    /// Proxies named by the environment, for sessions that configure none.
    package var proxies = ProxyEnvironment()
    /// The job's tasks, by `TaskIndex`: in the order of the file, with `forEach` expanded.
    package var tasks: [TaskSpecification] = []
    /// Limits of the run over all sessions.
    package var limits = RunLimits()
    /// Whether the first failure cancels the other tasks.
    package var failFast = false
    /// What to do while another run of this job is under way.
    package var onOverlap = OverlapPolicy.fail
    /// The job's groups, by `GroupIndex`.
    package var groups: [GroupSpecification] = []
    /// Where the report and the events are written to.
    package var report = ReportPlan()
    /// The command and its arguments that run once after the report is written; `nil` for none.
    package var onFinish: [SecretText]?
    /// Files that the run itself is made of, reads, runs or writes beside its tasks' files, at absolute paths.
    package var reserved: [Reserved] = []
    /// Earlier answers to which the run holds its servers (`--locked`, `--plan`); `nil` for none.
    package var held: HeldAnswers?
    /// An operator's rules, which win over the job's (`--policy`); `nil` without any.
    package var policy: Policy?
    /// The job files that this run carries out together, in the order given; empty for a run of one file.
    package internal(set) var members: [Member] = []

    package init(name: String, file: String, baseDirectory: String) {
        self.name = name
        self.file = file
        self.baseDirectory = baseDirectory
    }

    /// Redacts what is shown of the job and of its runs. Files that are read back, locks and saved plans, mask the secrets
    /// alone.
    package var redactor: Redactor { Redactor(secrets, names: credentialNames) }

    /// A file that not every task may write over.
    package struct Reserved: Hashable, Sendable {
        /// Absolute path of the file.
        package let path: String
        /// What the file is to the job, for messages: "the job itself", "the file of secrets".
        package let what: String
        /// Whether a task may write it whose `to` names it: one task brings what another one sends or runs.
        package let mayBeNamed: Bool
        package init(path: String, what: String, mayBeNamed: Bool = false) {
            self.path = path
            self.what = what
            self.mayBeNamed = mayBeNamed
        }
    }

    /// A value under a name: a variable, a label or a captured value.
    package struct Variable: Hashable, Sendable {
        /// The name that the job file gives it.
        package let name: String
        /// The value with its YAML or JSON type.
        package let value: PlainValue
        package init(name: String, value: PlainValue) {
            self.name = name
            self.value = value
        }
    }
}

/// A value with one of the types of YAML and JSON. Numbers keep the text they were written in (`3.10` stays `3.10`).
package indirect enum PlainValue: Hashable, Sendable {
    case null
    case boolean(Bool)
    case number(String)
    case string(String)
    case list([PlainValue])
    /// Entries in the order they were written.
    case map([Entry])

    /// One key of a map with its value.
    package struct Entry: Hashable, Sendable {
        /// The key, as it was written.
        package let key: String
        /// The value under that key.
        package let value: PlainValue
        package init(key: String, value: PlainValue) {
            self.key = key
            self.value = value
        }
    }
}

/// `onOverlap`: while another run of the job is under way end with status 5, wait for its end, or do nothing and end
/// with 0.
package enum OverlapPolicy: String, CaseIterable, Sendable { case fail, wait, skip }

/// The job's `limits`: they hold for the run, over all sessions.
package struct RunLimits: Hashable, Sendable {
    /// Most tasks that run at a time.
    package var maximumConcurrentTasks = 64
    /// The numbers of concurrent tasks that a job, a session or a command may ask for.
    package static let concurrentTasks: ClosedRange<Int64> = 1...1_000_000
    /// Limit on body bytes a second, in both directions together; `nil` for none.
    package var bandwidth: Bandwidth?
    /// Time from the start of the run after which unfinished tasks are cancelled with `timedOut`; `nil` for none.
    package var timeout: TimeSpan?
    /// When the run stops cleanly with exit status 75, so that the next one continues; `nil` for never.
    package var finishBy: Moment?
    /// Bytes that downloads leave free on their filesystem; `nil` for no limit.
    package var minimumFreeDisk: Int64?
    /// Body bytes in both directions after which the run stops cleanly with exit status 75; `nil` for no limit.
    package var maximumBytes: Int64?
    /// Bytes that groups which were not published may keep for the next run; `nil` is 10 GiB.
    package var maximumStaged: Int64?
    /// When so many tasks have failed that the rest is cancelled; `nil` for never.
    package var stopWhen: StopRule?
    /// Limits per host, by pattern, in the order of the job file.
    package var hosts: [HostLimit] = []
    package init() {}

    /// The rule of `limits.stopWhen`, over the tasks that succeeded or failed. A tolerated failure is no failure.
    package struct StopRule: Hashable, Sendable {
        /// Per cent of these tasks that must have failed.
        package var failedPercent: Double
        /// How many of them there must be at least.
        package var atLeast: Int
        package init(failedPercent: Double, atLeast: Int) {
            self.failedPercent = failedPercent
            self.atLeast = atLeast
        }

        /// Whether the run is to stop when `failed` of the `ended` tasks have failed.
        package func isMet(failed: Int, ended: Int) -> Bool {
            ended >= atLeast && failed > 0 && Double(failed) * 100 >= failedPercent * Double(ended)
        }
    }

    /// Limits for each host that matches a pattern, over all sessions.
    package struct HostLimit: Hashable, Sendable {
        /// The hosts that are meant.
        package var pattern: HostPattern
        /// Most simultaneous connections to one of these hosts; `nil` for no limit.
        package var maximumConnections: Int?
        /// Limit on requests to one of these hosts; `nil` for none.
        package var requestsPerSecond: RequestRate?
        package init(pattern: HostPattern, maximumConnections: Int?, requestsPerSecond: RequestRate?) {
            self.pattern = pattern
            self.maximumConnections = maximumConnections
            self.requestsPerSecond = requestsPerSecond
        }
    }
}

/// A point in time: a span after the start of the run, or a date.
package enum Moment: Hashable, Sendable {
    case afterStart(TimeSpan)
    case at(WallTime)
}

/// `requestsPerSecond`: a limit on requests, evenly spaced or with a burst.
package struct RequestRate: Hashable, Sendable {
    /// Requests a second, in the mean.
    package var perSecond: Double
    /// Requests that may begin at once after a pause; 1 spaces them evenly.
    package var burst: Int
    package init(perSecond: Double, burst: Int = 1) {
        self.perSecond = perSecond
        self.burst = burst
    }
}

/// Downloads that are staged and verified together and published in one step, or not at all.
package struct GroupSpecification: Sendable {
    /// Whether files in the group's folder that no member names are kept or removed when the group is published.
    package enum Extraneous: String, CaseIterable, Sendable { case keep, remove }
    /// How many files one publication may remove: more than that, and the group is not published.
    package enum RemovalLimit: Hashable, Sendable {
        /// That many files.
        case count(Int)
        /// That many per cent of the files in the folder.
        case percent(Double)

        /// Whether `removed` of the folder's `total` files are too many.
        package func forbids(_ removed: Int, of total: Int) -> Bool {
            switch self {
            case .count(let most): removed > most
            case .percent(let most): Double(removed) * 100 > most * Double(total)
            }
        }
    }
    /// The group's name in the job file: a task's `group` names it.
    package var name: String
    /// Absolute path of the folder that is published.
    package var to: SecretText
    /// What happens to files that no member names.
    package var extraneous = Extraneous.keep
    /// How many files may be removed; `nil`: any number.
    package var maximumRemovals: RemovalLimit?
    /// Destinations of members that the job has and this run does not: paths as in `TaskSpecification.destination`.
    package var absent: [String?] = []
    package init(name: String, to: SecretText) {
        self.name = name
        self.to = to
    }
}

/// The job's `report`: where the report and the events are written to. Paths are absolute.
package struct ReportPlan: Hashable, Sendable {
    /// Where the JSON report is written to: `<stem>.report.json` in the working folder if the job names no path,
    /// nowhere for `report: none`, or the path that the job names.
    package enum JSONReport: Hashable, Sendable {
        case byDefault
        case none
        case path(String)
    }
    /// Where the report in JSON is written to.
    package var json = JSONReport.byDefault
    /// Where the events are written to, one JSON object a line; `nil` for nowhere.
    package var events: String?
    /// Paths of the reports in other formats.
    package var exports: [ReportFormat: String] = [:]
    package init() {}

    /// The path of the report in that format; `nil` where none is wanted.
    package subscript(format: ReportFormat) -> String? {
        get { exports[format] }
        set { exports[format] = newValue }
    }
}

/// A format other than JSON that a report can be written in. The raw value is the key below the job's `report`.
package enum ReportFormat: String, CaseIterable, Comparable, Sendable {
    case junit, html, har, trace, otlp, prometheus, markdown, failed

    /// The format's name in a sentence: "the JUnit report".
    package var words: String {
        switch self {
        case .junit: "the JUnit report"
        case .html: "the HTML report"
        case .har: "the HTTP archive"
        case .trace: "the trace"
        case .otlp: "the OTLP spans"
        case .prometheus: "the metrics"
        case .markdown: "the summary in Markdown"
        case .failed: "the list of failed tasks"
        }
    }

    /// Orders formats by their keys.
    package static func < (left: ReportFormat, right: ReportFormat) -> Bool { left.rawValue < right.rawValue }
}

extension GroupSpecification.RemovalLimit: CustomStringConvertible {
    /// As the job file writes it.
    package var description: String {
        switch self {
        case .count(let most): "\(most)"
        case .percent(let most): most == most.rounded() ? "\(Int(most))%" : "\(most)%"
        }
    }
}
