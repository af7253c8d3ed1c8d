internal import Reporting
internal import TransferModel

/// Writes a summary in Markdown for an issue, a chat or a step's page: the outcome, what did not succeed and why, the
/// slowest tasks and the hosts. Text from job files and servers is escaped so that Markdown shows it literally.
struct MarkdownExport: Export {
    let parts: ReportParts = [.transactions, .waits]
    private var head = ReportHead()
    private var causes = FailureCauses()
    private var hosts: HostTallies?
    private var slowest: [SlowTask] = []
    private var number = 0

    private struct SlowTask {
        let id: String
        let duration: TimeSpan
        let waited: TimeSpan
        let bytes: Int64?
    }

    private static let mostRows = 10
    /// Largest size of the summary in bytes: GitHub's limit for a step.
    private static let longest = 1 << 20

    mutating func begin(_ head: ReportHead, to output: ExportOutput) {
        self.head = head
        causes = FailureCauses(head.hooks)
        hosts = HostTallies(RunWindow(head), countsCourse: false)
    }

    mutating func add(_ task: ReportedTask, to output: ExportOutput) {
        causes.add(task, number: number)
        hosts?.add(task)
        number += 1
        guard let duration = task.duration, task.attempts.count > 0 else { return }
        if slowest.count == Self.mostRows, let last = slowest.last, last.duration >= duration { return }
        let place = slowest.firstIndex { $0.duration < duration } ?? slowest.count
        let waited = task.waits.reduce(TimeSpan.zero) { $0 + $1.duration }
        let slow = SlowTask(id: task.id, duration: duration, waited: waited, bytes: task.fileBytes)
        slowest.insert(slow, at: place)
        if slowest.count > Self.mostRows { slowest.removeLast() }
    }

    func finish(to output: ExportOutput) {
        var page = MarkdownPage(room: Self.longest)
        page.add("### \(MarkdownText.cell(head.job.name)): \(PageSummary(head).short)\n\n")
        page.table(["", ""], facts)
        let causes = causes.list().map(row)
        page.section("What did not succeed", ["Tasks", "Outcome", "Why", "What would help"], causes)
        page.section("Slowest tasks", ["Task", "Took", "Waited", "Size"], slowest.map(row))
        let hosts = (hosts?.hosts ?? []).enumerated().filter { $0.element.requests > 0 }
            .sorted { ($1.element.requests, $0.offset) < ($0.element.requests, $1.offset) }
            .prefix(Self.mostRows).map { row($0.element) }
        page.section(
            "Hosts", ["Host", "Requests", "Received", "Sent", "Half within", "95 % within", "Failed"], hosts,
            beginsWithOrigin: true)
        output.bytes += page.bytes
    }

    private var facts: [[String]] {
        let totals = head.totals
        var facts: [[String]] = []
        let outcome = PageSummary(head).sentence
        facts.append(["Outcome", outcome + (head.exitStatus.map { " Exit status \($0)." } ?? "")])
        if let start = head.startedAt { facts.append(["Started", PageSummary.moment(start)]) }
        if let duration = head.duration { facts.append(["Took", HumanText.duration(duration)]) }
        facts.append(["Received", HumanText.size(totals.bytesReceived)])
        if totals.bytesSent > 0 { facts.append(["Sent", HumanText.size(totals.bytesSent)]) }
        if totals.bytesSaved > 0 { facts.append(["Saved", HumanText.size(totals.bytesSaved)]) }
        if totals.unchanged > 0 { facts.append(["Unchanged", PageText.count(totals.unchanged, "task")]) }
        if totals.retries > 0 { facts.append(["Retries", PageText.grouped(totals.retries)]) }
        return facts
    }

    private func row(_ cause: FailureCauses.Cause) -> [String] {
        let more = cause.count - min(cause.tasks.count, Self.mostRows)
        var who = cause.tasks.prefix(Self.mostRows).map(\.id).joined(separator: ", ")
        if more > 0 { who += " and \(PageText.grouped(more)) more" }
        if cause.tasks.isEmpty { who = head.job.name }
        let followers = [
            (cause.skipped, "skipped"), (cause.unpublished, "not published"), (cause.cancelled, "cancelled"),
        ].filter { $0.0 > 0 }.map { "\(PageText.grouped($0.0)) \($0.1)" }
        let why = cause.message + (followers.isEmpty ? "" : " (because of it: \(followers.joined(separator: ", ")))")
        return [who, cause.error ?? cause.outcome.rawValue, why, cause.help]
    }

    private func row(_ task: SlowTask) -> [String] {
        [
            task.id, HumanText.duration(task.duration), HumanText.duration(task.waited),
            task.bytes.map { HumanText.size($0) } ?? "",
        ]
    }

    private func row(_ host: HostTally) -> [String] {
        let quantiles = host.quantiles()
        return [
            host.origin, PageText.grouped(host.requests), HumanText.size(host.received), HumanText.size(host.sent),
            quantiles.map { PageText.duration(seconds: $0.half) } ?? "",
            quantiles.map { PageText.duration(seconds: $0.most) } ?? "", PageText.grouped(host.failed),
        ]
    }
}

/// A Markdown page whose tables end early when the page has no more room.
private struct MarkdownPage {
    private(set) var bytes: [UInt8] = []
    private let room: Int
    /// Bytes kept free for the line about rows that had no room.
    private static let reserve = 4 << 10

    init(room: Int) { self.room = room - Self.reserve }

    mutating func add(_ text: String) { bytes.append(contentsOf: text.utf8) }

    mutating func section(_ title: String, _ columns: [String], _ rows: [[String]], beginsWithOrigin: Bool = false) {
        guard !rows.isEmpty else { return }
        add("\n#### \(title)\n\n")
        table(columns, rows, beginsWithOrigin: beginsWithOrigin)
    }

    mutating func table(_ columns: [String], _ rows: [[String]], beginsWithOrigin: Bool = false) {
        add("| \(columns.joined(separator: " | ")) |\n|\(String(repeating: " --- |", count: columns.count))\n")
        for (place, row) in rows.enumerated() {
            var cells = row.map { MarkdownText.cell($0) }
            if beginsWithOrigin { cells[0] = MarkdownText.code(origin: row[0]) }
            let line = "| \(cells.joined(separator: " | ")) |\n"
            guard bytes.count + line.utf8.count <= room else {
                return add("\n\(PageText.count(rows.count - place, "row")) more stand in the report only.\n")
            }
            add(line)
        }
    }
}
