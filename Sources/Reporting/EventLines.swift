internal import TextFormats
package import TransferModel

/// Writes events as lines of JSON as they come: whole lines only, one write for each batch.
///
/// `seq` counts these lines, not the run's events: progress is thinned here, and a gap would look like a lost line.
package final class EventLines: EventConsumer {
    private var job: Job
    private let sink: any ByteSink
    private let redactor: Redactor
    private var writer = JSONWriter(reserving: 16 << 10)
    private var sequence: UInt64 = 0
    private var thinning = ProgressThinning()
    /// In words what ended the run before its tasks were done; `nil` where nothing did so far.
    private var stopped: String?
    private var isStopped = false

    /// Why lines are missing; `nil` if none is. The run goes on, and ends with exit status 4.
    package private(set) var problem: OutputProblem?

    package init(job: Job, sink: any ByteSink, redactor: Redactor? = nil) {
        self.job = job
        self.sink = sink
        self.redactor = redactor ?? job.redactor
    }

    /// Writes the events' lines; does nothing after a failed write.
    package func consume(_ events: ArraySlice<Event>) {
        guard !isStopped else { return }
        for event in events where thinning.lets(event) { append(event) }
        flush()
    }

    /// Confirms that nothing written was lost; to be called after the last event.
    package func finish() {
        guard !isStopped else { return }
        isStopped = true
        do throws(OutputProblem) { try sink.confirmWrites() } catch { problem = error }
    }

    private func flush() {
        guard !writer.bytes.isEmpty else { return }
        do {
            try sink.write(writer.bytes)
        } catch {
            isStopped = true
            // A closed reader is no failure of the run: `head`, for example, has all it wanted.
            if !error.isBrokenPipe { problem = error }
        }
        // One huge answer must not keep its memory for the rest of the run.
        writer.bytes.removeAll(keepingCapacity: writer.bytes.capacity <= 1 << 20)
    }

    private func append(_ event: Event) {
        sequence += 1
        var line = JSONWriter()
        swap(&line.bytes, &writer.bytes)
        line.beginObject()
        line.member("time", event.time)
        line.member("seq", sequence)
        line.member("event", event.kind.name)
        line.member("session", event.session.flatMap { job.sessionName($0) })
        line.member("task", event.task.flatMap { task(Int($0.raw)) }.map { redactor.redacted(name: $0.id) })
        appendFields(of: event, to: &line)
        if case .expanded(let expansion) = event.kind { job.tasks += expansion.tasks }
        line.endObject()
        line.bytes.append(UInt8(ascii: "\n"))
        swap(&line.bytes, &writer.bytes)
    }

    private func task(_ index: Int) -> TaskSpecification? {
        index < job.tasks.count ? job.tasks[index] : nil
    }

    private func appendFields(of event: Event, to line: inout JSONWriter) {
        switch event.kind {
        case .sessionStarted: appendSession(event.session, to: &line)
        case .taskCreated: appendTask(event.task, to: &line)
        case .expanded(let expansion): line.member("tasks", expansion.count)
        case .waiting(let reason, let lacks):
            line.member("reason", reason.rawValue)
            line.member("lacks", lacks)
        case .attemptStarted(let record):
            line.member("number", record.number)
            line.member("url", record.url)
        case .challenge(let record): line.members(of: record)
        case .redirect(let record): line.members(of: record)
        case .resumedAtOffset(let progress):
            line.member("offset", progress.bytes)
            line.member("expected", progress.expected)
        case .response(let record):
            line.member("method", record.method)
            line.members(of: record)
        case .sentBodyData(let progress), .receivedData(let progress):
            line.member("bytes", progress.bytes)
            line.member("expected", progress.expected)
        case .fileFinished(let record): line.members(of: record)
        case .pageFinished(let record):
            line.member("number", record.number)
            line.member("url", record.url)
            line.member("status", record.status)
        case .attemptFinished(let record): line.members(of: record)
        case .taskFinished(let record):
            line.members(of: record)
            if stopped == nil { stopped = RunStop.words(record) }
        case .sessionInvalidated(let record):
            line.member("connectionsOpened", record.connectionsOpened)
            line.member("connectionsReused", record.connectionsReused)
            line.member("hosts", hosts: record.hosts)
        case .connectionsChanged(let step):
            line.member("host", step.origin.description)
            line.member("from", step.from)
            line.member("to", step.to)
            line.member("reason", step.reason.rawValue)
        case .hookFinished(let record):
            line.member("ofTask", redactor.redacted(name: record.task))
            line.member("command", texts: record.command)
            line.member("exitStatus", record.exitStatus)
            line.member("duration", record.duration)
            line.member("trouble", record.trouble)
        case .groupPublished(let record):
            line.member("group", redactor.redacted(name: record.name))
            line.member("removed", removed: record.removed)
        case .runFinished(let record):
            line.member("outcome", record.outcome.rawValue)
            line.member("exitStatus", record.exitStatus)
            line.member("duration", record.duration)
            line.member("stopped", stopped)
        case .taskResumed, .becameDownload, .needNewBodyStream, .cacheStored, .sessionFinishedEvents: break
        }
    }

    private func appendSession(_ index: SessionIndex?, to line: inout JSONWriter) {
        let session = index.flatMap { Int($0.raw) < job.sessions.count ? job.sessions[Int($0.raw)] : nil }
        line.member("configuration", session?.kind.rawValue)
        line.member("identifier", session?.identifier)
    }

    private func appendTask(_ index: TaskIndex?, to line: inout JSONWriter) {
        let task = index.flatMap { self.task(Int($0.raw)) }
        line.member("type", task?.type.rawValue)
        line.member("method", task?.effectiveMethod)
        line.member("url", task.map { redactor.redacted($0.location.shown) })
    }
}

/// Lets five progress events a second of a kind and task through, by the events' own time, and every other event.
struct ProgressThinning {
    private static let interval = TimeSpan.milliseconds(200)
    private var lastReceived: [TaskIndex: WallTime] = [:]
    /// Times of the last five events: the event for the end of a body may follow another closely.
    private var lastSent: [TaskIndex: [WallTime]] = [:]

    mutating func lets(_ event: Event) -> Bool {
        guard let task = event.task else { return true }
        switch event.kind {
        case .receivedData: return Self.pass(task, event.time, &lastReceived)
        case .sentBodyData: return Self.passFive(event.time, &lastSent[task, default: []])
        case .taskFinished:
            lastReceived[task] = nil
            lastSent[task] = nil
            return true
        default: return true
        }
    }

    private static func passFive(_ time: WallTime, _ last: inout [WallTime]) -> Bool {
        if last.count == 5 {
            if time >= last[0], time - last[0] < .seconds(1) { return false }
            last.removeFirst()
        }
        last.append(time)
        return true
    }

    /// A clock that was set back begins anew, or a task would be silent until it is caught up.
    private static func pass(_ task: TaskIndex, _ time: WallTime, _ last: inout [TaskIndex: WallTime]) -> Bool {
        if let before = last[task], time >= before, time - before < interval { return false }
        last[task] = time
        return true
    }
}

extension Event.Kind {
    /// The name under `event`.
    package var name: String {
        switch self {
        case .sessionStarted: "sessionStarted"
        case .taskCreated: "taskCreated"
        case .expanded: "expanded"
        case .taskResumed: "taskResumed"
        case .waiting: "waiting"
        case .attemptStarted: "attemptStarted"
        case .challenge: "challenge"
        case .redirect: "redirect"
        case .resumedAtOffset: "resumedAtOffset"
        case .response: "response"
        case .becameDownload: "becameDownload"
        case .needNewBodyStream: "needNewBodyStream"
        case .sentBodyData: "sentBodyData"
        case .receivedData: "receivedData"
        case .cacheStored: "cacheStored"
        case .fileFinished: "fileFinished"
        case .pageFinished: "pageFinished"
        case .attemptFinished: "attemptFinished"
        case .taskFinished: "taskFinished"
        case .hookFinished: "hookFinished"
        case .groupPublished: "groupPublished"
        case .connectionsChanged: "connectionsChanged"
        case .sessionFinishedEvents: "sessionFinishedEvents"
        case .sessionInvalidated: "sessionInvalidated"
        case .runFinished: "runFinished"
        }
    }
}

extension JSONWriter {
    fileprivate mutating func members(of file: FileRecord) {
        member("path", file.path)
        member("bytes", file.bytes)
        member("checksum", checksum: file.checksum)
        member("changed", file.changed)
        member("length", file.lengthUnverified ? "unverified" : "verified")
    }

    /// The body is left to the report: a line is for following along.
    fileprivate mutating func members(of task: TaskRecord) {
        member("outcome", task.outcome.rawValue)
        member("tolerated", task.tolerated)
        member("changed", task.changed)
        member("source", task.source?.rawValue)
        member("duration", task.duration)
        member("waits", waits: task.waits)
        member("captures", variables: task.captures)
        member("error", error: task.error)
        member("explanation", task.explanation)
    }
}
