import JobRunner
import Planning
import Stores
import SystemIO
import TransferModel

/// Asks the servers of a job about its files, through its own sessions, and fetches none.
struct ServerProbe {
    let environment: [String: String]
    let console: Console
    let networks: NetworkSettings
    let memory: MemoryPlace?

    /// What servers said of some tasks, by their numbers in the whole job.
    struct Answer {
        var response: ResponseRecord?
        var error: TransferError?
        var latency: TimeSpan?
        /// SHA-256 of the server's certificate.
        var certificate: String?
    }

    /// Returns the answers to the questions about `tasks`; a HEAD that is refused is followed by a GET that ends at the
    /// headers. A signal ends the process at once: nothing is half done.
    func ask(_ job: Job, about tasks: [Int]) throws -> [Int: Answer] {
        var answers = try ask(ProbeJob(job, asking: tasks, .head))
        let refused = tasks.filter { ServerAnswer.mayDifferForGet(answers[$0]?.response?.status) }
        guard !refused.isEmpty else { return answers }
        answers.merge(try ask(ProbeJob(job, asking: refused, .cutGet))) { $1 }
        return answers
    }

    private func ask(_ probe: ProbeJob) throws -> [Int: Answer] {
        guard !probe.tasks.isEmpty else { return [:] }
        var job = probe.job
        if let words = OpenFiles.fit(&job) { console.errors("warning: \(words)\n") }
        let collector = AnswerCollector(probe.tasks)
        let run = QuietRun(networks: networks, memory: memory, redactor: Redactor(job.secrets))
        try run.run(job, telling: collector)
        return collector.answers
    }
}

/// Runs a job beside the user's own: nothing is drawn, and only one consumer gets its events.
struct QuietRun {
    let networks: NetworkSettings
    let memory: MemoryPlace?
    let redactor: Redactor
    /// Makes tasks of a template, for jobs that have any.
    var expand: (@Sendable (TemplateValues) -> Result<ExpandedJob, TransferError>)?

    /// Runs the job to its end. `listen` gets the inbox that can stop it.
    func run(
        _ job: Job, telling consumer: some EventConsumer, listen: @escaping (Mailbox<RunInput>) -> Void = { _ in }
    ) throws {
        let log = try EventLog(consumers: [consumer], redactor: redactor, now: Clocks.now())
        var settings = RunSettings(
            userAgent: "transfer-run/\(CommandLineTool.version)", seed: UInt64.random(in: 1...UInt64.max))
        settings.networks = networks
        settings.expand = expand
        let run: JobRun
        do throws(TransferError) {
            run = try JobRun(job: job, settings: settings, log: log, memory: memory) { wake in
                let inbox = Mailbox<RunInput>(wake: wake)
                listen(inbox)
                return inbox
            }
        } catch {
            _ = log.finish()
            throw error
        }
        _ = run.run()
        if let failure = log.finish() { throw failure }
        _ = run.storeProblems()
    }
}

/// Collects the last response to each question.
private final class AnswerCollector: EventConsumer {
    private let tasks: [Int]
    private(set) var answers: [Int: ServerProbe.Answer] = [:]

    init(_ tasks: [Int]) { self.tasks = tasks }

    func consume(_ events: ArraySlice<Event>) {
        for event in events {
            guard let task = event.task.map({ tasks[Int($0.raw)] }) else { continue }
            switch event.kind {
            case .response(let response): answers[task, default: .init()].response = response
            case .attemptFinished(let attempt):
                if let leaf = attempt.transactions.last?.tlsFingerprint {
                    answers[task, default: .init()].certificate = leaf
                }
                guard let last = attempt.transactions.last, let sent = last.requestStart, let came = last.responseStart
                else { continue }
                answers[task, default: .init()].latency = came - sent
            case .taskFinished(let record): answers[task, default: .init()].error = record.error
            default: break
            }
        }
    }
}
