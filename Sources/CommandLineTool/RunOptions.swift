package import JobLoader
package import Reporting
package import TransferModel

/// Which job, and its inputs from the command line: the common options of `run` and `check`.
package struct JobArguments: Sendable {
    /// Paths of the job files as typed; `-` is standard input.
    package var jobs: [String]
    /// Variables set on the command line, in order.
    package var variables: [(name: String, value: String)]
    /// Path of the YAML map of variables, if any.
    package var variablesFile: String?
    /// Path of the file of secrets, if any.
    package var secretsFile: String?
    /// Folder that relative paths start from; `nil` for the job file's.
    package var directory: String?
    /// What `--confine` says; `nil` for a job that is trusted.
    package var confine: Confine?
    /// What `--policy` says; `nil` without any. Read with the command line, before a job is confined.
    package var policy: LoadedPolicy?

    init(_ typed: TypedArguments, _ meant: MeantArguments) throws(UsageError) {
        jobs = typed.operands
        if jobs.filter({ $0 == "-" }).count > 1 {
            throw UsageError("standard input can be read once only: `-` is there twice")
        }
        variables = []
        for assignment in meant.list(.set) { variables.append(try Self.variable(assignment)) }
        variablesFile = meant.value(.variablesFile)
        secretsFile = meant.value(.secretsFile)
        directory = meant.value(.directory)
        confine = try Confine(meant)
        policy = try meant.policy()
    }

    private static func variable(_ text: String) throws(UsageError) -> (name: String, value: String) {
        guard let equals = text.firstIndex(of: "="), equals > text.startIndex else {
            throw UsageError("`--set \(text)` gives no variable a value", hint: "write `--set NAME=VALUE`")
        }
        return (String(text[..<equals]), String(text[text.index(after: equals)...]))
    }
}

/// When output is coloured.
package enum ColorChoice: String, CaseIterable, Sendable {
    case auto, always, never

    /// Whether to colour output; `NO_COLOR`, `FORCE_COLOR` and `TERM=dumb` decide for `auto`.
    package func isOn(isTerminal: Bool, environment: [String: String]) -> Bool {
        switch self {
        case .always: true
        case .never: false
        case .auto:
            (environment["NO_COLOR"] ?? "").isEmpty
                && (Self.isForced(environment) || isTerminal && environment["TERM"] != "dumb")
        }
    }
}

extension ColorChoice {
    private static func isForced(_ environment: [String: String]) -> Bool {
        environment["FORCE_COLOR"].map { !$0.isEmpty && $0 != "0" && $0 != "false" } ?? false
    }
}

/// The options of a run.
package struct RunOptions: Sendable {
    /// Where the JSON report goes.
    package enum Report: Hashable, Sendable {
        /// As the job says, or its default.
        case asJobSays
        /// Nowhere.
        case none
        /// To standard output.
        case standardOutput
        /// To this file.
        case path(String)
    }
    /// Where the events go.
    package enum Events: Hashable, Sendable {
        /// As the job says.
        case asJobSays
        /// To standard output.
        case standardOutput
        /// To this file.
        case path(String)
    }
    /// How progress is shown.
    package enum Progress: String, CaseIterable, Sendable { case auto, bar, plain, none }
    /// How much is printed.
    package enum Amount: Sendable { case quiet, normal, verbose }

    /// The job and its inputs.
    package var arguments: JobArguments
    /// Where the JSON report goes.
    package var report: Report
    /// Where the events go.
    package var events: Events
    /// Paths of the formats that the command line or the environment exports; `-` is standard output.
    package var exports: [ReportFormat: String]
    /// The tasks that the run is limited to, by `--only`, `--except` or the command `rerun`.
    package var selection: TaskSelection
    /// Number of tasks at a time, over the job's limit; `nil` keeps that.
    package var maximumConcurrentTasks: Int?
    /// Bytes a second, over the job's bandwidth; `nil` keeps that.
    package var bandwidth: Int64?
    /// Whether the first failure cancels the rest.
    package var failFast: Bool
    /// Whether tasks that would wait are put off to the next run.
    package var noWait: Bool
    /// Whether the command hands background sessions over and returns.
    package var detach: Bool
    /// Whether an earlier run of a background session is not continued.
    package var newRun: Bool
    /// Whether a run without changes ends with 9.
    package var exitUnchanged: Bool
    /// Path of `--plan`: what servers said earlier; `nil` if the run is not held to it.
    package var plan: String?
    /// Whether the run is held to the job's lock.
    package var locked: Bool
    /// The network of `--network`, if any.
    package var network: DictatedNetwork?
    /// The value of `--network` as typed.
    package var networkText: String?
    /// Folder of `--state-dir`; `nil` for the default.
    package var stateDirectory: String?
    /// How progress is shown.
    package var progress: Progress
    /// When output is coloured.
    package var color: ColorChoice
    /// How much is printed.
    package var amount: Amount
    /// Whether failures are annotations in a GitHub log.
    package var isGitHub: Bool
    /// Addresses of `--allow-address`, to which a confined job may connect although they are not public.
    package var allowedAddresses: [AddressRange] = []
    /// Ids of downloads that are fetched whole, whatever is there; empty for what the job says.
    package var replaced: Set<String> = []
    /// The options for a command that runs a part of this run again.
    package var advice: RerunAdvice

    package init(_ typed: TypedArguments, environment: [String: String]) throws(UsageError) {
        let meant = try MeantArguments(typed, environment: environment)
        arguments = try JobArguments(typed, meant)
        advice = RerunAdvice(typed: typed.values)
        report = Self.report(meant)
        events = meant.value(.events).map { $0 == "-" ? .standardOutput : .path($0) } ?? .asJobSays
        exports = meant.exports()
        selection = TaskSelection(only: meant.list(.only), except: meant.list(.except))
        maximumConcurrentTasks = try meant.count(.maxConcurrent, RunLimits.concurrentTasks)
        bandwidth = try meant.rate(.bandwidth)
        failFast = meant.isSet(.failFast)
        noWait = meant.isSet(.noWait)
        detach = meant.isSet(.detach)
        newRun = meant.isSet(.newRun)
        exitUnchanged = meant.isSet(.exitUnchanged)
        plan = meant.value(.plan)
        locked = meant.isSet(.locked)
        if locked, plan != nil {
            throw UsageError("`--locked` and `--plan` both say what the servers must have", hint: "give one of them")
        }
        network = try meant.network()
        networkText = meant.value(.network)
        stateDirectory = meant.value(.stateDir) ?? arguments.confine?.stateDirectory(environment)
        allowedAddresses = try meant.allowedAddresses()
        progress = meant.value(.progress).flatMap { Progress(rawValue: $0) } ?? .auto
        color = meant.value(.color).flatMap { ColorChoice(rawValue: $0) } ?? .auto
        amount =
            switch meant.one(of: [.quiet, .verbose]) {
            case .quiet: .quiet
            case .verbose: .verbose
            default: .normal
            }
        isGitHub = environment["GITHUB_ACTIONS"] == "true"
        try checkStandardOutput()
    }

    /// Rejects two outputs to standard output.
    private func checkStandardOutput() throws(UsageError) {
        let taken =
            [report == .standardOutput ? "report" : nil, events == .standardOutput ? "events" : nil]
            .compactMap(\.self) + ReportFormat.allCases.filter { exports[$0] == "-" }.map(\.words)
        guard taken.count > 1 else { return }
        throw UsageError("\(taken[0]) and \(taken[1]) cannot both go to standard output")
    }

    private static func report(_ meant: MeantArguments) -> Report {
        switch meant.one(of: [.noReport, .report]) {
        case .noReport: .none
        case .report: meant.value(.report).map { $0 == "-" ? .standardOutput : .path($0) } ?? .asJobSays
        default: .asJobSays
        }
    }
}

/// The options of a check.
package struct CheckOptions: Sendable {
    /// The formats of diagnostics.
    package enum Format: String, CaseIterable, Sendable { case text, json, github }

    /// The jobs and their inputs.
    package var arguments: JobArguments
    /// Format of the diagnostics.
    package var format: Format
    /// When output is coloured.
    package var color: ColorChoice
    /// Whether everything that the job may do is listed with its lines.
    package var explainsAccess: Bool

    package init(_ typed: TypedArguments, environment: [String: String]) throws(UsageError) {
        let meant = try MeantArguments(typed, environment: environment)
        arguments = try JobArguments(typed, meant)
        explainsAccess = meant.isSet(.explainAccess)
        format = meant.value(.format).flatMap { Format(rawValue: $0) } ?? .text
        color = meant.value(.color).flatMap { ColorChoice(rawValue: $0) } ?? .auto
    }
}
