/// A whole job: what one file says, with every default filled in and every check passed.
package struct Job: Sendable {
    package var name: String
    /// Whether the file says the name; else it is the file's stem, by which nobody knows the job.
    package var isNamed = false
    /// The job file as the user named it; `-` for standard input.
    package var file: String
    /// Of the file's bytes, in hex; `nil` where nobody wants it. A run has begun before it is asked for.
    package var sha256: LateText?
    /// The absolute folder that relative paths start from.
    package var baseDirectory: String
    package var variables: [Variable] = []
    /// Every secret that was resolved: the redactor's patterns.
    package var secrets: [KnownSecret] = []
    package var sessions: [SessionConfiguration] = []
    /// What the environment says of proxies, for the sessions that say nothing.
    package var proxies = ProxyEnvironment()
    package var tasks: [TaskSpecification] = []
    package var limits = RunLimits()
    package var failFast = false
    package var onOverlap = OverlapPolicy.fail
    package var groups: [GroupSpecification] = []
    package var report = ReportPlan()
    package var onFinish: [SecretText]?
    /// What the run reads or writes at absolute paths beside what its tasks fetch and send.
    package var reserved: [Reserved] = []

    package init(name: String, file: String, baseDirectory: String) {
        self.name = name
        self.file = file
        self.baseDirectory = baseDirectory
    }

    package struct Reserved: Hashable, Sendable {
        package let path: String
        /// "the job itself"
        package let what: String
        package init(path: String, what: String) {
            self.path = path
            self.what = what
        }
    }

    package struct Variable: Hashable, Sendable {
        package let name: String
        package let value: PlainValue
        package init(name: String, value: PlainValue) {
            self.name = name
            self.value = value
        }
    }
}

/// A value as YAML or JSON knows it. Numbers keep the text they were written in (`3.10` stays `3.10`).
package indirect enum PlainValue: Hashable, Sendable {
    case null
    case boolean(Bool)
    case number(String)
    case string(String)
    case list([PlainValue])
    /// In the order it was written.
    case map([Entry])

    package struct Entry: Hashable, Sendable {
        package let key: String
        package let value: PlainValue
        package init(key: String, value: PlainValue) {
            self.key = key
            self.value = value
        }
    }
}

package enum OverlapPolicy: String, CaseIterable, Sendable { case fail, wait, skip }

/// `limits` at top level.
package struct RunLimits: Hashable, Sendable {
    package var maximumConcurrentTasks = 64
    /// What a job, a session or a command may say of that.
    package static let concurrentTasks: ClosedRange<Int64> = 1...1_000_000
    /// Over all sessions.
    package var bandwidth: Bandwidth?
    package var timeout: TimeSpan?
    package var finishBy: Moment?
    package var minimumFreeDisk: Int64?
    package var maximumBytes: Int64?
    /// What groups that are not published keep for the next run; `nil` is 10 GiB.
    package var maximumStaged: Int64?
    package var hosts: [HostLimit] = []
    package init() {}

    package struct HostLimit: Hashable, Sendable {
        package var pattern: HostPattern
        package var maximumConnections: Int?
        package var requestsPerSecond: RequestRate?
        package init(pattern: HostPattern, maximumConnections: Int?, requestsPerSecond: RequestRate?) {
            self.pattern = pattern
            self.maximumConnections = maximumConnections
            self.requestsPerSecond = requestsPerSecond
        }
    }
}

/// A time that is either so long after the start of the run, or a date.
package enum Moment: Hashable, Sendable {
    case afterStart(TimeSpan)
    case at(WallTime)
}

/// `requestsPerSecond`: evenly spaced, or with a burst.
package struct RequestRate: Hashable, Sendable {
    package var perSecond: Double
    package var burst: Int
    package init(perSecond: Double, burst: Int = 1) {
        self.perSecond = perSecond
        self.burst = burst
    }
}

package struct GroupSpecification: Sendable {
    package enum Extraneous: String, CaseIterable, Sendable { case keep, remove }
    package var name: String
    package var to: SecretText
    package var extraneous = Extraneous.keep
    /// What members write that are in the job and not in this run: paths as in `TaskSpecification.destination`.
    package var absent: [String?] = []
    package init(name: String, to: SecretText) {
        self.name = name
        self.to = to
    }
}

/// Where the run's story goes. Paths are absolute; `nil` means not wanted.
package struct ReportPlan: Hashable, Sendable {
    /// `json` not written at all means `<stem>.report.json` in the working folder; `report: none` means no file.
    package enum JSONReport: Hashable, Sendable {
        case byDefault
        case none
        case path(String)
    }
    package var json = JSONReport.byDefault
    package var events: String?
    /// Where the report is written to in other formats.
    package var exports: [ReportFormat: String] = [:]
    package init() {}

    package subscript(format: ReportFormat) -> String? {
        get { exports[format] }
        set { exports[format] = newValue }
    }
}

/// A format other than JSON that a report can be written in. The raw value is the key below the job's `report`.
package enum ReportFormat: String, CaseIterable, Comparable, Sendable {
    case junit, html, har, trace, otlp, prometheus, markdown, failed

    /// As a sentence names it: "the JUnit report".
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

    package static func < (left: ReportFormat, right: ReportFormat) -> Bool { left.rawValue < right.rawValue }
}
