internal import HTTPRules
internal import TextFormats
internal import TransferModel

/// Writes an HTTP archive (HAR 1.2): an entry for each request, sent or answered from the cache.
///
/// The report holds headers and body of a task's final response only: they stand in that response's entry, and the
/// other entries have none. A value that the report lacks is −1, or 0 where HAR allows no −1.
struct HARExport: Export {
    let parts: ReportParts = [.transactions, .detours, .headers, .bodies]
    private var json = JSONWriter()

    mutating func begin(_ head: ReportHead, to output: ExportOutput) {
        output.append(&json) { json in
            json.beginObject()
            json.key("log")
            json.beginObject()
            json.member("version", "1.2")
            json.object("creator") { json in
                json.member("name", "transfer-run")
                json.member("version", head.runner.version)
            }
            json.objects("pages", CollectionOfOne(Self.page)) { json, page in
                json.member("startedDateTime", head.startedAt ?? WallTime(nanoseconds: 0))
                json.member("id", page)
                json.member("title", head.job.name)
                json.object("pageTimings") { _ in }
            }
            json.key("entries")
            json.beginArray()
        }
    }

    private static let page = "run"

    mutating func add(_ task: ReportedTask, to output: ExportOutput) {
        var redirects = task.redirects[...]
        for (place, attempt) in task.attempts.enumerated() {
            let isLast = place == task.attempts.count - 1
            let count = attempt.transactions.count
            // Behind it may be the request that put the file into a store.
            let alike = attempt.transactions.indices.filter { attempt.transactions[$0].status == task.response?.status }
            let answered = alike.last { attempt.transactions[$0].url == task.response?.url } ?? alike.last
            var number = 0
            attempt.eachRequest { request, phases in
                number += 1
                var entry = HAREntry(task: task, attempt: attempt, request: request, phases: phases)
                if let redirect = redirects.first, redirect.status == request.status,
                    redirect.from.isExactly(request.url)
                {
                    entry.redirect = redirects.removeFirst().to
                }
                if number == count { entry.error = attempt.error?.message }
                if isLast, number - 1 == answered, task.response != nil { entry.response = task.response }
                output.append(&json) { entry.write(to: &$0, page: Self.page) }
            }
        }
    }

    mutating func finish(to output: ExportOutput) {
        output.append(&json) { json in
            json.endArray()
            json.endObject()
            json.endObject()
        }
        output.write("\n")
    }
}

/// One request and its response.
private struct HAREntry {
    let task: ReportedTask
    let attempt: ReportedAttempt
    let request: TransactionMetrics
    let phases: RequestPhases
    var redirect = ""
    var error: String?
    /// The task's final response, if this entry is its request; else `nil`.
    var response: ReportedTask.Response?

    func write(to json: inout JSONWriter, page: String) {
        json.beginObject()
        json.member("pageref", page)
        json.member("startedDateTime", WallTime(nanoseconds: phases.start))
        json.member("time", Self.milliseconds(phases.end - phases.start))
        json.object("request") { writeRequest(to: &$0) }
        json.object("response") { writeResponse(to: &$0) }
        json.object("cache") { _ in }
        json.object("timings") { writeTimings(to: &$0) }
        if let address = request.remoteAddress { json.member("serverIPAddress", address) }
        if let port = request.localPort { json.member("connection", String(port)) }
        json.member("_task", task.id)
        json.member("_attempt", attempt.number)
        if request.fetchType == .localCache { json.member("_fromCache", "disk") }
        if let error { json.member("_error", error) }
        json.endObject()
    }

    private var version: String {
        switch request.networkProtocolName {
        case "h2": "HTTP/2"
        case let name? where name.hasPrefix("http/"): "HTTP/" + name.dropFirst(5)
        default: ""
        }
    }

    private func writeRequest(to json: inout JSONWriter) {
        json.member("method", request.method)
        json.member("url", request.url)
        json.member("httpVersion", version)
        json.member("cookies", json: #"[],"headers":[]"#)
        Self.write("queryString", Self.query(of: request.url), to: &json)
        json.member("headersSize", Self.size(request.requestHeaderBytesSent))
        json.member("bodySize", request.requestBodyBytesSent)
    }

    private func writeResponse(to json: inout JSONWriter) {
        let status = request.status ?? 0
        let reason = StatusReason.text(status).drop { $0.isNumber }.drop { $0 == " " }
        json.member("status", status)
        json.member("statusText", String(reason))
        json.member("httpVersion", version)
        let headers = response?.headers ?? []
        let cookies = headers.filter { $0.name.lowercased() == "set-cookie" }.compactMap { Self.cookie($0.value) }
        Self.write("cookies", cookies, to: &json)
        Self.write("headers", headers, to: &json)
        json.object("content") { writeContent(to: &$0) }
        json.member("redirectURL", redirect)
        json.member("headersSize", Self.size(request.responseHeaderBytesReceived))
        json.member("bodySize", request.fetchType == .localCache ? 0 : request.responseBodyBytesReceived)
    }

    private func writeContent(to json: inout JSONWriter) {
        json.member("size", request.responseBodyBytesAfterDecoding)
        let saved = request.responseBodyBytesAfterDecoding - request.responseBodyBytesReceived
        if saved > 0, request.responseBodyBytesReceived > 0 { json.member("compression", saved) }
        json.member("mimeType", response?.mimeType ?? "x-unknown")
        if response != nil, let body = task.body {
            json.member("text", body.text)
            if body.isBase64 { json.member("encoding", "base64") }
            if body.isTruncated { json.member("comment", "the body is longer; this is its beginning") }
        }
    }

    private func writeTimings(to json: inout JSONWriter) {
        let connects = request.connectStart != nil
        json.member("blocked", Self.milliseconds(phases.lengths[.queued]))
        json.member("dns", request.domainLookupStart == nil ? -1 : Self.milliseconds(phases.lengths[.lookup]))
        // HAR counts the TLS handshake as part of `connect`.
        let connecting = phases.lengths[.connect] + phases.lengths[.tls]
        json.member("connect", connects ? Self.milliseconds(connecting) : -1)
        let isSecure = request.secureConnectionStart != nil
        json.member("ssl", isSecure ? Self.milliseconds(phases.lengths[.tls]) : -1)
        json.member("send", Self.milliseconds(phases.lengths[.send]))
        json.member("wait", Self.milliseconds(phases.lengths[.wait]))
        json.member("receive", Self.milliseconds(phases.lengths[.receive]))
    }

    private static func write(_ name: StaticString, _ items: [ReportedTask.Header], to json: inout JSONWriter) {
        json.objects(name, items) { json, item in
            json.member("name", item.name)
            json.member("value", item.value)
        }
    }

    private static func milliseconds(_ nanoseconds: Int64) -> Double { Double(nanoseconds / 1_000) / 1_000 }

    /// Returns −1, HAR's unknown, for 0 bytes: no head is empty.
    private static func size(_ bytes: Int64) -> Int64 { bytes > 0 ? bytes : -1 }

    private static func query(of url: String) -> [ReportedTask.Header] {
        let whole = url.prefix { $0 != "#" }
        guard let mark = whole.firstIndex(of: "?") else { return [] }
        return whole[whole.index(after: mark)...].split(separator: "&").map { pair in
            let name = pair.prefix { $0 != "=" }
            return ReportedTask.Header(name: String(name), value: String(pair.dropFirst(name.count + 1)))
        }
    }

    private static func cookie(_ field: String) -> ReportedTask.Header? {
        let pair = field.prefix { $0 != ";" }
        guard let equals = pair.firstIndex(of: "=") else { return nil }
        return ReportedTask.Header(name: String(pair[..<equals]), value: String(pair[pair.index(after: equals)...]))
    }
}
