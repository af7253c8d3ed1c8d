/// What a run's journal says about it: the state that another process needs to continue the run. Any prefix of the
/// journal gives one.
///
/// The history has a clock of its own, the run's clock: it advances with the dates of the events and stops when those
/// go back. So a date that was set back gives no task more time, and moments of the run survive a reboot, which no
/// `Instant` does.
package struct RunHistory: Sendable {
    /// What is known of each task, by `TaskIndex`.
    package private(set) var tasks: [TaskPast]
    /// What is known of each session, by `SessionIndex`.
    package private(set) var sessions: [SessionPast]
    /// The date of the first event; `nil` before one.
    package private(set) var beganAt: WallTime?
    /// The sequence number of the last event; 0 before one.
    package private(set) var lastSequence: UInt64 = 0
    /// The date of the last event; `nil` before one.
    package private(set) var lastTime: WallTime?
    /// The run's clock at the last event.
    package private(set) var elapsed = TimeSpan.zero
    /// Body bytes in both directions, of attempts that ended.
    package private(set) var bytesMoved: Int64 = 0
    /// Ids of the tasks whose `onFinish` command has ended.
    package private(set) var endedHooks: Set<String> = []
    /// Whether one of these commands failed.
    package private(set) var hasFailedHook = false
    /// Whether `runFinished` was recorded and all tasks have ended, none having come since.
    package var isFinished: Bool { wasEndTold && tasks.allSatisfy(\.hasEnded) }
    private var wasEndTold = false

    package init(taskCount: Int, sessionCount: Int) {
        tasks = Array(repeating: TaskPast(), count: taskCount)
        sessions = Array(repeating: SessionPast(), count: sessionCount)
    }

    /// Adds the next event of the journal.
    package mutating func apply(_ event: Event) {
        if beganAt == nil { beganAt = event.time }
        elapsed = elapsed(at: event.time)
        lastTime = event.time
        lastSequence = event.sequence
        if case .attemptFinished(let record) = event.kind { bytesMoved += record.bodyBytes }
        if let task = event.task.map({ Int($0.raw) }) {
            wasEndTold = false
            guard tasks.indices.contains(task) else { return }
            return tasks[task].apply(event.kind, at: elapsed, date: event.time)
        }
        if case .runFinished = event.kind { wasEndTold = true }
        if case .hookFinished(let record) = event.kind {
            endedHooks.insert(record.task)
            if record.hasFailed { hasFailedHook = true }
        }
        guard let session = event.session.map({ Int($0.raw) }), sessions.indices.contains(session) else { return }
        sessions[session].apply(event.kind)
    }

    /// Marks a template as expanded where this is known, though no event says so yet.
    package mutating func expand(_ template: TaskIndex) { tasks[Int(template.raw)].expands() }

    /// Returns the run's clock at that date; time in which no process carried the run counts.
    package func elapsed(at date: WallTime) -> TimeSpan {
        guard let lastTime, date > lastTime else { return elapsed }
        return elapsed + (date - lastTime)
    }

    /// Returns the unfinished tasks that ran at the last two crashes of the process that carried them: they fail at the
    /// next one. `hasCrashed` counts a crash that no event records yet.
    package func suspects(hasCrashed: Bool) -> [TaskIndex] {
        tasks.indices.filter { tasks[$0].ending == nil && tasks[$0].crashes(hasCrashed: hasCrashed) >= 2 }
            .map { TaskIndex(raw: UInt32($0)) }
    }
}

/// What a run's journal says about a session.
package struct SessionPast: Hashable, Sendable {
    /// Whether `sessionStarted` was recorded.
    package private(set) var isStarted = false
    /// Whether `sessionFinishedEvents` was recorded.
    package private(set) var hasFinishedEvents = false
    /// Whether `sessionInvalidated` was recorded.
    package private(set) var isInvalidated = false

    mutating func apply(_ kind: Event.Kind) {
        switch kind {
        case .sessionStarted: isStarted = true
        case .sessionFinishedEvents: hasFinishedEvents = true
        case .sessionInvalidated: isInvalidated = true
        default: break
        }
    }
}

extension AttemptRecord {
    /// Body bytes that the attempt's requests moved, in both directions.
    package var bodyBytes: Int64 {
        transactions.reduce(0) { $0 + $1.requestBodyBytesSent + $1.responseBodyBytesReceived }
    }
}

extension TransferError {
    /// Ends an attempt whose process ended before it did.
    package static let processEnded = TransferError(
        .backgroundSessionWasDisconnected, "the process that carried it ended before it did")
    /// Ends an attempt whose process crashed before it was done. `TaskPast` recognises the error by its message.
    package static let processCrashed = TransferError(
        .backgroundSessionWasDisconnected, "the process that carried it crashed before it was done")
    /// Ends an attempt that is begun anew at once, in a run that got more tasks.
    package static let madeWay = TransferError(
        .cancelled, "it was interrupted when its run was taken in anew, with what had been added to it")
    /// Ends a task whose request may have had its effect when its process ended, and must not be sent twice.
    package static let notSentAgain = TransferError(
        .backgroundSessionWasDisconnected,
        "the process that carried it ended before the answer came, and the server may have heard the request: it was "
            + "not sent again, for the task has no `retry.nonIdempotent: true`")
    /// Ends a task whose request had begun and must not be sent twice, and of which the journal does not know any more, or
    /// cannot be read: only the note of its beginning is left.
    package static let lostFromJournal = TransferError(
        .backgroundSessionWasDisconnected,
        "what the journal knew of this request was lost, with its end or with the run's key, and the request may have been "
            + "sent: it is not sent again by this run")
    /// Ends a task during which its process crashed three times in a row.
    package static let crashedTooOften = TransferError(
        .taskCrashedRunner, "the process that carried it crashed three times in a row while this task ran")
}
