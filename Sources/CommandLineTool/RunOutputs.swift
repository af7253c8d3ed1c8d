import CurlCore
import Reporting
import SystemIO
import TransferModel

/// Where a run's story goes: all places are proved before any work is done, so that no run ends without its report.
struct RunOutputs {
    private let report: JSONReport
    private let events: EventLines?
    private let progress: PlainProgress?
    private let reportPath: String?
    private let reportsToStandardOutput: Bool

    init(_ job: Job, _ options: RunOptions, _ environment: [String: String]) throws(OutputProblem) {
        report = JSONReport(
            job: job,
            runner: RunnerFacts(
                version: CommandLineTool.version, libcurl: CurlLibrary.version, pid: Surroundings.processID(),
                host: Terminal.hostName()))
        reportsToStandardOutput = options.report == .standardOutput
        reportPath = Self.reportPath(job, options)
        if let reportPath {
            try JSONReport.preflight(reportPath)
            report.spool(in: Folders.split(reportPath).folder)
        }
        events = try Self.eventSink(job, options).map { EventLines(job: job, sink: $0) }
        progress = Self.progress(job, options, environment)
    }

    private static func reportPath(_ job: Job, _ options: RunOptions) -> String? {
        switch options.report {
        case .none, .standardOutput: return nil
        case .path(let path): return path
        case .asJobSays:
            switch job.report.json {
            case .none: return nil
            case .path(let path): return path
            case .byDefault: return "\(stem(job.file)).report.json"
            }
        }
    }

    /// `jobs` of `ci/jobs.yaml`; `stdin` of `-`.
    private static func stem(_ file: String) -> String {
        if file == "-" { return "stdin" }
        let name = Folders.split(file).name
        guard let dot = name.lastIndex(of: "."), dot != name.startIndex else { return name }
        return String(name[..<dot])
    }

    private static func eventSink(_ job: Job, _ options: RunOptions) throws(OutputProblem) -> DescriptorSink? {
        switch options.events {
        case .standardOutput: return .standardOutput
        case .path(let path): return try DescriptorSink(creating: path)
        case .asJobSays:
            guard let path = job.report.events else { return nil }
            return try DescriptorSink(creating: path)
        }
    }

    private static func progress(_ job: Job, _ options: RunOptions, _ environment: [String: String]) -> PlainProgress? {
        guard options.progress != .none else { return nil }
        let amount: PlainProgress.Amount =
            switch options.amount {
            case .quiet: .quiet
            case .normal: .normal
            case .verbose: .verbose
            }
        let color = options.color.isOn(isTerminal: Terminal.isTerminal(2), environment: environment)
        return PlainProgress(
            job: job, sink: DescriptorSink.standardError,
            style: PlainProgress.Style(amount: amount, color: color, isGitHub: options.isGitHub))
    }

    /// Somebody listens to every event, not only to the end of a task.
    var tellEverything: Bool { events != nil }

    var consumers: [any EventConsumer] {
        var all: [any EventConsumer] = [report]
        if let events { all.append(events) }
        if let progress { all.append(progress) }
        return all
    }

    /// After the last event.
    func write() throws(OutputProblem) {
        if let problem = events?.problem { throw problem }
        if let reportPath { try report.write(to: reportPath) }
        guard reportsToStandardOutput else { return }
        do throws(OutputProblem) {
            try report.write(to: DescriptorSink.standardOutput)
        } catch {
            if !error.isBrokenPipe { throw error }
        }
    }
}
