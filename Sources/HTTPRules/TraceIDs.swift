import Digests
package import TransferModel

/// The ids of a run's spans in OpenTelemetry's format. They are derived from the run, so that the header sent to
/// servers and the spans exported from the finished report name the same ones.
package struct TraceIDs: Sendable {
    /// Trace id, 32 hex digits: that of the run's `TRACEPARENT`, or derived from job, host and start.
    package let trace: String
    /// Id of the span that the run belongs to; `nil` without a valid `TRACEPARENT`.
    package let parent: String?

    /// `parent` is the value of the run's `TRACEPARENT`, if it has one.
    package init(parent: String?, job: String, host: String, startedAt: WallTime) {
        let above = parent.flatMap { TraceParent($0) }
        self.parent = above?.span
        // Reports round dates to milliseconds, so the id uses milliseconds too.
        trace = above?.trace ?? Self.id("\(job)\n\(host)\n\(startedAt.nanoseconds / 1_000_000)", bytes: 16)
    }

    /// Span id of the run.
    package var run: String { span("run") }
    /// Span id of a task.
    package func task(_ task: String) -> String { span("task\n\(task)") }
    /// Span id of a task's attempt.
    package func attempt(_ number: Int, of task: String) -> String { span("attempt\n\(number)\n\(task)") }
    /// Span id of a request; `place` is its index among the attempt's requests.
    package func request(_ place: Int, ofAttempt number: Int, of task: String) -> String {
        span("request\n\(place)\n\(number)\n\(task)")
    }

    /// The value of `traceparent` in an attempt's requests: the server's spans become children of the attempt's.
    package func header(attempt number: Int, of task: String) -> String {
        "00-\(trace)-\(attempt(number, of: task))-01"
    }

    private func span(_ name: String) -> String { Self.id("\(trace)\n\(name)", bytes: 8) }

    private static func id(_ name: String, bytes: Int) -> String {
        let digits = Array("0123456789abcdef".utf8)
        var text: [UInt8] = []
        for byte in Checksum.mark(of: Array(name.utf8)).bytes.prefix(bytes) {
            text += [digits[Int(byte >> 4)], digits[Int(byte & 15)]]
        }
        return String(decoding: text, as: UTF8.self)
    }
}

/// A session's `tracing`, for the requests of one attempt.
package struct TracePropagation: Sendable {
    private let hosts: [HostPattern]
    private let header: HeaderField

    package init(to hosts: [HostPattern], _ header: String) {
        self.hosts = hosts
        self.header = HeaderField(name: "traceparent", value: SecretText(header))
    }

    /// Returns the `traceparent` header for a request to `url`; `nil` where the session's hosts do not cover it, or the
    /// job sets the header itself.
    package func header(to url: ResourceURL, beside headers: [HeaderField]) -> HeaderField? {
        guard url.isHTTP, hosts.contains(where: { $0.matches(url.origin) }) else { return nil }
        return headers.contains { $0.isNamed("traceparent") } ? nil : header
    }
}

/// The span that a run belongs to, as `TRACEPARENT` names it.
private struct TraceParent {
    let trace: String
    let span: String

    /// Parses `00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01`; `nil` for anything else.
    init?(_ text: String) {
        let parts = text.split(separator: "-", omittingEmptySubsequences: false)
        guard parts.count >= 4, parts[0].count == 2, parts[0] != "ff", parts[0] != "00" || parts.count == 4,
            Self.isID(parts[1], 32), Self.isID(parts[2], 16), parts[3].count == 2
        else { return nil }
        (trace, span) = (String(parts[1]), String(parts[2]))
    }

    private static func isID(_ text: Substring, _ count: Int) -> Bool {
        text.utf8.count == count && text.utf8.contains { $0 != UInt8(ascii: "0") }
            && text.utf8.allSatisfy {
                UInt8(ascii: "0")...UInt8(ascii: "9") ~= $0 || UInt8(ascii: "a")...UInt8(ascii: "f") ~= $0
            }
    }
}
