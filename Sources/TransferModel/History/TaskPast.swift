/// What a run's journal says about a task. Spans are points of the run's clock (`RunHistory`).
package struct TaskPast: Sendable {
    /// An attempt whose begin was recorded and whose end was not.
    package struct OpenAttempt: Hashable, Sendable {
        /// The attempt's number, from 1.
        package let number: Int
        /// The URL of its first request.
        package let url: String
        /// The date of its begin.
        package let startedAt: WallTime
        /// The run's clock at its begin.
        package let beganAfter: TimeSpan
        /// Offset in bytes at which its body was continued; 0 for a new beginning.
        package fileprivate(set) var resumedFrom: Int64 = 0
    }

    /// How the task ended.
    package struct Ending: Hashable, Sendable {
        /// How the task ended.
        package let outcome: TaskOutcome
        /// Whether it failed and `allowFailure` lets that pass.
        package let isTolerated: Bool
        /// Whether the destination has other content than before; `nil` where there is no destination.
        package let changed: Bool?
        /// Why it did not succeed; `nil` if it did.
        package let error: TransferError?
        /// Why the task was put off; `nil` if it was not, or if another reason held it back.
        package let deferral: Deferral?
        /// Whether tasks that need this one may begin.
        package var isGood: Bool { outcome == .succeeded || isTolerated }
    }

    /// How the last attempt ended, when neither another one was planned nor the task's end recorded.
    package enum LastEnd: Hashable, Sendable {
        case succeeded
        case failed(TransferError)
        /// The runner ended the attempt.
        case cancelled
    }

    /// The run's clock when the task was created; `nil` if it was not.
    package private(set) var createdAfter: TimeSpan?
    /// Whether `taskResumed` was recorded: a task that the job file suspends was let go.
    package private(set) var wasResumed = false
    /// Whether the task is suspended, by a command or by the job file.
    package private(set) var isSuspended = false
    /// How the task ended; `nil`: it has not.
    package private(set) var ending: Ending?
    /// Whether the task is a template that other tasks have replaced: it has no end of its own.
    package private(set) var isExpanded = false
    /// Whether nothing is left to do for the task.
    package var hasEnded: Bool { ending != nil || isExpanded }
    /// The number of the last attempt; 0 before the first.
    package private(set) var attempts = 0
    /// The attempt whose end was not recorded; `nil` when there is none.
    package private(set) var open: OpenAttempt?
    /// How the last attempt ended; `nil` while one is open, after one that another was to follow, and after a wait for
    /// a credential.
    package private(set) var lastEnd: LastEnd?
    /// The status of the last attempt's answer; `nil` without one.
    package private(set) var status: Int?
    /// Failures that were followed by a pause, which count against `retry.attempts`; for a task with `urls` whole
    /// rounds (`rounds` may count more).
    package private(set) var tries = 0
    /// How many of `tries` may have been the network's fault.
    package private(set) var networkTries = 0
    /// How many of these came last, one after the other.
    package private(set) var networkTriesInARow = 0
    /// Recorded attempts in a row that ended by a crash of the process.
    package private(set) var crashes = 0
    /// What the task waited for until `explained`, each reason once.
    package private(set) var waits: [TaskRecord.Wait] = []
    /// How long the task waited until `explained` for what no event says: waits for limits are not always recorded.
    package private(set) var untoldWait = TimeSpan.zero
    /// The point up to which the task's time is accounted for, in `waits`, `untoldWait` and ended attempts.
    package private(set) var explained = TimeSpan.zero
    /// The last reason to wait that was recorded since `explained`, or since the attempt ended; `nil` for none.
    package private(set) var waiting: WaitReason?
    /// Since when the task fails, less the time in which that was no fault of its host, and when its first failed attempt
    /// began; `nil` for a task that does not fail.
    package private(set) var failing: (since: TimeSpan, begunAfter: TimeSpan)?
    /// Since when a wait that is no fault of the host goes on.
    private var failingStandsSince: TimeSpan?
    /// End of the last pause between attempts; `nil` for none.
    package private(set) var retryAt: TimeSpan?
    /// Whether the host of the task's own URL asked for that pause.
    package private(set) var hostAskedForQuiet = false
    /// Whether the clock of `timeoutForResource` has begun.
    package private(set) var hasBegun = false
    /// The begin of the first attempt whose end its process did not record; `nil` for none.
    private var lostSince: WallTime?
    /// Since this date a file may have been put in place without a record of it; `nil` if none can have been.
    package var untoldSince: WallTime? { lostSince ?? open?.startedAt }
    /// The task's file under its final name, as the last attempt recorded it; `nil` for none.
    package private(set) var file: FileRecord?
    /// How many pages the task fetched last, one after the other; 0 of a task of one answer.
    package private(set) var pages = 0
    /// The files that the task sends, as they were when it first began; empty where they were not recorded.
    package private(set) var bodyFiles: [BodyFileMark] = []
    /// Where the file of a task that succeeded was put; `nil` where that was not recorded, as for a file that stood
    /// there already.
    package private(set) var path: String?
    /// Checksum of that file, as far as it was recorded.
    package private(set) var checksum: Checksum?
    /// Rounds over several `urls` that ended without a recorded pause.
    private var untold = UntoldRounds()
    /// Unreported rounds, without counting failures for want of a network.
    private var untoldForSure = UntoldRounds()
    private var clock = TimeSpan.zero
    private var clockSince: TimeSpan?
    private var wasRedirected = false

    /// Returns how much of `timeoutForResource` is used up at that time of the run. The clock also runs while no
    /// process carries the run; it stands while the task is suspended, has its window closed or lacks power.
    package func resourceTime(at time: TimeSpan) -> TimeSpan { clock + (clockSince.map { time - $0 } ?? .zero) }

    /// Returns how many rounds over several `urls` count against `retry.attempts`. The present round begins anew, so
    /// that at least one is left.
    package func rounds(of attempts: Int, waitsForConnectivity: Bool) -> Int {
        let untold = waitsForConnectivity ? untoldForSure.count : untold.count
        return max(tries, min(tries + untold, attempts - 1))
    }

    /// Returns the attempts in a row that ended by a crash, including one that is still to be recorded.
    package func crashes(hasCrashed: Bool) -> Int {
        guard open != nil else { return crashes }
        return hasCrashed ? crashes + 1 : crashes
    }

    /// The past of a task that no event is about.
    package init() {}

    mutating func apply(_ kind: Event.Kind, at time: TimeSpan, date: WallTime) {
        switch kind {
        case .taskCreated:
            createdAfter = createdAfter ?? time
            explained = max(explained, time)
        case .taskResumed: resumed(time)
        case .waiting(let reason, _): waits(for: reason, time)
        case .attemptStarted(let record): begins(record, time, date)
        case .resumedAtOffset(let progress): open?.resumedFrom = progress.bytes
        case .redirect: wasRedirected = true
        case .response(let record): status = record.status ?? status
        case .fileFinished(let record): file = record
        case .pageFinished(let record): turnsPage(record)
        case .attemptFinished(let record): ends(record, time)
        case .taskFinished(let record): finishes(record)
        case .expanded: expands()
        case .sessionStarted, .challenge, .becameDownload, .needNewBodyStream, .sentBodyData, .receivedData,
            .cacheStored, .hookFinished, .groupPublished, .connectionsChanged, .sessionFinishedEvents,
            .sessionInvalidated,
            .runFinished:
            break
        }
    }

    /// What fails from now on is the next page's, with all of its attempts.
    private mutating func turnsPage(_ page: PageRecord) {
        pages = page.number
        (tries, networkTries, networkTriesInARow) = (0, 0, 0)
    }

    private mutating func resumed(_ time: TimeSpan) {
        // The attempt in which the task was suspended may not have ended yet. Without an open attempt the task waited
        // to be resumed, or for a credential.
        if open == nil, waiting != nil { explainWait(until: time) }
        wasResumed = true
        isSuspended = false
        waiting = nil
        if hasBegun { runClock(time) }
    }

    private mutating func waits(for reason: WaitReason, _ time: TimeSpan) {
        // A wait that is recorded during an attempt begins after it, except for the one for other members of the group.
        if open != nil, reason == .dependency { return }
        if open == nil { explainWait(until: time) }
        waiting = reason
        if [.suspended, .window, .power, .network, .credential].contains(reason) {
            failingStandsSince = failingStandsSince ?? time
        }
        switch reason {
        case .suspended:
            isSuspended = true
            stopClock(time)
        case .window, .power: stopClock(time)
        case .network:
            hasBegun = true
            runClock(time)
        case .credential:
            // The process that continues the run may know the credential.
            lastEnd = nil
            stopClock(time)
        case .retryAfter: hostAskedForQuiet = !wasRedirected
        default: break
        }
    }

    private mutating func begins(_ record: AttemptStart, _ time: TimeSpan, _ date: WallTime) {
        explainWait(until: time)
        if let stands = failingStandsSince, let since = failing?.since { failing?.since = since + (time - stands) }
        failingStandsSince = nil
        open = OpenAttempt(number: record.number, url: record.url, startedAt: date, beganAfter: time)
        attempts = record.number
        untold.begins(at: record.url)
        untoldForSure.begins(at: record.url)
        if bodyFiles.isEmpty { bodyFiles = record.bodyFiles }
        (waiting, lastEnd, status, retryAt, file) = (nil, nil, nil, nil, nil)
        (wasRedirected, hostAskedForQuiet) = (false, false)
        hasBegun = true
        runClock(time)
    }

    private mutating func ends(_ record: AttemptRecord, _ time: TimeSpan) {
        // Time since `explained` that was not the attempt's was a wait for a slot, as far as can be told now.
        let held = time - explained - record.duration
        if held > Self.noise { add(.hostLimit, held) }
        explained = time
        endsAtPlace(record)
        if record.error == .processEnded || record.error == .processCrashed {
            lostSince = lostSince ?? open?.startedAt
        }
        if record.backoff != nil, let open { failing = failing ?? (time, open.beganAfter) }
        open = nil
        crashes = record.error == .processCrashed ? crashes + 1 : 0
        guard let backoff = record.backoff else {
            switch record.outcome {
            case .succeeded: lastEnd = .succeeded
            case .failed: lastEnd = record.error.map { .failed($0) } ?? .cancelled
            case .cancelled, .skipped, .deferred: lastEnd = .cancelled
            }
            return
        }
        retryAt = time + backoff
        waiting = .backoff
        // It waited for the process's descriptors: that is no try.
        if record.error?.isOfProcessLimit == true { return }
        tries += 1
        if record.error?.name.mayBeTheNetworks == true {
            networkTries += 1
            networkTriesInARow += 1
        } else {
            networkTriesInARow = 0
        }
    }

    private mutating func endsAtPlace(_ record: AttemptRecord) {
        if record.backoff != nil || record.error == .processEnded || record.error == .processCrashed {
            untold.ends()
            untoldForSure.ends()
        }
        guard record.backoff == nil, record.outcome == .failed, let url = open?.url, let name = record.error?.name
        else {
            return
        }
        untold.fails(at: url)
        if !name.mayBeTheNetworks, name != .noPermittedRoute { untoldForSure.fails(at: url) }
    }

    mutating func expands() {
        isExpanded = true
        (waits, untoldWait) = ([], .zero)
    }

    private mutating func finishes(_ record: TaskRecord) {
        ending = Ending(
            outcome: record.outcome, isTolerated: record.tolerated, changed: record.changed, error: record.error,
            deferral: record.deferral)
        (waits, untoldWait) = ([], .zero)
        path = record.outcome == .succeeded ? file?.path : nil
        checksum = record.outcome == .succeeded ? file?.checksum : nil
        (open, file) = (nil, nil)
        bodyFiles = []
    }

    // MARK: Clocks

    /// Two clocks that are read one after the other differ by this much.
    private static let noise = TimeSpan.microseconds(100)

    private mutating func explainWait(until time: TimeSpan) {
        if let waiting {
            add(waiting, time - explained)
        } else if time > explained {
            untoldWait += time - explained
        }
        explained = time
    }

    private mutating func add(_ reason: WaitReason, _ duration: TimeSpan) {
        guard duration > .zero else { return }
        if let place = waits.firstIndex(where: { $0.reason == reason }) {
            waits[place].duration += duration
        } else {
            waits.append(TaskRecord.Wait(reason: reason, duration: duration))
        }
    }

    private mutating func runClock(_ time: TimeSpan) { clockSince = clockSince ?? time }

    private mutating func stopClock(_ time: TimeSpan) {
        clock = resourceTime(at: time)
        clockSince = nil
    }
}

extension TaskRecord {
    /// Why the task was put off; `nil` if it was not, or if another reason held it back.
    package var deferral: Deferral? { outcome == .deferred ? Explanation.deferral(explanation) : nil }
}
