import Diagnostics
package import Exports
package import JobLoader
package import LockFiles
import Records
import Stores
package import TransferModel

/// Everything from which a background run's job is made, so that any process makes the same job again. It holds the
/// job's secrets.
package struct RunRecipe: Sendable {
    /// The job file and everything that its loading read.
    package var inputs: RecordedInputs
    /// The job file's SHA-256, for the report; `nil` if it is not known.
    package var sha256: String?
    /// The tasks that `--only`, `--except` or `rerun` chose.
    package var selection = TaskSelection()
    /// What the command line changed in the job.
    package var changes = Changes()
    /// The lock or saved plan that the run is held to.
    package var held: HeldFile?
    /// The umask of the command's process, which decides the modes of the files.
    package var mask: UInt16 = 0o022
    /// Whether no command follows: the background process then writes the report and the event lines.
    package var isDetached = false
    /// The other formats in which the report is written, with absolute paths.
    package var exports: [ExportRequest] = []
    /// The value of `TRACEPARENT` in the command's environment.
    package var traceParent: String?
    /// The first part of `TRANSFER_RUN_HOOK_DELIVERY_ID`, by which a receiver recognizes an end of which it is told
    /// twice.
    package var delivery: String

    /// What the command line says instead of the job.
    package struct Changes: Hashable, Sendable {
        /// The greatest number of tasks at a time, instead of the job's.
        package var maximumConcurrentTasks: Int?
        /// The bandwidth limit in bytes per second, instead of the job's.
        package var bandwidth: Int64?
        /// Whether the first failure ends the run (`--fail-fast`).
        package var failsFast = false
        /// Whether the exit status tells that nothing changed (`--exit-unchanged`).
        package var reportsUnchanged = false
        /// The text given with `--network`.
        package var network: String?
        package init() {}
    }

    package init(_ inputs: RecordedInputs, sha256: String?, delivery: String) {
        self.inputs = inputs
        self.sha256 = sha256
        self.delivery = delivery
    }

    /// Whether both are held to the same policy, or to none.
    func isUnderSamePolicy(as other: RunRecipe) -> Bool {
        inputs.options.policy?.source.bytes == other.inputs.options.policy?.source.bytes
    }

    /// Whether the job has a task in a background session.
    package static func concerns(_ job: Job) -> Bool {
        job.tasks.contains { job.sessions[Int($0.session.raw)].kind == .background }
    }

    /// Returns the job as it was when it was handed over.
    package func job() throws(ServiceTrouble) -> Job {
        let result = inputs.load()
        guard var job = result.job, !result.diagnostics.hasErrors, result.notBuilt.isEmpty else {
            let what = (result.diagnostics.sorted() + result.notBuilt).first.map { ": \($0.message)" } ?? ""
            throw ServiceTrouble("the job that was handed over cannot be read by this version\(what)")
        }
        do throws(TaskSelection.Problem) {
            job = try selection.apply(to: job)
        } catch {
            throw ServiceTrouble("no task of the job that was handed over matches `\(error.pattern)`")
        }
        job.sha256 = sha256.map { LateText($0) }
        if let held { job = job.held(to: try answers(held, job)) }
        return changed(job)
    }

    /// Reads the file that the run is held to, which the command has read without errors.
    private func answers(_ held: HeldFile, _ job: Job) throws(ServiceTrouble) -> HeldAnswers {
        guard let file = held.read().file else {
            throw ServiceTrouble("\(held.name), which the run is held to, cannot be read by this version")
        }
        return file.held(file: held.name, redactor: Redactor(job.secrets))
    }

    /// Loads the job again with the tasks that its templates become, and holds the new ones to the lock. The new ones are
    /// the last `count` tasks; without `count`, those of the last template.
    func expand(_ values: TemplateValues, count: Int? = nil) -> Result<ExpandedJob, TransferError> {
        inputs.expand(values).flatMap { selection.applied(to: $0) }.flatMap { read in
            var read = read
            if let count {
                guard count <= read.job.tasks.count else {
                    return .failure(TransferError(.expansionFailed, "it made others before"))
                }
                read.added = read.job.tasks.count - count..<read.job.tasks.count
            }
            guard let held, held.kind == .lock else { return .success(read) }
            do throws(ServiceTrouble) {
                return read.held(to: try answers(held, read.job))
            } catch {
                return .failure(TransferError(.expansionFailed, "\(error)"))
            }
        }
    }

    /// Returns the job with `changes`, and for a detached run with discretionary background sessions.
    package func changed(_ job: Job) -> Job {
        var job = job
        if let maximum = changes.maximumConcurrentTasks { job.limits.maximumConcurrentTasks = maximum }
        if let bandwidth = changes.bandwidth { job.limits.bandwidth = .steady(bandwidth) }
        job.holdLimits()
        guard isDetached else { return job }
        // No user waits for a detached run: it transfers when that disturbs least, unless its session says
        // otherwise.
        for index in job.sessions.indices where job.sessions[index].kind == .background {
            job.sessions[index].discretionary = job.sessions[index].discretionary ?? true
        }
        return job
    }
}

extension RunRecipe {
    /// Returns the recipe as an input of the run. Number 0 is what the run was accepted with; changed job files follow.
    func input(_ number: Int) -> JournalInput {
        JournalInput(kind: InputKind.recipe, name: "\(number)", bytes: encoded())
    }
}

// MARK: - As bytes

extension RunRecipe {
    /// Version 1 had no `exports` and no `traceParent`, version 2 no `held`, version 3 no `selection.addsNeeds`.
    private static let version: UInt8 = 4

    /// Returns the recipe as bytes for the journal.
    package func encoded() -> [UInt8] {
        var writer = RecordWriter(capacity: 4096)
        writer.put(byte: Self.version)
        writer.put(inputs.encoded())
        writer.put(sha256)
        writer.put(selection.only) { $0.put($1) }
        writer.put(selection.except) { $0.put($1) }
        writer.put(changes.maximumConcurrentTasks.map { Int64($0) })
        writer.put(changes.bandwidth)
        writer.put(changes.failsFast)
        // Once `--no-wait`, which counts for the command alone.
        writer.put(false)
        writer.put(changes.reportsUnchanged)
        writer.put(changes.network)
        writer.put(Int64(mask))
        writer.put(isDetached)
        writer.put(delivery)
        writer.put(exports) {
            $0.put($1.format.rawValue)
            $0.put($1.path)
        }
        writer.put(traceParent)
        writer.put(held) {
            $0.put(byte: $1.kind == .lock ? 0 : 1)
            $0.put($1.name)
            $0.put($1.bytes)
        }
        writer.put(selection.addsNeeds)
        return writer.bytes
    }

    package init(_ bytes: [UInt8]) throws(ServiceTrouble) {
        do throws(RecordProblem) {
            var reader = RecordReader(bytes)
            let version = try reader.byte()
            guard (1...Self.version).contains(version) else {
                throw reader.problem(.unknown, "runs of format \(version) are unknown, only 1 to \(Self.version) are")
            }
            self = try Self.read(&reader)
            if version >= 2 { try readExports(&reader) }
            if version >= 3 { try readHeld(&reader) }
            if version >= 4 { selection.addsNeeds = try reader.flag() }
            try reader.finish()
        } catch {
            throw ServiceTrouble("what was handed over cannot be read: \(error)", mayPass: error.kind == .unknown)
        }
    }

    private mutating func readExports(_ reader: inout RecordReader) throws(RecordProblem) {
        exports = try reader.list { (reader) throws(RecordProblem) in
            let name = try reader.text()
            guard let format = ReportFormat(rawValue: name) else {
                throw reader.problem(.unknown, "reports in the format `\(name)` are unknown")
            }
            return ExportRequest(format, try reader.text())
        }
        traceParent = try reader.optionalText()
    }

    private mutating func readHeld(_ reader: inout RecordReader) throws(RecordProblem) {
        held = try reader.optional { (reader) throws(RecordProblem) in
            let kind = try reader.byte()
            guard kind < 2 else { throw reader.problem(.unknown, "runs held to a file of kind \(kind) are unknown") }
            return HeldFile(kind == 0 ? .lock : .plan, name: try reader.text(), bytes: try reader.blob())
        }
    }

    private static func read(_ reader: inout RecordReader) throws(RecordProblem) -> RunRecipe {
        let inputs = try RecordedInputs(try reader.blob())
        let sha256 = try reader.optionalText()
        var selection = TaskSelection()
        selection.only = try reader.list { (reader) throws(RecordProblem) in try reader.text() }
        selection.except = try reader.list { (reader) throws(RecordProblem) in try reader.text() }
        var changes = Changes()
        changes.maximumConcurrentTasks = try reader.optionalInt64().map { Int($0) }
        changes.bandwidth = try reader.optionalInt64()
        changes.failsFast = try reader.flag()
        _ = try reader.flag()
        changes.reportsUnchanged = try reader.flag()
        changes.network = try reader.optionalText()
        let mask = try reader.int64()
        let isDetached = try reader.flag()
        var recipe = RunRecipe(inputs, sha256: sha256, delivery: try reader.text())
        recipe.selection = selection
        recipe.changes = changes
        recipe.mask = UInt16(truncatingIfNeeded: mask) & 0o777
        recipe.isDetached = isDetached
        return recipe
    }
}
