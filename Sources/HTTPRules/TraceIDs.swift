import Digests
package import TransferModel

/// The ids of a run's spans, as OpenTelemetry knows them. They follow from the run: the header that a server is sent and the
/// spans that are written of the finished report name the same ones.
package struct TraceIDs: Sendable {
    package let trace: String
    /// The span that the run belongs to.
    package let parent: String?

    /// `parent` is the run's `TRACEPARENT`, if it has one.
    package init(parent: String?, job: String, host: String, startedAt: WallTime) {
        let above = parent.flatMap { TraceParent($0) }
        self.parent = above?.span
        // Reports tell dates in milliseconds.
        trace = above?.trace ?? Self.id("\(job)\n\(host)\n\(startedAt.nanoseconds / 1_000_000)", bytes: 16)
    }

    package var run: String { span("run") }
    package func task(_ task: String) -> String { span("task\n\(task)") }
    package func attempt(_ number: Int, of task: String) -> String { span("attempt\n\(number)\n\(task)") }
    package func request(_ place: Int, ofAttempt number: Int, of task: String) -> String {
        span("request\n\(place)\n\(number)\n\(task)")
    }

    /// The value of `traceparent` in an attempt's requests: what the server does stands below the attempt.
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

/// A session's `tracing`, in one attempt.
package struct TracePropagation: Sendable {
    private let hosts: [HostPattern]
    private let header: HeaderField

    package init(to hosts: [HostPattern], _ header: String) {
        self.hosts = hosts
        self.header = HeaderField(name: "traceparent", value: SecretText(header))
    }

    /// What a request there carries beside its headers. What the job itself types stands.
    package func header(to url: ResourceURL, beside headers: [HeaderField]) -> HeaderField? {
        guard url.isHTTP, hosts.contains(where: { $0.matches(url.origin) }) else { return nil }
        return headers.contains { $0.isNamed("traceparent") } ? nil : header
    }
}

/// The span that a run belongs to, as `TRACEPARENT` names it.
private struct TraceParent {
    let trace: String
    let span: String

    /// `00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01`; `nil` for anything else.
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
