package import TransferModel

/// One plain line for each finished task, and a summary at the end: progress where there is no terminal.
package final class PlainProgress: EventConsumer {
    /// How much is printed: the summary only, a line per task, or also what happens between a task's beginning and end.
    package enum Amount: Sendable { case quiet, normal, verbose }

    /// What is printed, and how.
    package struct Style: Sendable {
        /// How much is printed.
        package var amount: Amount
        /// Whether outcomes are coloured with terminal escapes.
        package var color: Bool
        /// Whether failures become annotations on the line where the task begins in the job file.
        package var isGitHub: Bool
        /// Arguments for the command in the summary that runs failed tasks again.
        package var advice: RerunAdvice
        /// Columns of the terminal; `nil` where lines are not wrapped.
        package var width: Int?
        /// Path of the report as the summary prints it; `nil` without a report.
        package var report: String?
        /// Whether only tasks that failed, were retried or changed something get a line: there are many tasks, and a
        /// live part shows their progress.
        package var isBrief: Bool
        /// Time between two lines that say that the run goes on; `nil` where a live part shows it.
        package var heartbeat: TimeSpan?
        /// Whether the summary waits for `conclude`, which knows whether the report was written.
        package var holdsSummary = false
        /// Whether the summary explains why files that came again with the same content do not count as unchanged.
        package var explainsUnchanged = false

        package init(
            amount: Amount = .normal, color: Bool = false, isGitHub: Bool = false,
            advice: RerunAdvice = RerunAdvice(), width: Int? = nil, report: String? = nil, isBrief: Bool = false,
            heartbeat: TimeSpan? = nil
        ) {
            self.amount = amount
            self.color = color
            self.isGitHub = isGitHub
            self.advice = advice
            self.width = width
            self.report = report
            self.isBrief = isBrief
            self.heartbeat = heartbeat
        }
    }

    private var job: Job
    private let sink: any ByteSink
    private var style: Style
    private let redactor: Redactor
    private var lines: [UInt8] = []
    /// Lines printed so far: a line printed long ago has left the screen.
    private var lineCount = 0
    private var courses: [TaskIndex: TaskAttempts] = [:]
    private var tally: RunTally
    private var pulse: Heartbeat
    private var annotations = 0
    private var hasBegun = false
    private var isStopped = false
    /// Width of the id column, limited by the terminal's.
    private let idWidth: Int
    private var brokenPlaces: Set<String> = []
    /// Groups that were not published, each with a line that says why.
    private var brokenGroups: Set<GroupIndex> = []
    /// Web pages, without their queries, that were warned of.
    private var pagesReached: Set<String> = []
    private var retryLines = RetryLines()
    /// Whether a file was told of that is stored as the server packed it.
    private var hasToldCoding = false
    /// The run's end, whose summary is held back.
    private var ending: RunRecord?

    package init(job: Job, sink: any ByteSink, style: Style = Style(), redactor: Redactor? = nil) {
        self.job = job
        self.sink = sink
        self.style = style
        self.redactor = redactor ?? job.redactor
        tally = RunTally(job: job, style.advice, self.redactor)
        pulse = Heartbeat(every: style.amount == .quiet ? nil : style.heartbeat)
        // The first thousand ids decide the width.
        let widest = min(32, max(12, (style.width ?? .max) / 3))
        idWidth = job.tasks.prefix(1_000).reduce(0) { max($0, min(TextLayout.width(of: $1.id), widest)) }
    }

    /// Waits that were printed since a task last began an attempt.
    private var toldLacks: Set<String> = []

    /// Applies the run's events and writes their lines in one piece.
    package func consume(_ events: ArraySlice<Event>) {
        guard !isStopped else { return }
        if !hasBegun, let first = events.first { begin(at: first.time) }
        for event in events { consume(event) }
        write()
    }

    private func write() {
        guard !lines.isEmpty, !isStopped else { return }
        do { try sink.write(lines) } catch { isStopped = true }
        lines.removeAll(keepingCapacity: true)
    }

    private func begin(at time: WallTime) {
        hasBegun = true
        pulse.begin(at: time)
        guard style.amount != .quiet, let text = StartLine.text(job) else { return }
        append(text)
    }

    private func consume(_ event: Event) {
        if case .runFinished(let record) = event.kind {
            pulse.end()
            if style.holdsSummary { ending = record } else { summarize(record) }
        }
        if case .hookFinished(let record) = event.kind, let trouble = record.trouble {
            tally.countFailedHook()
            append("error: `onFinish` of the task `\(record.task)` \(trouble)")
        }
        if case .groupPublished(let record) = event.kind { tellRemoved(record) }
        guard let task = event.task, Int(task.raw) < job.tasks.count else { return }
        switch event.kind {
        case .attemptStarted(let record):
            if !toldLacks.isEmpty { toldLacks = [] }
            course(of: task).begin(record, of: job.tasks[Int(task.raw)])
            pulse.began(task)
            tell(task, "attempt \(record.number)", record.url)
        case .response(let record): courses[task]?.answer(record)
        case .resumedAtOffset(let progress): tally.countLost(courses[task]?.resume(at: progress) ?? 0)
        case .receivedData(let progress), .sentBodyData(let progress): courses[task]?.advance(to: progress)
        case .fileFinished(let record): course(of: task).name(record)
        case .pageFinished(let page): course(of: task).turn(page)
        case .attemptFinished(let record):
            let isUpload = job.tasks[Int(task.raw)].type == .upload
            course(of: task).end(record, isUpload: isUpload)
            tally.count(record)
            pulse.ended(task)
            tellEnd(of: record, task, event.time)
        case .redirect(let record):
            courses[task]?.follow(record)
            tell(task, "\(record.status) \(record.action.rawValue)", "to \(record.to)")
        case .waiting(let reason, let lacks):
            pulse.waits(task, reason)
            tellWait(task, reason, lacks)
        case .taskFinished(let record): finish(task, record)
        case .expanded(let expansion): expand(task, expansion)
        default: break
        }
    }

    private func course(of task: TaskIndex) -> TaskAttempts {
        if let course = courses[task] { return course }
        let course = TaskAttempts()
        courses[task] = course
        return course
    }

    // MARK: Time

    /// Time at which `tick` is due although no event came; `nil` without a heartbeat.
    package var nextTick: WallTime? { pulse.due }

    /// Prints that the run goes on, if that is due.
    package func tick(_ now: WallTime) {
        let moved = courses.values.reduce(tally.moved) { $0 + $1.movedSoFar }
        guard let text = pulse.text(at: now, tasks: tally.taskCount, tally, moved: moved) else { return }
        append(text)
        write()
    }

    // MARK: Lines

    /// Prints a line between a task's beginning and end, with `-v` only.
    private func tell(_ task: TaskIndex, _ what: @autoclosure () -> String, _ detail: String) {
        guard style.amount == .verbose else { return }
        append("  \(id(task)): \(what()) \(detail)")
    }

    /// Prints what a task waits for: with `-v` always; else long waits that concern many tasks, each once, because
    /// nothing moves and no other line says why.
    private func tellWait(_ task: TaskIndex, _ reason: WaitReason, _ lacks: String?) {
        if reason == .credential { return tellLack(task, lacks) }
        let what = lacks ?? Explanation.words(reason)
        guard style.amount == .normal else { return tell(task, "waits", "for \(what)") }
        guard [.network, .power, .window].contains(reason), toldLacks.insert(what).inserted else { return }
        append("  \(id(task)): waits for \(what)")
    }

    /// Prints which credential is missing: only a person can end this wait.
    private func tellLack(_ task: TaskIndex, _ lacks: String?) {
        guard style.amount != .quiet else { return }
        let identifier = job.sessions[Int(job.tasks[Int(task.raw)].session.raw)].identifier
        let resume = identifier.map { ", or write it into `.netrc` and `transfer-run resume \($0)`" } ?? ""
        append(
            "  \(id(task)): waits for \(lacks ?? "a credential"): say it under `credentials` and run the job again\(resume)"
        )
    }

    private func tellEnd(of record: AttemptRecord, _ task: TaskIndex, _ time: WallTime) {
        guard let error = record.error else { return }
        // A live part shows what its rows wait for.
        if style.amount == .normal, style.heartbeat != nil, let words = retryLines.words(record, at: time) {
            append("  \(id(task)): \(words)")
        }
        guard style.amount == .verbose else { return }
        let again = record.isTriedOnceMore ? "tried once more" : "tried again"
        let pause = record.backoff.map { "; \(again) in \(HumanText.duration($0))" } ?? ""
        append("  \(id(task)): attempt \(record.number) ended: \(PeopleText.message(error.message))\(pause)")
    }

    /// Prints how many tasks a template became; an empty list is printed as a warning.
    private func expand(_ task: TaskIndex, _ expansion: Expansion) {
        courses[task] = nil
        pulse.finished(task)
        job.tasks += expansion.tasks
        tally.expand(task, expansion.tasks)
        let source = job.tasks[Int(task.raw)].options.values.template?.sourceWords ?? ""
        if expansion.count == 0 {
            append("  warning: \(id(task)): no task, for the list that \(source) is empty")
        } else if style.amount != .quiet {
            append("  \(id(task)): \(HumanText.count(expansion.count, "task")) of what \(source)")
        }
    }

    /// Notes the files that a group's publication removed; with `-v` they are named.
    private func tellRemoved(_ record: GroupRecord) {
        guard let removed = record.removed, removed.count > 0 else { return }
        tally.count(removed, of: record.name)
        guard style.amount == .verbose else { return }
        let name = redactor.redacted(name: record.name)
        for path in removed.named { append("  \(name): removed \(path)") }
        let more = removed.count - removed.named.count
        if more > 0 { append("  \(name): removed \(HumanText.count(more, "other file"))") }
    }

    private func finish(_ task: TaskIndex, _ record: TaskRecord) {
        let course = courses.removeValue(forKey: task) ?? TaskAttempts()
        pulse.finished(task)
        let word = OutcomeLabel(record)
        let isShown = isShown(record, course) && !isRepeated(task, record)
        if record.outcome == .succeeded { warnOfCoding(task, course) }
        tally.count(task, record, course, shownAt: lineCount)
        defer { if record.outcome == .succeeded { warnOfPage(task, course) } }
        guard isShown else { return }
        word.append(to: &lines, color: style.color)
        let start = lines.count
        let isAnnotated = style.isGitHub && record.outcome == .failed && annotations < GitHubAnnotation.most
        column(TextLayout.padded(SafeText.line(id(task)), to: idWidth))
        if record.outcome == .succeeded {
            addAmounts(course, record)
        } else {
            gap()
            HumanText.append(duration: record.duration, to: &lines)
            addAttempts(course)
            // The annotation below it is shown in the log, too.
            if let error = record.error, !isAnnotated { column(PeopleText.message(course.message(of: error))) }
            if record.isPassedOver || record.outcome == .deferred, let why = record.explanation {
                column(PeopleText.message(Explanation.withoutOutcome(why)))
            }
        }
        fit(from: start)
        endLine()
        if record.outcome == .succeeded { warnOfBrokenPlace(task, course) }
        if isAnnotated { annotate(task, record) }
    }

    /// Whether another member's line said why the task's group was not published.
    private func isRepeated(_ task: TaskIndex, _ record: TaskRecord) -> Bool {
        guard record.outcome == .failed, let name = record.error?.name,
            name == .groupNotPublished || name == .groupChanged, let group = job.tasks[Int(task.raw)].group
        else { return false }
        return !brokenGroups.insert(group).inserted
    }

    private func isShown(_ record: TaskRecord, _ course: TaskAttempts) -> Bool {
        switch style.amount {
        case .quiet: return false
        case .verbose: return true
        case .normal:
            if RunCauses.isFolded(record) { return false }
            if style.isBrief, record.isPassedOver { return false }
            return !style.isBrief || record.outcome != .succeeded || course.attempts > 1 || record.changed == true
        }
    }

    /// Breaks a task's line, which goes on at `start` after the outcome's word, where it is wider than the terminal.
    private func fit(from start: Int) {
        guard let width = style.width, lines.count - start + OutcomeLabel.width > width else { return }
        let word = String(repeating: " ", count: OutcomeLabel.width)
        let text = word + String(decoding: lines[start...], as: UTF8.self)
        // Below the id, where that leaves room.
        let indent = width < 60 ? "    " : word + "  "
        let parts = TextLayout.wrapped(text, width: width, indent: indent)
        guard parts.count > 1 else { return }
        lines.replaceSubrange(start..., with: parts[0].utf8.dropFirst(OutcomeLabel.width))
        for part in parts.dropFirst() {
            endLine()
            lines.append(contentsOf: part.utf8)
        }
    }

    private func addAmounts(_ course: TaskAttempts, _ record: TaskRecord) {
        let bytes =
            if course.bytes > 0 {
                course.bytes
            } else if record.source == .unchanged {
                course.unsent
            } else {
                course.pages > 1 ? course.moved : record.body.map { Int64($0.count) } ?? 0
            }
        if bytes > 0 {
            gap()
            HumanText.append(size: bytes, to: &lines)
        }
        if let rate = course.rate(record) ?? unmeasuredRate(bytes, course, record) {
            gap()
            HumanText.append(size: rate, to: &lines)
            lines.append(contentsOf: "/s".utf8)
        }
        gap()
        HumanText.append(duration: record.duration, to: &lines)
        addAttempts(course)
        if course.resumedFrom > 0 { column("resumed at \(HumanText.size(course.resumedFrom))") }
    }

    /// Rate of a body without a connection: no transaction counts its bytes.
    private func unmeasuredRate(_ bytes: Int64, _ course: TaskAttempts, _ record: TaskRecord) -> Int64? {
        guard record.source == .network, course.moved == 0, course.resumedFrom == 0, course.attempts <= 1 else {
            return nil
        }
        return HumanText.rate(bytes, in: record.duration)
    }

    private func addAttempts(_ course: TaskAttempts) {
        if course.pages > 0 { column(HumanText.count(course.pages, "page")) }
        if course.attempts > 1 { column("\(course.attempts) attempts") }
    }

    /// Warns that one of a task's `urls` failed while another succeeded, once for each place.
    private func warnOfBrokenPlace(_ task: TaskIndex, _ course: TaskAttempts) {
        guard let url = course.firstURL, let failure = course.firstFailure,
            !job.tasks[Int(task.raw)].options.values.mirrors.isEmpty
        else { return }
        let place = String(url.prefix(while: { $0 != "?" }).split(separator: "/").prefix(2).joined(separator: "//"))
        guard brokenPlaces.insert(place).inserted else { return }
        append("  warning: \(place) is broken: \(PeopleText.message(failure.message)); another of the `urls` was used")
    }

    /// Warns of a file that is stored as the server packed it for the way, unless its name says so; once a run.
    private func warnOfCoding(_ task: TaskIndex, _ course: TaskAttempts) {
        guard !hasToldCoding, style.amount != .quiet, let coding = course.coding, let path = course.path,
            job.tasks[Int(task.raw)].type == .download, job.tasks[Int(task.raw)].options.values.decompress == .no,
            !PackedName.saysSo(path)
        else { return }
        hasToldCoding = true
        let name = path.split(separator: "/").last.map { String($0) } ?? path
        append(
            "  warning: \(id(task)): `\(name)` is stored in \(coding), as the server sent it; `decompress: true` unpacks it"
        )
    }

    /// Warns that a file's place was taken by the web page that a redirect led to, as a login page: once for each page.
    private func warnOfPage(_ task: TaskIndex, _ course: TaskAttempts) {
        let specification = job.tasks[Int(task.raw)]
        guard let page = course.pageReached, specification.type == .download,
            let name = UnlikelyPage.name(specification.destination, course.firstURL)
        else { return }
        guard pagesReached.insert(String(page.prefix { $0 != "?" })).inserted else { return }
        append("  warning: \(id(task)): \(name) is a web page: a redirect led to \(page)")
        append("    If that is not the file, add `expect: { notHTML: true }`: then the task fails.")
    }

    private func annotate(_ task: TaskIndex, _ record: TaskRecord) {
        annotations += 1
        let message = PeopleText.message(record.explanation ?? record.error?.message ?? "The task failed.")
        let annotation = GitHubAnnotation.error(
            file: job.file(of: task), line: job.tasks[Int(task.raw)].line, title: "task \(id(task)) failed",
            message: message)
        lines += Array(annotation.utf8)
        endLine()
    }

    /// Prints the summary that was held back: without the report's name where the report could not be written, since a
    /// file of that name is an earlier run's.
    package func conclude(reportIsWritten: Bool) {
        guard let record = ending else { return }
        ending = nil
        if !reportIsWritten { style.report = nil }
        summarize(record)
        write()
    }

    private func summarize(_ record: RunRecord) {
        for line in tally.summary(record, style, lines: lineCount) { append(line) }
    }

    private func id(_ task: TaskIndex) -> String { redactor.redacted(name: job.tasks[Int(task.raw)].id) }

    private func append(_ line: String) {
        let safe = style.isGitHub ? SafeText.gitHubLine(line) : SafeText.line(line)
        let indent = String(safe.prefix { $0 == " " })
        for part in TextLayout.wrapped(safe, width: style.width, indent: indent + "  ") {
            lines.append(contentsOf: part.utf8)
            endLine()
        }
    }

    private func endLine() {
        lines.append(UInt8(ascii: "\n"))
        lineCount += 1
    }

    /// Appends a part of a line.
    private func column(_ text: String) {
        gap()
        lines.append(contentsOf: (style.isGitHub ? SafeText.gitHubLine(text) : SafeText.line(text)).utf8)
    }

    /// Separates two parts of a line.
    private func gap() {
        lines.append(UInt8(ascii: " "))
        lines.append(UInt8(ascii: " "))
    }
}

/// A task's outcome as one word.
struct OutcomeLabel {
    let text: String
    /// Whether a person should look at the task.
    let isTrouble: Bool
    private let color: String

    /// All words, in the order in which the summary counts them.
    static let inOrder = [
        "ok", "unchanged", "cached", "tolerated", "FAILED", "skipped", "cancelled", "deferred",
    ]
    /// Columns of the outcome's column.
    static let width = 9
    /// Index of the word in `inOrder`.
    var place: Int { Self.inOrder.firstIndex(of: text) ?? 0 }

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
        case .skipped: (text, isTrouble, color) = ("skipped", !record.isPassedOver, record.isPassedOver ? "2" : "33")
        case .deferred: (text, isTrouble, color) = ("deferred", true, "33")
        }
    }

    /// Appends the word, padded to `width`.
    func append(to line: inout [UInt8], color isColored: Bool) {
        if isColored { line.append(contentsOf: "\u{1B}[\(color)m".utf8) }
        line.append(contentsOf: text.utf8)
        for _ in min(Self.width, text.utf8.count)..<Self.width { line.append(UInt8(ascii: " ")) }
        if isColored { line.append(contentsOf: "\u{1B}[0m".utf8) }
    }
}
