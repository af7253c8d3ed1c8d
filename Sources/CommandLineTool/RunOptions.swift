package import Reporting
package import TransferModel

/// Which job, and what it is given from outside: what `run` and `check` have in common.
package struct JobArguments: Sendable {
    /// Paths as typed; `-` is standard input.
    package var jobs: [String]
    package var variables: [(name: String, value: String)]
    package var variablesFile: String?
    package var secretsFile: String?
    package var directory: String?

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
    }

    private static func variable(_ text: String) throws(UsageError) -> (name: String, value: String) {
        guard let equals = text.firstIndex(of: "="), equals > text.startIndex else {
            throw UsageError("`--set \(text)` gives no variable a value", hint: "write `--set NAME=VALUE`")
        }
        return (String(text[..<equals]), String(text[text.index(after: equals)...]))
    }
}

package enum ColorChoice: String, CaseIterable, Sendable {
    case auto, always, never

    /// `NO_COLOR`, `FORCE_COLOR` and `TERM=dumb` speak where nothing was typed.
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

/// A run as it is meant.
package struct RunOptions: Sendable {
    package enum Report: Hashable, Sendable {
        /// As the job says, or its default.
        case asJobSays
        case none
        case standardOutput
        case path(String)
    }
    package enum Events: Hashable, Sendable {
        case asJobSays
        case standardOutput
        case path(String)
    }
    package enum Progress: String, CaseIterable, Sendable { case auto, bar, plain, none }
    package enum Amount: Sendable { case quiet, normal, verbose }

    package var arguments: JobArguments
    package var report: Report
    package var events: Events
    /// Formats that the command line or the environment asks for; `-` is standard output.
    package var exports: [ReportFormat: String]
    package var only: [String]
    package var except: [String]
    package var maximumConcurrentTasks: Int?
    /// Bytes a second.
    package var bandwidth: Int64?
    package var failFast: Bool
    package var noWait: Bool
    /// Hand over and return.
    package var detach: Bool
    package var newRun: Bool
    package var exitUnchanged: Bool
    package var network: DictatedNetwork?
    /// As it was typed.
    package var networkText: String?
    package var stateDirectory: String?
    package var progress: Progress
    package var color: ColorChoice
    package var amount: Amount
    /// Failures are to be annotations in a GitHub log.
    package var isGitHub: Bool
    /// What the first word may have been meant to be, told when there is no such job file.
    package var resembledCommand: String?
    /// How a part of this run would be asked for again.
    package var advice: RerunAdvice

    package init(_ typed: TypedArguments, environment: [String: String]) throws(UsageError) {
        let meant = try MeantArguments(typed, environment: environment)
        arguments = try JobArguments(typed, meant)
        advice = RerunAdvice(typed: typed.values)
        report = Self.report(meant)
        events = meant.value(.events).map { $0 == "-" ? .standardOutput : .path($0) } ?? .asJobSays
        exports = meant.exports()
        only = meant.list(.only)
        except = meant.list(.except)
        maximumConcurrentTasks = try meant.count(.maxConcurrent, RunLimits.concurrentTasks)
        bandwidth = try meant.rate(.bandwidth)
        failFast = meant.isSet(.failFast)
        noWait = meant.isSet(.noWait)
        detach = meant.isSet(.detach)
        newRun = meant.isSet(.newRun)
        exitUnchanged = meant.isSet(.exitUnchanged)
        network = try meant.network()
        networkText = meant.value(.network)
        stateDirectory = meant.value(.stateDir)
        progress = meant.value(.progress).flatMap { Progress(rawValue: $0) } ?? .auto
        color = meant.value(.color).flatMap { ColorChoice(rawValue: $0) } ?? .auto
        amount =
            switch meant.one(of: [.quiet, .verbose]) {
            case .quiet: .quiet
            case .verbose: .verbose
            default: .normal
            }
        isGitHub = environment["GITHUB_ACTIONS"] == "true"
        resembledCommand = typed.resembledCommand
        try checkStandardOutput()
    }

    /// Standard output takes one thing.
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

/// A check as it is meant.
package struct CheckOptions: Sendable {
    package enum Format: String, CaseIterable, Sendable { case text, json, github }

    package var arguments: JobArguments
    package var format: Format
    package var color: ColorChoice
    /// Tell all that the job may do, and where it says so.
    package var explainsAccess: Bool
    package var resembledCommand: String?

    package init(_ typed: TypedArguments, environment: [String: String]) throws(UsageError) {
        let meant = try MeantArguments(typed, environment: environment)
        arguments = try JobArguments(typed, meant)
        explainsAccess = meant.isSet(.explainAccess)
        format = meant.value(.format).flatMap { Format(rawValue: $0) } ?? .text
        color = meant.value(.color).flatMap { ColorChoice(rawValue: $0) } ?? .auto
        resembledCommand = typed.resembledCommand
    }
}
