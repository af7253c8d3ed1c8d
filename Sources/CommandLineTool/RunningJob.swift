import BackgroundService
import Diagnostics
import Exports
import JobLoader
import JobRunner
import LockFiles
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
    /// The inputs of the files of a job with templates, from which they are loaded once more when those become tasks;
    /// else empty.
    private var inputs: [RecordedInputs] = []
    /// The lock or plan that the run is held to, which goes with tasks that are handed over.
    private(set) var heldFile: HeldFile?

    init(options: RunOptions, environment: [String: String], console: Console) {
        self.options = options
        self.environment = environment
        self.console = console
    }

    /// Loads the job, or all jobs as one, for a command that only looks at them; `nil` after diagnostics were printed.
    func loadOnly() throws(UsageError) -> Job? { try load().map { $0.0 } }

    /// Loads the job and what a policy made of its values, each told once; `nil` after diagnostics were printed.
    func loadToPlan() throws(UsageError) -> (job: Job, notes: [PolicyNote])? {
        guard let (job, members) = try load() else { return nil }
        var known: Set<PolicyNote> = []
        return (job, members.flatMap { $0.access?.notes ?? [] }.filter { known.insert($0).inserted })
    }

    /// Loads the job and what its templates are read again from, by job file; `nil` after its diagnostics were printed.
    func loadWithInputs() throws(UsageError) -> (job: Job, inputs: [RecordedInputs])? {
        guard let (job, loaded) = try load() else { return nil }
        return (job, job.tasks.contains(where: \.isTemplate) ? loaded.compactMap(\.source.inputs) : [])
    }

    func perform() -> Int32 {
        do throws(UsageError) { try enterRoom() } catch {
            console.errors(error.text)
            return error.status.code
        }
        let ahead = (try? StateFolder(options.stateDirectory, environment)).flatMap { StoreAhead(folder: $0.state) }
        defer { ahead?.abandon() }
        do throws(UsageError) {
            guard let (read, loaded) = try load() else { return 2 }
            try holdToPorts(of: loaded)
            let held: Held
            switch try self.held(read) {
            case .success(let found): held = found
            case .failure(let ended): return ended.status.code
            }
            let job = held.job
            // Hold signals from here on, before the first permanent thread starts.
            Signals.hold(stops: RunOutputs.draws(options, environment))
            warnOfInsecurity(job)
            guard let networks = networks(for: job) else { return 2 }
            var carrier = self
            carrier.heldFile = held.file
            if job.tasks.contains(where: \.isTemplate) { carrier.inputs = loaded.compactMap(\.source.inputs) }
            if RunRecipe.concerns(job) {
                ahead?.abandon()
                return try BackgroundJob(carrier: carrier).perform(job, loaded[0].source, networks)
            }
            if options.detach {
                throw UsageError(
                    "there is nothing to detach from: no task of this job is in a background session",
                    hint: "write `configuration: background` and an `identifier` for a session")
            }
            // Any command continues background runs that were left unfinished, but one that is confined.
            if options.arguments.confine == nil, let folder = try? StateFolder(options.stateDirectory, environment) {
                if UnfinishedMark(ServicePlace(folder)).isThere { CommandLineTool.tellOfDamage(folder, console) }
                ServiceStarter.here(folder, environment).goOn()
            }
            return carrier.enter(job, loaded, networks, ahead)
        } catch {
            console.errors(error.text)
            return error.status.code
        }
    }

    /// Runs a job that was made in memory. It has no file that could be locked against a second run.
    func perform(unfiled job: Job) throws(UsageError) -> Int32 {
        try LinkedPlaces.check(job)
        Signals.hold(stops: RunOutputs.draws(options, environment))
        guard let networks = networks(for: job) else { return ExitStatus.invalidInput.code }
        return start(job, networks, nil)
    }

    // MARK: The job

    /// Enters the room of a job that is not trusted, before anything of it is read; other jobs have none.
    func enterRoom() throws(UsageError) {
        guard let confine = options.arguments.confine, Confinement.room == nil else { return }
        let step = options.isGitHub ? environment["GITHUB_STEP_SUMMARY"] : nil
        let locks = options.locked ? options.arguments.jobs.map { CommandLineTool.lockPath(ofFile: $0) } : []
        try ConfinedProcess(confine: confine, environment: environment, console: console).enter(
            options.arguments, reads: [options.plan] + locks, writes: [step],
            state: try? StateFolder(options.stateDirectory, environment))
    }

    /// Lets a confined process connect to the ports that its jobs name, and to those of the web and of name servers.
    private func holdToPorts(of members: [Member]) throws(UsageError) {
        guard let confine = options.arguments.confine else { return }
        try confine.hold(toPortsOf: members.compactMap(\.access))
    }

    /// A job file that was read without errors.
    private struct Member {
        /// The job.
        let job: Job
        let source: JobSource.Loaded
        /// What the job may do; `nil` of one that is trusted.
        var access: JobAccess? { source.result.access }
    }

    /// Loads the job, or all jobs that are to run as one; `nil` after diagnostics were printed.
    private func load() throws(UsageError) -> (Job, [Member])? {
        let source = JobSource(arguments: options.arguments, environment: environment, isForRun: true)
        var members: [Member] = []
        var found: [Diagnostic] = []
        for path in options.arguments.jobs {
            let loaded = try source.load(path).get()
            let result = loaded.result
            // Keys that are not built yet refuse the run, beside errors of the file: they are never silently ignored.
            found += result.diagnostics.sorted() + result.notBuilt
            guard let job = result.job, result.notBuilt.isEmpty, !result.diagnostics.hasErrors else { continue }
            members.append(Member(job: job, source: loaded))
        }
        let isWhole = members.count == options.arguments.jobs.count
        var together = isWhole ? members.first?.job : nil
        if isWhole, members.count > 1 {
            do throws(Job.MemberConflict) {
                together = try Job.together(members.map(\.job))
                try refuseBackground(members.map(\.job))
            } catch {
                together = nil
                found.append(
                    Diagnostic(
                        severity: .error, code: "jobs-do-not-fit", message: error.message, hint: error.hint,
                        source: members[error.file].source.text,
                        span: SourceSpan(line: error.line ?? 1, column: 1)))
            }
        }
        if !found.isEmpty {
            let color = options.color.isOn(isTerminal: Terminal.isTerminal(2), environment: environment)
            console.errors(
                options.isGitHub ? DiagnosticRenderer.github(found) : DiagnosticRenderer.text(found, color: color))
        }
        guard var job = together else { return nil }
        do throws(TaskSelection.Problem) {
            let selection = options.selection
            let withoutList = try selection.templatesWithoutList(in: job)
            job = try selection.apply(to: job)
            if !withoutList.isEmpty {
                console.errors(
                    "warning: \(HeldRun.names(withoutList)) \(withoutList.count == 1 ? "is" : "are") left out too: "
                        + "`--except` leaves out the task with the list\n")
            }
        } catch {
            throw UsageError("no task matches `\(error.pattern)`", hint: error.hint)
        }
        if !options.replaced.isEmpty { job.replaceFiles(of: options.replaced) }
        try LinkedPlaces.check(job)
        try TaskOutput.check(job, options)
        for file in RunOutputs.files(job, options) {
            try WorkingFolder.check(file.path)
            try options.arguments.confine?.check(file)
        }
        if options.arguments.confine != nil { job.deny(everythingPrivateBut: options.allowedAddresses) }
        if let maximum = options.maximumConcurrentTasks { job.limits.maximumConcurrentTasks = maximum }
        if let bandwidth = options.bandwidth { job.limits.bandwidth = .steady(bandwidth) }
        job.holdLimits()
        if let refusal = job.policy?.refusal(ofTasks: job.tasks.count { !$0.isTemplate }) {
            throw UsageError(refusal.message)
        }
        return (job, members)
    }

    /// A background session is known by its job: each of its runs is of one file.
    private func refuseBackground(_ jobs: [Job]) throws(Job.MemberConflict) {
        guard let number = jobs.firstIndex(where: RunRecipe.concerns) else { return }
        throw Job.MemberConflict(
            message: "a job with background sessions runs by itself",
            hint: "start it with a command of its own: its tasks go on beside the others", file: number)
    }

    /// Warns that a session checks no certificates.
    private func warnOfInsecurity(_ job: Job) {
        for session in job.sessions where session.tls.policy == .insecure {
            console.errors(
                "warning: the session `\(session.name)` checks no certificates (`policy: insecure`): "
                    + "whoever answers is believed\n")
        }
    }

    /// Returns the run's network settings; `nil` after an error was printed. A map that cannot be read is only a warning
    /// where the job takes any network.
    func networks(for job: Job) -> NetworkSettings? {
        var settings = NetworkSettings()
        settings.dictated = options.network?.interfaces
        // They are asked over a Unix socket, of which a confined process makes none.
        settings.asksServices = options.arguments.confine == nil
        let color = options.color.isOn(isTerminal: Terminal.isTerminal(2), environment: environment)
        switch NetworkMapFile.load(environment, color: color) {
        case .success(let map): settings.map = map
        case .failure(let problem):
            guard let warning = problem.warning, !job.isChoosyOfNetworks else {
                console.errors(problem.text)
                return nil
            }
            console.errors(warning)
        }
        return settings
    }

    // MARK: The run

    /// Runs the job under the lock of each of its files.
    private func enter(_ job: Job, _ members: [Member], _ networks: NetworkSettings, _ ahead: StoreAhead?) -> Int32 {
        var locks: [any JobLock] = []
        defer { for lock in locks { lock.release() } }
        // In one order whatever was typed: two commands that wait for each other's jobs would wait for ever.
        for member in members.sorted(by: { JobIdentity(of: $0.job).text < JobIdentity(of: $1.job).text }) {
            let overlap = Overlap(job: member.job, options: options, environment: environment, console: console)
            switch overlap.enter(member.source.file) {
            case .end(let status): return status.code
            case .clear(let lock): if let lock { locks.append(lock) }
            }
        }
        return start(job, networks, ahead)
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
            return console.failed(error)
        }
    }

    private func run(
        _ job: Job, _ outputs: RunOutputs, _ memory: RunMemory, _ networks: NetworkSettings
    ) -> Int32 {
        // Both live until the process ends, so that the exit does not free them task by task.
        ProcessLifetime.keep((job, outputs))
        let done: Transferred
        do {
            done = try transfer(
                job, outputs.consumers, tellsEverything: outputs.tellEverything, memory, networks)
        } catch {
            LiveTerminal.standardError.clear()
            return console.failed("the run could not be carried out: \(Self.words(error))")
        }
        // The report is written while the store closes.
        defer { settle(done) }
        return runEnded(done.status, outputs, job)
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
        if !inputs.isEmpty {
            settings.expand = Self.expansion(of: job, inputs, options.selection, replacing: options.replaced)
        }
        if let other { (settings.outside, settings.heard) = (other.outside, other.heard) }
        var job = job
        if let words = OpenFiles.fit(&job) { console.errors("warning: \(words)\n") }
        let inputs = RunInputs(job, options, environment, console, signalled: other?.signalled)
        defer { inputs.close() }
        let log = try EventLog(
            consumers: consumers, redactor: job.redactor, now: Clocks.now(),
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
        for problem in run.problems { console.errors("warning: \(problem)\n") }
        return Transferred(status: status, run: run)
    }

    /// Reads a template's job file again, takes of its tasks those that the run is limited to, and holds them to the
    /// run's lock.
    static func expansion(
        of job: Job, _ inputs: [RecordedInputs], _ selection: TaskSelection = TaskSelection(),
        replacing replaced: Set<String> = []
    ) -> @Sendable (TemplateValues) -> Result<ExpandedJob, TransferError> {
        { [inputs, job] values in
            guard inputs.indices.contains(values.file) else {
                return .failure(TransferError(.expansionFailed, "the file of the template is not known"))
            }
            return inputs[values.file].expand(values).map { job.named($0, ofFile: values.file) }
                .flatMap { selection.applied(to: $0) }
                .map { $0.replacingFiles(of: replaced) }
                .flatMap { $0.held(to: job.held) }
        }
    }

    /// Waits until the run's state is stored.
    func settle(_ done: Transferred) {
        if let warning = RunMemory.warning(done.run.storeProblems()) { console.errors(warning) }
    }

    static func words(_ error: any Error) -> String {
        (error as? TransferError)?.message ?? "\(error)"
    }

    private func runEnded(_ status: ExitStatus, _ outputs: RunOutputs, _ job: Job) -> Int32 {
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
            return console.failed(error)
        }
    }
}

extension Job {
    /// Whether a task or session depends on what kind of network there is.
    fileprivate var isChoosyOfNetworks: Bool {
        sessions.contains { $0.discretionary == true }
            || tasks.contains { !$0.options.values.policies.networkTerms.allowAll }
    }
}
