import Diagnostics
package import Exports
package import JobLoader
import Records
import Stores
package import TransferModel

/// All that a background run is made of: of these any process makes the same job again. It holds whatever secrets the job
/// has.
package struct RunRecipe: Sendable {
    package var inputs: RecordedInputs
    /// Of the job file, for the report.
    package var sha256: String?
    package var selection = TaskSelection()
    package var changes = Changes()
    /// Of the command's process: what the files' modes are made of.
    package var mask: UInt16 = 0o022
    /// Nobody follows: report and events are the background process's to write.
    package var isDetached = false
    /// The other formats in which the report is written, at absolute paths.
    package var exports: [ExportRequest] = []
    /// `TRACEPARENT` of the command.
    package var traceParent: String?
    /// What `onFinish` is told, so that whoever hears of the same end twice knows it.
    package var delivery: String

    /// What the command line said instead of the job.
    package struct Changes: Hashable, Sendable {
        package var maximumConcurrentTasks: Int?
        package var bandwidth: Int64?
        package var failsFast = false
        package var putsOffWhatWaits = false
        package var reportsUnchanged = false
        /// `--network`, as it was typed.
        package var network: String?
        package init() {}
    }

    package init(_ inputs: RecordedInputs, sha256: String?, delivery: String) {
        self.inputs = inputs
        self.sha256 = sha256
        self.delivery = delivery
    }

    /// Whether something of this job is the background process's.
    package static func concerns(_ job: Job) -> Bool {
        job.tasks.contains { job.sessions[Int($0.session.raw)].kind == .background }
    }

    /// The job as it was when it was handed over.
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
        return changed(job)
    }

    package func changed(_ job: Job) -> Job {
        var job = job
        if let maximum = changes.maximumConcurrentTasks { job.limits.maximumConcurrentTasks = maximum }
        if let bandwidth = changes.bandwidth { job.limits.bandwidth = .steady(bandwidth) }
        guard isDetached else { return job }
        // Nobody waits for what was handed over and left: it goes when it costs nobody, unless its session says otherwise.
        for index in job.sessions.indices where job.sessions[index].kind == .background {
            job.sessions[index].discretionary = job.sessions[index].discretionary ?? true
        }
        return job
    }
}

extension RunRecipe {
    /// The first is what the run was accepted with; of a changed job file others follow.
    func input(_ number: Int) -> JournalInput {
        JournalInput(kind: InputKind.recipe, name: "\(number)", bytes: encoded())
    }
}

// MARK: - As bytes

extension RunRecipe {
    /// 1 had no `exports`.
    private static let version: UInt8 = 2

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
        writer.put(changes.putsOffWhatWaits)
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
        changes.putsOffWhatWaits = try reader.flag()
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
