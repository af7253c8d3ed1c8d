internal import Glibc
internal import SystemIO
package import TransferModel

/// The table that GitHub shows below a step: why tasks did not succeed, each cause once, then the tasks that did, as
/// far as there is room.
package final class GitHubSummary: EventConsumer {
    /// Bytes beyond which GitHub drops the output of a step.
    private static let longest = 1 << 20
    /// Bytes of these that are reserved for the heading, the table's head and the last line.
    private static let frame = 4 << 10
    /// Most task ids in the row of a cause.
    private static let mostIDs = 10

    private var job: Job
    private let path: String
    private let redactor: Redactor
    private let room: Int
    private var causes: RunCauses
    /// Rows of tasks that need no attention, and their length in bytes together.
    private var others: [String] = []
    private var length = 0
    private var count = 0
    private var ending: RunRecord?

    /// `path` is the step's own file, to which other commands may have written.
    package init(job: Job, path: String, redactor: Redactor? = nil) {
        var information = stat()
        let written = stat(path, &information) == 0 ? Int(information.st_size) : 0
        self.job = job
        self.path = path
        self.redactor = redactor ?? job.redactor
        room = Self.longest - written - Self.frame
        causes = RunCauses(job: job)
    }

    /// Applies the run's events.
    package func consume(_ events: ArraySlice<Event>) {
        for event in events {
            switch event.kind {
            case .taskFinished(let record): if let task = event.task { add(task, record) }
            case .expanded(let expansion):
                job.tasks += expansion.tasks
                causes.grow(expansion.tasks)
            case .runFinished(let record): ending = record
            default: break
            }
        }
    }

    private func add(_ task: TaskIndex, _ record: TaskRecord) {
        guard Int(task.raw) < job.tasks.count else { return }
        count += 1
        if OutcomeLabel(record).isTrouble { return causes.add(task, record, saying: record.error?.message, shownAt: 0) }
        let row = row(id(task), record, why: record.outcome == .succeeded ? "" : Self.why(record))
        guard length + row.utf8.count <= room else { return }
        length += row.utf8.count
        others.append(row)
    }

    private func id(_ task: TaskIndex) -> String { redactor.redacted(name: job.tasks[Int(task.raw)].id) }

    private static func why(_ record: TaskRecord) -> String { record.explanation ?? record.error?.message ?? "" }

    private func row(_ who: String, _ record: TaskRecord, why: String) -> String {
        let duration = HumanText.duration(record.duration)
        let cells = [who, OutcomeLabel(record).text.lowercased(), duration, why].map { MarkdownText.cell($0) }
        return "| \(cells.joined(separator: " | ")) |\n"
    }

    /// The row of a cause: its first tasks, and their consequences. The unfinished tasks of a stopped run are named in
    /// the report only: the next run continues with them.
    private func row(_ cause: RunCauses.Cause) -> String {
        if let stop = cause.stop {
            let count = cause.tasks.count + cause.followers
            return row(
                HumanText.count(count, "task"), cause.record,
                why: "\(stop.words); \(count == 1 ? "it is" : "they are") not done; the next run goes on")
        }
        let more = cause.tasks.count - Self.mostIDs
        let ids = cause.tasks.sorted().prefix(Self.mostIDs).map { id($0) }.joined(separator: ", ")
        let who = more > 0 ? "\(ids) and \(HumanText.grouped(more)) more" : ids
        let consequences = cause.consequences.joined(separator: ", ")
        let why = Self.why(cause.record)
        return row(who, cause.record, why: consequences.isEmpty ? why : "\(why) (\(consequences))")
    }

    /// Appends the table to the step's file, after the last event.
    package func write() throws(OutputProblem) {
        guard let text, room >= 0 else { return }
        let file = try OutputPlace(path).openForWriting(O_CREAT | O_APPEND)
        try Descriptor.writeAll(text, to: file.raw, name: path)
        try Descriptor.confirmWrites(file.raw, name: path)
    }

    /// The table; `nil` before the run has ended.
    private var text: [UInt8]? {
        guard let ending else { return nil }
        var name = job.name
        if name.unicodeScalars.count > 200 { name = String(name.unicodeScalars.prefix(200)) + "…" }
        let (rows, told) = rows
        let title = "### \(MarkdownText.cell(redactor.redacted(name: name))): \(ending.outcome.rawValue)\n\n"
        let lengthOfRun = HumanText.duration(ending.duration)
        let table = rows.isEmpty ? "" : "| task | outcome | duration | why |\n| --- | --- | --- | --- |\n"
        let untold = count - told
        let rest = untold > 0 ? ", of which \(untold) stand in the report only" : ""
        return Array(
            "\(title)\(table)\(rows.joined())\n\(HumanText.count(count, "task"))\(rest), in \(lengthOfRun)\n\n".utf8)
    }

    /// The rows that fit, and the number of tasks in them. Rows of successful tasks give way to those of causes.
    private var rows: (rows: [String], tasks: Int) {
        var causes = causes
        let unknown = causes.attribute()
        var (rows, told, left) = ([String](), 0, room)
        for cause in causes.causes.filter({ $0.stop == nil }) + causes.causes.filter({ $0.stop != nil }) {
            let row = row(cause)
            guard row.utf8.count <= left else { continue }
            left -= row.utf8.count
            told += cause.tasks.count + cause.followers
            rows.append(row)
        }
        if unknown > 0 {
            let words = [HumanText.count(unknown, "task"), "skipped or cancelled", "", "the report says why"]
            let row = "| \(words.joined(separator: " | ")) |\n"
            if row.utf8.count <= left {
                left -= row.utf8.count
                told += unknown
                rows.append(row)
            }
        }
        for row in others {
            guard row.utf8.count <= left else { break }
            left -= row.utf8.count
            told += 1
            rows.append(row)
        }
        return (rows, told)
    }
}
