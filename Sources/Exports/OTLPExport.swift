internal import HTTPRules
internal import TextFormats
internal import TransferModel

/// Writes OpenTelemetry's spans as OTLP/JSON: the run, below it its tasks, their attempts, and the requests of each
/// attempt.
///
/// Attributes are those of OpenTelemetry's semantic conventions for HTTP clients; others begin with `transfer_run.`.
/// The ids are derived from the report: converting it twice gives the same spans.
struct OTLPExport: Export {
    let parts: ReportParts = [.transactions, .waits]
    private let parent: String?
    private var ids = TraceIDs(parent: nil, job: "", host: "", startedAt: WallTime(nanoseconds: 0))
    private var head = ReportHead()
    private var json = JSONWriter()

    init(traceParent: String?) { parent = traceParent }

    mutating func begin(_ head: ReportHead, to output: ExportOutput) {
        self.head = head
        ids = TraceIDs(
            parent: parent, job: head.job.name, host: head.runner.host,
            startedAt: head.startedAt ?? WallTime(nanoseconds: 0))
        output.append(&json) { json in
            json.beginObject()
            json.key("resourceSpans")
            json.beginArray()
            json.beginObject()
            json.object("resource") { json in
                var attributes = SpanAttributes()
                attributes.add("service.name", "transfer-run")
                attributes.add("service.version", head.runner.version)
                attributes.add("host.name", head.runner.host)
                attributes.add("process.pid", head.runner.pid)
                attributes.write(to: &json)
            }
            json.key("scopeSpans")
            json.beginArray()
            json.beginObject()
            json.object("scope") { json in
                json.member("name", "transfer-run")
                json.member("version", head.runner.version)
            }
            json.key("spans")
            json.beginArray()
        }
        writeRun(to: output)
    }

    private mutating func writeRun(to output: ExportOutput) {
        let start = head.startedAt ?? WallTime(nanoseconds: 0)
        let end = head.finishedAt ?? start + (head.duration ?? .zero)
        var span = Span(ids.trace, ids.run, below: ids.parent, head.job.name, from: start, to: end)
        span.attributes.add("transfer_run.outcome", head.outcome?.rawValue)
        span.attributes.add("transfer_run.exit_status", head.exitStatus.map { Int64($0) })
        span.attributes.add("transfer_run.job.file", head.job.file)
        span.attributes.add("transfer_run.tasks", Int64(head.totals.tasks))
        span.attributes.add("transfer_run.tasks_failed", Int64(head.totals.failed))
        span.attributes.add("transfer_run.bytes_received", head.totals.bytesReceived)
        span.attributes.add("transfer_run.bytes_sent", head.totals.bytesSent)
        if head.outcome == .failed { span.problem = PageSummary(head).short }
        output.append(&json) { span.write(to: &$0) }
    }

    mutating func add(_ task: ReportedTask, to output: ExportOutput) {
        let start = task.createdAt ?? task.startedAt ?? head.startedAt ?? WallTime(nanoseconds: 0)
        let end = task.finishedAt ?? start + (task.duration ?? .zero)
        var span = Span(ids.trace, ids.task(task.id), below: ids.run, task.id, from: start, to: end)
        span.attributes.add("transfer_run.task.id", task.id)
        span.attributes.add("transfer_run.task.type", task.type.rawValue)
        span.attributes.add("transfer_run.session", task.session)
        span.attributes.add("transfer_run.outcome", task.outcome.rawValue)
        span.attributes.add("transfer_run.source", task.source?.rawValue)
        span.attributes.add("url.full", task.original.url)
        span.attributes.add("transfer_run.file.bytes", task.fileBytes)
        for wait in task.waits {
            span.attributes.add(seconds: "transfer_run.waited.\(wait.reason.rawValue)", wait.duration.nanoseconds)
        }
        span.fail(task.error, where: task.outcome == .failed || task.outcome == .cancelled)
        output.append(&json) { span.write(to: &$0) }
        for attempt in task.attempts { add(attempt, of: task.id, below: span.id, to: output) }
    }

    private mutating func add(
        _ attempt: ReportedAttempt, of task: String, below parent: String, to output: ExportOutput
    ) {
        var requests: [Span] = []
        attempt.eachRequest { request, phases in
            let id = ids.request(requests.count + 1, ofAttempt: attempt.number, of: task)
            var own = Span(ids.trace, id, below: ids.attempt(attempt.number, of: task), request, phases)
            if attempt.number > 1 { own.attributes.add("http.request.resend_count", Int64(attempt.number - 1)) }
            requests.append(own)
        }
        if !requests.isEmpty { requests[requests.count - 1].fail(attempt.error, where: attempt.error != nil) }
        // The attempt's duration has no waits between its requests; a parent's span holds those of its children.
        let end = max(attempt.startedAt + attempt.duration, requests.map(\.end).max() ?? attempt.startedAt)
        let name = "attempt \(attempt.number)"
        let id = ids.attempt(attempt.number, of: task)
        var span = Span(ids.trace, id, below: parent, name, from: attempt.startedAt, to: end)
        span.attributes.add("url.full", attempt.url)
        span.attributes.add("transfer_run.outcome", attempt.outcome.rawValue)
        if attempt.resumedFrom > 0 { span.attributes.add("transfer_run.resumed_from", attempt.resumedFrom) }
        span.fail(attempt.error, where: attempt.error != nil)
        output.append(&json) { span.write(to: &$0) }
        for request in requests { output.append(&json) { request.write(to: &$0) } }
    }

    mutating func finish(to output: ExportOutput) {
        output.append(&json) { json in
            json.endArray()
            json.endObject()
            json.endArray()
            json.endObject()
            json.endArray()
            json.endObject()
        }
        output.write("\n")
    }
}

private struct Span {
    /// OTLP's numbers for the kinds of spans.
    private enum Kind: Int { case inside = 1, client = 3 }

    private let trace: String
    let id: String
    private let parent: String?
    private let name: String
    private let kind: Kind
    private let start: WallTime
    let end: WallTime
    var attributes = SpanAttributes()
    /// Why the span is an error; empty if there is no message, `nil` if the span is no error.
    var problem: String?

    init(_ trace: String, _ id: String, below parent: String?, _ name: String, from start: WallTime, to end: WallTime) {
        (self.trace, self.id, self.parent, self.name) = (trace, id, parent, name)
        (kind, self.start, self.end) = (.inside, start, max(start, end))
    }

    /// Creates the span of a request.
    init(
        _ trace: String, _ id: String, below parent: String, _ request: TransactionMetrics, _ phases: RequestPhases
    ) {
        (self.trace, self.id, self.parent, name) = (trace, id, parent, request.method)
        (kind, start) = (.client, WallTime(nanoseconds: phases.start))
        end = WallTime(nanoseconds: phases.end)
        attributes.add("http.request.method", request.method)
        attributes.add("url.full", request.url)
        attributes.add(serverOf: request.url)
        attributes.add("http.response.status_code", request.status.map { Int64($0) })
        switch request.networkProtocolName {
        case "h2": attributes.add("network.protocol.version", "2")
        case let name? where name.hasPrefix("http/"):
            attributes.add("network.protocol.version", String(name.dropFirst(5)))
        default: break
        }
        attributes.add("network.peer.address", request.remoteAddress)
        attributes.add("network.peer.port", request.remotePort.map { Int64($0) })
        if request.requestBodyBytesSent > 0 { attributes.add("http.request.body.size", request.requestBodyBytesSent) }
        if request.responseBodyBytesReceived > 0 {
            attributes.add("http.response.body.size", request.responseBodyBytesReceived)
        }
        if request.fetchType == .localCache { attributes.add("transfer_run.source", "cache") }
        for (phase, name) in [
            (RequestPhases.Phase.queued, "queued"), (.lookup, "dns"), (.connect, "connect"), (.tls, "tls"),
            (.send, "send"), (.wait, "first_byte"), (.receive, "receive"),
        ] where phases.lengths[phase] > 0 {
            attributes.add(seconds: "transfer_run.phase.\(name)", phases.lengths[phase])
        }
        if let status = request.status, status >= 400 {
            attributes.add("error.type", String(status))
            problem = ""
        }
    }

    mutating func fail(_ error: ReportedError?, where isFailure: Bool) {
        guard isFailure else { return }
        if problem == nil { attributes.add("error.type", error?.name ?? "_OTHER") }
        problem = error?.message ?? ""
    }

    func write(to json: inout JSONWriter) {
        json.beginObject()
        json.member("traceId", trace)
        json.member("spanId", id)
        if let parent { json.member("parentSpanId", parent) }
        json.member("name", name)
        json.member("kind", kind.rawValue)
        json.member("startTimeUnixNano", String(start.nanoseconds))
        json.member("endTimeUnixNano", String(end.nanoseconds))
        attributes.write(to: &json)
        if let problem {
            json.object("status") { json in
                json.member("code", 2)
                if !problem.isEmpty { json.member("message", problem) }
            }
        }
        json.endObject()
    }
}

private struct SpanAttributes {
    private enum Value {
        case text(String)
        case number(Int64)
        case seconds(Double)
    }

    private var list: [(name: String, value: Value)] = []

    mutating func add(_ name: String, _ text: String?) {
        if let text, !text.isEmpty { list.append((name, .text(text))) }
    }

    mutating func add(_ name: String, _ number: Int64?) {
        if let number { list.append((name, .number(number))) }
    }

    mutating func add(seconds name: String, _ nanoseconds: Int64) {
        list.append((name, .seconds(Double(nanoseconds) / 1e9)))
    }

    /// Adds `server.address` and `server.port` of a URL.
    mutating func add(serverOf url: String) {
        let origin = HostTallies.origin(of: url)
        guard let start = origin.firstRange(of: "://") else { return }
        let authority = origin[start.upperBound...]
        guard let colon = authority.lastIndex(of: ":") else { return add("server.address", String(authority)) }
        add("server.address", String(authority[..<colon]))
        add("server.port", Int64(authority[authority.index(after: colon)...]))
    }

    func write(to json: inout JSONWriter) {
        json.objects("attributes", list) { json, attribute in
            json.member("key", attribute.name)
            json.object("value") { json in
                switch attribute.value {
                case .text(let text): json.member("stringValue", text)
                // Protobuf's JSON writes 64-bit integers as strings.
                case .number(let number): json.member("intValue", String(number))
                case .seconds(let number): json.member("doubleValue", number)
                }
            }
        }
    }
}
