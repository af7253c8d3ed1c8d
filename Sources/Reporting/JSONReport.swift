import SystemIO
internal import TextFormats
package import TransferModel

/// Builds the report as a fold of events: each task is rendered to bytes when it ends and its state freed, and the
/// report consists of these bytes in the order of the job file, whatever the order in which the tasks ended.
package final class JSONReport: EventConsumer {
    /// The job; it grows when templates become tasks.
    private(set) var job: Job
    /// What became of the tasks, for the words of commands at the end.
    package private(set) var ends = RunEnds.ofWholeRun
    /// Number of templates that were replaced by tasks.
    private var goneCount = 0
    let runner: RunnerFacts
    /// Redacts the job's own texts (variables, ids, URLs); events come redacted.
    let redactor: Redactor
    /// The job's folder with a `/` at its end: paths in the report are relative to it.
    let folder: [UInt8]

    private(set) var rendered: RenderedTasks
    private var folds: TaskFolds
    private(set) var totals = Totals()
    private(set) var sessions: [SessionRecord?]
    private(set) var run: RunRecord?
    /// In words what ended the run before its tasks were done; `nil` where nothing did.
    private(set) var stopped: String?
    private(set) var startedAt: WallTime?
    private(set) var finishedAt: WallTime?

    /// Changes of the sessions' numbers of connections, in order.
    private(set) var steps: [SessionIndex: [(time: WallTime, step: ConnectionStep)]] = [:]

    /// Files that the publications of groups removed, by the group's name.
    private(set) var removed: [String: RemovedFiles] = [:]

    /// Sessions of a background run that existed already, and to which this command came back.
    package var reassociated: Set<SessionIndex> = []
    /// Results of the tasks' `onFinish` commands, in the order in which these ended.
    private(set) var taskHooks: [HookResult] = []
    /// Results of the `onFinish` commands of sessions and of the job that ended so far.
    package var hooks: [HookResult] = []
    /// Replaces outcome and exit status of `runFinished`: a hook that failed turns 0 into 1.
    package var correction: (outcome: RunOutcome, exitStatus: Int)?
    /// Whether the run was simulated: the report says so, and nothing in it happened.
    package var isSimulated = false
    /// Whether the last `write(to:isDurable:)` published the report.
    package internal(set) var isWritten = false
    /// Sets the exit status to `runnerFailed`, whatever the outcome of the tasks: another requested output is missing.
    package func runnerFailed() {
        guard let outcome = correction?.outcome ?? run?.outcome else { return }
        correction = (outcome, Int(ExitStatus.runnerFailed.code))
    }

    package init(job: Job, runner: RunnerFacts, redactor: Redactor? = nil) {
        self.job = job
        self.runner = runner
        self.redactor = redactor ?? job.redactor
        folder = Array((job.baseDirectory.hasSuffix("/") ? job.baseDirectory : job.baseDirectory + "/").utf8)
        rendered = RenderedTasks(count: job.tasks.count)
        folds = TaskFolds(count: job.tasks.count)
        sessions = [SessionRecord?](repeating: nil, count: job.sessions.count)
    }

    /// Announces the report's path: a long report is written there while tasks end, in a file without a name.
    package func grow(at path: String) { draftPath = path }
    private var draftPath: String?

    /// Applies the run's events.
    package func consume(_ events: ArraySlice<Event>) {
        if startedAt == nil { startedAt = events.first?.time }
        for event in events { consume(event) }
    }

    private func consume(_ event: Event) {
        if let task = event.task {
            let task = Int(task.raw)
            guard task < job.tasks.count, !rendered.contains(task) else { return }
            if case .taskFinished(let record) = event.kind {
                finish(task, record, at: event.time)
            } else if case .expanded(let expansion) = event.kind {
                expand(task, expansion)
            } else {
                folds.apply(event, to: task)
            }
            return
        }
        switch event.kind {
        case .sessionInvalidated(let record):
            if let session = event.session, Int(session.raw) < sessions.count { sessions[Int(session.raw)] = record }
        case .connectionsChanged(let step):
            guard let session = event.session else { break }
            steps[session, default: []].append((event.time, step))
        case .hookFinished(let record):
            taskHooks.append(
                HookResult(
                    task: record.task, command: record.command, exitStatus: record.exitStatus,
                    duration: record.duration))
        case .groupPublished(let record): removed[record.name] = record.removed
        case .runFinished(let record):
            run = record
            finishedAt = event.time
        default: break
        }
    }

    private func expand(_ task: Int, _ expansion: Expansion) {
        folds.close(task)
        rendered.drop(task)
        goneCount += 1
        job.tasks += expansion.tasks
        rendered.grow(by: expansion.tasks.count)
        folds.grow(by: expansion.tasks.count)
    }

    private func finish(_ task: Int, _ record: TaskRecord, at time: WallTime) {
        let place = folds.place(of: task)
        // Of a task that succeeded only the number counts.
        let id = record.outcome == .succeeded ? "" : redactor.redacted(name: job.tasks[task].id)
        ends.count(
            id, record.outcome, tolerated: record.tolerated, isPassedOver: record.isPassedOver,
            message: record.error?.message, error: record.error?.name)
        if stopped == nil { stopped = RunStop.words(record) }
        totals.count(folds.folds[place], record, job.tasks[task])
        rendered.append(task) { writer in
            TaskRenderer(report: self, task: task, finishedAt: time, record: record)
                .render(folds.folds[place], to: &writer)
        }
        folds.close(task)
        guard rendered.isLong, let path = draftPath else { return }
        draftPath = nil
        rendered.begin(ReportDraft(path, room: roomForHead), Spool(folder: Folders.split(path).folder))
    }

    /// Returns the finished draft of the report, or `nil` if there is none at its final place.
    func complete(_ path: String, _ head: [UInt8], _ end: [UInt8]) -> ReportDraft? {
        renderUnfinished()
        return rendered.complete(path, head, end)
    }

    /// Number of tasks whose end was never reported.
    var unfinishedCount: Int { taskCount - totals.finished }

    /// Number of tasks without templates that became tasks.
    var taskCount: Int { job.tasks.count - goneCount }

    /// Renders the tasks that an interrupted run left without an end, as deferred.
    func renderUnfinished() {
        guard unfinishedCount > 0 else { return }
        for task in job.tasks.indices where !rendered.contains(task) {
            let record = TaskRecord(
                outcome: .deferred, tolerated: false, changed: nil, source: nil, waits: [], error: nil, body: nil,
                lengthUnverified: false, captures: [], duration: .zero, explanation: nil)
            let place = folds.place(of: task)
            rendered.append(task) { writer in
                TaskRenderer(report: self, task: task, finishedAt: nil, record: record)
                    .render(folds.folds[place], to: &writer)
            }
        }
    }
}

/// The report's `totals`.
struct Totals {
    private(set) var finished = 0
    private(set) var outcomes: [TaskOutcome: Int] = [:]
    private(set) var tolerated = 0
    private(set) var attempts = 0
    private(set) var retries = 0
    private(set) var redirects = 0
    private(set) var cacheHits = 0
    private(set) var unchanged = 0
    private(set) var bytesReceived: Int64 = 0
    private(set) var bytesSent: Int64 = 0
    private(set) var bytesSaved: Int64 = 0

    /// Counts an ended task. A failure that the job allows is counted as tolerated and not as failed.
    mutating func count(_ fold: TaskFold, _ record: TaskRecord, _ task: TaskSpecification) {
        finished += 1
        if record.tolerated, record.outcome == .failed {
            tolerated += 1
        } else {
            outcomes[record.outcome, default: 0] += 1
        }
        let begun = max(fold.attempts.count, fold.start?.number ?? 0)
        attempts += begun
        retries += max(0, begun - 1)
        for redirect in fold.redirects where redirect.action == .followed { redirects += 1 }
        if record.source == .unchanged { unchanged += 1 }
        if record.source == .cache || record.source == .revalidated { cacheHits += 1 }
        for attempt in fold.attempts {
            for transaction in attempt.transactions {
                bytesReceived += transaction.responseBodyBytesReceived
                bytesSent += transaction.requestBodyBytesSent
            }
        }
        bytesSaved += saved(fold, record, task)
    }

    /// Bytes that needed no transfer, because a local copy or the server had them already.
    private func saved(_ fold: TaskFold, _ record: TaskRecord, _ task: TaskSpecification) -> Int64 {
        switch record.source {
        case .unchanged where task.type == .upload: fold.start.map { $0.bodySize(of: task) } ?? 0
        case .cache, .revalidated, .unchanged: fold.file?.bytes ?? record.body.map { Int64($0.count) } ?? 0
        // A member of a group that an earlier run left is whole.
        case .resumed where fold.attempts.allSatisfy({ $0.resumedFrom == 0 }): fold.file?.bytes ?? 0
        case .resumed: thereBefore(fold.attempts)
        case .network, .local, nil: 0
        }
    }

    /// Bytes that an earlier run had left, or an attempt that died with its process and has no transactions. Those that
    /// another attempt of this run fetched for the next were counted when they came.
    private func thereBefore(_ attempts: [AttemptRecord]) -> Int64 {
        var (there, counted): (Int64, Int64) = (0, 0)
        for attempt in attempts {
            let received = attempt.transactions.reduce(0) { $0 + $1.responseBodyBytesReceived }
            if attempt.startedOver != nil || attempt.resumedFrom < there && received > 0 {
                (there, counted) = (0, attempt.resumedFrom)
            }
            there += max(0, attempt.resumedFrom - counted)
            counted = max(counted, attempt.resumedFrom + received)
        }
        return there
    }
}
