package import TransferModel

/// What must be known of a task in order to go on with it, folded from its events as they are written: whoever takes a run
/// over need not read all of them.
package struct TaskHistory: Hashable, Sendable {
    package let id: String
    /// The number of its last attempt; 0: none was begun.
    package var attempts = 0
    /// Attempts that do not count against `retry.attempts`, because it was we who ended them.
    package var interrupted = 0
    /// Its last attempt's end was not told. In a run that somebody takes over: it ended with its process.
    package var isUnderWay = false
    package var isSuspended = false
    /// Its first attempt.
    package var beganAt: WallTime?
    /// How long the clock of `timeoutForResource` ran until `clockSince`, or altogether while it stands: it stands where the
    /// task is suspended or its window closed, until its next attempt.
    package var clock = TimeSpan.zero
    package var clockSince: WallTime?
    /// While it waits to be tried again.
    package var retryAt: WallTime?
    /// `nil`: it has not ended.
    package var outcome: TaskOutcome?

    package init(id: String) { self.id = id }

    /// Attempts that count against `retry.attempts`, one that died with its process not among them. For a task with
    /// `urls` these are requests, of which a round is several.
    package var tries: Int { attempts - interrupted - (isUnderWay ? 1 : 0) }

    /// How much of `timeoutForResource` is used up at this date. A clock that was set back uses nothing up.
    package func resourceTime(at date: WallTime) -> TimeSpan {
        guard let since = clockSince, date > since else { return clock }
        return clock + (date - since)
    }

    package mutating func apply(_ event: Event) {
        let time = event.time
        switch event.kind {
        case .taskResumed: isSuspended = false
        case .waiting(.suspended, _):
            isSuspended = true
            stopClock(time)
        case .waiting(.window, _): stopClock(time)
        case .attemptStarted(let record): begin(record.number, time)
        case .attemptFinished(let record):
            isUnderWay = false
            if record.outcome == .cancelled { interrupted += 1 }
            retryAt = record.backoff.map { time + $0 }
        case .taskFinished(let record):
            outcome = record.outcome
            isUnderWay = false
            retryAt = nil
            stopClock(time)
        case .sessionStarted, .taskCreated, .waiting, .challenge, .redirect, .resumedAtOffset, .response,
            .becameDownload, .needNewBodyStream, .sentBodyData, .receivedData, .cacheStored, .fileFinished,
            .sessionFinishedEvents, .sessionInvalidated, .runFinished:
            break
        }
    }

    private mutating func begin(_ number: Int, _ time: WallTime) {
        // The one before died with its process, and nobody could tell.
        if isUnderWay { interrupted += 1 }
        attempts = number
        isUnderWay = true
        retryAt = nil
        beganAt = beganAt ?? time
        clockSince = clockSince ?? time
    }

    private mutating func stopClock(_ time: WallTime) {
        clock = resourceTime(at: time)
        clockSince = nil
    }
}

extension Event {
    /// Progress comes five times a second and says nothing once it is past.
    package var isJournalled: Bool {
        switch kind {
        case .sentBodyData, .receivedData: false
        default: true
        }
    }

    /// What others rely on: a task that ended must not begin again after a power cut.
    var isOutcome: Bool {
        switch kind {
        case .taskFinished, .sessionFinishedEvents, .runFinished: true
        default: false
        }
    }

    /// What becomes of it is kept in its task's row.
    var isHistory: Bool {
        switch kind {
        case .taskResumed, .waiting(.suspended, _), .waiting(.window, _), .attemptStarted, .attemptFinished,
            .taskFinished:
            true
        default: false
        }
    }
}
