import CurlCore
import JobRunner
import Stores
import Synchronization
import SystemIO
import TestSupport
import TransferModel

/// A job before a scripted server, carried by one process after the other: each is a `JobRun` that knows the events of
/// those before it and nothing else.
final class RunStage {
    let server: ScriptedServer
    let tree: TemporaryTree
    var job: Job
    var outside = OutsideNeeds()
    var acceptedAt: WallTime?
    /// How the run takes its turn among others.
    var turn: TurnSettings?
    /// Whether the run waits for tasks that must be resumed.
    var waitsForResume = false
    /// Whoever keeps the beginnings of requests that must not be sent twice.
    var keep: (@Sendable (UInt64, @escaping @Sendable () -> Void) -> Void)?
    /// What a template of the job becomes; what is kept of that is in the job of the next process.
    var expand: (@Sendable (TemplateValues) -> Result<ExpandedJob, TransferError>)?
    private(set) var expanded: [ExpandedTemplate] = []
    /// Whether the process dies before what templates became is kept.
    var forgetsExpansions = false
    /// Of all processes, as far as they are kept.
    private(set) var events: [Event] = []

    init() throws {
        try CurlLibrary.prepare()
        server = try ScriptedServer()
        tree = try TemporaryTree("run")
        job = Job(name: "stage", file: "stage.yaml", baseDirectory: tree.path)
        job.sessions = [SessionConfiguration(name: "s")]
        job.isNamed = true
    }

    func add(
        _ id: String, _ path: String, type: TaskType = .download, needs: [Int] = [], session: Int = 0,
        _ change: (inout TaskOptions.Values) -> Void = { _ in }
    ) throws {
        var values = TaskOptions.Values(policies: TransferPolicies())
        values.policies.retry.initialBackoff = .milliseconds(20)
        change(&values)
        var task = TaskSpecification(
            id: id, type: type, session: SessionIndex(raw: UInt16(session)),
            location: .url(try ResourceURL.parse(server.url(path))),
            destination: type == .download ? tree.path("\(id).bin") : nil, line: 1, options: TaskOptions(values))
        task.needs = needs.map { TaskIndex(raw: UInt32($0)) }
        job.tasks.append(task)
    }

    func makeBackground() {
        job.sessions[0].kind = .background
        job.sessions[0].identifier = "org.example.stage"
    }

    /// What those events come to.
    var history: RunHistory {
        var history = RunHistory(taskCount: job.tasks.count, sessionCount: job.sessions.count)
        for event in events where event.isTold { history.apply(event) }
        return history
    }

    /// Keeps so many of the events, as if the process had died before it could tell the others.
    func cut(to count: Int) { events = Array(events.prefix(count)) }

    /// The events as they were told before any told of the files that a task sends.
    func forgetBodyFiles() {
        for (index, event) in events.enumerated() {
            guard case .attemptStarted(let start) = event.kind else { continue }
            events[index].kind = .attemptStarted(AttemptStart(number: start.number, url: start.url))
        }
    }

    /// The events as they were told before files had stamps.
    func forgetStamps() {
        for (index, event) in events.enumerated() {
            guard case .fileFinished(let file) = event.kind else { continue }
            events[index].kind = .fileFinished(
                FileRecord(
                    path: file.path, bytes: file.bytes, checksum: file.checksum, changed: file.changed,
                    lengthUnverified: file.lengthUnverified))
        }
    }

    /// One process, until its end. `watch` sees each event as it is told, on another thread.
    func run(
        hasCrashed: Bool = false, captures: [String: [CapturedValue]] = [:],
        watch: @escaping @Sendable (Event, Mailbox<RunInput>) -> Void = { _, _ in }
    ) throws -> ExitStatus? {
        // Nobody keeps progress: the next process counts on from the last event that was kept.
        while events.last?.isTold == false { events.removeLast() }
        let past = events.isEmpty ? nil : history
        let watcher = Watcher(watch)
        let log = try EventLog(
            consumers: [watcher], redactor: Redactor(job.secrets), now: Clocks.now(), after: past?.lastSequence ?? 0)
        var settings = RunSettings(userAgent: "stage", seed: UInt64(events.count) + 1)
        settings.outside = outside
        if let keep { settings.keep = { last, _, isKept in keep(last, isKept) } }
        settings.acceptedAt = acceptedAt
        settings.turn = turn
        settings.waitsForResume = waitsForResume
        let kept = Mutex<[(template: TaskTemplate, captured: [[CapturedValue]])]>([])
        if let expand {
            settings.expand = expand
            settings.keepExpansion = { expansion, isKept in
                kept.withLock { $0.append((expansion.template, expansion.captured)) }
                isKept()
            }
        }
        let place = MemoryPlace(
            folder: tree.path("state"), job: "stage", sessions: job.sessions.map(\.name), secrets: Redactor([]))
        let run = try JobRun(
            job: job, settings: settings, log: log, memory: place,
            resuming: past.map {
                RunResumption(history: $0, hasCrashed: hasCrashed, captures: captures, expanded: expanded)
            }
        ) { wake in
            let inbox = Mailbox<RunInput>(wake: wake)
            watcher.inbox.withLock { $0 = inbox }
            return inbox
        }
        let status = run.run()
        if let failure = log.finish() { throw failure }
        events += watcher.events.withLock { $0 }
        if forgetsExpansions { return status }
        for (template, captured) in kept.withLock({ $0 }) { try grow(template, captured) }
        return status
    }

    private func grow(_ template: TaskTemplate, _ captured: [[CapturedValue]]) throws {
        var book = CapturedValues()
        for (task, values) in zip(template.sources, captured) { book.keep(values, of: task) }
        guard let made = try expand?(TemplateValues(order: [template.number], captured: book)).get() else { return }
        let growth = Growth(job)
        let expansion = try growth.expansion(made, of: [(template, made.added.count)])
        let start = job.tasks.count
        job.tasks += expansion.tasks
        for (task, needs) in expansion.needs { job.tasks[Int(task.raw)].needs += needs }
        if let place = growth.place(of: template) {
            expanded.append(ExpandedTemplate(template: place, tasks: start..<job.tasks.count))
        }
    }

    /// What is wrong with the whole, over all processes.
    func violations(_ interruptions: Int = 1) -> [String] {
        var facts = TraceFacts(job)
        facts.interruptions = interruptions
        // The date and the clock that durations are measured with are read apart.
        facts.slack = .milliseconds(5)
        let checker = CheckingConsumer(facts)
        checker.consume(events[...])
        return checker.finish().map { "\($0)" }
    }

    /// The kinds of a task's events, or of a session's.
    func story(task: Int) -> [String] { events.filter { $0.task.map { Int($0.raw) } == task }.map(\.word) }
    func story(session: Int) -> [String] {
        events.filter { $0.task == nil && $0.session.map { Int($0.raw) } == session }.map(\.word)
    }
    func end(_ task: Int) -> TaskRecord? {
        for event in events where event.task.map({ Int($0.raw) }) == task {
            if case .taskFinished(let record) = event.kind { return record }
        }
        return nil
    }

    private final class Watcher: EventConsumer, Sendable {
        let events = Mutex<[Event]>([])
        let inbox = Mutex<Mailbox<RunInput>?>(nil)
        private let watch: @Sendable (Event, Mailbox<RunInput>) -> Void
        init(_ watch: @escaping @Sendable (Event, Mailbox<RunInput>) -> Void) { self.watch = watch }

        func consume(_ batch: ArraySlice<Event>) {
            events.withLock { $0 += batch }
            guard let inbox = inbox.withLock({ $0 }) else { return }
            for event in batch { watch(event, inbox) }
        }
    }
}

extension Event {
    /// Kept in the journal.
    var isTold: Bool {
        switch kind {
        case .sentBodyData, .receivedData: false
        default: true
        }
    }

    var word: String {
        switch kind {
        case .waiting(let reason, _): "waiting \(reason.rawValue)"
        case .attemptStarted(let record): "attempt \(record.number)"
        case .attemptFinished(let record): "ended \(record.outcome.rawValue)"
        case .taskFinished(let record): "finished \(record.outcome.rawValue)"
        case .resumedAtOffset: "resumed at an offset"
        default: String("\(kind)".prefix { $0 != "(" })
        }
    }
}
