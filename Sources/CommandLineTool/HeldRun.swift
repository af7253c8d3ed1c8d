import Diagnostics
import JobLoader
import JobRunner
import LockFiles
import Planning
import Reporting
import SystemIO
import TransferModel

/// Holds a run to what servers said earlier: reads the file, and asks the servers before the run begins.
struct HeldRun {
    let options: RunOptions
    let environment: [String: String]
    let console: Console

    /// Most tasks that have a line of their own in a message.
    private static let most = 10

    /// Reads a lock or a saved plan; `nil` after its diagnostics were printed.
    func read(_ path: String, _ kind: HeldAnswers.Kind) throws(UsageError) -> (text: HeldFile, file: LockFile)? {
        try WorkingFolder.check(path)
        let bytes: [UInt8]
        do throws(WholeFile.Problem) {
            bytes = try WholeFile.read(path, limit: 64 << 20)
        } catch {
            throw Self.unreadable(path, kind, error)
        }
        let text = HeldFile(kind, name: path, bytes: bytes)
        let (file, diagnostics) = text.read()
        guard let file else {
            let color = options.color.isOn(isTerminal: Terminal.isTerminal(2), environment: environment)
            console.errors(DiagnosticRenderer.text(diagnostics.sorted(), color: color))
            return nil
        }
        return (text, file)
    }

    private static func unreadable(_ path: String, _ kind: HeldAnswers.Kind, _ problem: WholeFile.Problem) -> UsageError
    {
        let reason =
            switch problem {
            case .notFound: "no such file"
            case .notRegular: "not a regular file"
            case .tooLarge: "larger than 64 MiB"
            case .system(let error): error.reason
            }
        let hint =
            kind == .lock
            ? "`transfer-run lock JOB` writes it" : "`transfer-run plan JOB --online --save \(path)` writes it"
        return UsageError("cannot read \(path): \(reason)", hint: hint)
    }

    /// Warns of tasks that only the job or only the file has.
    func tellOfOthers(_ job: Job, _ held: HeldAnswers) {
        let ids = Set(job.tasks.map { ExactText($0.id) })
        let gone = held.ids.filter { !ids.contains(ExactText($0)) }
        if !gone.isEmpty, options.selection.isEverything {
            console.errors("warning: \(held.file) has tasks that the job has not: \(Self.names(gone))\n")
        }
        let new = job.tasks.filter { task in
            task.type == .download && task.location.url?.isHTTP == true && held[task.id] == nil
        }.map(\.id)
        if !new.isEmpty {
            console.errors("warning: \(held.file) does not hold these tasks to anything: \(Self.names(new))\n")
        }
    }

    /// `a`, `b` and 3 more, fit for a terminal.
    static func names(_ ids: [String]) -> String {
        LockedJob.names(ids.map { SafeText.line($0) })
    }

    /// ` --update a --update b`, or nothing where they are many.
    static func updates(_ ids: [String]) -> String {
        ids.count > 5 ? "" : ids.map { " --update \(SafeText.line($0))" }.joined()
    }

    /// Asks the servers about the tasks that are held to something. Returns what moved, by task, in the order of the
    /// job.
    func moved(_ job: Job, _ held: HeldAnswers, _ probe: ServerProbe) throws -> [(id: String, error: TransferError)] {
        let asked = job.tasks.indices.filter { index in
            held[job.tasks[index].id] != nil && ProbeJob.refusal(job.tasks[index], TaskOutlook(.fetch)) == nil
        }
        let answers = try probe.ask(job, about: asked)
        return asked.compactMap { index in
            guard let answer = answers[index] else { return nil }
            let task = job.tasks[index]
            let word = ServerAnswer(answer.response, of: task, error: answer.error, standing: nil, latency: nil)
            // A server that refuses the question may answer the request: the run tells.
            guard case .answered = word.result, let url = word.url else { return nil }
            var response = HeldAnswers.Response(url: url, original: task.location.url?.text)
            (response.size, response.etag, response.lastModified) = (word.length, word.etag, word.lastModified)
            return held.objection(to: response, of: task.id).map { (id: task.id, error: $0) }
        }
    }

    /// Tells what moved; the run does not begin.
    func refuse(_ moved: [(id: String, error: TransferError)], of asked: Int, _ held: HeldAnswers, _ job: Job) {
        let redactor = job.redactor
        console.errors(
            "error: \(moved.count) of \(HumanText.count(asked, "file")) moved since the plan \(held.file) was made; "
                + "nothing was fetched [\(ErrorName.movedSincePlan.rawValue)]\n")
        for (id, error) in moved.prefix(Self.most) {
            console.errors(
                "  \(SafeText.line(redactor.redacted(name: id))): \(SafeText.line(redactor.redacted(error.message)))\n")
        }
        if moved.count > Self.most { console.errors("  and \(moved.count - Self.most) more\n") }
        console.errors("  hint: \(ErrorName.movedSincePlan.whatHelps)\n")
    }
}

extension RunningJob {
    /// A job to run, and the file that it is held to.
    struct Held {
        let job: Job
        var file: HeldFile?
    }

    /// Holds the job to what the command line says: a saved plan or the job's lock. Returns the job to run, or the
    /// status to end with.
    func held(_ job: Job) throws(UsageError) -> Result<Held, EndedEarly> {
        options.plan == nil ? try holdingToLock(job) : try holdingToPlan(job)
    }

    /// Holds the job to a saved plan: asks its servers first. Returns the job to run, or the status to end with.
    private func holdingToPlan(_ job: Job) throws(UsageError) -> Result<Held, EndedEarly> {
        guard let path = options.plan else { return .success(Held(job: job)) }
        let hold = HeldRun(options: options, environment: environment, console: console)
        guard let (text, file) = try hold.read(path, .plan) else { return .failure(EndedEarly(.invalidInput)) }
        let held = file.held(file: path, redactor: Redactor(job.secrets))
        hold.tellOfOthers(job, held)
        guard let networks = networks(for: job) else { return .failure(EndedEarly(.invalidInput)) }
        guard let memory = memory(job) else { return .failure(EndedEarly(.runnerFailed)) }
        let probe = ServerProbe(
            environment: environment, console: console, networks: networks, memory: memory.place)
        do {
            let moved = try hold.moved(job, held, probe)
            if !moved.isEmpty {
                hold.refuse(moved, of: held.ids.count, held, job)
                return .failure(EndedEarly(.failed))
            }
        } catch {
            console.errors("error: the servers could not be asked: \(Self.words(error))\n")
            return .failure(EndedEarly(.runnerFailed))
        }
        return .success(Held(job: job.held(to: held), file: text))
    }

    /// Holds the job to its lock. Returns the job to run, or the status to end with.
    private func holdingToLock(_ job: Job) throws(UsageError) -> Result<Held, EndedEarly> {
        guard options.locked else { return .success(Held(job: job)) }
        if job.file == "-" {
            throw UsageError("the lock of a job stands beside its file, and this job is read from standard input")
        }
        if options.arguments.jobs.count > 1 {
            throw UsageError("`--locked` runs one job, whose lock stands beside it")
        }
        let hold = HeldRun(options: options, environment: environment, console: console)
        let path = CommandLineTool.lockPath(of: job)
        guard let (text, file) = try hold.read(path, .lock) else { return .failure(EndedEarly(.invalidInput)) }
        let held = file.held(file: path, redactor: Redactor(job.secrets))
        let locked = LockedJob(held)
        let paged = job.tasks.filter { LockingJob.isPaged($0) }.map(\.id)
        if !paged.isEmpty {
            throw UsageError(
                "no lock can hold \(HeldRun.names(paged)): a task with `next` has many files "
                    + "[\(ErrorName.notLocked.rawValue)]",
                hint: paged.count > 5
                    ? "run these tasks without `--locked`"
                    : "run the others with `--locked\(paged.map { " --except \(SafeText.line($0))" }.joined())`")
        }
        let missing = locked.missing(job)
        if !missing.isEmpty {
            throw UsageError(
                "\(path) does not have \(HeldRun.names(missing)) [\(ErrorName.notLocked.rawValue)]",
                hint: "lock it: `transfer-run lock \(job.file)\(HeldRun.updates(missing))`")
        }
        let contradicted = locked.contradicted(job)
        if !contradicted.isEmpty {
            throw UsageError(
                "the job's `checksum` of \(HeldRun.names(contradicted)) is not the one in \(path) "
                    + "[\(ErrorName.lockMismatch.rawValue)]",
                hint: "if the job is right: `transfer-run lock \(job.file)\(HeldRun.updates(contradicted))`")
        }
        let ids = Set(job.tasks.map { ExactText($0.id) })
        let gone = held.ids.filter { !ids.contains(ExactText($0)) }
        if !gone.isEmpty, options.selection.isEverything, !job.tasks.contains(where: \.isTemplate) {
            console.errors(
                "warning: \(path) has \(HeldRun.names(gone)), which the job has not: "
                    + "`transfer-run lock \(job.file)` leaves them out\n")
        }
        return .success(Held(job: locked.applied(to: job), file: text))
    }

    /// The status of a command that ends before its run begins.
    struct EndedEarly: Error {
        let status: ExitStatus
        init(_ status: ExitStatus) { self.status = status }
    }
}
