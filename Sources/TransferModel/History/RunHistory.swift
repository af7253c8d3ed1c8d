/// A run's journalled events, folded into what is needed to go on with it in another process. Any prefix of them will
/// do, cut between any two.
///
/// It keeps a clock of its own, the run's: it goes on with the dates of the events, and stands when those go back. So a
/// date that was set back gives nobody more time, and moments of the run survive a reboot, which no instant does.
package struct RunHistory: Sendable {
    /// By task.
    package private(set) var tasks: [TaskPast]
    /// By session.
    package private(set) var sessions: [SessionPast]
    /// The date of the first event; `nil` when nothing was told.
    package private(set) var beganAt: WallTime?
    /// 0: none.
    package private(set) var lastSequence: UInt64 = 0
    package private(set) var lastTime: WallTime?
    /// The run's clock at the last event.
    package private(set) var elapsed = TimeSpan.zero
    /// Of bodies, in both directions, as far as ended attempts told them.
    package private(set) var bytesMoved: Int64 = 0
    /// `runFinished` was told, and no task has come since: nothing is left to be done.
    package var isFinished: Bool { wasEndTold && tasks.allSatisfy(\.hasEnded) }
    private var wasEndTold = false

    package init(taskCount: Int, sessionCount: Int) {
        tasks = Array(repeating: TaskPast(), count: taskCount)
        sessions = Array(repeating: SessionPast(), count: sessionCount)
    }

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
        guard let session = event.session.map({ Int($0.raw) }), sessions.indices.contains(session) else { return }
        sessions[session].apply(event.kind)
    }

    /// It is known, though no event has told it yet, that tasks took this template's place.
    package mutating func expand(_ template: TaskIndex) { tasks[Int(template.raw)].expands() }

    /// The run's clock at that date: time in which nobody carried the run counts.
    package func elapsed(at date: WallTime) -> TimeSpan {
        guard let lastTime, date > lastTime else { return elapsed }
        return elapsed + (date - lastTime)
    }

    /// Unfinished tasks that were under way at the last two crashes of the process that carried them: one more, and they
    /// fail. Before a run goes on after a crash whose end nobody has told yet, that one is counted with `hasCrashed`.
    package func suspects(hasCrashed: Bool) -> [TaskIndex] {
        tasks.indices.filter { tasks[$0].ending == nil && tasks[$0].crashes(hasCrashed: hasCrashed) >= 2 }
            .map { TaskIndex(raw: UInt32($0)) }
    }
}

/// What was told of a session.
package struct SessionPast: Hashable, Sendable {
    package private(set) var isStarted = false
    /// `sessionFinishedEvents`
    package private(set) var hasFinishedEvents = false
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
    /// Moved in both directions by its requests.
    package var bodyBytes: Int64 {
        transactions.reduce(0) { $0 + $1.requestBodyBytesSent + $1.responseBodyBytesReceived }
    }
}

extension TransferError {
    /// The end of an attempt that its process did not live to see.
    package static let processEnded = TransferError(
        .backgroundSessionWasDisconnected, "the process that carried it ended before it did")
    /// The same, and it was the process's own fault. `TaskPast` knows it again by its words.
    package static let processCrashed = TransferError(
        .backgroundSessionWasDisconnected, "the process that carried it crashed before it was done")
    /// The end of an attempt that goes on at once, in a run that has more tasks.
    package static let madeWay = TransferError(
        .cancelled, "it was interrupted when its run was taken in anew, with what had been added to it")
    package static let notSentAgain = TransferError(
        .backgroundSessionWasDisconnected,
        "the process that carried it ended before the answer came, and the server may have heard the request: it is sent "
            + "again only with `retry.nonIdempotent: true`")
    package static let crashedTooOften = TransferError(
        .taskCrashedRunner, "the process that carried it crashed three times in a row while this task ran")
}
