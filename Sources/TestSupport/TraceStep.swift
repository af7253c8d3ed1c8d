package import TransferModel

/// One event of a run, as far as the rules of a run speak of it: made from an `Event` of a simulation or from a line
/// that `--events` wrote, so that one checker holds for both.
package struct TraceStep: Sendable {
    package enum Kind: Sendable {
        case created
        case resumed
        case waiting(WaitReason)
        case attemptStarted(number: Int)
        case redirect
        /// `nil` for schemes without statuses: such an answer is local work.
        case response(status: Int?)
        /// Bytes moved, in either direction.
        case progress
        case fileFinished
        /// A template's last word.
        case expanded
        case attemptFinished(AttemptEnd)
        case taskFinished(TaskEnd)
        case runFinished(outcome: RunOutcome, exitStatus: Int)
        /// Counted and dated like the others; no rule says more of it.
        case other
    }

    package struct AttemptEnd: Hashable, Sendable {
        package var number: Int
        package var outcome: TaskOutcome
        package var duration: TimeSpan
        package var error: ErrorName?
        package var backoff: TimeSpan?
        /// Its requests, from the first byte sent to the last that came, as far as both are known.
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

    package struct TaskEnd: Hashable, Sendable {
        package var outcome: TaskOutcome
        package var tolerated: Bool
        package var duration: TimeSpan
        package var waits: [TaskRecord.Wait]
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

    package var time: WallTime
    package var sequence: UInt64
    /// Its place among the facts' tasks.
    package var task: Int?
    package var session: Int?
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
            case .attemptFinished(let record): .attemptFinished(TraceStep.AttemptEnd(record))
            case .taskFinished(let record): .taskFinished(TraceStep.TaskEnd(record))
            case .runFinished(let record): .runFinished(outcome: record.outcome, exitStatus: record.exitStatus)
            case .expanded: .expanded
            case .sessionStarted, .challenge, .resumedAtOffset, .becameDownload, .needNewBodyStream, .cacheStored,
                .sessionFinishedEvents, .sessionInvalidated:
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
