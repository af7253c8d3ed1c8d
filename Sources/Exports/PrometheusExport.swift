internal import Reporting
internal import TextFormats
internal import TransferModel

/// Writes gauges of a run for the textfile collector of Prometheus's node exporter.
///
/// The time of the last success is carried over from the file that is replaced, so that an alert can ask how long ago
/// the last good run was.
struct PrometheusExport: Export {
    let parts: ReportParts = [.transactions, .waits]
    private let former: [UInt8]
    private var head = ReportHead()
    private var hosts: HostTallies?
    private var waited: [WaitReason: TimeSpan] = [:]

    /// Largest number of hosts with gauges of their own, those with most requests first: each gauge is a lasting time
    /// series.
    private static let mostHosts = 100

    init(former: [UInt8]) { self.former = former }

    mutating func begin(_ head: ReportHead, to output: ExportOutput) {
        self.head = head
        hosts = HostTallies(RunWindow(head), countsCourse: false)
    }

    mutating func add(_ task: ReportedTask, to output: ExportOutput) {
        hosts?.add(task)
        for wait in task.waits { waited[wait.reason] = (waited[wait.reason] ?? .zero) + wait.duration }
    }

    func finish(to output: ExportOutput) {
        let job = [("job_name", head.job.name)]
        var text = MetricsText()
        writeRun(&text, job)
        writeTotals(&text, job)
        text.family("tasks_waited_seconds", "Time that tasks waited, added up, by reason.")
        for reason in WaitReason.allCases {
            guard let time = waited[reason] else { continue }
            text.sample(job + [("reason", reason.rawValue)], time.nanoseconds)
        }
        writeHosts(&text, job)
        output.bytes += text.bytes
    }

    private func writeRun(_ text: inout MetricsText, _ job: [(String, String)]) {
        if let start = head.startedAt {
            text.family("last_start_timestamp_seconds", "When the last run began.")
            text.sample(job, start.nanoseconds)
        }
        if let end = head.finishedAt {
            text.family("last_end_timestamp_seconds", "When the last run ended.")
            text.sample(job, end.nanoseconds)
        }
        let own = head.outcome == .succeeded ? head.finishedAt?.nanoseconds : nil
        if let success = [own, formerSuccess()].compactMap({ $0 }).max() {
            text.family(Self.lastSuccess, "When the last run that succeeded ended.")
            text.sample(job, success)
        }
        if let duration = head.duration {
            text.family("duration_seconds", "How long the last run took.")
            text.sample(job, duration.nanoseconds)
        }
        if let status = head.exitStatus {
            text.family("exit_status", "The exit status of the last run.")
            text.sample(job, count: Int64(status))
        }
    }

    private func writeTotals(_ text: inout MetricsText, _ job: [(String, String)]) {
        let totals = head.totals
        text.family("tasks", "Tasks of the last run by outcome.")
        for (outcome, count) in [
            ("succeeded", totals.succeeded), ("failed", totals.failed), ("cancelled", totals.cancelled),
            ("skipped", totals.skipped), ("deferred", totals.deferred),
        ] {
            text.sample(job + [("outcome", outcome)], count: Int64(count))
        }
        for (name, help, count) in [
            ("tasks_tolerated", "Failed tasks that `allowFailure` let pass.", totals.tolerated),
            ("tasks_unchanged", "Tasks whose file was there already.", totals.unchanged),
            ("attempts", "Attempts of all tasks.", totals.attempts),
            ("retries", "Attempts after the first of a task.", totals.retries),
            ("redirects", "Redirects of all tasks.", totals.redirects),
            ("cache_hits", "Answers that came from the cache.", totals.cacheHits),
        ] {
            text.family(name, help)
            text.sample(job, count: Int64(count))
        }
        text.family("bytes", "Bytes of bodies that the last run moved, or saved because they were there.")
        for (direction, count) in [
            ("received", totals.bytesReceived), ("sent", totals.bytesSent), ("saved", totals.bytesSaved),
        ] {
            text.sample(job + [("direction", direction)], count: count)
        }
    }

    private func writeHosts(_ text: inout MetricsText, _ job: [(String, String)]) {
        let all = (hosts?.hosts ?? []).enumerated()
            .sorted { ($1.element.requests, $0.offset) < ($0.element.requests, $1.offset) }.map(\.element)
        let told = all.prefix(Self.mostHosts)
        text.family("host_requests", "Requests to a host.")
        for host in told { text.sample(job + [("host", host.origin)], count: Int64(host.requests)) }
        text.family("host_tasks_failed", "Tasks that failed, by the host of their URL.")
        for host in told { text.sample(job + [("host", host.origin)], count: Int64(host.failed)) }
        text.family("host_bytes", "Bytes of bodies to and from a host.")
        for host in told {
            let labels = job + [("host", host.origin)]
            text.sample(labels + [("direction", "received")], count: host.received)
            text.sample(labels + [("direction", "sent")], count: host.sent)
        }
    }

    private static let lastSuccess = "last_success_timestamp_seconds"

    /// Returns the time of the last success that the replaced file has for this job, in nanoseconds; `nil` if it has
    /// none.
    private func formerSuccess() -> Int64? {
        let name = MetricsText.sample(Self.lastSuccess, [("job_name", head.job.name)]) + " "
        for line in String(decoding: former, as: UTF8.self).split(separator: "\n") where line.hasPrefix(name) {
            let value = line.dropFirst(name.count).split(separator: ".", omittingEmptySubsequences: false)
            guard let seconds = value.first.flatMap({ Int64($0) }), (0..<1 << 33).contains(seconds) else { continue }
            let digits = value.count == 2 ? value[1].prefix(3) : "0"
            guard let fraction = Int64(digits), fraction >= 0 else { continue }
            let scale: Int64 = digits.count == 1 ? 100_000_000 : digits.count == 2 ? 10_000_000 : 1_000_000
            return seconds * 1_000_000_000 + fraction * scale
        }
        return nil
    }
}

/// The text format of Prometheus: a family's help and type, then its samples.
private struct MetricsText {
    private(set) var bytes: [UInt8] = []
    private var name = ""

    mutating func family(_ name: String, _ help: String) {
        self.name = name
        bytes.append(contentsOf: "# HELP transfer_run_\(name) \(help)\n# TYPE transfer_run_\(name) gauge\n".utf8)
    }

    mutating func sample(_ labels: [(String, String)], count: Int64) { sample(labels, text: String(count)) }

    /// Writes nanoseconds as seconds with three decimals.
    mutating func sample(_ labels: [(String, String)], _ nanoseconds: Int64) {
        let milliseconds = nanoseconds / 1_000_000
        let rest = String(milliseconds.magnitude % 1_000)
        let zeros = String(repeating: "0", count: 3 - rest.count)
        sample(labels, text: "\(milliseconds < 0 ? "-" : "")\(milliseconds.magnitude / 1_000).\(zeros)\(rest)")
    }

    private mutating func sample(_ labels: [(String, String)], text: String) {
        bytes.append(contentsOf: "\(Self.sample(name, labels)) \(text)\n".utf8)
    }

    static func sample(_ name: String, _ labels: [(String, String)]) -> String {
        "transfer_run_\(name){" + labels.map { "\($0)=\"\(escaped($1))\"" }.joined(separator: ",") + "}"
    }

    /// Returns a label's value with escapes that keep it on one line.
    private static func escaped(_ value: String) -> String {
        var safe = ""
        for character in SafeText.line(value).unicodeScalars {
            if character == "\\" || character == "\"" { safe += "\\" }
            safe.unicodeScalars.append(character)
        }
        return safe
    }
}
