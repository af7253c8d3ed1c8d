package import JobRunner
package import TransferModel

/// A task of a background session, for people who ask: a fold over its events, and what the process tells of it.
package struct SessionTask: Hashable, Sendable {
    package let id: String
    /// `nil` when the job that was handed over cannot be read any more.
    package let type: TaskType?
    package private(set) var state = RunStatus.State.waiting
    package private(set) var outcome: TaskOutcome?
    package private(set) var waitingFor: WaitReason?
    /// To be put after `waits for`.
    package private(set) var lacks: String?
    package private(set) var bytesReceived: Int64 = 0
    package private(set) var bytesSent: Int64 = 0
    package private(set) var expected: Int64?
    package private(set) var attempts = 0
    /// Of one that has ended.
    package private(set) var error: TransferError?
    /// A template whose place others took.
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
            (bytesReceived, bytesSent, expected) = (0, 0, nil)
        case .resumedAtOffset(let progress): (bytesReceived, expected) = (progress.bytes, progress.expected)
        // Of an upload it is the answer's length.
        case .response(let record): if type != .upload { expected = record.expectedLength ?? expected }
        case .fileFinished(let record): bytesReceived = record.bytes
        case .attemptFinished(let record): ended(record)
        case .taskFinished(let record):
            stand(.finished)
            outcome = record.outcome
            error = record.error
        case .expanded: isGone = true
        case .sessionStarted, .taskCreated, .challenge, .redirect, .becameDownload, .needNewBodyStream, .sentBodyData,
            .receivedData, .cacheStored, .sessionFinishedEvents, .sessionInvalidated, .runFinished:
            break
        }
    }

    private mutating func stand(_ state: RunStatus.State, _ reason: WaitReason? = nil, _ lacks: String? = nil) {
        (self.state, waitingFor, self.lacks) = (state, reason, lacks)
    }

    private mutating func ended(_ record: AttemptRecord) {
        // That it is suspended was told within the attempt.
        if state == .running { stand(.waiting) }
        guard let last = record.transactions.last else { return }
        bytesReceived = max(bytesReceived, record.resumedFrom + last.responseBodyBytesReceived)
        bytesSent = max(bytesSent, last.requestBodyBytesSent)
    }

    // MARK: What the process tells

    /// Nobody carries it at present.
    mutating func isAlone() { if state == .running { stand(.waiting) } }

    /// Of a task that the journal knows to have ended there is nothing to add.
    mutating func take(_ live: RunStatus.Task) {
        guard state != .finished else { return }
        stand(live.state, live.waitingFor, live.lacks)
        // The journal is written a little later than what it tells happens.
        attempts = max(attempts, live.attempts)
        guard live.state == .running || live.bytesReceived + live.bytesSent > 0 else { return }
        (bytesReceived, bytesSent) = (live.bytesReceived, live.bytesSent)
        expected = live.expected ?? expected
    }
}

/// A background session whose end nobody knows of yet.
package struct BackgroundSession: Hashable, Sendable {
    package let identifier: String
    /// The job's name.
    package let job: String
    /// Where the background process writes its report, or the command that follows.
    package let report: String?
    package let state: RunStatus.State
    package let tasks: [SessionTask]
    /// What keeps its events from being written, so that this may be out of date, or its run from being carried.
    package let trouble: String?

    package var counts: [RunStatus.State: Int] { tasks.reduce(into: [:]) { $0[$1.state, default: 0] += 1 } }
}
