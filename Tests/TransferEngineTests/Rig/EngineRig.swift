import CurlCore
import Diagnostics
import FileDelivery
import JobLoader
import Stores
import TestSupport
import Testing
import TransferEngine
import TransferModel

/// An engine between a scripted loop and a model of files, on a clock that the test moves. It is given commands as the
/// scheduler gives them, and its requests are answered as the test says. Slots are granted when they are asked for.
final class EngineRig {
    let time = RigTime()
    let loop: ScriptedLoop
    let job: Job
    let engine: Engine
    private(set) var delivery: ModelDelivery
    private let sink = RigEvents()
    private(set) var reports: [ExecutorReport] = []
    private(set) var verdicts: [TaskIndex: Verdict] = [:]
    private(set) var results: [TaskIndex: AttemptResult] = [:]
    /// Slots are granted at once.
    var grants = true

    /// `text` is a job file; its folder is `/here`, and `https://a.example` the place of its tasks. `policy` is an operator's
    /// file. `state` is the folder of a store, which works on a thread of its own: `turn(until:)` waits for what it says.
    init(
        _ text: String, policy: String? = nil, environment: [String: String] = [:], files: [String: String] = [:],
        state: String? = nil
    ) throws {
        let resources = Resources(
            environment: { environment[$0] },
            readFile: { path, _ in files[path].map { .success(Array($0.utf8)) } ?? .failure(.notFound) },
            listFiles: { _, _ in .failure(.notFound) }, workingDirectory: "/here")
        let source = SourceText(name: "/here/job.yaml", bytes: Array(text.utf8))
        var options = LoadOptions()
        if let policy {
            let loaded = PolicyLoader.load(SourceText(name: "/etc/p.yaml", bytes: Array(policy.utf8)))
            let rules: LoadedPolicy = try #require(loaded.policy, "\(loaded.diagnostics.sorted().map(\.message))")
            options.policy = rules
        }
        let loaded = JobLoader.load(source, options: options, resources: resources)
        job = try #require(loaded.job, "\(loaded.diagnostics.sorted().map(\.message))")
        let loop = ScriptedLoop(time)
        self.loop = loop
        var origins = OriginTable()
        for task in job.tasks { if let url = task.location(mirror: 0).url { _ = origins.id(of: url) } }
        var made: ModelDelivery?
        let transport = EngineTransport(loop: loop) { reports in
            let delivery = ModelDelivery(reports)
            made = delivery
            return delivery
        }
        var place: MemoryPlace?
        if let state {
            place = MemoryPlace(
                folder: state, job: source.name, sessions: job.sessions.map(\.name), secrets: Redactor(job.secrets))
        }
        engine = try Engine(
            job: job, origins: origins, events: sink, networks: NetworkState(),
            EngineStart(userAgent: "rig", run: "rig"), memory: place, now: time.clock.now, transport: transport)
        delivery = try #require(made)
        for (path, text) in files { delivery.put(path, text) }
        try engine.open()
    }

    // MARK: The scheduler's part

    func index(_ id: String) -> TaskIndex {
        TaskIndex(raw: UInt32(job.tasks.firstIndex { $0.id == id } ?? 0))
    }

    func start(_ id: String = "t", attempt: Int = 1, mirror: Int = 0) {
        verdicts[index(id)] = nil
        perform(.start(index(id), attempt: attempt, mirror: mirror))
        turn()
    }

    func cancel(_ id: String = "t") {
        perform(.cancel(index(id), keepPartial: true))
        turn()
    }

    func perform(_ command: ExecutorCommand) { engine.perform(command, now: time.clock.now) }

    /// Turns until nothing more comes of it.
    func turn() {
        var wasQuiet = false
        for _ in 0..<100 {
            let told = engine.turn(wait: .zero, clock: { self.time.clock.now })
            for report in told { take(report) }
            // What the end of one turn orders is answered in the next.
            let isQuiet = told.isEmpty && !engine.isPending
            if isQuiet, wasQuiet { return }
            wasQuiet = isQuiet
        }
        Issue.record("the engine does not come to rest")
    }

    /// Turns until what is awaited of the store has come; `false` if it does not come.
    func turn(until isThere: () -> Bool) -> Bool {
        happens {
            turn()
            return isThere()
        }
    }

    /// Ends the run, and waits until what it told the store is kept. Returns what went wrong with that.
    func end() -> [String] {
        engine.close()
        return engine.sessionStates.storeProblems()
    }

    func advance(_ span: TimeSpan) {
        time.clock.advance(span)
        turn()
    }

    private func take(_ report: ExecutorReport) {
        reports.append(report)
        switch report {
        case .needsGrant(let task, let origin, _): if grants { perform(.grant(task, origin)) }
        case .ended(let task, let verdict):
            verdicts[task] = verdict
            // A member's is taken when its group has ended.
            if job.tasks[Int(task.raw)].group == nil { results[task] = engine.takeResult(of: task) }
        default: break
        }
    }

    // MARK: The server's part

    /// The one request that is under way. A request that has ended may be followed by others, and may end others, once
    /// the engine has heard of it: `turn()` comes first.
    func request(_ place: SourceLocation = #_sourceLocation) throws -> ScriptedTransfer {
        try #require(!loop.hasUnheardEnd, "the engine has not heard yet that a request ended", sourceLocation: place)
        let open = loop.underWay
        return try #require(open.count == 1 ? open[0] : nil, "\(open.count) requests are open", sourceLocation: place)
    }

    /// Reads the body of the one request that is under way, unless it is too `early` for that, answers, and ends it unless
    /// it `stays`. `address` is the one that the request was sent to.
    @discardableResult
    func answer(
        _ status: Int = 200, _ headers: [(String, String)] = [], _ body: String = "", stays: Bool = false,
        isEarly: Bool = false, from address: String? = nil,
        _ place: SourceLocation = #_sourceLocation
    ) throws -> ScriptedTransfer {
        let transfer = try request(place)
        if !isEarly { readBody(of: transfer) }
        var lines = headers
        let isFramed = headers.contains { ["content-length", "transfer-encoding"].contains($0.0.lowercased()) }
        if !isFramed, status != 204, status != 304 { lines.append(("Content-Length", "\(body.utf8.count)")) }
        let head = ResponseHead(status: status, version: .http1, headers: HeaderBlock(lines))
        if let address { transfer.receiver.reached(address) }
        var goesOn = transfer.receiver.received(head: head)
        if goesOn, !body.isEmpty, transfer.request.method != "HEAD" { goesOn = send(body, to: transfer) }
        if !stays { loop.complete(transfer, goesOn ? .ok : .writeError) }
        turn()
        return transfer
    }

    /// Takes all that the request has of a body; `false` when that pauses or breaks off.
    @discardableResult func readBody(of transfer: ScriptedTransfer) -> Bool {
        guard transfer.request.bodyLength != nil else { return true }
        var buffer = [UInt8](repeating: 0, count: 16 << 10)
        while true {
            let fill = buffer.withUnsafeMutableBytes { transfer.receiver.fillBody($0) }
            guard case .bytes(let count) = fill else { return false }
            if count == 0 { return true }
            transfer.sentBody += buffer[..<count]
            transfer.uploadedBytes += Int64(count)
        }
    }

    /// More of a body. `false` when it is not wanted.
    @discardableResult func send(_ text: String, to transfer: ScriptedTransfer) -> Bool {
        send(Array(text.utf8)[...], to: transfer)
    }

    @discardableResult func send(_ bytes: ArraySlice<UInt8>, to transfer: ScriptedTransfer) -> Bool {
        transfer.lastActivity = time.clock.instant
        return bytes.withUnsafeBytes { bytes in
            if case .stop = transfer.receiver.received(body: bytes) { false } else { true }
        }
    }

    /// Ends the one request that is under way without an answer, or in the middle of one.
    func cut(_ code: CurlCode = .recvError, _ message: String = "", systemError: Int32 = 104) throws {
        loop.complete(try request(), code, message: message, systemError: systemError)
        turn()
    }

    // MARK: What came of it

    func verdict(_ id: String = "t") -> Verdict? { verdicts[index(id)] }
    func result(_ id: String = "t") -> AttemptResult? { results[index(id)] }

    var succeeded: Bool { if case .succeeded? = verdict()?.outcome { true } else { false } }

    /// Why the task's attempt failed, or was cancelled.
    func error(_ id: String = "t") -> TransferError? {
        switch verdict(id)?.outcome {
        case .failed(let error), .cancelled(let error): error
        case .succeeded, nil: nil
        }
    }

    func body(_ id: String = "t") -> String? { result(id)?.body.map { String(decoding: $0, as: UTF8.self) } }

    /// Secrets that the log was told of.
    var learned: [String] { sink.learned.map(\.value) }

    /// The events of one task, in order.
    func events(_ id: String = "t") -> [Event.Kind] { sink.events.filter { $0.task == index(id) }.map(\.kind) }
    var redirects: [RedirectRecord] {
        events().compactMap { if case .redirect(let record) = $0 { record } else { nil } }
    }
    var responses: [ResponseRecord] {
        events().compactMap { if case .response(let record) = $0 { record } else { nil } }
    }

    /// A new job's text with one task `t` at `https://a.example/f`, written as a flow mapping.
    static func job(_ task: String, _ more: String = "") -> String {
        "\(more)\ntasks:\n  - { id: t, url: \"https://a.example/f\", \(task) }\n"
    }
}

/// A failed expectation shows what it looked at with all that hangs on it: here that would be the engine, and files of
/// megabytes byte by byte.
extension EngineRig: CustomReflectable {
    var customMirror: Mirror { Mirror(self, children: []) }
}

private final class RigEvents: EventSink {
    private(set) var events: [(kind: Event.Kind, task: TaskIndex)] = []
    private(set) var runEvents: [Event.Kind] = []
    private(set) var hiding = Redactor([])
    func append(_ kind: Event.Kind, task: TaskIndex, session: SessionIndex) { events.append((kind, task)) }
    func append(_ kind: Event.Kind) { runEvents.append(kind) }
    private(set) var learned: [KnownSecret] = []
    func learn(_ secrets: [KnownSecret]) {
        learned += secrets
        hiding = Redactor(learned)
    }
}
