import FileDelivery
import SystemIO
import TransferModel

/// Writes downloads with `to: "-"` to standard output, in the order of the job, once each is staged and verified as any
/// other.
final class StandardOutput: Participant {
    let core: EngineCore
    /// `nil` where no task writes to standard output.
    let queue: OutputQueue?

    init(_ core: EngineCore, _ queue: OutputQueue?) {
        self.core = core
        self.queue = queue
    }

    /// Why nothing more of the attempt's task can be written; `nil` where it can, or goes elsewhere.
    func problem(of attempt: Attempt) -> TransferError? {
        core.job.tasks[Int(attempt.task.raw)].toStandardOutput ? queue?.problem : nil
    }

    /// The attempt is cancelled while its body is written, or waits for that.
    func withdraw(_ attempt: Attempt) {
        queue?.withdraw(attempt.task)
        attempt.download.file = nil
    }

    /// The task has ended: the next may write.
    func taskEnded(_ task: TaskIndex) { queue?.ended(task) }

    /// Ends the thread that writes.
    func close() { queue?.close() }

    /// Where a body is staged that goes to standard output: nobody else may look into it.
    func outputDestination(_ attempt: Attempt) -> Destination {
        var destination = Destination(path: "\(queue?.folder ?? "/tmp")/-")
        destination.toStandardOutput = true
        destination.existing = .replace
        destination.mode = 0o600
        destination.checksum = attempt.download.checksum
        destination.reserve = core.job.limits.minimumFreeDisk ?? 0
        return destination
    }

    /// The body is whole, verified and kept until its turn comes.
    func readyForOutput(_ task: TaskIndex, _ record: FileRecord, _ body: StagedBody) {
        guard let attempt = core.attempt(of: task), case .delivering = attempt.phase, let output = queue else { return }
        attempt.download.file = record
        participants.answers.takeFindings(attempt)
        attempt.noteUnpacked(record.bytes)
        if attempt.exchange.head == nil { participants.publication.announceFile(attempt, length: record.bytes) }
        if let problem = output.problem { return failOutput(attempt, problem) }
        attempt.phase = .awaitingOutput
        core.reports.append(.awaitsOutput(task))
        output.add(body, of: task)
    }

    /// The body was written, or could not be.
    func written(_ task: TaskIndex, _ error: TransferError?) {
        queue?.written(error)
        guard let attempt = core.attempt(of: task), case .awaitingOutput = attempt.phase else { return }
        if let error { return failOutput(attempt, error) }
        if let record = attempt.download.file { core.emit(.fileFinished(record), attempt) }
        engine.succeed(attempt)
    }

    private func failOutput(_ attempt: Attempt, _ error: TransferError) {
        queue?.withdraw(attempt.task)
        attempt.download.file = nil
        engine.lose(attempt, error)
    }
}

/// The downloads that go to standard output: their order, and the thread that writes them.
final class OutputQueue {
    private var order: OutputOrder
    private let writer: OutputWriter
    private let reports: Mailbox<DeliveryReport>
    /// Verified bodies whose turn has not come.
    private var bodies: [TaskIndex: StagedBody] = [:]
    /// Why nothing more can be written.
    private(set) var problem: TransferError?
    /// Where bodies are staged: files without a name, gone with the process.
    let folder: String

    /// `nil` when no task of the job writes to standard output.
    init?(_ job: Job, _ reports: Mailbox<DeliveryReport>) throws(SystemError) {
        let tasks = job.tasks.indices.filter { job.tasks[$0].toStandardOutput }.map { TaskIndex(raw: UInt32($0)) }
        guard !tasks.isEmpty else { return nil }
        order = OutputOrder(tasks)
        self.reports = reports
        writer = try OutputWriter(.standardOutput, reports: reports)
        folder = CurrentProcess.temporaryFolder()
    }

    func add(_ body: StagedBody, of task: TaskIndex) {
        bodies[task] = body
        order.bodyReady(task)
        writeNext()
    }

    /// A body was written, or could not be.
    func written(_ error: TransferError?) { problem = problem ?? error }

    /// The task has ended: the next may write.
    func ended(_ task: TaskIndex) {
        order.ended(task)
        writeNext()
    }

    /// The task is cancelled. What it is writing stays incomplete, and nothing may follow that.
    func withdraw(_ task: TaskIndex) {
        bodies[task] = nil
        if order.isWriting(task) {
            writer.stop()
            problem = problem ?? .outputStopped
        }
        order.bodyLost(task)
    }

    func close() { writer.leave() }

    private func writeNext() {
        guard let task = order.next(), let body = bodies.removeValue(forKey: task) else { return }
        if let problem { return reports.post(.written(task, problem)) }
        writer.write(body, of: task)
    }
}
