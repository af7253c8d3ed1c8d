import BackgroundService
import CurlCore
import Exports
import Reporting
import Stores
import SystemIO
import TransferModel

/// The consumers and files of a run's events and report. All files are checked before any transfer, so that no run ends
/// without its report.
struct RunOutputs {
    private let report: JSONReport
    private let events: EventLines?
    private let progress: (any EventConsumer)?
    private let summary: GitHubSummary?
    private let reportPath: String?
    private let reportsToStandardOutput: Bool
    private let exports: [ExportRequest]
    private let surroundings: ExportSurroundings
    private let collector: SpanCollector?
    /// Whether the report is flushed to disk: then it is as durable as the tasks' files.
    private let isDurable: Bool

    /// `isOneOfSeveral`: whether another command may write the same events to the same file; that file is then complete
    /// without this one.
    init(
        _ job: Job, _ options: RunOptions, _ environment: [String: String], isOneOfSeveral: Bool = false
    ) throws(OutputProblem) {
        report = JSONReport(job: job, runner: RunnerFacts.here)
        reportsToStandardOutput = options.report == .standardOutput
        isDurable = job.sessions.contains { $0.durability == .flush }
        reportPath = Self.reportPath(job, options.report)
        exports = Self.exports(job, options)
        var surroundings = ExportSurroundings(environment)
        surroundings.keepFormer(of: exports)
        self.surroundings = surroundings
        collector = SpanCollector(environment)
        try OutputPlaces.check(Self.reserving(job, options, environment), Self.files(job, options))
        if let reportPath {
            do throws(OutputProblem) { try JSONReport.preflight(reportPath) } catch {
                throw error.hinting("`--report PATH` writes it elsewhere, `--no-report` writes none")
            }
            report.grow(at: reportPath)
        }
        for export in exports where export.path != "-" { try AtomicFile.preflight(export.path) }
        do throws(OutputProblem) {
            events = try Self.eventSink(job, options).map { EventLines(job: job, sink: $0) }
        } catch {
            guard isOneOfSeveral, error.isTaken else { throw error }
            events = nil
        }
        progress = Self.progress(job, options, environment, reportPath: reportPath)
        let step = options.isGitHub ? environment["GITHUB_STEP_SUMMARY"] ?? "" : ""
        summary = step.isEmpty ? nil : GitHubSummary(job: job, path: step)
    }

    /// The path of the JSON report; `nil` when it is not wanted, or not in a file.
    static func reportPath(_ job: Job, _ meant: RunOptions.Report = .asJobSays) -> String? {
        switch meant {
        case .none, .standardOutput: return nil
        case .path(let path): return path
        case .asJobSays:
            switch job.report.json {
            case .none: return nil
            case .path(let path): return path
            case .byDefault: return "\(Job.stem(of: job.files[0])).report.json"
            }
        }
    }

    /// The exports of a run: the command line takes precedence over the job.
    static func exports(_ job: Job, _ options: RunOptions?) -> [ExportRequest] {
        ExportRequest.list(job.report.exports.merging(options?.exports ?? [:]) { $1 })
    }

    /// Every file that the run itself writes; without options those of the job.
    static func files(_ job: Job, _ options: RunOptions? = nil) -> [OutputFile] {
        let events = eventsPath(job, options?.events ?? .asJobSays).map { OutputFile(path: $0, what: "the events") }
        let report = reportPath(job, options?.report ?? .asJobSays).map { OutputFile(path: $0, what: "the report") }
        let others = exports(job, options).filter { $0.path != "-" }
        return [events, report].compactMap(\.self) + others.map { OutputFile(path: $0.path, what: $0.format.words) }
    }

    /// The job with the run's own files reserved, so that no task may write them.
    static func reserving(_ job: Job, _ files: [OutputFile]) -> Job {
        var job = job
        for file in files { job.reserved.append(Job.Reserved(path: file.path, what: file.what)) }
        return job
    }

    static func reserving(_ job: Job, _ options: RunOptions, _ environment: [String: String]) -> Job {
        var job = reserving(job, files(job, options))
        let locks = [job.held?.file, CommandLineTool.lockPath(of: job)].compactMap(\.self)
        job.reserved += locks.map {
            Job.Reserved(path: absolute($0), what: "what the run is held to", mayBeNamed: true)
        }
        if let folder = try? StateFolder(options.stateDirectory, environment).state {
            // Only the databases are reserved: a state folder may also be the user's working folder.
            job.reserved += ["store.sqlite", "journal.sqlite"].flatMap { name in
                ["", "-wal", "-shm"].map {
                    Job.Reserved(path: "\(folder)/\(name)\($0)", what: "where runs keep what they remember")
                }
            }
        }
        return job
    }

    private static func eventSink(_ job: Job, _ options: RunOptions) throws(OutputProblem) -> DescriptorSink? {
        if options.events == .standardOutput { return .standardOutput }
        guard let path = eventsPath(job, options.events) else { return nil }
        return try DescriptorSink(creating: path)
    }

    /// The path of the events; `nil` when they are not wanted, or not in a file.
    static func eventsPath(_ job: Job, _ meant: RunOptions.Events = .asJobSays) -> String? {
        switch meant {
        case .standardOutput: nil
        case .path(let path): path
        case .asJobSays: job.report.events
        }
    }

    /// Whether a live part is drawn on the terminal.
    static func draws(_ options: RunOptions, _ environment: [String: String]) -> Bool {
        if case .quiet = options.amount { return false }
        return switch options.progress {
        case .auto: !options.isGitHub && LiveTerminal.isUsable(2, environment)
        case .bar: Terminal.isTerminal(2)
        case .plain, .none: false
        }
    }

    /// Number of tasks up to which each gets a line of its own, beside the live part.
    private static let fewTasks = 50

    /// The consumer of events that prints them; `nil` where nothing is to be printed.
    static func progress(
        _ job: Job, _ options: RunOptions, _ environment: [String: String], reportPath: String?
    ) -> (any EventConsumer)? {
        guard options.progress != .none else { return nil }
        let isWatched = Terminal.isTerminal(2)
        var style = PlainProgress.Style(
            color: options.color.isOn(isTerminal: isWatched, environment: environment), isGitHub: options.isGitHub,
            advice: options.advice, width: isWatched ? Terminal.width(2) : nil, report: reportPath,
            heartbeat: isWatched ? nil : .seconds(30))
        style.holdsSummary = reportPath != nil
        style.explainsUnchanged = options.exitUnchanged
        switch options.amount {
        case .quiet: style.amount = .quiet
        case .normal: style.amount = .normal
        case .verbose: style.amount = .verbose
        }
        guard draws(options, environment) else {
            return PlainProgress(job: job, sink: DescriptorSink.standardError, style: style)
        }
        style.isBrief = job.tasks.count > fewTasks
        return TerminalProgress(
            job: job, output: LiveTerminal.standardError, style: style,
            isUnicode: LiveTerminal.isUnicode(environment))
    }

    /// Whether a consumer needs every event, not only the ends of tasks.
    var tellEverything: Bool { events != nil }

    /// Whether a consumer needs events about the progress of bodies.
    var wantsProgress: Bool { tellEverything || progress is TerminalProgress }

    var consumers: [any EventConsumer] {
        var all: [any EventConsumer] = [report]
        if let events { all.append(events) }
        if let progress { all.append(SteadyTime(progress) { Clocks.now() }) }
        if let summary { all.append(summary) }
        return all
    }

    /// Notes the sessions that an earlier command had begun.
    func cameBack(to sessions: Set<SessionIndex>) { report.reassociated = sessions }

    func heard(_ hooks: [HookResult]) { report.hooks += hooks }

    /// Runs the `onFinish` of the job, or of each job that ran, once everything is written, and notes what came of it in
    /// the report and its other formats. Returns the exit status after it: a failed command turns 0 into 1.
    func runOnFinish(
        of job: Job, _ outcome: RunOutcome, _ status: Int32, _ console: Console
    ) throws(OutputProblem) -> Int32 {
        var status = status
        for job in job.finishing {
            let next = try runCommand(of: job, status == ExitStatus.failed.code ? .failed : outcome, status, console)
            status = next
        }
        return status
    }

    /// Returns the report's path for a command that runs in another folder.
    private static func absolute(_ path: String?) -> String {
        guard let path, path != "-", !path.hasPrefix("/"), let folder = try? Folders.working() else {
            return path ?? ""
        }
        return "\(folder == "/" ? "" : folder)/\(path)"
    }

    private func runCommand(
        of job: Job, _ outcome: RunOutcome, _ status: Int32, _ console: Console
    ) throws(OutputProblem) -> Int32 {
        guard let words = job.onFinish else { return status }
        var (outcome, status) = (outcome, status)
        let facts = FinishCommand.Facts(
            report: Self.absolute(reportPath), outcome: outcome, identifier: "",
            delivery: "\(String(UInt64.random(in: 1...UInt64.max), radix: 36)).\(Clocks.wall().nanoseconds)",
            ends: report.ends)
        let end = FinishCommand(words, in: job).run(facts) { bytes in
            (try? unsafe DescriptorSink.standardError.write(Array(bytes))) != nil
        }
        guard let end else { return status }
        if let warning = end.warning { console.errors(warning) }
        heard([end.result(in: job)])
        if end.exitStatus != 0, status == 0 {
            (outcome, status) = (.failed, ExitStatus.failed.code)
            correct((outcome, Int(status)))
        }
        try writeFiles()
        return status
    }

    /// Prints the summary, unless that was done.
    private func conclude(reportIsWritten: Bool) {
        (progress as? PlainProgress)?.conclude(reportIsWritten: reportIsWritten)
        (progress as? TerminalProgress)?.conclude(reportIsWritten: reportIsWritten)
    }

    /// Writes the report and its other formats that are files, anew.
    private func writeFiles() throws(OutputProblem) {
        if let reportPath { try report.write(to: reportPath, isDurable: isDurable) }
        let others = ReportExports(
            requests: exports.filter { $0.path != "-" }, surroundings: surroundings, isDurable: isDurable
        ).write(report, at: reportPath)
        if let problem = others.first { throw problem }
    }

    /// Notes the run's end after its last event: hooks that ran at the end may have failed.
    func correct(_ end: (outcome: RunOutcome, exitStatus: Int)) { report.correction = end }

    /// Writes all files after the last event. A failure of one does not affect the others.
    func write() throws(OutputProblem) {
        events?.finish()
        var problem = events?.problem
        if problem != nil { report.runnerFailed() }
        // The step's summary was not requested by name, so it cannot fail a run.
        do throws(OutputProblem) { try summary?.write() } catch {
            try? DescriptorSink.standardError.write(Array("warning: the step's summary: \(error)\n".utf8))
        }
        do throws(OutputProblem) {
            if let reportPath { try report.write(to: reportPath, isDurable: isDurable) }
            conclude(reportIsWritten: true)
            if reportsToStandardOutput {
                let output = DescriptorSink.standardOutput
                try report.write(to: output)
                try output.confirmWrites()
            }
        } catch {
            conclude(reportIsWritten: false)
            if !reportsToStandardOutput || !error.isBrokenPipe { problem = problem ?? error }
        }
        let others = ReportExports(requests: exports, surroundings: surroundings, isDurable: isDurable)
            .write(report, at: reportPath)
        if problem == nil { problem = others.first }
        for other in others where other != problem {
            try? DescriptorSink.standardError.write(Array("error: \(other)\n".utf8))
        }
        if let warning = collector?.send(report, at: reportPath, surroundings) {
            try? DescriptorSink.standardError.write(Array(warning.utf8))
        }
        if let problem { throw problem }
    }
}

extension RunnerFacts {
    /// The facts about this process.
    static var here: RunnerFacts {
        var facts = RunnerFacts(
            version: CommandLineTool.version, libcurl: LateText { CurlLibrary.version },
            pid: CurrentProcess.processID(), host: Terminal.hostName())
        facts.confined = Confinement.room.map { ($0.path, $0.missing.map(\.rawValue)) }
        return facts
    }
}
