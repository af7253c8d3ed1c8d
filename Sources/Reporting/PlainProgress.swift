package import TransferModel

/// One plain line for each finished task, and a summary at the end: what people see where there is no terminal.
package final class PlainProgress: EventConsumer {
    package enum Amount: Sendable { case quiet, normal, verbose }

    package struct Style: Sendable {
        package var amount: Amount
        package var color: Bool
        /// Failures become annotations on the line where the task begins in the job file.
        package var isGitHub: Bool
        package var advice: RerunAdvice

        package init(
            amount: Amount = .normal, color: Bool = false, isGitHub: Bool = false, advice: RerunAdvice = RerunAdvice()
        ) {
            self.amount = amount
            self.color = color
            self.isGitHub = isGitHub
            self.advice = advice
        }
    }

    private let job: Job
    private let sink: any ByteSink
    private let style: Style
    private let redactor: Redactor
    private var lines: [UInt8] = []
    private var running: [TaskIndex: Running] = [:]
    private var tally: RunTally
    private var annotations = 0
    private var isStopped = false

    private struct Running {
        var bytes: Int64 = 0
        var attempts = 0
        var lastAttempt = TimeSpan.zero

        mutating func note(_ attempt: AttemptRecord, isUpload: Bool) {
            lastAttempt = attempt.duration
            if isUpload { bytes = attempt.bytesTaken }
        }
    }

    package init(job: Job, sink: any ByteSink, style: Style = Style(), redactor: Redactor? = nil) {
        self.job = job
        self.sink = sink
        self.style = style
        self.redactor = redactor ?? Redactor(job.secrets)
        tally = RunTally(job: job, style.advice, self.redactor)
    }

    /// Until something moves again.
    private var toldLacks: Set<String> = []

    package func consume(_ events: ArraySlice<Event>) {
        guard !isStopped else { return }
        for event in events { consume(event) }
        guard !lines.isEmpty else { return }
        do { try sink.write(lines) } catch { isStopped = true }
        lines.removeAll(keepingCapacity: true)
    }

    private func consume(_ event: Event) {
        if case .runFinished(let record) = event.kind { summarize(record) }
        guard let task = event.task, Int(task.raw) < job.tasks.count else { return }
        switch event.kind {
        case .attemptStarted(let record):
            if !toldLacks.isEmpty { toldLacks = [] }
            running[task, default: Running()].attempts = record.number
            tell(task, "attempt \(record.number)", record.url)
        case .fileFinished(let record): running[task, default: Running()].bytes = record.bytes
        case .attemptFinished(let record):
            let isUpload = job.tasks[Int(task.raw)].type == .upload
            running[task, default: Running()].note(record, isUpload: isUpload)
            tellEnd(of: record, task)
        case .redirect(let record): tell(task, "\(record.status) \(record.action.rawValue)", "to \(record.to)")
        case .waiting(let reason, let lacks): tellWait(task, reason, lacks)
        case .taskFinished(let record): finish(task, record)
        default: break
        }
    }

    // MARK: Lines

    /// A line between a task's beginning and end, with `-v` only.
    private func tell(_ task: TaskIndex, _ what: String, _ detail: String) {
        guard style.amount == .verbose else { return }
        append("  \(id(task)): \(what) \(detail)")
    }

    /// What many tasks may have to wait for long is told without being asked for, once: nothing moves, and nothing else says
    /// why.
    private func tellWait(_ task: TaskIndex, _ reason: WaitReason, _ lacks: String?) {
        if reason == .credential { return tellLack(task) }
        let what = lacks ?? Explanation.words(reason)
        guard style.amount == .normal else { return tell(task, "waits", "for \(what)") }
        guard [.network, .power, .window].contains(reason), toldLacks.insert(what).inserted else { return }
        append("  \(id(task)): waits for \(what)")
    }

    /// Nothing but a person ends this wait.
    private func tellLack(_ task: TaskIndex) {
        guard style.amount != .quiet else { return }
        let identifier = job.sessions[Int(job.tasks[Int(task.raw)].session.raw)].identifier
        let resume = identifier.map { ", or write it into `.netrc` and `transfer-run resume \($0)`" } ?? ""
        append("  \(id(task)): waits for a credential: say it under `credentials` and run the job again\(resume)")
    }

    private func tellEnd(of record: AttemptRecord, _ task: TaskIndex) {
        guard style.amount == .verbose, let error = record.error else { return }
        let pause = record.backoff.map { "; tried again in \(HumanText.duration($0))" } ?? ""
        append("  \(id(task)): attempt \(record.number) ended: \(error.message)\(pause)")
    }

    private func finish(_ task: TaskIndex, _ record: TaskRecord) {
        let running = self.running.removeValue(forKey: task) ?? Running()
        tally.count(task, record)
        let word = OutcomeWord(record)
        guard style.amount != .quiet || word.isTrouble else { return }
        let bytes = running.bytes > 0 ? running.bytes : record.body.map { Int64($0.count) } ?? 0
        word.append(to: &lines, color: style.color)
        column(id(task))
        if record.outcome == .succeeded {
            if bytes > 0 {
                gap()
                HumanText.append(size: bytes, to: &lines)
            }
            if let rate = rate(bytes, running, record) {
                gap()
                HumanText.append(size: rate, to: &lines)
                lines.append(contentsOf: "/s".utf8)
            }
        }
        gap()
        HumanText.append(duration: record.duration, to: &lines)
        if running.attempts > 1 { column("\(running.attempts) attempts") }
        if let error = record.error { column(error.message) }
        lines.append(UInt8(ascii: "\n"))
        if style.isGitHub, word.isTrouble { annotate(task, record) }
    }

    /// An attempt's own time is without what its `bandwidth` held it up. Of several attempts nobody knows whose wait that was.
    private func rate(_ bytes: Int64, _ running: Running, _ record: TaskRecord) -> Int64? {
        guard record.source == .network || record.source == .resumed else { return nil }
        let held = record.waits.first { $0.reason == .bandwidth }?.duration ?? .zero
        if held > .zero, running.attempts > 1 { return nil }
        return HumanText.rate(bytes, in: running.lastAttempt + held)
    }

    private func annotate(_ task: TaskIndex, _ record: TaskRecord) {
        guard record.outcome == .failed, annotations < GitHubAnnotation.most else { return }
        annotations += 1
        let message = record.explanation ?? record.error?.message ?? "The task failed."
        let annotation = GitHubAnnotation.error(
            file: job.file, line: job.tasks[Int(task.raw)].line, title: "task \(id(task)) failed", message: message)
        lines += Array(annotation.utf8)
        lines.append(UInt8(ascii: "\n"))
    }

    private func summarize(_ record: RunRecord) {
        for line in tally.summary(record, id: { self.id($0) }) { append(line) }
    }

    private func id(_ task: TaskIndex) -> String { redactor.redacted(name: job.tasks[Int(task.raw)].id) }

    private func append(_ line: String) {
        add(line)
        lines.append(UInt8(ascii: "\n"))
    }

    /// A part of a line.
    private func column(_ text: String) {
        gap()
        add(text)
    }

    /// Before each part.
    private func gap() {
        lines.append(UInt8(ascii: " "))
        lines.append(UInt8(ascii: " "))
    }

    private func add(_ text: String) {
        lines.append(contentsOf: (style.isGitHub ? SafeText.gitHubLine(text) : SafeText.line(text)).utf8)
    }
}

extension AttemptRecord {
    /// Of the body that was sent, what answers took: a request that was redirected or asked who it was had sent it too.
    fileprivate var bytesTaken: Int64 {
        transactions.reduce(0) { sum, transaction in
            (200..<300).contains(transaction.status ?? 0) ? sum + transaction.requestBodyBytesBeforeEncoding : sum
        }
    }
}

/// How a task's end is called in one word.
struct OutcomeWord {
    let text: String
    /// Something that a person should look at.
    let isTrouble: Bool
    private let color: String

    init(_ record: TaskRecord) {
        switch record.outcome {
        case .succeeded:
            text =
                switch record.source {
                case .unchanged: "unchanged"
                case .cache, .revalidated: "cached"
                case .network, .resumed, .local, nil: "ok"
                }
            isTrouble = false
            color = "32"
        case .failed:
            text = record.tolerated ? "tolerated" : "FAILED"
            isTrouble = !record.tolerated
            color = record.tolerated ? "33" : "31"
        case .cancelled: (text, isTrouble, color) = ("cancelled", true, "33")
        case .skipped: (text, isTrouble, color) = ("skipped", true, "33")
        case .deferred: (text, isTrouble, color) = ("deferred", true, "33")
        }
    }

    /// As wide as the longest of them.
    func append(to line: inout [UInt8], color isColored: Bool) {
        if isColored { line.append(contentsOf: "\u{1B}[\(color)m".utf8) }
        line.append(contentsOf: text.utf8)
        for _ in min(9, text.utf8.count)..<9 { line.append(UInt8(ascii: " ")) }
        if isColored { line.append(contentsOf: "\u{1B}[0m".utf8) }
    }
}
