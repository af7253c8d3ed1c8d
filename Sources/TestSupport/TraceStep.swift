package import TransferModel

/// One event of a run in the form that the rules of a run need: made from an `Event` of a simulation or from a line of
/// `--events`, so that one checker serves both.
package struct TraceStep: Sendable {
    /// The kinds of events that rules distinguish.
    package enum Kind: Sendable {
        case created
        case resumed
        case waiting(WaitReason)
        case attemptStarted(number: Int)
        case redirect
        /// Status of an answer; `nil` for schemes without statuses, whose answers are local work.
        case response(status: Int?)
        /// Bytes moved, in either direction.
        case progress
        case fileFinished
        /// A page of the task was fetched.
        case pageFinished
        /// A template was wholly expanded.
        case expanded
        case attemptFinished(AttemptEnd)
        case taskFinished(TaskEnd)
        case runFinished(outcome: RunOutcome, exitStatus: Int)
        /// Counted and dated like the others; no rule looks further into it.
        case other
    }

    /// The end of an attempt.
    package struct AttemptEnd: Hashable, Sendable {
        /// Number of the attempt, from 1.
        package var number: Int
        /// How the attempt ended.
        package var outcome: TaskOutcome
        /// Time from its start to its end.
        package var duration: TimeSpan
        /// Name of its error, if it failed.
        package var error: ErrorName?
        /// Pause before the next attempt; `nil` without one.
        package var backoff: TimeSpan?
        /// Its requests, each from the first byte sent to the last byte received, as far as both are known.
        package var requests: [Range<WallTime>] = []

        package init(
            number: Int, outcome: TaskOutcome, duration: TimeSpan, error: ErrorName? = nil, backoff: TimeSpan? = nil
        ) {
            self.number = number
            self.outcome = outcome
            self.duration = duration
            self.error = error
            self.backoff = backoff
        }
    }

    /// The end of a task.
    package struct TaskEnd: Hashable, Sendable {
        /// How the task ended.
        package var outcome: TaskOutcome
        /// Whether its failure is tolerated.
        package var tolerated: Bool
        /// Time from its creation to its end.
        package var duration: TimeSpan
        /// Its waits, one for each reason.
        package var waits: [TaskRecord.Wait]
        /// Name of its error, if it failed.
        package var error: ErrorName?

        package init(
            outcome: TaskOutcome, tolerated: Bool = false, duration: TimeSpan, waits: [TaskRecord.Wait] = [],
            error: ErrorName? = nil
        ) {
            self.outcome = outcome
            self.tolerated = tolerated
            self.duration = duration
            self.waits = waits
            self.error = error
        }
    }

    /// Date of the event.
    package var time: WallTime
    /// Number of the event in the run.
    package var sequence: UInt64
    /// Index of the task in `TraceFacts.tasks`; `nil` for an event of the run or a session.
    package var task: Int?
    /// Index of the session in `TraceFacts.sessions`; `nil` for an event of the run.
    package var session: Int?
    /// What happened.
    package var kind: Kind

    package init(time: WallTime, sequence: UInt64, task: Int?, session: Int?, kind: Kind) {
        self.time = time
        self.sequence = sequence
        self.task = task
        self.session = session
        self.kind = kind
    }

    package init(_ event: Event) {
        self.init(
            time: event.time, sequence: event.sequence, task: event.task.map { Int($0.raw) },
            session: event.session.map { Int($0.raw) }, kind: Kind(event.kind))
    }
}

extension TraceStep.Kind {
    init(_ kind: Event.Kind) {
        self =
            switch kind {
            case .taskCreated: .created
            case .taskResumed: .resumed
            case .waiting(let reason, _): .waiting(reason)
            case .attemptStarted(let record): .attemptStarted(number: record.number)
            case .redirect: .redirect
            case .response(let record): .response(status: record.status)
            case .sentBodyData, .receivedData: .progress
            case .fileFinished: .fileFinished
            case .pageFinished: .pageFinished
            case .attemptFinished(let record): .attemptFinished(TraceStep.AttemptEnd(record))
            case .taskFinished(let record): .taskFinished(TraceStep.TaskEnd(record))
            case .runFinished(let record): .runFinished(outcome: record.outcome, exitStatus: record.exitStatus)
            case .expanded: .expanded
            case .sessionStarted, .challenge, .resumedAtOffset, .becameDownload, .needNewBodyStream, .cacheStored,
                .hookFinished, .groupPublished, .connectionsChanged, .sessionFinishedEvents, .sessionInvalidated:
                .other
            }
    }
}

extension TraceStep.AttemptEnd {
    init(_ record: AttemptRecord) {
        self.init(
            number: record.number, outcome: record.outcome, duration: record.duration, error: record.error?.name,
            backoff: record.backoff)
        requests = record.transactions.compactMap { transaction in
            guard let begin = transaction.requestStart, let end = transaction.responseEnd, begin < end else {
                return nil
            }
            return begin..<end
        }
    }
}

extension TraceStep.TaskEnd {
    init(_ record: TaskRecord) {
        self.init(
            outcome: record.outcome, tolerated: record.tolerated, duration: record.duration, waits: record.waits,
            error: record.error?.name)
    }
}
