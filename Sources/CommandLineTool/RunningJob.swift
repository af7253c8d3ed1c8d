import BackgroundService
import Diagnostics
import Exports
import JobLoader
import JobRunner
import Reporting
import RunControl
import Stores
import SystemIO
import TransferModel

/// Performs `transfer-run JOB`, from reading the file to the exit status.
struct RunningJob {
    let options: RunOptions
    let environment: [String: String]
    let console: Console
    /// The inputs of a job with templates, from which it is loaded once more when they become tasks; else `nil`.
    private var inputs: RecordedInputs?

    init(options: RunOptions, environment: [String: String], console: Console) {
        self.options = options
        self.environment = environment
        self.console = console
    }

    /// Loads the job for a command that only looks at it; `nil` after its diagnostics were printed.
    func loadOnly() throws(UsageError) -> Job? {
        try load(try onlyPath()).map { $0.0 }
    }

    /// Loads the job and what its templates are read again from; `nil` after its diagnostics were printed.
    func loadWithInputs() throws(UsageError) -> (job: Job, inputs: RecordedInputs?)? {
        guard let (job, loaded) = try load(try onlyPath()) else { return nil }
        return (job, job.tasks.contains(where: \.isTemplate) ? loaded.inputs : nil)
    }

    private func onlyPath() throws(UsageError) -> String {
        guard options.arguments.jobs.count == 1, let path = options.arguments.jobs.first else {
            let typed = options.arguments.jobs.first { JobSource.command(meantBy: $0) != nil }
            throw typed.map { JobSource.noFile($0) } ?? .notBuilt("running several job files as one")
        }
        return path
    }

    func perform() -> Int32 {
        let path: String
        do throws(UsageError) { path = try onlyPath() } catch {
            console.errors(error.text)
            return 2
        }
        let ahead = (try? StateFolder(options.stateDirectory, environment)).flatMap { StoreAhead(folder: $0.state) }
        defer { ahead?.abandon() }
        do throws(UsageError) {
            guard let (read, loaded) = try load(path) else { return 2 }
            let job: Job
            switch try held(read) {
            case .success(let held): job = held
            case .failure(let ended): return ended.status.code
            }
            // Hold signals from here on, before the first permanent thread starts.
            Signals.hold(stops: RunOutputs.draws(options, environment))
            warnOfInsecurity(job)
            guard let networks = networks() else { return 2 }
            var carrier = self
            if job.tasks.contains(where: \.isTemplate) { carrier.inputs = loaded.inputs }
            if RunRecipe.concerns(job) {
                ahead?.abandon()
                if job.held != nil {
                    throw UsageError(
                        "`\(options.locked ? "--locked" : "--plan")` does not reach background sessions yet",
                        hint: "run it with sessions of `configuration: default`")
                }
                return try BackgroundJob(carrier: carrier).perform(job, loaded, networks)
            }
            if options.detach {
                throw UsageError(
                    "there is nothing to detach from: no task of this job is in a background session",
                    hint: "write `configuration: background` and an `identifier` for a session")
            }
            // Any command continues background runs that were left unfinished.
            if let folder = try? StateFolder(options.stateDirectory, environment) {
                if UnfinishedMark(ServicePlace(folder)).isThere { CommandLineTool.tellOfDamage(folder, console) }
                ServiceStarter.here(folder, options, environment).goOn()
            }
            return carrier.enter(job, loaded.file, networks, ahead)
        } catch {
            console.errors(error.text)
            return 2
        }
    }

    // MARK: The job

    /// Loads the job; `nil` after its diagnostics were printed.
    private func load(_ path: String) throws(UsageError) -> (Job, JobSource.Loaded)? {
        let source = JobSource(arguments: options.arguments, environment: environment, isForRun: true)
        let loaded = try source.load(path).get()
        let result = loaded.result
        // Keys that are not built yet refuse the run, beside errors of the file: they are never silently ignored.
        let found = (result.diagnostics.sorted() + result.notBuilt)
        if !found.isEmpty {
            let color = options.color.isOn(isTerminal: Terminal.isTerminal(2), environment: environment)
            console.errors(
                options.isGitHub ? DiagnosticRenderer.github(found) : DiagnosticRenderer.text(found, color: color))
        }
        guard var job = result.job, result.notBuilt.isEmpty, !result.diagnostics.hasErrors else { return nil }
        do throws(TaskSelection.Problem) {
            job = try TaskSelection(only: options.only, except: options.except).apply(to: job)
        } catch {
            throw UsageError("no task matches `\(error.pattern)`")
        }
        try LinkedPlaces.check(job)
        try TaskOutput.check(job, options)
        for file in RunOutputs.files(job, options) { try WorkingFolder.check(file.path) }
        if let maximum = options.maximumConcurrentTasks { job.limits.maximumConcurrentTasks = maximum }
        if let bandwidth = options.bandwidth { job.limits.bandwidth = .steady(bandwidth) }
        return (job, loaded)
    }

    /// Warns that a session checks no certificates.
    private func warnOfInsecurity(_ job: Job) {
        for session in job.sessions where session.tls.policy == .insecure {
            console.errors(
                "warning: the session `\(session.name)` checks no certificates (`policy: insecure`): "
                    + "whoever answers is believed\n")
        }
    }

    /// Returns the run's network settings; `nil` after an error was printed.
    func networks() -> NetworkSettings? {
        var settings = NetworkSettings()
        settings.dictated = options.network?.interfaces
        let color = options.color.isOn(isTerminal: Terminal.isTerminal(2), environment: environment)
        switch NetworkMapFile.load(environment, color: color) {
        case .success(let map): settings.map = map
        case .failure(let problem):
            console.errors(problem.text)
            return nil
        }
        return settings
    }

    // MARK: The run

    private func enter(_ job: Job, _ file: JobFile?, _ networks: NetworkSettings, _ ahead: StoreAhead?) -> Int32 {
        switch Overlap(job: job, options: options, environment: environment, console: console).enter(file) {
        case .end(let status): return status.code
        case .clear(let lock):
            defer { lock?.release() }
            return start(job, networks, ahead)
        }
    }

    /// Returns the place of the run's state; `nil` after an error was printed.
    func memory(_ job: Job, _ ahead: StoreAhead? = nil) -> RunMemory? {
        do throws(StoreError) {
            return try RunMemory(job, options, environment, ahead: ahead)
        } catch {
            console.errors("error: what runs remember cannot be kept: \(error)\n")
            return nil
        }
    }

    private func start(_ job: Job, _ networks: NetworkSettings, _ ahead: StoreAhead?) -> Int32 {
        guard let memory = memory(job, ahead) else { return ExitStatus.runnerFailed.code }
        for warning in BatchRoom.warnings(job) + BatchBytes.warnings(job) { console.errors(warning) }
        do throws(OutputProblem) {
            let outputs = try RunOutputs(job, options, environment)
            return run(job, outputs, memory, networks)
        } catch {
            console.errors("error: \(error)\n")
            return ExitStatus.runnerFailed.code
        }
    }

    private func run(
        _ job: Job, _ outputs: RunOutputs, _ memory: RunMemory, _ networks: NetworkSettings
    ) -> Int32 {
        // Both live until the process ends, so that the exit does not free them task by task.
        Everlasting.keep((job, outputs))
        let done: Transferred
        do {
            done = try transfer(
                job, outputs.consumers, tellsEverything: outputs.tellEverything, memory, networks)
        } catch {
            LiveTerminal.standardError.clear()
            console.errors("error: the run could not be carried out: \(Self.words(error))\n")
            return ExitStatus.runnerFailed.code
        }
        // The report is written while the store closes.
        defer { settle(done) }
        return finish(done.status, outputs, job)
    }

    /// The connection to the background part of a job, as the part of this process needs it.
    struct OtherPart {
        /// The tasks of the other part that tasks here need.
        var outside: OutsideNeeds
        /// Called on the loop when a task here has ended.
        var heard: @Sendable (OutsideEnd) -> Void
        /// Called with the mailbox for ends of tasks of the other part.
        var opened: (Mailbox<RunInput>) -> Void
        /// Called with the signal that ends the command, before the part here gets it, and also when that has ended
        /// already.
        var signalled: @Sendable (Int32) -> Void
    }

    /// The result of a run whose transfers have all ended.
    struct Transferred {
        let status: ExitStatus
        fileprivate let run: JobRun
    }

    func transfer(
        _ job: Job, _ consumers: [any EventConsumer], tellsEverything: Bool, _ memory: RunMemory,
        _ networks: NetworkSettings, other: OtherPart? = nil
    ) throws -> Transferred {
        var settings = RunSettings(
            userAgent: "transfer-run/\(CommandLineTool.version)", seed: UInt64.random(in: 1...UInt64.max))
        settings.failFast = options.failFast
        settings.putsOffWhatWaits = options.noWait
        if case .verbose = options.amount { settings.tellsLimitWaits = true }
        if tellsEverything { settings.tellsLimitWaits = true }
        settings.reportsUnchanged = options.exitUnchanged
        settings.networks = networks
        settings.traceParent = ExportSurroundings(environment).traceParent
        settings.host = Terminal.hostName()
        if let inputs { settings.expand = { [held = job.held] in inputs.expand($0).flatMap { $0.holding(to: held) } } }
        if let other { (settings.outside, settings.heard) = (other.outside, other.heard) }
        var job = job
        if let warning = OpenFiles.fit(&job) { console.errors(warning) }
        let inputs = RunInputs(job, options, environment, console, signalled: other?.signalled)
        defer { inputs.close() }
        let log = try EventLog(
            consumers: consumers, redactor: Redactor(job.secrets), now: Clocks.now(),
            patience: tellsEverything ? .zero : .milliseconds(50))
        let run: JobRun
        do throws(TransferError) {
            run = try JobRun(
                job: RunOutputs.reserving(job, options, environment), settings: settings, log: log, memory: memory.place
            ) { wake in
                let inbox = inputs.open(wake)
                other?.opened(inbox)
                return inbox
            }
        } catch {
            _ = log.finish()
            throw error
        }
        // Only a background run can be asked to leave.
        let status = run.run() ?? .runnerFailed
        log.beginToFinish()
        inputs.beginToClose()
        if let failure = log.finish() { throw failure }
        if let problem = run.networkProblem, case .verbose = options.amount {
            console.errors("warning: \(problem)\n")
        }
        for problem in run.credentialProblems + run.cookieProblems { console.errors("warning: \(problem)\n") }
        return Transferred(status: status, run: run)
    }

    /// Waits until the run's state is stored.
    func settle(_ done: Transferred) {
        if let warning = RunMemory.warning(done.run.storeProblems()) { console.errors(warning) }
    }

    static func words(_ error: any Error) -> String {
        (error as? TransferError)?.message ?? "\(error)"
    }

    private func finish(_ status: ExitStatus, _ outputs: RunOutputs, _ job: Job) -> Int32 {
        var code = status.code
        do throws(OutputProblem) {
            try outputs.write()
        } catch {
            console.errors("error: \(error)\n")
            // A signal or a failed task does not outrank a report that could not be written.
            code = ExitStatus.runnerFailed.code
        }
        do throws(OutputProblem) {
            return try outputs.runOnFinish(of: job, status.outcome, code, console)
        } catch {
            console.errors("error: \(error)\n")
            return ExitStatus.runnerFailed.code
        }
    }
}
