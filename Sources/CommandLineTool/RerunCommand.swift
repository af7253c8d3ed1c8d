import Diagnostics
import Exports
import JobLoader
import Reporting
import SystemIO
import TransferModel

/// Which tasks of a report `rerun` chooses. Several kinds add up.
struct RerunChoice {
    /// Tasks that did not succeed, without the failures that `allowFailure` lets pass.
    var failed = false
    /// Tasks whose file changed.
    var changed = false
    /// Every task.
    var all = false
    /// Ids of single tasks.
    var ids: Set<String> = []

    init(_ meant: MeantArguments) {
        ids = Set(meant.list(.task))
        changed = meant.isSet(.changed)
        all = meant.isSet(.all)
        failed = meant.isSet(.failed) || (ids.isEmpty && !changed && !all)
    }

    init(ids: Set<String>) { self.ids = ids }

    func takes(_ task: ReportedTask) -> Bool {
        all || ids.contains(task.id) || changed && task.changed == true
            || failed && task.outcome != .succeeded && !task.tolerated && !task.isPassedOver
    }

    /// The choice in a sentence: "3 of 120 tasks …".
    var words: String {
        if all { return "of the report" }
        if !failed, !changed { return "that `--task` names" }
        return [
            failed ? "that did not succeed" : nil, changed ? "whose file changed" : nil, ids.isEmpty ? nil : "named",
        ]
        .compactMap(\.self).joined(separator: " or ")
    }
}

/// What `rerun` reads of a report.
struct RerunReport {
    let path: String
    let job: ReportHead.Job
    /// Ids of the chosen tasks, in the order of the report.
    private(set) var chosen: [String] = []
    /// Ids of the tasks that were skipped because their `when` was not met, and that need a chosen task: they run again too.
    private(set) var passedOver: [String] = []
    private(set) var taskCount = 0
    /// Ids that were asked for by name and that the report does not have.
    private(set) var unknown: [String] = []

    init(_ path: String, _ choice: RerunChoice) throws(ReportProblem) {
        self.path = path
        let reader = try ReportReader(try ReportFile.given(path), reading: [])
        job = reader.head.job
        var missing = choice.ids
        while let task = try reader.next() {
            taskCount += 1
            missing.remove(task.id)
            if choice.takes(task) {
                chosen.append(task.id)
            } else if choice.failed, task.isPassedOver {
                passedOver.append(task.id)
            }
        }
        unknown = missing.sorted()
    }
}

/// `rerun REPORT`: the job again for some of a report's tasks.
struct Rerun {
    let report: RerunReport
    let words: String
    var options: RunOptions
    let environment: [String: String]
    let console: Console
    /// Whether the files of the chosen tasks are fetched whole, whatever is there.
    var replaces = false

    /// Runs the tasks and returns the exit status of that run.
    mutating func perform() throws(UsageError) -> Int32 {
        if let id = report.unknown.first {
            throw UsageError("the report \(name) has no task `\(SafeText.line(id))`")
        }
        guard !report.chosen.isEmpty else {
            console.errors("\(name): no task \(words): nothing to run again\n")
            return ExitStatus.succeeded.code
        }
        options.arguments.jobs = try jobFiles()
        try RunningJob(options: options, environment: environment, console: console).enterRoom()
        guard let job = try job() else {
            // The run prints the job's diagnostics.
            return RunningJob(options: options, environment: environment, console: console).perform()
        }
        warnOfChange(job)
        try choose(from: job)
        placeOutputs(job)
        return RunningJob(options: options, environment: environment, console: console).perform()
    }

    private var name: String { report.path == "-" ? "on standard input" : "`\(SafeText.line(report.path))`" }

    // MARK: The job

    /// Returns the path of the job file, or of the files that ran as one: as the report has it, from the working folder or
    /// from the report's.
    private func jobFiles() throws(UsageError) -> [String] {
        let file = report.job.file
        guard file != "-" else {
            throw UsageError(
                "the report \(name) is of a job from standard input, which cannot be read again",
                hint: "save the job and run it with `--only ID` for each of these tasks")
        }
        let places = RerunJobFile.places(of: file, report: report.path)
        if let path = places.first(where: Self.isFile) { return [path] }
        let several = file.split(separator: " ").map { String($0) }
        if report.job.sha256 == nil, several.count > 1, several.allSatisfy(Self.isFile) { return several }
        throw UsageError(
            "the job file `\(SafeText.line(file))` of the report \(name) is gone",
            hint: places.count > 1
                ? "it was looked for in the working folder and beside the report; run this where it was run before"
                : nil)
    }

    private static func isFile(_ path: String) -> Bool { (try? FileFacts.of(path).isRegular) == true }

    /// Loads the job with the variables of the report; `nil` when it has errors.
    private mutating func job() throws(UsageError) -> Job? {
        guard let own = try load(options.arguments) else { return try jobOfAllVariables() }
        var plain = own
        if !options.arguments.variables.isEmpty {
            var arguments = options.arguments
            arguments.variables = []
            plain = (try? load(arguments)) ?? own
        }
        let earlier = EarlierVariables(
            report: report.job, plain: plain, own: own, typed: Set(options.arguments.variables.map(\.name)))
        for warning in earlier.warnings { console.errors("warning: \(SafeText.line(warning))\n") }
        guard !earlier.taken.isEmpty else { return own }
        options.arguments.variables += earlier.taken.map { (name: $0.name, value: $0.text) }
        return try load(options.arguments)
    }

    /// Loads a job that uses variables which its file does not define.
    private mutating func jobOfAllVariables() throws(UsageError) -> Job? {
        let typed = Set(options.arguments.variables.map(\.name))
        let earlier = report.job.variables.filter { !typed.contains($0.name) && !$0.text.contains("***") }
        options.arguments.variables += earlier.map { (name: $0.name, value: $0.text) }
        return try load(options.arguments)
    }

    private func load(_ arguments: JobArguments) throws(UsageError) -> Job? {
        let source = JobSource(arguments: arguments, environment: environment, isForRun: true)
        var jobs: [Job] = []
        for path in options.arguments.jobs {
            let result = try source.load(path).get().result
            guard let job = result.job, !result.diagnostics.hasErrors, result.notBuilt.isEmpty else { return nil }
            jobs.append(job)
        }
        return jobs.count == 1 ? jobs[0] : try? Job.together(jobs)
    }

    private func warnOfChange(_ job: Job) {
        guard let then = report.job.sha256, let now = job.sha256?.text, then != now else { return }
        console.errors("warning: `\(SafeText.line(job.file))` has changed since the report was written\n")
    }

    // MARK: The tasks

    private mutating func choose(from job: Job) throws(UsageError) {
        let choice = RerunSelection(job, ids: report.chosen, passedOver: report.passedOver)
        for line in Self.warnings(of: choice.gone) { console.errors(line) }
        guard choice.askedCount > 0 else {
            throw UsageError("the job has none of these tasks any more", hint: "run the whole job")
        }
        options.selection = choice.selection
        if replaces { options.replaced = Set(report.chosen) }
        console.errors(firstLine(choice, job))
    }

    private static func warnings(of gone: [String]) -> [String] {
        guard let first = gone.first else { return [] }
        let more = gone.count > 1 ? " and \(HumanText.count(gone.count - 1, "other task"))" : ""
        return ["warning: the job does not have `\(SafeText.line(first))`\(more) any more\n"]
    }

    /// `rerun: 3 of 120 tasks of nightly.yaml, those that did not succeed: a, b, c`
    private func firstLine(_ choice: RerunSelection, _ job: Job) -> String {
        let ids = Self.short(choice.asked)
        let along =
            choice.added.isEmpty
            ? "" : "; along with them, for what they capture or bring, or for their group: \(Self.short(choice.added))"
        let count = "\(HumanText.grouped(choice.asked.count)) of \(HumanText.count(report.taskCount, "task"))"
        return SafeText.line("rerun: \(count) of \(job.file), \(words): \(ids)\(along)") + "\n"
    }

    private static func short(_ ids: [String]) -> String {
        ids.prefix(5).joined(separator: ", ") + (ids.count > 5 ? " and \(HumanText.grouped(ids.count - 5)) more" : "")
    }

    // MARK: The run's own files

    /// Puts the files that the job names for its run beside those of the earlier run, which would otherwise be lost.
    private mutating func placeOutputs(_ job: Job) {
        if options.report == .asJobSays, let path = RunOutputs.reportPath(job) {
            options.report = .path(RerunJobFile.ownPath(path))
        }
        if options.events == .asJobSays, let path = job.report.events {
            options.events = .path(RerunJobFile.ownPath(path))
        }
        for (format, path) in job.report.exports where options.exports[format] == nil && path != "-" {
            options.exports[format] = RerunJobFile.ownPath(path)
        }
    }
}

/// Paths that `rerun` works out. Pure.
enum RerunJobFile {
    /// Returns where the report's job file may be: as it was typed, then beside the report.
    static func places(of file: String, report: String) -> [String] {
        guard !file.hasPrefix("/"), report != "-", report.contains("/") else { return [file] }
        let folder = Folders.split(report).folder
        return [file, "\(folder == "/" ? "" : folder)/\(file)"]
    }

    /// Returns the path of a file of the rerun itself: `nightly.report.rerun.json` for `nightly.report.json`.
    static func ownPath(_ path: String) -> String {
        let slash = path.lastIndex(of: "/").map { path.index(after: $0) } ?? path.startIndex
        let name = path[slash...]
        if name.hasSuffix(".rerun") || name.contains(".rerun.") { return path }
        guard let dot = name.lastIndex(of: "."), dot != name.startIndex else { return path + ".rerun" }
        return path[..<dot] + ".rerun" + path[dot...]
    }
}

/// The variables of a report that a rerun takes over. Pure.
///
/// The report has every variable's value, but not where it came from. As long as the job file is the same, a value that
/// the file does not give was given on the command line, and is given again. In a file that has changed, the file's own
/// value may be the correction that the rerun is for: it counts, and the difference is told.
struct EarlierVariables {
    private(set) var taken: [NamedValue] = []
    private(set) var warnings: [String] = []

    /// `plain` is the job without `--set`, `own` the job with what this command sets: `typed`.
    init(report: ReportHead.Job, plain: Job, own: Job, typed: Set<String>) {
        let isSame = report.sha256 != nil && report.sha256 == plain.sha256?.text
        let (now, set) = (Self.texts(plain), Self.texts(own))
        for variable in report.variables {
            guard let text = now[variable.name], text != variable.text, !typed.contains(variable.name),
                set[variable.name] == text
            else { continue }
            if variable.text.contains("***") {
                warnings.append(
                    "the variable `\(variable.name)` held a secret, which the report does not have; "
                        + "`--set \(variable.name)=VALUE` gives it again")
            } else if isSame {
                taken.append(variable)
            } else {
                warnings.append(
                    "the variable `\(variable.name)` was `\(variable.text)` and is `\(text)` in the job now; "
                        + "`--set \(variable.name)=\(variable.text)` takes the former value")
            }
        }
    }

    private static func texts(_ job: Job) -> [String: String] {
        Dictionary(job.variables.map { ($0.name, text($0.value)) }) { _, last in last }
    }

    private static func text(_ value: PlainValue) -> String {
        switch value {
        case .string(let text), .number(let text): text
        case .boolean(let value): value ? "true" : "false"
        case .null, .list, .map: ""
        }
    }
}

extension CommandLineTool {
    /// `rerun REPORT`.
    static func rerun(
        _ typed: TypedArguments, _ environment: [String: String], _ console: Console
    ) throws(UsageError) -> Int32 {
        let path = typed.operands[0]
        try WorkingFolder.check(path == "-" ? nil : path)
        let choice = RerunChoice(try MeantArguments(typed, environment: environment))
        let report: RerunReport
        do throws(ReportProblem) { report = try RerunReport(path, choice) } catch {
            throw UsageError(error.message)
        }
        var rerun = Rerun(
            report: report, words: choice.words, options: try RunOptions(typed, environment: environment),
            environment: environment, console: console)
        return try rerun.perform()
    }
}
