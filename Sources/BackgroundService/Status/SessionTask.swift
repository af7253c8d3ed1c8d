package import JobRunner
package import Stores
package import TransferModel

/// A task of a background session as status commands show it: a fold over its events, completed with what the process
/// says.
package struct SessionTask: Hashable, Sendable {
    /// The task's id in its job.
    package let id: String
    /// The task's type; `nil` when the job that was handed over can no longer be read.
    package let type: TaskType?
    /// Whether the task waits, runs, is suspended or has finished.
    package private(set) var state = RunStatus.State.waiting
    /// How the task ended; `nil` until then.
    package private(set) var outcome: TaskOutcome?
    /// What the task waits for; `nil` while it runs, after its end, or when no reason was given.
    package private(set) var waitingFor: WaitReason?
    /// The kind of network or power that is missing, to be put after `waits for`.
    package private(set) var lacks: String?
    /// Bytes of the response body received in the last attempt, with what it resumed.
    package private(set) var bytesReceived: Int64 = 0
    /// Bytes of the request body sent in the last attempt.
    package private(set) var bytesSent: Int64 = 0
    /// Length in bytes of the body under way; `nil` while it is not known.
    package private(set) var expected: Int64?
    /// What earlier attempts had received, from which the one under way may go on, and of how much.
    private var keptBytes: Int64 = 0
    private var keptExpected: Int64?
    /// The number of attempts that have begun.
    package private(set) var attempts = 0
    /// Why the task failed, or before its end what its last attempt that ended failed by; `nil` where that did not fail.
    package private(set) var error: TransferError?
    /// When the next attempt begins at the earliest; `nil` where no time says so.
    package private(set) var nextAttemptAt: WallTime?
    /// Why the attempt under way, or the last one, did not go on with what earlier ones left; `nil` where it did.
    package private(set) var startedOver: String?
    /// Whether the task was a template that has been replaced by its expansions.
    private(set) var isGone = false

    init(id: String, type: TaskType?) {
        self.id = id
        self.type = type
    }

    // MARK: What the journal tells

    mutating func apply(_ event: Event) {
        switch event.kind {
        case .taskResumed: if state == .suspended { stand(.waiting) }
        case .waiting(.suspended, let lacks): stand(.suspended, .suspended, lacks)
        // What it would wait for as well counts once it is resumed.
        case .waiting(let reason, let lacks): if state != .suspended { stand(.waiting, reason, lacks) }
        case .attemptStarted(let record):
            stand(.running)
            attempts = record.number
            (keptBytes, keptExpected) = (bytesReceived, expected)
            (bytesReceived, bytesSent, expected) = (0, 0, nil)
            startedOver = nil
        case .resumedAtOffset(let progress): (bytesReceived, expected) = (progress.bytes, progress.expected)
        // For an upload it would be the length of the response body.
        case .response(let record): if type != .upload { expected = record.expectedLength ?? expected }
        case .fileFinished(let record): bytesReceived = record.bytes
        case .attemptFinished(let record): ended(record, at: event.time)
        case .taskFinished(let record):
            stand(.finished)
            outcome = record.outcome
            error = record.error
        case .expanded: isGone = true
        case .sessionStarted, .taskCreated, .challenge, .redirect, .becameDownload, .needNewBodyStream, .sentBodyData,
            .receivedData, .cacheStored, .hookFinished, .groupPublished, .pageFinished, .connectionsChanged,
            .sessionFinishedEvents,
            .sessionInvalidated, .runFinished:
            break
        }
    }

    private mutating func stand(_ state: RunStatus.State, _ reason: WaitReason? = nil, _ lacks: String? = nil) {
        (self.state, waitingFor, self.lacks) = (state, reason, lacks)
        switch reason {
        // The pause that the attempt's end announced.
        case .backoff, .retryAfter, .processLimit: break
        default: nextAttemptAt = nil
        }
    }

    private mutating func ended(_ record: AttemptRecord, at time: WallTime) {
        // A suspension was already reported within the attempt.
        if state == .running { stand(.waiting) }
        if state == .waiting { nextAttemptAt = record.backoff.map { time + $0 } }
        // Of one that was interrupted nothing is to be said.
        if record.outcome != .cancelled { error = record.outcome == .failed ? record.error : nil }
        startedOver = record.startedOver
        let last = record.transactions.last
        // The answer brought nothing of the file: the bytes that earlier attempts kept still count.
        if keptBytes > 0, !(200..<300).contains(last?.status ?? 0), record.startedOver == nil {
            (bytesReceived, expected) = (keptBytes, keptExpected)
            return
        }
        guard let last else { return }
        bytesReceived = max(bytesReceived, record.resumedFrom + last.responseBodyBytesReceived)
        bytesSent = max(bytesSent, last.requestBodyBytesSent)
    }

    // MARK: What the process tells

    /// Notes that no process carries the task at present: it waits rather than runs, and for no limit of a process.
    mutating func isAlone() {
        let isLimited = waitingFor.map { [.hostLimit, .sessionLimit, .runLimit, .requestRate].contains($0) } ?? false
        if state == .running || isLimited { stand(.waiting) }
    }

    /// Notes that the task has ended in the process, and that its end could not be written down yet.
    mutating func hasEndedUnwritten() { if state != .finished { stand(.finished) } }

    /// Adopts what the process says, unless the journal already has the task's end.
    mutating func update(from live: RunStatus.Task) {
        guard state != .finished else { return }
        stand(live.state, live.waitingFor, live.lacks)
        nextAttemptAt = live.nextAttemptAt
        (error, startedOver) = (live.error ?? error, live.startedOver ?? startedOver)
        // The journal is written a little later than the process reports.
        attempts = max(attempts, live.attempts)
        guard live.state == .running || live.bytesReceived + live.bytesSent > 0 else { return }
        (bytesReceived, bytesSent) = (live.bytesReceived, live.bytesSent)
        expected = live.expected ?? expected
    }
}

/// A background session whose run's end has not been delivered.
package struct BackgroundSession: Hashable, Sendable {
    /// The session's background identifier.
    package let identifier: String
    /// The job's name.
    package let job: String
    /// Path to which the background process, or the command that follows, writes the run's report; `nil` for none.
    package let report: String?
    /// The state that the tasks' states together give; `finished` once the run has ended.
    package let state: RunStatus.State
    /// The session's tasks in the job's order, without templates that were replaced.
    package let tasks: [SessionTask]
    /// What keeps the session's events from being written, so that this may be out of date, or its run from being
    /// carried.
    package let trouble: String?
    /// Whether no process can ever go on with the run, as `trouble` says.
    package let isLost: Bool
    /// When the last task ended, while `onFinish` commands run or the report is written; `nil` before and after that.
    package let endingSince: WallTime?
    /// The ended run, if its end was delivered.
    package let over: JournalRun?

    /// How many of the tasks are in each state.
    package var counts: [RunStatus.State: Int] { tasks.reduce(into: [:]) { $0[$1.state, default: 0] += 1 } }
}
