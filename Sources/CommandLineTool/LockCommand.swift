import JobLoader
import JobRunner
import LockFiles
import Planning
import Reporting
import RunControl
import Stores
import SystemIO
import TransferModel

/// The options of `lock`.
package struct LockOptions: Sendable {
    /// The job, its inputs and limits, as a run would take them.
    package var run: RunOptions
    /// Ids and patterns of the tasks to lock anew; empty for all.
    package var update: [String]

    package init(_ typed: TypedArguments, environment: [String: String]) throws(UsageError) {
        run = try RunOptions(typed, environment: environment)
        update = try MeantArguments(typed, environment: environment).list(.update)
        if run.arguments.jobs == ["-"] {
            throw UsageError("the lock of a job stands beside its file, and this job is read from standard input")
        }
    }
}

extension CommandLineTool {
    /// Writes the lock of a job.
    static func lock(
        _ options: LockOptions, _ environment: [String: String], _ console: Console
    ) throws(UsageError) -> Int32 {
        let running = RunningJob(options: options.run, environment: environment, console: console)
        guard let (job, inputs) = try running.loadWithInputs() else { return ExitStatus.invalidInput.code }
        return try LockRun(options: options, running: running, job: job, inputs: inputs).perform()
    }

    /// `jobs.lock` beside `jobs.yaml` or `jobs.transfer.yaml`.
    static func lockPath(of job: Job) -> String { lockPath(ofFile: job.file) }

    /// Returns the path of the lock of the job in that file.
    static func lockPath(ofFile file: String) -> String {
        let folder = Folders.split(file).folder
        let stem = Job.stem(of: file)
        return folder == "." && !file.hasPrefix("./") ? "\(stem).lock" : "\(folder)/\(stem).lock"
    }
}

/// One run of `lock`.
private struct LockRun {
    let options: LockOptions
    let running: RunningJob
    let job: Job
    let inputs: [RecordedInputs]
    private var console: Console { running.console }

    func perform() throws(UsageError) -> Int32 {
        let path = CommandLineTool.lockPath(of: job)
        var kept: [LockFile.Entry] = []
        if !options.update.isEmpty {
            let hold = HeldRun(options: options.run, environment: running.environment, console: console)
            guard let old = try hold.read(path, .lock)?.file else { return ExitStatus.invalidInput.code }
            let own = Set(job.tasks.map { ExactText($0.id) })
            let hasTemplates = job.tasks.contains(where: \.isTemplate)
            kept = old.entries.filter { entry in
                !isUpdated(entry.id) && (hasTemplates || own.contains(ExactText(entry.id)))
            }
        }
        let wanted = try wantedTasks()
        guard let networks = running.networks(for: job) else { return ExitStatus.invalidInput.code }
        guard let memory = running.memory(job) else { return ExitStatus.runnerFailed.code }
        do {
            return try lock(wanted, kept, path, networks, memory.place)
        } catch {
            return console.failed(RunningJob.words(error))
        }
    }

    private func isUpdated(_ id: String) -> Bool { options.update.contains { TaskPattern($0).matches(id) } }

    /// The downloads to lock, and templates that may become some.
    private func wantedTasks() throws(UsageError) -> [Int] {
        do throws(TaskSelection.Problem) {
            try TaskSelection.check(options.update, in: job, flag: "--update")
        } catch {
            throw UsageError("no task matches `\(error.pattern)`", hint: error.hint)
        }
        var wanted: [Int] = []
        for index in job.tasks.indices {
            let task = job.tasks[index]
            guard task.type == .download, options.update.isEmpty || task.isTemplate || isUpdated(task.id) else {
                continue
            }
            if let refusal = LockingJob.refusal(index, of: job) {
                console.errors("warning: `\(SafeText.line(task.id))` is not locked: \(SafeText.line(refusal))\n")
            } else {
                wanted.append(index)
            }
        }
        return wanted
    }

    private func lock(
        _ wanted: [Int], _ kept: [LockFile.Entry], _ path: String, _ networks: NetworkSettings, _ memory: MemoryPlace?
    ) throws -> Int32 {
        let probe = ServerProbe(
            environment: running.environment, console: console, networks: networks, memory: memory)
        let known = try KnownFiles(job, options.run, running.environment).entries(of: wanted, probe)
        let unknown = wanted.filter { known[$0] == nil }
        var entries = kept + known.values
        var fetchedCount = 0
        if !unknown.isEmpty {
            let folder: StateFolder
            let scratch: ScratchFolder
            do {
                folder = try StateFolder(options.run.stateDirectory, running.environment)
                scratch = try ScratchFolder("\(folder.cache)/lock-\(CurrentProcess.processID())")
            } catch {
                throw TransferError(.cannotCreateFile, "files cannot be fetched for the lock: \(error)")
            }
            defer { scratch.removeAll() }
            let fetch = LockFetch(
                console: console, networks: networks, memory: memory, scratch: scratch, inputs: inputs)
            let outcome = try fetch.run(job, fetching: unknown)
            if let signal = outcome.signal { return 128 + signal }
            guard outcome.failures.isEmpty else { return tell(outcome.failures, path) }
            let fetched = outcome.entries.filter { options.update.isEmpty || isUpdated($0.id) }
            fetchedCount = fetched.count
            entries = entries.filter { entry in !fetched.contains { $0.id == entry.id } } + fetched
        }
        let name = Redactor(job.secrets).redacted(name: job.name)
        try AtomicFile.put(LockFile(.lock, job: name, entries: entries).yaml, at: path)
        console.errors(
            "\(SafeText.line(path)): \(HumanText.count(entries.count, "file")), \(known.count) known, "
                + "\(fetchedCount) fetched\(kept.isEmpty ? "" : ", \(kept.count) left as they were")\n")
        return ExitStatus.succeeded.code
    }

    private func tell(_ failures: [(id: String, error: TransferError)], _ path: String) -> Int32 {
        let redactor = job.redactor
        console.errors(
            "error: \(HumanText.count(failures.count, "file")) could not be fetched; \(SafeText.line(path)) was not written\n"
        )
        var toldAdvice: Set<String> = []
        for (id, error) in failures.prefix(10) {
            console.errors(
                "  \(SafeText.line(redactor.redacted(name: id))): \(SafeText.line(redactor.redacted(error.message))) "
                    + "[\(error.name.rawValue)]\n")
            let advice = error.whatHelps(.download)
            if toldAdvice.insert(advice).inserted {
                console.errors("    \(SafeText.line(redactor.redacted(advice)))\n")
            }
        }
        if failures.count > 10 { console.errors("  and \(failures.count - 10) more\n") }
        return ExitStatus.failed.code
    }
}

/// Files that are there and need not be fetched to be locked: what earlier runs recorded, or the job's own checksum,
/// proves them, and their servers still say the same.
private struct KnownFiles {
    private let job: Job
    private let plan: JobPlan
    private let standing: [Int: StandingFile]

    init(_ job: Job, _ options: RunOptions, _ environment: [String: String]) {
        self.job = job
        let folder = try? StateFolder(options.stateDirectory, environment)
        var look = DiskLook(job, in: folder, remembers: true)
        plan = look.plan(now: Clocks.wall())
        standing = look.standing
    }

    /// Returns the entries of the files that are proven, by task.
    func entries(of tasks: [Int], _ probe: ServerProbe) throws -> [Int: LockFile.Entry] {
        let candidates = tasks.filter { index in
            guard job.tasks[index].destination.map({ $0.utf8.last != UInt8(ascii: "/") }) == true,
                ProbeJob.refusal(job.tasks[index], plan.outlooks[index]) == nil
            else { return false }
            switch plan.outlooks[index].action {
            case .revalidate: return standing[index]?.etag != nil
            case .keep, .verify:
                guard case .literal? = job.tasks[index].options.values.checksum else { return false }
                return job.tasks[index].options.values.existing == .revalidate
            default: return false
            }
        }
        let answers = try probe.ask(job, about: candidates)
        var entries: [Int: LockFile.Entry] = [:]
        for index in candidates {
            guard let answer = answers[index], let entry = entry(index, answer) else { continue }
            entries[index] = entry
        }
        return entries
    }

    private func entry(_ index: Int, _ answer: ServerProbe.Answer) -> LockFile.Entry? {
        let task = job.tasks[index]
        let word = ServerAnswer(
            answer.response, of: task, error: answer.error, standing: standing[index], latency: nil)
        guard case .answered = word.result, let path = task.destination, let response = answer.response else {
            return nil
        }
        var stated: Checksum?
        if case .literal(let checksum)? = task.options.values.checksum { stated = checksum }
        if stated == nil, word.isChanged != false { return nil }
        guard let digests = FileDigests.of(path, also: stated), digests.meets,
            word.length.map({ $0 == digests.size }) ?? true,
            var held = word.held(task, Redactor(job.secrets))
        else { return nil }
        (held.size, held.sha256) = (digests.size, digests.sha256)
        (held.mimeType, held.certificate) = (response.mimeType, answer.certificate)
        return LockFile.Entry(
            id: task.id, path: LockedPath.relative(path, to: job.baseDirectory), answer: held)
    }
}
