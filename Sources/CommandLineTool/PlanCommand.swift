import Diagnostics
import JobRunner
import LockFiles
import Planning
import Reporting
import RunControl
import Stores
import SystemIO
import TransferModel

/// The options of `plan`.
package struct PlanOptions: Sendable {
    /// The job, its inputs and limits, as a run would take them.
    package var run: RunOptions
    /// Whether to print JSON.
    package var asJSON: Bool
    /// Whether every task is listed, however many there are.
    package var isWhole: Bool
    /// Whether the servers are asked.
    package var isOnline: Bool
    /// Where what the servers say is saved; `nil` for nowhere.
    package var save: String?

    package init(_ typed: TypedArguments, environment: [String: String]) throws(UsageError) {
        run = try RunOptions(typed, environment: environment)
        let meant = try MeantArguments(typed, environment: environment)
        asJSON = meant.isSet(.json)
        isWhole = meant.isSet(.verbose)
        isOnline = meant.isSet(.online)
        save = meant.value(.save)
        if save != nil, !isOnline {
            throw UsageError("`--save` keeps what servers say, and none is asked", hint: "add `--online`")
        }
    }
}

extension CommandLineTool {
    /// Prints what a run would do, from the job file and the disk, and from the servers if they are asked.
    static func plan(
        _ options: PlanOptions, _ environment: [String: String], _ console: Console
    ) throws(UsageError) -> Int32 {
        let running = RunningJob(options: options.run, environment: environment, console: console)
        let folder = try? StateFolder(options.run.stateDirectory, environment)
        if let confine = options.run.arguments.confine {
            // A plan without servers remembers nothing, and reads what runs remember.
            let kept = folder.map { [$0.state, $0.cache] } ?? []
            try ConfinedProcess(confine: confine, environment: environment, console: console).enter(
                options.run.arguments, reads: [], writes: options.isOnline ? [] : kept,
                state: options.isOnline ? folder : nil)
            if let path = options.save { try confine.check(OutputFile(path: path, what: "the plan")) }
        }
        guard let (job, notes) = try running.loadToPlan() else { return ExitStatus.invalidInput.code }
        var look = DiskLook(job, in: folder, remembers: options.isOnline)
        var plan = look.plan(now: Clocks.wall())
        if options.isOnline {
            guard let networks = running.networks(for: job) else { return ExitStatus.invalidInput.code }
            guard let memory = running.memory(job) else { return ExitStatus.runnerFailed.code }
            let probe = ServerProbe(
                environment: environment, console: console, networks: networks, memory: memory.place)
            do {
                plan = try OnlinePlan(plan, look).asked(probe)
                if let path = options.save { try save(plan, path) }
            } catch {
                return console.failed(RunningJob.words(error))
            }
        }
        plan.policyNotes = notes
        if options.asJSON {
            console.output(String(decoding: plan.json(runner: version), as: UTF8.self))
        } else {
            console.output(plan.lines(isWhole: options.isWhole).map { $0 + "\n" }.joined())
        }
        return ExitStatus.succeeded.code
    }

    private static func save(_ plan: JobPlan, _ path: String) throws(OutputProblem) {
        let redactor = Redactor(plan.job.secrets)
        let entries = plan.words.indices.compactMap { index in
            plan.words[index].held(plan.job.tasks[index], redactor).map {
                LockFile.Entry(id: plan.job.tasks[index].id, answer: $0)
            }
        }
        try AtomicFile.put(LockFile(.plan, job: plan.job.name, entries: entries).yaml, at: path)
    }
}

/// Asks the servers of a plan, and puts what they say into it.
struct OnlinePlan {
    private let plan: JobPlan
    private let look: DiskLook

    init(_ plan: JobPlan, _ look: DiskLook) {
        self.plan = plan
        self.look = look
    }

    func asked(_ probe: ServerProbe) throws -> JobPlan {
        let job = plan.job
        let refusals = job.tasks.indices.map { ProbeJob.refusal(job.tasks[$0], plan.outlooks[$0]) }
        let asked = refusals.indices.filter { refusals[$0] == nil }
        let answers = try probe.ask(job, about: asked)
        let words = job.tasks.indices.map { index in
            if let refusal = refusals[index] { return ServerAnswer(.notAsked(refusal)) }
            let answer = answers[index]
            return ServerAnswer(
                answer?.response, of: job.tasks[index], error: answer?.error, standing: look.standing[index],
                latency: answer?.latency)
        }
        let outlooks = zip(plan.outlooks, words).map { $0.knowing($1) }
        var online = JobPlan(job, outlooks, words: words)
        online.disks = look.rooms(outlooks)
        online.removals = plan.removals
        if let problem = look.problem { online.notes.append(problem) }
        online.estimate()
        return online
    }
}
