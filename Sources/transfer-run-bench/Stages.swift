import CurlCore
import Diagnostics
import FileDelivery
import Glibc
import JobLoader
import JobRunner
import Reporting
import Scheduling
import SystemIO
import TransferModel

/// The stages of a run of many small downloads, each alone.
struct Stages {
    let server: String
    let folder: String
    let tasks: Int
    let connections = 32

    func run() throws {
        print("\(tasks) downloads of 1 KiB over \(connections) connections: processor time and allocations a task\n")
        print(
            Table.pad("stage", 36) + Table.pad("us a task", 10, left: true) + Table.pad("budget", 9, left: true)
                + "  " + Table.pad("", 8) + Table.pad("allocations", 12, left: true))
        Table.row("load (YAML to job)", load(), budget: 4)
        Table.row("schedule", schedule(), budget: 1)
        Table.row("events (log, fold, report)", try events(), budget: 3)
        let jobs = try (0..<5).map { try job("run\($0)-\(getpid())") }
        let engine = try Measure.difference(per: tasks, loop(jobs), over: libcurlAlone)
        Table.row("engine over libcurl", engine - schedule(), budget: 5)
        let publishing = try Measure.difference(per: tasks, wholeProcess: true, publish, over: bareFiles)
        Table.row("publish over its system calls", publishing, budget: 2)
        let libcurl = try Measure.cost(per: tasks, libcurlAlone)
        print("\nlibcurl alone, with its system calls: \(Table.number(libcurl.microseconds, 1)) us a task")
        Self.copies()
        try once()
        try store()
        try cache()
    }

    // MARK: Load

    private func text(_ count: Int) -> [UInt8] {
        var text = """
            version: 1
            name: bench
            limits: { maximumConcurrentTasks: \(connections) }
            sessions:
              bench:
                configuration: default
                maximumConnectionsPerHost: \(connections)
                http: { version: "1.1" }
            tasks:

            """
        for index in 0..<count {
            text +=
                "  - { id: t\(index), session: bench, url: \"\(url(index))\", type: download, to: \"\(path(index, "a"))\" }\n"
        }
        return Array(text.utf8)
    }

    private func url(_ index: Int) -> String { "\(server)/small/f\(digits(index)).bin" }
    private func path(_ index: Int, _ round: String) -> String { "\(folder)/\(round)/f\(digits(index)).bin" }
    private func digits(_ index: Int) -> String {
        let text = String(index)
        return String(repeating: "0", count: max(0, 5 - text.count)) + text
    }

    @discardableResult
    private func load(_ bytes: [UInt8]) -> Job? {
        let result = JobLoader.load(
            SourceText(name: "bench.yaml", bytes: bytes), options: LoadOptions(), resources: .nothing())
        if result.job == nil { print(DiagnosticRenderer.text(result.diagnostics.sorted(), color: false)) }
        return result.job
    }

    private func load() -> Cost {
        let bytes = text(tasks)
        return Measure.cost(per: tasks) { _ in load(bytes) }
    }

    // MARK: Schedule

    private func plan() -> SchedulingPlan {
        var plan = SchedulingPlan()
        plan.maximumConcurrentTasks = connections
        plan.sessions = [
            SchedulingPlan.Session(
                maximumConnectionsPerHost: connections, maximumConcurrentTasks: nil, streamsPerConnection: 100,
                cancelsOnInvalidation: false)
        ]
        plan.policies = [SchedulingPlan.TaskPolicy()]
        for _ in 0..<tasks {
            plan.tasks.append(
                SchedulingPlan.Task(session: SessionIndex(raw: 0), origin: OriginID(raw: 0), policy: 0))
        }
        return plan
    }

    /// Every task succeeds in the turn after its start.
    private func schedule() -> Cost {
        let plan = plan()
        return Measure.cost(per: tasks) { _ in
            var now = Clocks.now()
            var scheduler = Scheduler(plan, now: now)
            while !scheduler.isFinished {
                let actions = scheduler.turn(now: now)
                now.instant = now.instant + .milliseconds(1)
                for case .perform(.start(let task, _, _)) in actions {
                    scheduler.receive(.released(task, OriginID(raw: 0)), now: now)
                    scheduler.receive(.transferred(task), now: now)
                    scheduler.receive(.ended(task, Verdict(.succeeded, status: 200)), now: now)
                }
            }
        }
    }

    // MARK: Events

    private func job(_ round: String) throws -> Job {
        var job = Job(name: "bench", file: "bench.yaml", baseDirectory: folder)
        var session = SessionConfiguration(name: "bench")
        session.maximumConnectionsPerHost = connections
        session.http.version = .http1
        job.sessions = [session]
        job.limits.maximumConcurrentTasks = connections
        let options = TaskOptions(TaskOptions.Values(policies: TransferPolicies()))
        for index in 0..<tasks {
            job.tasks.append(
                TaskSpecification(
                    id: "t\(index)", type: .download, session: SessionIndex(raw: 0),
                    location: .url(try ResourceURL.parse(url(index))), destination: path(index, round), line: 1,
                    options: options))
        }
        return job
    }

    private func events() throws -> Cost {
        let job = try job("events")
        let headers = HeaderBlock([
            ("Server", "nginx/1.22.1"), ("Date", "Sat, 21 Nov 2026 07:00:00 GMT"),
            ("Content-Type", "application/octet-stream"), ("Content-Length", "1024"),
            ("Last-Modified", "Thu, 01 Jan 2026 00:00:00 GMT"), ("Connection", "keep-alive"),
            ("ETag", "\"6955b900-400\""), ("Accept-Ranges", "bytes"),
        ])
        return try Measure.cost(per: tasks, wholeProcess: true) { _ in
            let now = Clocks.now()
            let report = JSONReport(
                job: job, runner: RunnerFacts(version: "0", libcurl: LateText("0"), pid: 1, host: "bench"))
            let log = try EventLog(consumers: [report], redactor: nil, now: now)
            for index in 0..<tasks {
                append(index, job, headers, now, to: log)
                if index % 32 == 31 { log.handOver() }
            }
            _ = log.finish()
        }
    }

    private func append(_ index: Int, _ job: Job, _ headers: HeaderBlock, _ now: Now, to log: EventLog) {
        let task = TaskIndex(raw: UInt32(index))
        let session = SessionIndex(raw: 0)
        let url = job.tasks[index].location.url?.text ?? ""
        let file = FileRecord(
            path: job.tasks[index].destination ?? "", bytes: 1024, checksum: nil, changed: true, lengthUnverified: false
        )
        var transaction = TransactionMetrics(method: "GET", url: url, fetchStart: now.wall)
        transaction.status = 200
        transaction.requestStart = now.wall
        transaction.responseEnd = now.wall
        transaction.remoteAddress = "127.0.0.1"
        log.append(.taskCreated, task: task, session: session)
        log.append(.taskResumed, task: task, session: session)
        log.append(.attemptStarted(AttemptStart(number: 1, url: url)), task: task, session: session)
        log.append(
            .response(
                ResponseRecord(
                    status: 200, url: url, method: "GET", mimeType: "application/octet-stream", charset: nil,
                    expectedLength: 1024, suggestedFilename: "f.bin", contentEncoding: nil, headers: headers)),
            task: task, session: session)
        log.append(.fileFinished(file), task: task, session: session)
        log.append(
            .attemptFinished(
                AttemptRecord(
                    number: 1, url: url, outcome: .succeeded, resumedFrom: 0, startedAt: now.wall,
                    duration: .milliseconds(2), error: nil, backoff: nil, transactions: [transaction])), task: task,
            session: session)
        log.append(
            .taskFinished(
                TaskRecord(
                    outcome: .succeeded, tolerated: false, changed: true, source: .network, waits: [], error: nil,
                    body: nil, lengthUnverified: false, captures: [], duration: .milliseconds(2), explanation: nil)),
            task: task, session: session)
    }

    // MARK: Engine

    private final class Sink: TransferReceiver {
        func received(head: ResponseHead) -> Bool { true }
        func received(body bytes: UnsafeRawBufferPointer) -> BodyReply { .taken }
        func fillBody(_ buffer: UnsafeMutableRawBufferPointer) -> BodyFill { .stop }
        func rewindBody(to offset: Int64, isUnanswered: Bool) -> Bool { false }
    }

    /// Sends the requests of a run through libcurl, with nothing around it.
    private func libcurlAlone(_ round: Int) throws {
        let urls = (0..<tasks).map { url($0) }
        let loop = CurlLoop(maximumConnections: 64, streamsPerConnection: 100)
        try loop.open()
        let pool = ConnectionPool(tls: TLSSettings(TLSConfiguration()))
        var next = 0
        var done = 0
        while done < urls.count {
            while next < urls.count, loop.activeCount < connections {
                var request = CurlRequest(url: urls[next], method: "GET", pool: pool)
                request.headers = ["User-Agent: bench", "Accept-Encoding: identity"]
                _ = try loop.start(request, receiver: Sink())
                next += 1
            }
            done += loop.turn(wait: .seconds(1)).count
        }
    }

    /// A whole run's loop thread: scheduler and engine, but no event folded and no file's system call.
    private func loop(_ jobs: [Job]) -> (Int) throws -> Void {
        { round in
            let job = jobs[round]
            let log = try EventLog(consumers: [], redactor: nil, now: Clocks.now())
            let settings = RunSettings(userAgent: "bench", seed: 1)
            let run = try JobRun(job: job, settings: settings, log: log) { Mailbox(wake: $0) }
            let status = run.run()
            _ = log.finish()
            if status != .succeeded { throw TransferError(.unknown, "the benchmark's run did not succeed") }
        }
    }

    // MARK: Publish

    private func publish(_ round: Int) throws {
        let body = [UInt8](repeating: 0x61, count: 1024)
        let reports = Mailbox<DeliveryReport>()
        let delivery = try Delivery(run: "bench", reports: reports)
        for start in stride(from: 0, to: tasks, by: 32) {
            let orders = (start..<min(start + 32, tasks)).map { index in
                DeliveryOrder.publish(
                    .init(
                        TaskIndex(raw: UInt32(index)), StagingID(raw: UInt64(index)),
                        Destination(path: path(index, "publish\(round)-\(getpid())")), rest: .bytes(body),
                        lengthUnverified: false))
            }
            delivery.submit(orders, bytes: 32 << 10)
        }
        delivery.finish()
    }

    /// The system calls that a file costs whoever writes it.
    private func bareFiles(_ round: Int) throws {
        let body = [UInt8](repeating: 0x61, count: 1024)
        let place = "\(folder)/bare\(round)-\(getpid())"
        let directory = try Descriptor.makeFolder(place)
        for index in 0..<tasks {
            let file = try directory.openUnnamed(mode: 0o644)
            try file.writeAll(body)
            try file.link(into: directory, as: "f\(index).bin")
        }
    }
}
