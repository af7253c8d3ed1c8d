import Exports
import Reporting
import SystemIO
import TransferModel

extension FlagTable {
    /// The flag that exports a format.
    static func name(of format: ReportFormat) -> FlagName {
        switch format {
        case .junit: .junit
        case .html: .html
        case .har: .har
        case .trace: .trace
        case .otlp: .otlp
        case .prometheus: .prometheus
        case .markdown: .markdown
        case .failed: .failedList
        }
    }
}

extension MeantArguments {
    /// Returns the paths of the formats that are exported.
    func exports() -> [ReportFormat: String] {
        var paths: [ReportFormat: String] = [:]
        for format in ReportFormat.allCases { paths[format] = value(FlagTable.name(of: format)) }
        return paths
    }
}

extension ExportSurroundings {
    init(_ environment: [String: String]) {
        self.init(traceParent: environment["TRACEPARENT"].flatMap { $0.isEmpty ? nil : $0 })
    }
}

extension CommandLineTool {
    /// `report convert`, `diff` and `merge`.
    static func report(
        _ typed: TypedArguments, _ environment: [String: String], _ console: Console
    ) throws(UsageError) -> Int32 {
        let verb = typed.operands[0]
        guard let verb = ReportVerb(rawValue: verb) else {
            throw UsageError("`transfer-run report` cannot `\(verb)`", hint: "it can `convert`, `diff` and `merge`")
        }
        try verb.check(typed)
        switch verb {
        case .convert: return try convert(typed, environment, console)
        case .diff: return try diff(typed, console)
        case .merge: return try merge(typed, console)
        }
    }

    private static func convert(
        _ typed: TypedArguments, _ environment: [String: String], _ console: Console
    ) throws(UsageError) -> Int32 {
        let requests = ExportRequest.list(try MeantArguments(typed, environment: environment).exports())
        let path = typed.operands[1]
        try WorkingFolder.check(path == "-" ? nil : path)
        guard !requests.isEmpty else {
            throw UsageError(
                "no format is asked for", hint: "name one and where it goes, such as `--junit junit.xml`")
        }
        try checkPlaces(requests, report: path)
        let problems: [OutputProblem]
        do throws(ReportProblem) {
            problems = try ReportConversion(requests, ExportSurroundings(environment)).perform(ReportFile.given(path))
        } catch {
            return console.failed(error, .invalidInput)
        }
        for problem in problems { console.errors("error: \(problem)\n") }
        return problems.isEmpty ? ExitStatus.succeeded.code : ExitStatus.runnerFailed.code
    }

    /// Rejects two formats for one file, and one that would replace the report.
    private static func checkPlaces(_ requests: [ExportRequest], report: String) throws(UsageError) {
        let standard = requests.filter { $0.path == "-" }
        if standard.count > 1 {
            throw UsageError(
                "\(standard[0].format.words) and \(standard[1].format.words) cannot both go to standard output")
        }
        var files = requests.filter { $0.path != "-" }.map { OutputFile(path: $0.path, what: $0.format.words) }
        if report != "-" { files.insert(OutputFile(path: report, what: "the report"), at: 0) }
        for file in files { try WorkingFolder.check(file.path) }
        do throws(OutputPlaces.Conflict) {
            try OutputPlaces.check(files)
        } catch {
            throw UsageError(error.message)
        }
    }
}
