internal import TextFormats
internal import TransferModel

/// Writes a trace in Chrome's event format, which Perfetto and `chrome://tracing` open: hosts are processes,
/// connections threads, the phases of requests slices. The waits of tasks are slices beside them; counters show the
/// requests under way and the bytes per second.
struct TraceExport: Export {
    let parts: ReportParts = [.transactions, .waits]
    private var window: RunWindow?
    private var name = ""
    private var hosts: HostTallies?
    private var connections = TraceConnections()
    private var json = JSONWriter()
    private var waits = 0
    private var bytes = StepSums(steps)
    /// Changes of the number of requests under way: +1 when one begins, −1 when one ends.
    private var changes: [(time: Int64, change: Int)] = []

    /// Steps of the counter of bytes.
    private static let steps = 500
    /// Process number of events that belong to no host.
    private static let run = 0

    mutating func begin(_ head: ReportHead, to output: ExportOutput) {
        let window = RunWindow(head)
        self.window = window
        name = head.job.name
        hosts = HostTallies(window, countsCourse: false)
        output.append(&json) { json in
            json.beginObject()
            json.member("displayTimeUnit", "ms")
            json.key("traceEvents")
            json.beginArray()
            Self.name(Self.run, head.job.name, &json)
            Self.event("X", "run", Self.run, thread: 0, from: 0, length: window.length, &json) { json in
                json.member("outcome", head.outcome?.rawValue)
                json.member("tasks", head.totals.tasks)
            }
        }
    }

    mutating func add(_ task: ReportedTask, to output: ExportOutput) {
        guard let window, var hosts else { return }
        self.hosts = nil
        writeWaits(of: task, window, process: hosts.place(ofURL: task.original.url) + 1, to: output)
        for attempt in task.attempts {
            attempt.eachRequest { request, phases in
                let host = hosts.place(ofURL: request.url) + 1
                count(request, phases, window)
                connections.add(
                    TraceRequest(task: task.id, attempt: attempt.number, request, phases),
                    over: TraceConnections.Key(host: host, request))
            }
        }
        self.hosts = hosts
    }

    private mutating func count(_ request: TransactionMetrics, _ phases: RequestPhases, _ window: RunWindow) {
        changes.append((phases.start, 1))
        changes.append((phases.end, -1))
        let moved = request.responseBodyBytesReceived + request.requestBodyBytesSent
        guard moved > 0 else { return }
        let scale = Double(Self.steps) / Double(window.length)
        let end = Double(phases.end - window.start) * scale
        let length = max(Double(phases.lengths[request.responseBodyBytesReceived > 0 ? .receive : .send]) * scale, 1e-6)
        bytes.add(from: end - length, to: end, weight: Double(moved) / length)
    }

    /// Writes a slice for the wait before the first attempt and for each pause between attempts. The report says how
    /// long a task waited for each reason, but not when.
    private mutating func writeWaits(
        of task: ReportedTask, _ window: RunWindow, process: Int, to output: ExportOutput
    ) {
        var at = task.createdAt
        for (place, attempt) in task.attempts.enumerated() {
            if let from = at, attempt.startedAt > from {
                let name = place == 0 ? Self.words(task.waits) : "before a retry"
                waits += 1
                output.append(&json) { [waits] json in
                    for (phase, time) in [("b", from), ("e", attempt.startedAt)] {
                        let at = time.nanoseconds - window.start
                        Self.wait(phase, name, waits, process, at: at, task: task.id, &json)
                    }
                }
            }
            at = attempt.startedAt + attempt.duration
        }
    }

    /// Returns the reasons for the wait before the first attempt, as the slice's name.
    private static func words(_ waits: [TaskRecord.Wait]) -> String {
        let reasons = waits.map(\.reason).filter { $0 != .backoff && $0 != .retryAfter }
        return reasons.isEmpty ? "waits" : reasons.map(\.rawValue).joined(separator: ", ")
    }

    mutating func finish(to output: ExportOutput) {
        guard let window, let hosts else { return }
        output.append(&json) { json in
            for (place, host) in hosts.hosts.enumerated() { Self.name(place + 1, host.origin, &json) }
        }
        for connection in connections.list() {
            output.append(&json) { json in
                Self.name(connection.host, thread: connection.thread, connection.name, &json)
                for request in connection.requests { request.write(connection, window, &json) }
            }
            output.drain()
        }
        writeCounters(window, to: output)
        output.append(&json) { json in
            json.endArray()
            json.endObject()
        }
        output.write("\n")
        (connections, changes) = (TraceConnections(), [])
    }

    private mutating func writeCounters(_ window: RunWindow, to output: ExportOutput) {
        changes.sort { ($0.time, $0.change) < ($1.time, $1.change) }
        var underWay = 0
        for (place, change) in changes.enumerated() {
            underWay += change.change
            if place + 1 < changes.count, changes[place + 1].time == change.time { continue }
            output.append(&json) { Self.count("requests under way", Double(underWay), change.time - window.start, &$0) }
            output.drain()
        }
        let step = window.length / Int64(Self.steps)
        let seconds = Double(window.length) / Double(Self.steps) / 1e9
        var last = -1.0
        for (place, sum) in bytes.sums().enumerated() {
            let rate = (sum / seconds).rounded()
            guard rate != last else { continue }
            last = rate
            output.append(&json) { Self.count("bytes a second", rate, Int64(place) * step, &$0) }
        }
    }

    // MARK: Events

    /// Writes the name of a process or of one of its threads.
    private static func name(_ process: Int, thread: Int? = nil, _ name: String, _ json: inout JSONWriter) {
        json.beginObject()
        json.member("ph", "M")
        json.member("name", thread == nil ? "process_name" : "thread_name")
        json.member("pid", process)
        if let thread { json.member("tid", thread) }
        json.object("args") { $0.member("name", name) }
        json.endObject()
    }

    private static func count(_ name: String, _ value: Double, _ time: Int64, _ json: inout JSONWriter) {
        json.beginObject()
        json.member("ph", "C")
        json.member("name", name)
        json.member("pid", run)
        json.member("ts", microseconds(time))
        json.object("args") { $0.member("value", value) }
        json.endObject()
    }

    /// Writes the begin (`b`) or the end (`e`) of a slice that may overlap others.
    private static func wait(
        _ phase: String, _ name: String, _ number: Int, _ process: Int, at time: Int64, task: String,
        _ json: inout JSONWriter
    ) {
        json.beginObject()
        json.member("ph", phase)
        json.member("cat", "wait")
        json.member("id", number)
        json.member("name", name)
        json.member("pid", process)
        json.member("tid", 0)
        json.member("ts", microseconds(time))
        json.object("args") { $0.member("task", task) }
        json.endObject()
    }

    /// Writes one event; `from` and `length` are nanoseconds, `from` counted from the run's begin.
    static func event(
        _ phase: String, _ name: String, _ process: Int, thread: Int, from: Int64, length: Int64,
        _ json: inout JSONWriter, arguments: ((inout JSONWriter) -> Void)? = nil
    ) {
        json.beginObject()
        json.member("ph", phase)
        json.member("name", name)
        json.member("pid", process)
        json.member("tid", thread)
        json.member("ts", microseconds(from))
        json.member("dur", microseconds(length))
        if let arguments { json.object("args") { arguments(&$0) } }
        json.endObject()
    }

    static func microseconds(_ nanoseconds: Int64) -> Double { Double(nanoseconds) / 1_000 }
}

/// One request as a trace shows it.
struct TraceRequest {
    let task: String
    let attempt: Int
    let method: String
    let url: String
    let status: Int?
    let bytes: Int64
    let phases: RequestPhases

    init(task: String, attempt: Int, _ request: TransactionMetrics, _ phases: RequestPhases) {
        self.task = task
        self.attempt = attempt
        (method, url, status) = (request.method, request.url, request.status)
        bytes = request.responseBodyBytesReceived + request.requestBodyBytesSent
        self.phases = phases
    }

    /// When the request got its connection, in nanoseconds since 1970; its wait before that is no slice of the
    /// connection's thread.
    var begin: Int64 { phases.start + phases.lengths[.queued] }

    fileprivate func write(_ connection: TraceConnections.Thread, _ window: RunWindow, _ json: inout JSONWriter) {
        let (host, thread) = (connection.host, connection.thread)
        var at = begin - window.start
        let length = phases.end - begin
        TraceExport.event("X", "\(method) \(task)", host, thread: thread, from: at, length: length, &json) { json in
            json.member("url", url)
            json.member("status", status)
            json.member("attempt", attempt)
            json.member("bytes", bytes)
            json.member("queued ms", Double(phases.lengths[.queued]) / 1e6)
        }
        for phase in RequestPhases.Phase.allCases where phase != .queued && phases.lengths[phase] > 0 {
            let length = phases.lengths[phase]
            TraceExport.event("X", Self.words(phase), host, thread: thread, from: at, length: length, &json)
            at += length
        }
    }

    private static func words(_ phase: RequestPhases.Phase) -> String {
        switch phase {
        case .queued: "queued"
        case .lookup: "DNS"
        case .connect: "connecting"
        case .tls: "TLS"
        case .send: "sending"
        case .wait: "first byte"
        case .receive: "receiving"
        }
    }
}

/// Collects the requests of each connection. Requests that overlap, as HTTP/2's streams do, are put on separate
/// threads: the slices of one thread must nest.
struct TraceConnections {
    struct Key: Hashable {
        let host: Int
        let address: String?
        let port: UInt16?

        init(host: Int, _ request: TransactionMetrics) {
            self.host = host
            (address, port) = (request.localAddress, request.localPort)
        }
    }

    struct Thread {
        let host: Int
        let thread: Int
        let name: String
        var requests: [TraceRequest] = []
    }

    private var requests: [Key: [TraceRequest]] = [:]

    mutating func add(_ request: TraceRequest, over connection: Key) {
        requests[connection, default: []].append(request)
    }

    /// Returns the threads, ordered by host and by the first request of each connection.
    func list() -> [Thread] {
        let sorted = requests.map { key, requests in (key, requests.sorted { $0.begin < $1.begin }) }
            .sorted { left, right in
                let (first, second) = (left.1[0].begin, right.1[0].begin)
                return (left.0.host, first, left.0.port ?? 0) < (right.0.host, second, right.0.port ?? 0)
            }
        var threads: [Thread] = []
        var (host, number, thread) = (-1, 0, 0)
        for (key, requests) in sorted {
            if key.host != host { (host, number, thread) = (key.host, 0, 0) }
            if key.port != nil { number += 1 }
            let name = key.port == nil ? "without a connection" : "#\(number)"
            let first = threads.count
            var ends: [Int64] = []
            for request in requests {
                let lane = ends.firstIndex { $0 <= request.begin } ?? ends.count
                if lane == ends.count {
                    thread += 1
                    ends.append(0)
                    let stream = lane == 0 ? name : "\(name), stream \(lane + 1)"
                    threads.append(Thread(host: host, thread: thread, name: stream))
                }
                ends[lane] = request.phases.end
                threads[first + lane].requests.append(request)
            }
        }
        return threads
    }
}
