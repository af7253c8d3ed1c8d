import JobLoader
import JobRunner
import LockFiles
import Planning
import Stores
import Synchronization
import SystemIO
import TransferModel

/// Fetches files only to lock them: each is read for its digest and removed.
struct LockFetch {
    let console: Console
    let networks: NetworkSettings
    let memory: MemoryPlace?
    let scratch: ScratchFolder
    /// The inputs of a job with templates, by job file; empty without any.
    let inputs: [RecordedInputs]

    /// The entries of the files, and the tasks that failed.
    struct Outcome {
        var entries: [LockFile.Entry] = []
        var failures: [(id: String, error: TransferError)] = []
        /// The signal that ended it.
        var signal: Int32?
    }

    func run(_ job: Job, fetching tasks: [Int]) throws -> Outcome {
        let locking = LockingJob(job, fetching: tasks, into: scratch.path)
        let collector = LockCollector(locking, scratch, Redactor(job.secrets))
        var expand: (@Sendable (TemplateValues) -> Result<ExpandedJob, TransferError>)?
        if !inputs.isEmpty {
            let ownExpansion = RunningJob.expansion(of: job, inputs)
            expand = { [path = scratch.path] values in
                ownExpansion(values).map { expanded in
                    var expanded = expanded
                    expanded.job = LockingJob.redirected(expanded.job, from: expanded.added.lowerBound, into: path)
                    return expanded
                }
            }
        }
        let heard = StopSignal()
        let run = QuietRun(networks: networks, memory: memory, redactor: Redactor(job.secrets), expand: expand)
        try run.run(locking.job, telling: collector) { heard.watch($0) }
        var outcome = collector.outcome
        outcome.signal = heard.number
        return outcome
    }
}

/// The first signal that ends the command.
private final class StopSignal: Sendable {
    private let first = Mutex<Int32?>(nil)
    var number: Int32? { first.withLock { $0 } }

    func watch(_ inbox: Mailbox<RunInput>) {
        let heard = HeardSignal()
        try? Signals.watch { number in
            switch heard.signalReceived(number) {
            case .first:
                self.first.withLock { $0 = number }
                inbox.post(.command(.stop(signal: number)))
            case .companion: break
            case .second: Terminal.endAtOnce(number)
            }
        }
    }
}

/// Paths as locks have them.
enum LockedPath {
    static func relative(_ path: String, to folder: String) -> String {
        let folder = folder.hasSuffix("/") ? folder : folder + "/"
        guard path.utf8.starts(with: folder.utf8), path.utf8.count > folder.utf8.count else { return path }
        return String(decoding: path.utf8.dropFirst(folder.utf8.count), as: UTF8.self)
    }
}

/// Makes the entries from a run's events.
private final class LockCollector: EventConsumer {
    private struct Pending {
        /// URL of the last attempt.
        var url: String?
        var response: ResponseRecord?
        var certificate: String?
        var file: FileRecord?
    }
    private let base: String
    private let scratch: ScratchFolder
    private let redactor: Redactor
    private var tasks: [TaskSpecification]
    private var isWanted: [Bool]
    private var isRead: [Bool]
    private var pending: [Int: Pending] = [:]
    private(set) var outcome = LockFetch.Outcome()

    init(_ locking: LockingJob, _ scratch: ScratchFolder, _ redactor: Redactor) {
        tasks = locking.job.tasks
        (isWanted, isRead) = (locking.isWanted, locking.isRead)
        base = locking.job.baseDirectory
        (self.scratch, self.redactor) = (scratch, redactor)
    }

    func consume(_ events: ArraySlice<Event>) {
        for event in events {
            guard let task = event.task.map({ Int($0.raw) }), task < tasks.count else { continue }
            switch event.kind {
            case .expanded(let expansion):
                tasks += expansion.tasks
                isWanted += expansion.tasks.map { _ in isWanted[task] }
                isRead += expansion.tasks.map { _ in false }
            case .attemptStarted(let start): pending[task, default: Pending()].url = start.url
            case .response(let response): pending[task, default: Pending()].response = response
            case .fileFinished(let file): pending[task, default: Pending()].file = file
            case .attemptFinished(let attempt):
                let leaf = attempt.transactions.last { $0.tlsFingerprint != nil }?.tlsFingerprint
                if let leaf { pending[task, default: Pending()].certificate = leaf }
            case .taskFinished(let record): taskFinished(task, record)
            default: break
            }
        }
    }

    private func taskFinished(_ task: Int, _ record: TaskRecord) {
        let id = tasks[task].id
        let found = pending.removeValue(forKey: task)
        guard record.outcome == .succeeded else {
            // A skipped task has no error of its own: the failure that it was skipped for is shown.
            if let error = record.error, record.outcome == .failed, !record.tolerated {
                outcome.failures.append((id, error))
            }
            return
        }
        guard tasks[task].type == .download, let file = found?.file else { return }
        defer { if !isRead[task] { scratch.remove(file.path) } }
        guard isWanted[task] else { return }
        guard let digests = FileDigests.of(file.path) else {
            outcome.failures.append((id, TransferError(.cannotOpenFile, "its file cannot be read again")))
            return
        }
        let original = found?.url
        let url = found?.response?.url ?? original ?? ""
        var answer = HeldAnswer(url: HeldAnswer.recorded(url, of: original, redactor))
        answer.size = digests.size
        answer.sha256 = digests.sha256
        answer.etag = redactor.redacted(found?.response?.headers.first("etag"))
        answer.lastModified = found?.response?.headers.first("last-modified")
        answer.mimeType = found?.response?.mimeType
        answer.certificate = found?.certificate
        let path = LockingJob.original(file.path, of: tasks[task], in: scratch.path)
        outcome.entries.append(
            LockFile.Entry(id: id, path: path.map { LockedPath.relative($0, to: base) }, answer: answer))
    }
}
