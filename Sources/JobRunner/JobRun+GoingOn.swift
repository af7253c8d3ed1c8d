import HTTPRules
import Scheduling
import Stores
import SystemIO
import TransferEngine
import TransferModel

// Continuing a run that another process began, and leaving one that another process continues.

/// What earlier processes recorded of the run.
struct RunPast {
    private let history: RunHistory
    /// Attempts that began and whose end was not recorded.
    private var open: [TaskIndex: TaskPast.OpenAttempt] = [:]
    /// Files of tasks whose end was not recorded.
    private var files: [TaskIndex: FileRecord] = [:]

    init(_ history: RunHistory) {
        self.history = history
        for (index, past) in history.tasks.enumerated() where past.ending == nil {
            let task = TaskIndex(raw: UInt32(index))
            if let attempt = past.open { open[task] = attempt }
            if let file = past.file { files[task] = file }
        }
    }

    var isFinished: Bool { history.isFinished }
    mutating func takeOpen(_ task: TaskIndex) -> TaskPast.OpenAttempt? { open.removeValue(forKey: task) }
    mutating func takeFile(_ task: TaskIndex) -> FileRecord? { files.removeValue(forKey: task) }
    func task(_ task: Int) -> TaskPast { history.tasks[task] }
    func session(_ session: Int) -> SessionPast { history.sessions[session] }
}

extension JobRun {
    /// Restores what an earlier process recorded: which tasks have ended, and with which results.
    func takeOver(_ resumption: RunResumption) {
        past = RunPast(resumption.knownHistory)
        takeOver(resumption.expanded, resumption.history)
        for (id, captures) in resumption.captures { engine.answers.keep(captures, of: id) }
        inherited.captures = resumption.captures
        for (id, captures) in resumption.expandedOver { engine.answers.keep(captures, of: id) }
        inherited.expandedOver = Set(resumption.expandedOver.keys)
        engine.knowBytes(moved: resumption.history.bytesMoved)
        for (index, task) in job.tasks.enumerated() {
            let told = past?.task(index) ?? TaskPast()
            if told.isExpanded {
                tally.tasksLeft[Int(task.session.raw)] -= 1
                continue
            }
            guard let ending = told.ending else {
                if told.pages > 0 { engine.pages.lostPages(of: TaskIndex(raw: UInt32(index)), told.pages) }
                if !told.bodyFiles.isEmpty { engine.bodies.knowBody(of: TaskIndex(raw: UInt32(index)), told.bodyFiles) }
                continue
            }
            tally.facts.count(ending, type: task.type)
            engine.answers.count(ending, of: task.id)
            if ending.outcome == .succeeded {
                engine.checksums.knowFile(of: TaskIndex(raw: UInt32(index)), at: told.path)
                if task.type == .download { _ = engine.rows.keepRows(of: TaskIndex(raw: UInt32(index)), at: told.path) }
            }
            // At least once: a command whose end was not recorded is run again.
            if ending.outcome == .succeeded, !resumption.history.endedHooks.contains(task.id),
                addHook(of: TaskIndex(raw: UInt32(index)), ending, told)
            {
                continue
            }
            tally.tasksLeft[Int(task.session.raw)] -= 1
        }
        if resumption.history.hasFailedHook { noteFailedHook() }
    }

    /// Ends the sessions whose tasks all ended before without a recorded end of the session.
    func invalidateEnded() {
        guard past != nil else { return }
        for (index, left) in tally.tasksLeft.enumerated() where left == 0 && hasTasks(index) {
            invalidate(SessionIndex(raw: UInt16(index)))
        }
    }

    /// Returns the tasks that have nothing left to do among those whose file is where an earlier process published it:
    /// captured values come out of an answer, and are recorded with the task's end.
    static func done(_ standing: Set<TaskIndex>, _ job: Job) -> Set<TaskIndex> {
        standing.filter { !job.tasks[Int($0.raw)].options.values.needsAnswer }
    }

    /// Tasks whose request must not be sent twice.
    static func unrepeatable(_ job: Job, from start: Int = 0) -> Set<TaskIndex> {
        var found: Set<TaskIndex> = []
        for index in job.tasks.indices[start...] {
            let options = job.tasks[index].options
            // Nearly all of a job's tasks are downloads without a body that say nothing of a method.
            if options.values.method == nil, options.values.body == nil { continue }
            if HTTPMethod.isIdempotent(job.tasks[index].effectiveMethod) { continue }
            if options.values.resumable || options.values.policies.retry.nonIdempotent { continue }
            found.insert(TaskIndex(raw: UInt32(index)))
        }
        return found
    }

    /// Tasks that end before another process takes the run over: unrepeatable ones, and uploads that are nearly sent.
    var awaitedWhenLeaving: Set<TaskIndex> {
        let tasks = job.tasks.indices.map { TaskIndex(raw: UInt32($0)) }
        return scheduler.plan.unrepeatable.union(tasks.filter { engine.bodies.isNearlySent($0) })
    }

    func hasTasks(_ session: Int) -> Bool { job.tasks.contains { Int($0.session.raw) == session } }

    /// Appends the end of an attempt that an earlier process began, as of now: no earlier end is known.
    func endEarlierAttempt(_ task: TaskIndex, _ outcome: TaskOutcome, _ error: TransferError?, _ now: Now) {
        guard let attempt = past?.takeOpen(task) else { return }
        log.append(
            .attemptFinished(
                AttemptRecord(
                    number: attempt.number, url: attempt.url, outcome: outcome, resumedFrom: attempt.resumedFrom,
                    startedAt: attempt.startedAt,
                    duration: now.instant - (beganAt.instant + attempt.beganAfter),
                    error: outcome == .succeeded ? nil : error, backoff: nil, transactions: [])),
            task: task, session: session(task))
    }

    /// Has the beginnings of this turn recorded; the events for them are handed over here.
    func keepBeginnings() {
        guard let keep = settings.keep else { return }
        let begun = engine.beginnings.takeUnkept()
        if begun.isEmpty { return }
        let requests = begun.map { BegunRequest(task: job.tasks[Int($0.task.raw)].id, attempt: $0.number) }
        keep(log.sequence, requests) { [inbox] in inbox.post(.kept(begun)) }
        log.handOver()
    }

    /// Ends all attempts without recording it. Resumable files stay where the next process finds them.
    func leave(_ now: Now) {
        for index in job.tasks.indices {
            let task = TaskIndex(raw: UInt32(index))
            guard scheduler.standing(of: task) != .finished else { continue }
            let isUnsent = engine.beginnings.awaitsRecord(task)
            engine.perform(.cancel(task, keepPartial: true), now: now)
            // Without its end the next process would assume that the attempt sent its request.
            if isUnsent { _ = endAttempt(task, .cancelled, nil, error: .processEnded, held: .zero, now) }
            engine.taskEnded(task, .cancelled)
        }
    }
}
